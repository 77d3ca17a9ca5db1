/**
 * Judges ended sessions while a worker drives others.
 */
import type { Clock } from "../ports/clock.js";
import type { WorkerOptions } from "./worker-options.js";

/** Runs one query for ended sessions at a time. A failure is reported, and the worker continues. */
export function createScoring({ store, scores, onReport = () => {} }: WorkerOptions, clock: Clock) {
  const stopping = new AbortController();
  let query: Promise<void> | null = null;

  function catchUp({ isForced = false } = {}): Promise<void> {
    if (scores === undefined || stopping.signal.aborted) return Promise.resolve();
    query ??= scores
      .catchUp(store, {
        signal: stopping.signal,
        isForced,
        onFailure: (sessionId, error) => onReport({ type: "scores_failed", sessionId, error }),
      })
      .catch((error: unknown) => onReport({ type: "scores_failed", error }))
      .finally(() => {
        query = null;
      });
    return query;
  }

  /** Waits at most `graceMs` milliseconds for a judge that ignores the abort. */
  async function stop(graceMs: number): Promise<void> {
    stopping.abort();
    if (query === null) return;
    const pending = query;
    await new Promise<void>((resolve) => {
      const cancel = clock.after(graceMs, resolve);
      void pending.finally(() => {
        cancel();
        resolve();
      });
    });
  }

  return { catchUp, stop };
}
