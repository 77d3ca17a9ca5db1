/**
 * The process's clock and random ids.
 */
import type { Clock } from "../../ports/clock.js";

/** Below 2^31 ms: a longer timer would fire at once. */
const maxTimerMs = 2_000_000_000;

/** Real time. Timers of more than 23 days are chained. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(ms, callback) {
    if (ms > maxTimerMs) return afterInSteps(ms, callback);
    const timer = setTimeout(callback, Math.max(0, ms));
    return () => clearTimeout(timer);
  },
};

function afterInSteps(ms: number, callback: () => void): () => void {
  let timer: ReturnType<typeof setTimeout>;
  const wait = (left: number) => {
    const part = Math.min(left, maxTimerMs);
    timer = setTimeout(() => (left > part ? wait(left - part) : callback()), part);
  };
  wait(ms);
  return () => clearTimeout(timer);
}

/** A random id of 130 bits: 26 characters that are safe in names and paths. */
export function makeRandomId(): string {
  const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
  let id = "";
  for (const byte of crypto.getRandomValues(new Uint8Array(26))) id += alphabet[byte & 31];
  return id;
}
