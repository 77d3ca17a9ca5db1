/**
 * Reads the attempts of a session's model calls from its log, as a recording.
 *
 * 1. Together, the deltas produce the committed message or the failure. The log does not store how the provider split them.
 * 2. The current code builds the requests from the log. They have no system prompt and no tools: the log has only their hashes, and the
 *    blobs are not loaded. A message of a list that the log stores in a blob is not loaded either: it is replaced by the text `blob:` and
 *    its hash.
 */

import { deepFreeze } from "../../core/data/freeze.js";
import {
  type AssistantPart,
  emptyResponseCode,
  type Message,
  onlyCallsCode,
  type ProviderMetadata,
  type ToolCallPart,
} from "../../core/data/message.js";
import type { Entry, EventOf } from "../../core/machine/event.js";
import type { ListedMessage } from "../../core/machine/message-ref.js";
import { blobScheme } from "../../core/transcript/blob-references.js";
import { appendEntry, createTranscript, type Transcript } from "../../core/transcript/transcript.js";
import { trimMessages } from "../../core/transcript/trim-results.js";
import type { DeltaBody, RecordedAttempt } from "../../ports/model.js";
import { getSummaryRequest } from "../effects/model-request.js";
import { rawTextOf } from "../work/tool-input.js";

export type AttemptEvent = EventOf<"model_finished" | "model_failed">;

/**
 * The attempts of a session's model calls, in order, for a model that replays them.
 * @param entries the log, from its start
 */
export function recordedAttempts(sessionId: string, entries: readonly Entry[]): readonly RecordedAttempt[] {
  const transcript = createTranscript();
  const attempts: RecordedAttempt[] = [];
  for (const entry of entries) {
    const { event } = entry;
    if (event.type === "model_finished" || event.type === "model_failed")
      attempts.push(...toRecordedAttempts(sessionId, event, transcript));
    appendEntry(transcript, entry);
  }
  return deepFreeze(attempts);
}

/** One attempt per request, including requests that were sent again. */
function toRecordedAttempts(
  sessionId: string,
  event: AttemptEvent,
  transcript: Transcript,
): readonly RecordedAttempt[] {
  const { run, sentList } = transcript;
  const messages = sentList?.map(toPlainMessage) ?? trimMessages(transcript);
  const { runId, modelCallIndex, attempt, model } = event;
  const asked = run?.purpose === "summary" ? [...messages, getSummaryRequest(run)] : [...messages];
  const request = { sessionId, runId, modelCallIndex, attempt, messages: asked };
  return splitRequests(event).map((deltas) => ({ model, request, isWhole: false, deltas }));
}

function toPlainMessage(listed: ListedMessage): Message {
  return "role" in listed ? listed : { role: "user", parts: [{ type: "text", text: `${blobScheme}${listed.blob}` }] };
}

/** The deltas of each request of an attempt. Requests that were sent again have no answer. */
export function splitRequests(event: AttemptEvent): readonly (readonly DeltaBody[])[] {
  return [...Array<typeof unanswered>(event.resends ?? 0).fill(unanswered), toDeltas(event)];
}

const unanswered: readonly DeltaBody[] = [
  {
    kind: "error",
    failure: { kind: "network", message: "The connection closed before an answer came.", unanswered: true },
  },
];

/** A placeholder for the calls of a last summary, which the log does not store. */
const lostCall: readonly DeltaBody[] = [{ kind: "tool-call", id: "lost", name: "lost", input: "{}" }];

/** The deltas that produce this event. */
function toDeltas(event: AttemptEvent): readonly DeltaBody[] {
  if (event.type === "model_failed")
    return [...toPartialDeltas(event), ...(event.failure.code === onlyCallsCode ? lostCall : []), toFailureEnd(event)];
  const { message, finishReason, usage, providerMetadata, warnings } = event;
  const content = message.parts.flatMap((part, index) => toPartDeltas(part, String(index + 1)));
  const start: readonly DeltaBody[] = warnings === undefined ? [] : [{ kind: "start", warnings }];
  return [...start, ...content, { kind: "done", finishReason, usage, ...pickMetadata(providerMetadata) }];
}

function toPartialDeltas({ partial }: EventOf<"model_failed">): readonly DeltaBody[] {
  return partial === undefined ? [] : toPartDeltas({ type: "text", text: partial.text }, "1");
}

/** An empty answer, or an answer with only calls, is not a failure of the stream: the loop rejects it afterwards. */
function toFailureEnd({ failure, usage }: EventOf<"model_failed">): DeltaBody {
  if (failure.code === emptyResponseCode || failure.code === onlyCallsCode)
    return { kind: "done", finishReason: { unified: "stop" }, usage: usage ?? {} };
  return { kind: "error", failure, ...(usage === undefined ? {} : { usage }) };
}

function toPartDeltas(part: AssistantPart, id: string): readonly DeltaBody[] {
  switch (part.type) {
    case "text":
    case "reasoning":
      return [
        { kind: `${part.type}-start`, id, ...pickMetadata(part.providerMetadata) },
        ...(part.text === "" ? [] : [{ kind: `${part.type}-delta`, id, text: part.text } as const]),
        { kind: `${part.type}-end`, id },
      ];
    case "tool_call":
      return [
        {
          kind: "tool-call",
          id: part.toolCallId,
          name: part.name,
          input: formatArguments(part),
          ...(part.providerExecuted === true ? { providerExecuted: true } : {}),
          ...pickMetadata(part.providerMetadata),
        },
        ...(part.approvalId === undefined
          ? []
          : [{ kind: "tool-approval-request", id: part.toolCallId, approvalId: part.approvalId } as const]),
      ];
    case "tool_result":
      return [
        {
          kind: "tool-result",
          id: part.toolCallId,
          name: part.name,
          output: part.output,
          ...(part.isError === true ? { isError: true } : {}),
          ...pickMetadata(part.providerMetadata),
        },
      ];
    case "file":
      return [{ kind: "file", mediaType: part.mediaType, data: part.data, ...pickMetadata(part.providerMetadata) }];
    case "source": {
      const { type: _, ...source } = part;
      return [{ kind: "source", ...source }];
    }
  }
}

/** The arguments as the model wrote them, or equivalent JSON. */
function formatArguments({ input, invalid }: ToolCallPart): string {
  return (invalid === undefined ? undefined : rawTextOf(input)) ?? JSON.stringify(input);
}

/** Whether the log has the whole answer. Arguments that are too long are not stored, so they cannot be replayed. */
export function canBeReplayed(event: AttemptEvent): boolean {
  if (event.type === "model_failed") return true;
  return event.message.parts.every(
    (part) => part.type !== "tool_call" || part.invalid === undefined || rawTextOf(part.input) !== undefined,
  );
}

function pickMetadata(providerMetadata: ProviderMetadata | undefined): {
  readonly providerMetadata?: ProviderMetadata;
} {
  return providerMetadata === undefined ? {} : { providerMetadata };
}
