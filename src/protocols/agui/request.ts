/**
 * Parses and validates the request of an AG-UI client. The session stores the conversation, so only the last message is used.
 */

import { isObject } from "../../core/data/is-object.js";
import { type Input, PawlError, type UserPart } from "../../index.js";

export type ResumeEntry = {
  readonly interruptId: string;
  readonly status: "resolved" | "cancelled";
  readonly payload: unknown;
};

/** The body of a request. The server has checked `threadId` and `runId`; this module checks the other fields. */
export type AguiBody = {
  readonly threadId: string;
  readonly runId: string;
  readonly [field: string]: unknown;
};

export type AguiRequest =
  | { readonly type: "message"; readonly input: Input }
  | { readonly type: "resume"; readonly entries: readonly ResumeEntry[] }
  /** A client that lost its stream posts the part of the reply that it has. */
  | { readonly type: "join" };

/** @throws PawlError `bad_input` */
export function parseAguiRequest(body: AguiBody): AguiRequest {
  // Tools and context come from the agent. Silently ignoring the client's would suggest that they are used.
  for (const key of ["tools", "context"])
    if (Array.isArray(body[key]) && body[key].length > 0)
      return refuse(
        `\`${key}\` of a client are not supported. Declare a client's tool as an external tool of the agent`,
      );
  const { resume = [], messages = [] } = body;
  if (!Array.isArray(resume)) return refuse("`resume` must be an array");
  if (resume.length > 0) return { type: "resume", entries: resume.map(parseResumeEntry) };
  if (!Array.isArray(messages)) return refuse("`messages` must be an array");
  const last: unknown = messages.at(-1);
  if (!isObject(last)) return refuse("`messages` is empty");
  if (agentRoles.has(last.role)) return { type: "join" };
  if (last.role !== "user") return refuse("The last message must be a user's");
  return { type: "message", input: [{ role: "user", parts: parseParts(last.content) }] };
}

/** The roles of messages that an agent produces. */
const agentRoles: ReadonlySet<unknown> = new Set(["assistant", "tool", "reasoning", "activity"]);

/**
 * The messages that the client posted, without the run's own messages, which the stream sends again. A client keeps its reasoning
 * messages unless a snapshot replaces them, so the run's reasoning messages are sent empty.
 */
export function messagesBefore(runId: string, { messages }: AguiBody): readonly unknown[] {
  const posted: readonly unknown[] = Array.isArray(messages) ? messages : [];
  return posted.flatMap((message) => {
    if (!isObject(message) || typeof message.id !== "string" || !message.id.startsWith(`${runId}/`)) return [message];
    return message.role === "reasoning" ? [{ ...message, content: "" }] : [];
  });
}

function refuse(problem: string): never {
  throw new PawlError("bad_input", `${problem}. Send a RunAgentInput of AG-UI 1.0.`);
}

function parseResumeEntry(entry: unknown): ResumeEntry {
  if (!isObject(entry)) return refuse("An entry of `resume` is not an object");
  const { interruptId, status, payload } = entry;
  if (status !== "resolved" && status !== "cancelled")
    return refuse('The status of an entry of `resume` must be "resolved" or "cancelled"');
  if (typeof interruptId !== "string") return refuse("An entry of `resume` has no `interruptId`");
  return { interruptId, status, payload };
}

function parseParts(content: unknown): readonly UserPart[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (!Array.isArray(content) || content.length === 0) return refuse("The message is empty");
  return content.map((part: unknown): UserPart => {
    if (!isObject(part)) return refuse("A part of the message is not an object");
    if (part.type === "text" && typeof part.text === "string") return { type: "text", text: part.text };
    const { source } = part;
    if (!isObject(source) || typeof source.value !== "string" || source.type === "file")
      return refuse(`A message part of type ${JSON.stringify(part.type)} has no valid source`);
    const mediaType = typeof source.mimeType === "string" ? source.mimeType : `${part.type}/*`;
    return { type: "file", mediaType, data: source.value };
  });
}
