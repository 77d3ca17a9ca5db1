/**
 * A readable session that masks secrets in its events. Waiting calls and results are not masked.
 */
import type { StreamItem } from "../index.js";
import type { ReadableSession } from "./run-flow.js";

export type RedactStream = () => (item: StreamItem) => readonly StreamItem[];

export function redactSession(session: ReadableSession, redactStream: RedactStream): ReadableSession {
  const { id, pendingApprovals, state, result } = session;
  async function* redactedEvents(
    options: Parameters<ReadableSession["events"]>[0] = {},
  ): AsyncGenerator<StreamItem, void> {
    const redact = redactStream();
    for await (const item of session.events({ ...options, children: false })) yield* redact(item as StreamItem);
  }
  return { id, pendingApprovals, state, result, events: redactedEvents as ReadableSession["events"] };
}
