/**
 * What a user hands in, made into what the log keeps.
 */

import { checkJson } from "../../core/data/json.js";
import type { FilePart, Json, UserMessage, UserPart } from "../../core/data/message.js";
import type { RunOptions, ToolChoice } from "../../core/machine/event.js";
import type { InboxBody } from "../../core/machine/inbox.js";
import type { SessionInfo } from "../../core/machine/state.js";
import { recordToolChoice } from "../../core/machine/tool-choice.js";
import { PawlError } from "../../errors.js";
import type { InputSchema } from "../../ports/tool.js";
import type { CompiledAgent } from "./compiled-agent.js";
import { type Limits, limitsOf } from "./limits.js";
import { type LocalOptions, outputSchemaOf } from "./local-run-options.js";

/** Text, parts (text and files), or whole user messages. */
export type Input = string | readonly UserPart[] | readonly UserMessage[];

export type StartOptions = {
  /** Ends the run when it is aborted. */
  readonly signal?: AbortSignal;
  /** The session to go on with, or the id of a new one. */
  readonly sessionId?: string;
  /** Makes the request one however often it is sent: a known id starts nothing and gives that run's result. */
  readonly runId?: string;
  /** Changes to the agent's limits for this run. */
  readonly limits?: Limits;
  readonly systemPrompt?: string;
  /** The tools that may be used, by name; all unless given. */
  readonly activeTools?: readonly string[];
  readonly toolChoice?: ToolChoice;
  /** False where nobody can be asked: what would ask is denied. */
  readonly interactive?: boolean;
  readonly providerOptions?: { readonly [provider: string]: { readonly [key: string]: Json } };
} & LocalOptions;

/** `output`, which types the result. */
export type OutputOptions<Output> = { readonly output: InputSchema<Output> };

const maxInputCharacters = 900_000;
/** An entry of the log has a bound, and other things to hold. */
const mostInputBytes = 940_000;

/** The message that asks for a run. */
export function inputBody(
  input: Input,
  options: StartOptions,
  parts: CompiledAgent,
  runId: string,
  mode: "queue" | "steer",
): Extract<InboxBody, { type: "input" }> {
  checkRunId(runId);
  const messages = messagesOf(input);
  const kept = runOptionsOf(options);
  return {
    type: "input",
    mode,
    runId,
    input: messages,
    limits: options.limits === undefined ? parts.limits : limitsOf({ ...parts.limits, ...options.limits }, parts),
    session: sessionInfo(parts, titleOf(messages)),
    ...(kept === undefined ? {} : { options: kept }),
  };
}

/** @throws PawlError `bad_input` where it is empty, too large, or not of these shapes. */
export function messagesOf(input: Input): readonly UserMessage[] {
  const messages = typeof input === "string" ? [userMessage([{ type: "text", text: input }])] : listOf(input);
  const checked = checkJson(messages);
  if (!checked.ok) throw new PawlError("bad_input", `The input cannot be kept: ${checked.error}`);
  let characters = 0;
  for (const message of messages)
    for (const part of message.parts) characters += part.type === "text" ? part.text.length : part.data.length;
  if (characters === 0) throw new PawlError("bad_input", "The input is empty. Say what is to be done.");
  if (characters > maxInputCharacters)
    throw new PawlError(
      "bad_input",
      `The input has ${characters} characters; ${maxInputCharacters} can be taken. Put large content in a file that a tool can read, or give its URL.`,
    );
  if (Buffer.byteLength(JSON.stringify(messages)) > mostInputBytes)
    throw new PawlError(
      "bad_input",
      `The input takes more than ${mostInputBytes} bytes as JSON. Put large content in a file that a tool can read, or give its URL.`,
    );
  // What the caller does with its own objects later is not the log's business.
  return structuredClone(messages);
}

/** @throws PawlError `bad_input` */
export function checkRunId(runId: string): void {
  if (typeof runId === "string" && runId !== "" && runId.length <= longestRunId && !/\p{Cc}|\p{Surrogate}/u.test(runId))
    return;
  throw new PawlError(
    "bad_input",
    `A run's id is a text of 1 to ${longestRunId} characters without control characters. Leave it out for a random one.`,
  );
}

const longestRunId = 200;

/** What of the options belongs in the log; undefined where nothing does. @throws PawlError `bad_input` */
export function runOptionsOf(options: StartOptions): RunOptions | undefined {
  const { systemPrompt, activeTools, toolChoice, interactive, providerOptions } = options;
  const output = outputSchemaOf(options);
  const kept: RunOptions = {
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
    ...(activeTools === undefined ? {} : { activeTools }),
    ...(toolChoice === undefined ? {} : { toolChoice: recordToolChoice(toolChoice) }),
    ...(interactive === undefined ? {} : { interactive }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
    ...(output === undefined ? {} : { output }),
  };
  if (Object.keys(kept).length === 0) return undefined;
  const checked = checkJson(kept, { maxBytes: mostOptionBytes });
  if (!checked.ok) throw new PawlError("bad_input", `The options of the run cannot be kept: ${checked.error}`);
  return structuredClone(kept);
}

/** They share an entry of the log with the request. */
const mostOptionBytes = 64 * 1024;

/** The first words of a request, for lists. */
export function titleOf(messages: readonly UserMessage[]): string {
  const text = messages.flatMap((message) =>
    message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])),
  );
  const line = text.join(" ").replace(/\s+/g, " ").trim();
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}

export function sessionInfo(agent: Pick<CompiledAgent, "name" | "models" | "root">, title: string): SessionInfo {
  const { name, models, root } = agent;
  const { model } = models[0];
  return { agent: name, model: model.id, ...(root === undefined ? {} : { root }), ...(title === "" ? {} : { title }) };
}

function userMessage(parts: readonly UserPart[]): UserMessage {
  return { role: "user", parts };
}

function listOf(input: readonly UserPart[] | readonly UserMessage[]): readonly UserMessage[] {
  if (!Array.isArray(input) || input.length === 0) throw notInput();
  const first: unknown = input[0];
  if (typeof first !== "object" || first === null) throw notInput();
  if ("role" in first) return (input as readonly UserMessage[]).map(checkMessage);
  return [userMessage((input as readonly UserPart[]).map(checkPart))];
}

function checkMessage(message: UserMessage): UserMessage {
  if (message?.role !== "user" || !Array.isArray(message.parts))
    throw new PawlError(
      "bad_input",
      "A message of the input must be { role: 'user', parts: […] }. A system prompt is an option of the agent.",
    );
  return userMessage(message.parts.map(checkPart));
}

function checkPart(part: UserPart): UserPart {
  if (part?.type === "text" && typeof part.text === "string") return part;
  if (isFile(part)) return part;
  throw notInput();
}

function isFile(part: unknown): part is FilePart {
  if (typeof part !== "object" || part === null || !("type" in part) || part.type !== "file") return false;
  return "mediaType" in part && typeof part.mediaType === "string" && "data" in part && typeof part.data === "string";
}

function notInput(): PawlError {
  return new PawlError(
    "bad_input",
    "The input must be a text, parts ({ type: 'text', text } or { type: 'file', mediaType, data }), or user messages.",
  );
}
