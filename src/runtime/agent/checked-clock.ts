/**
 * A clock may be anybody's code, and even `Date.now` can be replaced. A time that is no number would make timers fire
 * for ever, so no such reading gets further than here.
 */
import { PawlError } from "../../errors.js";
import type { Clock } from "../../ports/clock.js";

/**
 * The same clock, with its readings checked. If it breaks later, the last sound reading is repeated: a run goes on, for
 * which time stands still, and a warning of the process (`PAWL_CLOCK`) says so once.
 * @throws PawlError `bad_configuration` if a function is missing, or a first reading is no time
 */
export function checkedClock(clock: Clock): Clock {
  for (const name of ["now", "elapsed", "after"] as const)
    if (typeof clock?.[name] !== "function")
      throw misconfigured(
        `The clock has no function ${name}(). Add it, or leave the clock out for that of the system.`,
      );
  return {
    now: soundReading("now", () => clock.now()),
    elapsed: soundReading("elapsed", () => clock.elapsed()),
    after: (ms, callback) => clock.after(ms, callback),
  };
}

function soundReading(name: "now" | "elapsed", read: () => unknown): () => number {
  const first = read();
  if (!isTime(first)) throw misconfigured(faultOf(name, first));
  let last = first;
  let hasWarned = false;
  return () => {
    const reading = read();
    if (isTime(reading)) {
      last = reading;
    } else if (!hasWarned) {
      hasWarned = true;
      process.emitWarning(faultOf(name, reading), { type: "PawlWarning", code: "PAWL_CLOCK" });
    }
    return last;
  };
}

/** Milliseconds. A date cannot be further from 1970. */
const mostMs = 8.64e15;

function isTime(reading: unknown): reading is number {
  return typeof reading === "number" && Math.abs(reading) <= mostMs;
}

function faultOf(name: "now" | "elapsed", reading: unknown): string {
  const shown = typeof reading === "number" ? String(reading) : `a value of type ${typeof reading}`;
  return `The clock's ${name}() gives ${shown}; it must give milliseconds as a number. Mend the clock option, or find what has replaced Date.now or performance.now.`;
}

function misconfigured(message: string): PawlError {
  return new PawlError("bad_configuration", message);
}
