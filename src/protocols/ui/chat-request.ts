/**
 * Parses and validates the requests of the AI SDK's chat transport. The session stores the conversation, so only the last message
 * is used.
 */

import { questionKey } from "../../core/data/call-key.js";
import { isObject } from "../../core/data/is-object.js";
import { type AnswerOptions, type ApprovalDecision, type Input, PawlError, type UserPart } from "../../index.js";
import { createKnownContent, type KnownContent, type QuestionData } from "./chunks.js";

/** The body that the transport posts. The server has checked which fields it has; this module checks their values. */
export type ChatBody = { readonly messages?: unknown; readonly trigger?: unknown; readonly answers?: unknown };

type ChatRequest =
  | { readonly type: "message"; readonly runId: string; readonly input: Input }
  | {
      readonly type: "answers";
      readonly answers: readonly (ChatAnswer | ExplicitAnswer)[];
      /** The parts of the message that the page already has. */
      readonly known: KnownContent;
      /** The calls that have no result on the page. */
      readonly unsettled: ReadonlySet<string>;
    };

/** An answer in the AI SDK's format: it is in the part of the call, next to the input that the person saw. */
export type ChatAnswer = { readonly callKey: string; readonly input: unknown } & (
  | { readonly type: "approve" }
  | { readonly type: "deny"; readonly note?: string }
  | { readonly type: "result"; readonly output: unknown }
  | { readonly type: "failure"; readonly message: string }
);

/** An answer in the field `answers`: it names the input, or the question, that the person saw. */
export type ExplicitAnswer = {
  readonly type: "own";
  readonly callKey: string;
  readonly decision: ApprovalDecision;
} & Pick<AnswerOptions, "inputHash" | "questionId">;

const maxId = 200;

/** @throws PawlError `bad_input` */
export function parseChatRequest({
  trigger = "submit-message",
  messages,
  answers: rawAnswers = [],
}: ChatBody): ChatRequest {
  if (trigger !== "submit-message")
    return refuse(
      `The trigger ${JSON.stringify(trigger)} is not supported, because a session cannot replace its messages: fork the session instead`,
    );
  if (!Array.isArray(messages)) return refuse("`messages` must be an array");
  const last: unknown = messages.at(-1);
  if (!isObject(last) || !Array.isArray(last.parts)) return refuse("The last message has no `parts`");
  const parts = last.parts.map(
    (part): JsonObject => (isObject(part) ? part : refuse("A part of the message is not an object")),
  );
  const explicitAnswers = parseAnswers(rawAnswers);
  if (last.role === "user") {
    if (explicitAnswers.length > 0) return refuse("`answers` cannot accompany a user's message");
    return { type: "message", runId: parseId(last.id, "id of the message"), input: toInput(parts) };
  }
  if (last.role !== "assistant")
    return refuse(`The role of the last message must be "user" or "assistant", not ${JSON.stringify(last.role)}`);
  const answeredKeys = new Set(explicitAnswers.map(({ callKey }) => callKey));
  const answers = [
    ...explicitAnswers,
    ...parts.flatMap(parsePartAnswer).filter(({ callKey }) => !answeredKeys.has(callKey)),
  ];
  if (answers.length === 0) return refuse("The last message is the assistant's, but it answers no call");
  const unsettled = parts.flatMap((part) => (isSettled(part) ? [] : toStrings(part.toolCallId)));
  return { type: "answers", answers, known: collectKnown(parts), unsettled: new Set(unsettled) };
}

const maxAnswers = 100;

function parseAnswers(given: unknown): readonly ExplicitAnswer[] {
  if (!Array.isArray(given) || given.length > maxAnswers)
    return refuse(`\`answers\` must be an array of at most ${maxAnswers}`);
  return given.map((item: unknown) => {
    if (!isObject(item) || typeof item.callKey !== "string" || !isObject(item.decision))
      return refuse("An answer needs a `callKey` and a `decision`");
    const { callKey, inputHash, questionId } = item;
    const shownIds = {
      ...(typeof inputHash === "string" && { inputHash }),
      ...(typeof questionId === "string" && { questionId }),
    };
    if (Object.keys(shownIds).length === 0)
      return refuse(`The answer to the call ${callKey} needs the \`inputHash\` or the \`questionId\` that was shown`);
    // The session checks whether the decision fits the call.
    return { type: "own", callKey, decision: item.decision as ApprovalDecision, ...shownIds };
  });
}

type JsonObject = { readonly [name: string]: unknown };

function isSettled({ state, preliminary }: JsonObject): boolean {
  return (
    (state === "output-available" && preliminary !== true) || state === "output-error" || state === "output-denied"
  );
}

function collectKnown(parts: readonly JsonObject[]): KnownContent {
  const known = createKnownContent();
  for (const { type, toolCallId, toolName, input, data } of parts) {
    if (typeof toolCallId === "string") {
      known.calls.set(toolCallId, typeof toolName === "string" ? toolName : String(type).replace("tool-", ""));
      known.inputs.set(toolCallId, input);
    }
    if (type === "data-pawl-question" && isObject(data) && typeof data.callKey === "string") {
      const question = data as QuestionData;
      known.questions.set(questionKey(question), question);
    }
  }
  return known;
}

function refuse(problem: string): never {
  throw new PawlError("bad_input", `${problem}. Send what the chat transport of the AI SDK sends.`);
}

function toStrings(value: unknown): readonly string[] {
  return typeof value === "string" ? [value] : [];
}

function parseId(value: unknown, name: string): string {
  if (typeof value === "string" && value !== "" && value.length <= maxId) return value;
  return refuse(`The ${name} must be a string of 1 to ${maxId} characters`);
}

function toInput(parts: readonly JsonObject[]): Input {
  const inputParts = parts.flatMap((part): readonly UserPart[] => {
    if (typeof part.type === "string" && part.type.startsWith("data-")) return [];
    if (part.type === "text" && typeof part.text === "string") return [{ type: "text", text: part.text }];
    if (part.type === "file" && typeof part.mediaType === "string" && typeof part.url === "string") {
      const filename = typeof part.filename === "string" ? { filename: part.filename } : {};
      return [{ type: "file", mediaType: part.mediaType, data: readFileData(part.url), ...filename }];
    }
    return refuse(`A user's message cannot contain a part of type ${JSON.stringify(part.type)}`);
  });
  if (inputParts.length === 0) return refuse("The message is empty");
  return [{ role: "user", parts: inputParts }];
}

/** The data of a `data:` URL; any other URL is returned unchanged. */
function readFileData(url: string): string {
  const comma = url.indexOf(",");
  return url.startsWith("data:") && url.slice(0, comma).endsWith(";base64") ? url.slice(comma + 1) : url;
}

function parsePartAnswer(part: JsonObject): readonly ChatAnswer[] {
  const { toolCallId: callKey, input, state, approval } = part;
  if (typeof callKey !== "string") return [];
  if (state === "approval-responded" && isObject(approval)) {
    const note = typeof approval.reason === "string" ? { note: approval.reason } : {};
    return [
      approval.approved === true ? { callKey, input, type: "approve" } : { callKey, input, type: "deny", ...note },
    ];
  }
  if (part.providerExecuted === true) return [];
  if (state === "output-available" && part.preliminary !== true)
    return [{ callKey, input, type: "result", output: part.output }];
  if (state === "output-error") {
    const message = typeof part.errorText === "string" ? part.errorText : "The call failed.";
    return [{ callKey, input, type: "failure", message }];
  }
  return [];
}
