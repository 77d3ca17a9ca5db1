/**
 * The chunks of one run.
 */
import { type ReadableSession, type RunFlowOptions, streamRun } from "../run-flow.js";
import { createKnownContent, type KnownContent, toChunks, toResultChunk, type UiChunk } from "./chunks.js";

export type RunChunksOptions = RunFlowOptions & {
  /** What the page already has. */
  readonly known?: KnownContent;
  /** The calls without a result on the page. Results before the cursor are sent first. */
  readonly unsettled?: ReadonlySet<string>;
};

/** The id of the message that holds a run. It is not the id of the user's message, which names the run. */
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

/** While one of several calls waited, the others ended, and no stream was open to send their results. */
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
