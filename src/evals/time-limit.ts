/**
 * Ends of waits for judges and agents, whatever those do.
 */
import { systemClock } from "../runtime/lib/clock.js";

/**
 * Runs work with a time limit. Its signal is aborted at the limit, and when `signal` is.
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
  const late = new Promise<never>((_, reject) => {
    cancelTimer = systemClock.after(timeoutMs, () => {
      const error = new Error(`it took longer than ${timeoutMs} ms`);
      limit.abort(error);
      reject(error);
    });
  });
  try {
    return await Promise.race([
      work(signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal])),
      late,
    ]);
  } finally {
    cancelTimer();
  }
}

/** The promise, which rejects with the signal's reason as soon as the signal is aborted. */
export async function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return promise;
  let stopListening = () => {};
  const aborted = new Promise<never>((_, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    stopListening = () => signal.removeEventListener("abort", onAbort);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    stopListening();
  }
}
