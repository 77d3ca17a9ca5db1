/**
 * The chunks of one run.
 */
import { type ReadableSession, type RunFlowOptions, runFlow } from "../run-flow.js";
import { chunksOf, type KnownCalls, type UiChunk } from "./chunks.js";

export type RunChunksOptions = RunFlowOptions & {
  /** The calls whose parts the page has already. */
  readonly known?: Iterable<string>;
};

/** The id of the message that holds a run. It is not the id of the user's message, which names the run. */
export function messageIdOf(runId: string): string {
  return `run:${runId}`;
}

export async function* runChunks(
  session: ReadableSession,
  { known = [], ...options }: RunChunksOptions,
): AsyncGenerator<UiChunk, void, undefined> {
  const calls: KnownCalls = new Set(known);
  yield { type: "start", messageId: messageIdOf(options.runId), messageMetadata: { sessionId: session.id } };
  for await (const item of runFlow(session, options)) yield* chunksOf(item, calls);
}
