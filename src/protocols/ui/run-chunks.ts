/**
 * Streams the chunks of one run.
 */
import { type ReadableSession, type RunFlowOptions, streamRun } from "../run-flow.js";
import { createKnownContent, type KnownContent, toChunks, toResultChunk, type UiChunk } from "./chunks.js";

export type RunChunksOptions = RunFlowOptions & {
  /** The content that the page already has. */
  readonly known?: KnownContent;
  /** The calls without a result on the page. Results before the cursor are sent first. */
  readonly unsettled?: ReadonlySet<string>;
};

/** The id of the assistant message of a run. It differs from the user message's id, which is the run id. */
export function formatMessageId(runId: string): string {
  return `run:${runId}`;
}

export async function* streamChunks(
  session: ReadableSession,
  { known = createKnownContent(), unsettled = new Set(), ...options }: RunChunksOptions,
): AsyncGenerator<UiChunk, void, undefined> {
  yield { type: "start", messageId: formatMessageId(options.runId), messageMetadata: { sessionId: session.id } };
  if (unsettled.size > 0) yield* streamMissedResults(session, options, unsettled);
  for await (const item of streamRun(session, options)) yield* toChunks(item, known);
}

/** Sends the results of calls that ended while another call was waiting, when no stream was open. */
async function* streamMissedResults(
  session: ReadableSession,
  { runId, after }: RunFlowOptions,
  unsettled: ReadonlySet<string>,
): AsyncGenerator<UiChunk, void, undefined> {
  const state = await session.state();
  if (!("startSeq" in state) || state.runId !== runId) return;
  for await (const event of session.events({ after: state.startSeq - 1, follow: false })) {
    if (event.type !== "tool_result") continue;
    if (event.seq > Number(after)) return;
    if (unsettled.has(event.callKey)) yield toResultChunk(event);
  }
}
