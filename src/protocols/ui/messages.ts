/**
 * Converts a session to the AI SDK's `UIMessage`s, which a page shows before it opens a stream.
 *
 * 1. The parts of a message are built from the chunks of its run, so a page that loads a message shows the same as one that streamed it.
 */
import type { PublicEvent } from "../../index.js";
import { createSessionView } from "../../view/session-view.js";
import type { ReadableSession } from "../run-flow.js";
import { createKnownContent, type DataChunk, type RunMetadata, toChunks, type UiChunk } from "./chunks.js";
import { formatMessageId } from "./run-chunks.js";
import type { ChunkTyper } from "./typed-tools.js";

type UiPart = { readonly type: string; readonly [key: string]: unknown };

export type UiMessage = {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly metadata?: RunMetadata;
  readonly parts: readonly UiPart[];
};

/** All messages of a session, oldest first. `createTyper` is called for each message. */
export async function readUiMessages(
  session: ReadableSession,
  createTyper: () => ChunkTyper,
): Promise<readonly UiMessage[]> {
  const messages: UiMessage[] = [];
  let run: {
    readonly id: string;
    readonly take: (event: PublicEvent) => Promise<void>;
    readonly message: () => UiMessage;
  } | null = null;
  const finishRun = () => {
    if (run !== null) messages.push(run.message());
    run = null;
  };
  for await (const item of session.events({ follow: false })) {
    const event = item as PublicEvent;
    if (event.type === "run_started") {
      finishRun();
      messages.push({
        id: event.runId,
        role: "user",
        parts: event.input.flatMap(({ parts }) => parts.map(toUserPart)),
      });
      run = createAssistantMessage(event.runId, session.id, createTyper());
    } else if (run !== null && (!("runId" in event) || event.runId === undefined || event.runId === run.id))
      await run.take(event);
  }
  finishRun();
  return messages;
}

type UserPart = Extract<PublicEvent, { readonly type: "run_started" }>["input"][number]["parts"][number];

function toUserPart(part: UserPart): UiPart {
  if (part.type === "text") return { type: "text", text: part.text };
  const { mediaType, data, filename } = part;
  const url = /^(?:https?|data):/.test(data) ? data : `data:${mediaType};base64,${data}`;
  return { type: "file", mediaType, url, ...(filename === undefined ? {} : { filename }) };
}

function createAssistantMessage(id: string, sessionId: string, typer: ChunkTyper) {
  const view = createSessionView();
  const known = createKnownContent();
  const parts: { [key: string]: unknown; type: string }[] = [];
  const openParts = new Map<string, { text: string; type: string }>();
  let metadata: RunMetadata = { sessionId };
  const callParts = new Map<string, { [key: string]: unknown }>();

  function applyChunk(chunk: UiChunk): void {
    switch (chunk.type) {
      case "start-step":
        parts.push({ type: "step-start" });
        return;
      case "text-start":
      case "reasoning-start": {
        const part = { type: chunk.type === "text-start" ? "text" : "reasoning", text: "", state: "done" };
        parts.push(part);
        openParts.set(chunk.id, part);
        return;
      }
      case "text-delta":
      case "reasoning-delta": {
        const part = openParts.get(chunk.id);
        if (part !== undefined) part.text += chunk.delta;
        return;
      }
      case "tool-input-start": {
        const { toolCallId, toolName, dynamic } = chunk;
        const tool = dynamic === true ? { type: "dynamic-tool", toolName } : { type: `tool-${toolName}` };
        const part = { ...tool, toolCallId, state: "input-streaming", input: undefined };
        parts.push(part);
        callParts.set(toolCallId, part);
        return;
      }
      case "tool-input-available":
        change(chunk.toolCallId, { state: "input-available", input: chunk.input });
        return;
      case "tool-approval-request":
        change(chunk.toolCallId, { state: "approval-requested", approval: { id: chunk.approvalId } });
        return;
      case "tool-output-available":
        change(chunk.toolCallId, { state: "output-available", output: chunk.output });
        return;
      case "tool-input-error":
        change(chunk.toolCallId, { state: "output-error", input: undefined, errorText: chunk.errorText });
        return;
      case "tool-output-error":
        change(chunk.toolCallId, { state: "output-error", errorText: chunk.errorText });
        return;
      case "tool-output-denied":
        change(chunk.toolCallId, { state: "output-denied" });
        return;
      case "message-metadata":
        metadata = { ...metadata, ...chunk.messageMetadata };
        return;
      case "file":
      case "source-url":
      case "source-document":
        parts.push({ ...chunk });
        return;
      default:
        if (isMessageData(chunk)) upsertData(chunk);
    }
  }

  /** Replaces the data of the part with the same id, or adds a part. */
  function upsertData(chunk: DataChunk): void {
    const existing =
      chunk.id === undefined ? undefined : parts.find(({ type, id }) => type === chunk.type && id === chunk.id);
    if (existing === undefined) parts.push({ ...chunk });
    else existing.data = chunk.data;
  }

  function change(toolCallId: string, fields: { readonly [key: string]: unknown }): void {
    const part = callParts.get(toolCallId);
    if (part !== undefined) Object.assign(part, fields);
  }

  return {
    id,
    async take(event: PublicEvent) {
      for (const change of view.apply(event))
        for (const chunk of toChunks(change, known)) {
          const typed = typer(chunk);
          for (const one of typed instanceof Promise ? await typed : typed) applyChunk(one);
        }
      if (event.type === "approval_answered") applyDenial(callParts.get(event.callKey), event);
    },
    message: (): UiMessage => ({ id: formatMessageId(id), role: "assistant", metadata, parts }),
  };
}

function isMessageData(chunk: UiChunk): chunk is DataChunk {
  return chunk.type.startsWith("data-") && !("transient" in chunk);
}

/** Shows a denial until the call has a result. */
function applyDenial(part: { [key: string]: unknown } | undefined, { callKey, note }: AnswerEvent): void {
  if (part === undefined || part.state !== "approval-requested") return;
  const reason = note === undefined ? {} : { reason: note };
  Object.assign(part, { state: "approval-responded", approval: { id: callKey, approved: false, ...reason } });
}

type AnswerEvent = Extract<PublicEvent, { readonly type: "approval_answered" }>;
