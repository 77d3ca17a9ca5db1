/**
 * Judges ended sessions alongside the sessions that a worker drives.
 */
import type { WorkerOptions } from "./worker-options.js";

/** One query for ended sessions at a time. A failure is reported, and the worker continues. */
export function createScoring({ store, scores, onReport = () => {} }: WorkerOptions) {
  const stopping = new AbortController();
  let look: Promise<void> | null = null;

  function catchUp({ isForced = false } = {}): Promise<void> {
    if (scores === undefined || stopping.signal.aborted) return Promise.resolve();
    look ??= scores
      .catchUp(store, { signal: stopping.signal, isForced })
      .catch((error: unknown) => onReport({ type: "scores_failed", error }))
      .finally(() => {
        look = null;
      });
    return look;
  }

  async function stop(): Promise<void> {
    stopping.abort();
    await look;
  }

  return { catchUp, stop };
}
