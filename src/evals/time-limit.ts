/**
 * Bounds waits for judges and agents, whatever they do.
 */
import { systemClock } from "../runtime/lib/clock.js";

/**
 * Runs work with a time limit. The work's signal is aborted at the limit, or when `signal` is aborted.
 *
 * @throws Error at the limit, even if the work continues
 */
export async function runInTime<Value>(
  work: (signal: AbortSignal) => Value | Promise<Value>,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<Value> {
  const limit = new AbortController();
  let cancelTimer = () => {};
  const timeout = new Promise<never>((_, reject) => {
    cancelTimer = systemClock.after(timeoutMs, () => {
      const error = new Error(`it took longer than ${timeoutMs} ms`);
      limit.abort(error);
      reject(error);
    });
  });
  try {
    return await Promise.race([
      work(signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal])),
      timeout,
    ]);
  } finally {
    cancelTimer();
  }
}
