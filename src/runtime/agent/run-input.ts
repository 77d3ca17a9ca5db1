/**
 * Checks a caller's input and options, and turns them into the message that the log stores.
 */

import { isObject } from "../../core/data/is-object.js";
import { checkJson } from "../../core/data/json.js";
import type { Json, UserMessage, UserPart } from "../../core/data/message.js";
import type { ModelSettings } from "../../core/data/model-settings.js";
import { nearestName } from "../../core/data/nearest-name.js";
import { parseTraceparent, traceparentOf } from "../../core/data/traceparent.js";
import type { RunOptions, RunToolChoice } from "../../core/machine/event.js";
import type { InboxBody } from "../../core/machine/inbox.js";
import type { RunLimits } from "../../core/machine/run-limits.js";
import type { SessionBinding, SessionInfo } from "../../core/machine/state.js";
import { normalizeToolChoice } from "../../core/machine/tool-choice.js";
import { PawlError } from "../../errors.js";
import { byteLength } from "../../platform/bytes.js";
import type { InputSchema } from "../../ports/tool.js";
import type { CompiledAgent } from "./compiled-agent.js";
import type { History, HistoryOptions } from "./history.js";
import { checkPart, createPartError, type Input, type InputMessage, type InputPart } from "./input-parts.js";
import { checkReachedPrices, compileLimits, type Limits } from "./limits.js";
import { type LocalOptions, toOutputSchema, toRecordedConditions } from "./local-run-options.js";
import { compileSettings } from "./model-settings.js";
import { checkParams, type RunParams } from "./params.js";
import { listRunToolNames } from "./run-tools.js";

/** The options of one run. They override the agent's options. */
export type StartOptions = {
  /** If this signal is aborted, the run is aborted. */
  readonly signal?: AbortSignal;
  /** The id of the session to continue, or of a new session. Default: a random id. */
  readonly sessionId?: string;
  /**
   * Makes the request idempotent: an id that the session knows starts nothing, and returns the result of that run. Sessions may have runs
   * with the same id. Default: a random id.
   */
  readonly runId?: string;
  /** Limits of this run. Each one given here overrides the agent's limit; the agent's other limits still apply. */
  readonly limits?: Limits;
  /**
   * The agent that the run begins with: this agent's name, or the name of an agent that it reaches through handoffs. Default: the agent
   * that has the session; for a new session, this agent.
   */
  readonly agent?: string;
  readonly systemPrompt?: string;
  /** The names of the tools that the model may use. Default: all. */
  readonly activeTools?: readonly string[];
  /**
   * Whether the model may, must or must not call tools, or which tool it must call. A choice that forces a call applies to the first model
   * call of the run; after that, "auto" applies. With `everyStep: true` it applies to every model call: the run then ends only by a done
   * tool, a limit or an abort. Default: "auto".
   */
  readonly toolChoice?: RunToolChoice;
  /** If false, approvals cannot be answered: a call that needs one is denied, also in runs of agents that it calls. Default: true. */
  readonly interactive?: boolean;
  readonly providerOptions?: { readonly [provider: string]: { readonly [key: string]: Json } };
  /**
   * Passed to tools, hooks, policies and a dynamic system prompt as `params`: plain JSON that matches the agent's `params` schema. The log
   * stores it, so it must not contain secrets.
   */
  readonly params?: RunParams;
  /** The name of one of the agent's `models`, which replaces its `model` in this run. */
  readonly model?: string;
  /** Settings of the run's model calls. They override the agent's. */
  readonly settings?: ModelSettings;
  /**
   * An existing conversation to start the session with: Pawl messages, or `ModelMessage`s or `UIMessage`s of the AI SDK. Only for a session
   * that does not exist yet. At most 10,000 messages and 16 MiB.
   */
  readonly history?: History;
  /**
   * The parent of the run's spans, as a W3C `traceparent`: usually the header of a request. The log stores it, so the run stays in that
   * trace whichever process continues it, and so do the agents that it calls as tools. An invalid value is ignored. Null: no parent.
   * Default: the currently active span, if the agent has an OpenTelemetry observer.
   */
  readonly traceparent?: string | null | undefined;
} & Sender &
  HistoryOptions &
  LocalOptions;

/** Who sends a request. */
export type Sender = {
  /**
   * The person or account that sends the request. The log records it with the request and, if the request starts a session, as the
   * session's principal.
   */
  readonly by?: string;
};

/** The option `output`, which types the result. */
export type OutputOptions<Output> = {
  /** The schema of the answer. */
  readonly output: InputSchema<Output>;
};

const maxInputCharacters = 900_000;
/** The size of a log entry is limited, and the entry contains more than the input. */
const maxInputBytes = 940_000;

/** A run or a steer, as stored in the inbox. */
type InputBody = Extract<InboxBody, { type: "input" }>;

/** Creates the inbox message that requests a run. */
export function createInputBody(
  input: Input,
  options: StartOptions,
  agent: CompiledAgent,
  runId: string,
  mode: InputMode,
  { skip }: SteerOptions = {},
): InputBody {
  const limits =
    options.limits === undefined ? agent.limits : compileLimits({ ...agent.limits, ...options.limits }, agent);
  checkReachedPrices(limits, agent);
  if (mode !== "steer") checkParams(options.params, findFirstAgent(options.agent, agent));
  const { traceparent = agent.activeTraceparent() } = options;
  return createBody(input, { ...options, traceparent }, runId, mode, skip, {
    limits,
    bind: (title) => createSessionInfo(findFirstAgent(options.agent, agent), title),
  });
}

/** The same for a sender without an agent: the process that executes the run fills in limits and model. */
export function createPostedBody(
  input: Input,
  options: Omit<StartOptions, "signal" | "limits">,
  session: SessionBinding,
  runId: string,
  mode: InputMode,
  { skip }: SteerOptions = {},
): InputBody {
  const bind = (title: string) => ({ ...session, ...(session.title !== undefined || title === "" ? {} : { title }) });
  return createBody(input, options, runId, mode, skip, { bind });
}

function createBody(
  input: Input,
  options: StartOptions,
  runId: string,
  mode: InputMode,
  skip: SteerOptions["skip"],
  { limits, bind }: { readonly limits?: RunLimits; readonly bind: (title: string) => SessionBinding },
): InputBody {
  checkRunId(runId);
  const { by } = options;
  const span = parseTraceparent(options.traceparent);
  const messages = toUserMessages(input);
  const runOptions = toRunOptions(options);
  const steering = skip === undefined ? {} : { skip: checkSkip(skip, mode) };
  const session = bind(createTitle(messages));
  return {
    type: "input",
    mode: mode === "steer" ? "steer" : "queue",
    runId,
    // A random id is unique, but one that the sender chose may be the id of a run of another session.
    ...(options.runId === undefined ? {} : { sessionInKeys: true as const }),
    input: messages,
    session: by === undefined ? session : { ...session, principal: by },
    ...(limits === undefined ? {} : { limits }),
    ...(runOptions === undefined ? {} : { options: runOptions }),
    ...(by === undefined ? {} : { by }),
    ...(span === undefined ? {} : { traceparent: traceparentOf(span) }),
    ...steering,
    ...(mode === "interrupt" ? { interrupts: true } : {}),
  };
}

/** What happens to an input while a run is in progress. */
type InputMode = "queue" | "steer" | "interrupt";

/** The agent that a run begins with. @throws PawlError `unknown_handoff` */
function findFirstAgent(name: string | undefined, agent: CompiledAgent): CompiledAgent {
  if (name === undefined || name === agent.name) return agent;
  const reached = agent.graph?.getAgent(name);
  if (reached !== undefined) return reached;
  const names = agent.graph?.names() ?? [agent.name];
  const near = nearestName(name, names);
  const hint = near === undefined ? "" : ` Do you mean ${JSON.stringify(near)}?`;
  throw new PawlError(
    "unknown_handoff",
    `The run names the agent ${JSON.stringify(name.slice(0, 100))}, which "${agent.name}" does not reach through its handoffs.${hint} It reaches ${names.join(", ")}.`,
  );
}

/** What a steer does in addition to adding its input. */
export type SteerOptions = {
  /**
   * "unstarted": the calls that the model has asked for and that have not started yet are skipped, including those that wait for an
   * approval. The model sees them as skipped, together with the input. Default: they continue.
   */
  readonly skip?: "unstarted";
};

/** @throws PawlError `bad_input` */
export function checkSkip(skip: unknown, mode: InputMode): "unstarted" {
  if (mode === "steer" && skip === "unstarted") return skip;
  const why = mode === "steer" ? 'skip must be "unstarted".' : 'Only a steer can skip calls: mode "steer".';
  throw new PawlError("bad_input", `${why} Omit skip to let all calls continue.`);
}

/** @throws PawlError `bad_input` if the input is empty, too large, or of an unknown shape */
export function toUserMessages(input: Input): readonly UserMessage[] {
  const messages = typeof input === "string" ? [createUserMessage([{ type: "text", text: input }])] : toMessages(input);
  const checked = checkJson(messages);
  if (!checked.ok) throw new PawlError("bad_input", `The input cannot be stored: ${checked.error}`);
  let characters = 0;
  for (const message of messages)
    for (const part of message.parts) characters += part.type === "text" ? part.text.length : part.data.length;
  if (characters === 0) throw new PawlError("bad_input", "The input is empty. Write a request.");
  if (characters > maxInputCharacters)
    throw new PawlError(
      "bad_input",
      `The input has ${characters} characters; the maximum is ${maxInputCharacters}. Put large content in a file that a tool can read, or give its URL.`,
    );
  if (byteLength(JSON.stringify(messages)) > maxInputBytes)
    throw new PawlError(
      "bad_input",
      `The input takes more than ${maxInputBytes} bytes as JSON. Put large content in a file that a tool can read, or give its URL.`,
    );
  // A copy: the caller may change its own objects later.
  return structuredClone(messages);
}

/** @throws PawlError `bad_input` */
export function checkRunId(runId: string): void {
  if (typeof runId === "string" && runId !== "" && runId.length <= maxRunId && !/\p{Cc}|\p{Surrogate}/u.test(runId))
    return;
  throw new PawlError(
    "bad_input",
    `A run id must be a string of 1 to ${maxRunId} characters without control characters. Omit it to use a random one.`,
  );
}

const maxRunId = 200;

/** The options that the log stores; undefined if there are none. @throws PawlError `bad_input` */
export function toRunOptions(options: StartOptions): RunOptions | undefined {
  const tools = listRunToolNames(options);
  const { agent, systemPrompt, activeTools, toolChoice, interactive, providerOptions, model, settings, params } =
    options;
  const output = toOutputSchema(options);
  const stopWhen = toRecordedConditions(options);
  const stored: RunOptions = {
    ...(agent === undefined ? {} : { agent }),
    ...(systemPrompt === undefined ? {} : { systemPrompt }),
    ...(tools === undefined ? {} : { tools }),
    ...(activeTools === undefined ? {} : { activeTools }),
    ...(toolChoice === undefined ? {} : { toolChoice: toRecordedToolChoice(toolChoice) }),
    ...(interactive === undefined ? {} : { interactive }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
    ...(output === undefined ? {} : { output }),
    ...(model === undefined ? {} : { model }),
    ...(params === undefined ? {} : { params }),
    ...(settings === undefined ? {} : { settings: compileSettings(settings, "bad_input") }),
    ...(stopWhen === undefined ? {} : { stopWhen }),
  };
  if (Object.keys(stored).length === 0) return undefined;
  const checked = checkJson(stored, { maxBytes: maxOptionBytes });
  if (!checked.ok) throw new PawlError("bad_input", `The options of the run cannot be stored: ${checked.error}`);
  return structuredClone(stored);
}

/** The options share a log entry with the input. */
const maxOptionBytes = 64 * 1024;

/** The first words of a request, as a title in lists. */
export function createTitle(messages: readonly UserMessage[]): string {
  const text = messages.flatMap((message) =>
    message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])),
  );
  const line = text.join(" ").replace(/\s+/g, " ").trim();
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}

export function createSessionInfo(agent: Pick<CompiledAgent, "name" | "models" | "root">, title: string): SessionInfo {
  const { name, models, root } = agent;
  const { model } = models[0];
  return { agent: name, model: model.id, ...(root === undefined ? {} : { root }), ...(title === "" ? {} : { title }) };
}

function createUserMessage(parts: readonly UserPart[]): UserMessage {
  return { role: "user", parts };
}

function toMessages(input: readonly InputPart[] | readonly InputMessage[]): readonly UserMessage[] {
  if (!Array.isArray(input) || input.length === 0) throw invalidInputError();
  const first: unknown = input[0];
  if (typeof first !== "object" || first === null) throw invalidInputError();
  if ("role" in first) return (input as readonly InputMessage[]).map(checkMessage);
  return [
    createUserMessage(
      (input as readonly InputPart[]).map((part, index) => checkPart(part, `Part ${index + 1} of the input`)),
    ),
  ];
}

function checkMessage(message: InputMessage, index: number): UserMessage {
  if (message?.role !== "user" || !Array.isArray(message.parts))
    throw new PawlError(
      "bad_input",
      "A message of the input must be { role: 'user', parts: […] }. A system prompt is an option of the agent.",
    );
  return createUserMessage(
    message.parts.map((part, at) => checkPart(part, `Part ${at + 1} of message ${index + 1} of the input`)),
  );
}

function invalidInputError(): PawlError {
  return createPartError("The input", "must be a string, a list of parts, or a list of user messages");
}

/** The choice as the log stores it. @throws PawlError `bad_input` if it has none of the valid forms */
function toRecordedToolChoice(given: RunToolChoice): RunToolChoice {
  if (given === "auto" || given === "none" || given === "required" || isForced(given))
    return normalizeToolChoice(given);
  throw new PawlError(
    "bad_input",
    'The toolChoice of a run must be "auto", "none", "required", { tool: name } or { required: true }; the last two may have everyStep: true, to apply to every model call.',
  );
}

function isForced(given: unknown): boolean {
  if (!isObject(given)) return false;
  const { everyStep, tool, required, ...others } = given;
  if (Object.keys(others).length > 0 || (everyStep !== undefined && typeof everyStep !== "boolean")) return false;
  return tool === undefined ? required === true : typeof tool === "string" && tool !== "" && required === undefined;
}
