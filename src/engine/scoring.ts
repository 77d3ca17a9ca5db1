/**
 * The scores of a worker: sessions that have ended are judged alongside those that it drives.
 */
import type { WorkerOptions } from "./worker-options.js";

/** One look for ended sessions at a time. A look that fails is reported, and the worker goes on. */
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
