/**
 * A clock may be a user's code, and even `Date.now` can be replaced. A time that is not a number would make timers fire forever, so such
 * readings are rejected here.
 */

import { PawlError } from "../../errors.js";
import { warn } from "../../platform/process.js";
import type { Clock } from "../../ports/clock.js";

/**
 * Wraps a clock and checks its readings. If the clock breaks later, the last valid reading is repeated: time stops for the run, and
 * a process warning (`PAWL_CLOCK`) is emitted once.
 * @throws PawlError `bad_configuration` if a function is missing, or a first reading is not a time
 */
export function createCheckedClock(clock: Clock): Clock {
  for (const name of ["now", "elapsed", "after"] as const)
    if (typeof clock?.[name] !== "function")
      throw new PawlError(
        "bad_configuration",
        `The clock has no function ${name}(). Add it, or omit the clock option to use the system clock.`,
      );
  const last = { now: firstReading("now", clock.now()), elapsed: firstReading("elapsed", clock.elapsed()) };
  const warned = new Set<Name>();
  const reportBroken = (name: Name, reading: unknown): number => {
    if (!warned.has(name)) warn(formatFault(name, reading), "PAWL_CLOCK");
    warned.add(name);
    return last[name];
  };
  // Two functions instead of a shared one: V8 does not inline a call with several targets, and each delta reads the clock.
  return {
    now() {
      const reading = clock.now();
      if (!isTime(reading)) return reportBroken("now", reading);
      last.now = reading;
      return reading;
    },
    elapsed() {
      const reading = clock.elapsed();
      if (!isTime(reading)) return reportBroken("elapsed", reading);
      last.elapsed = reading;
      return reading;
    },
    after: (ms, callback) => clock.after(ms, callback),
  };
}

type Name = "now" | "elapsed";

function firstReading(name: Name, reading: unknown): number {
  if (!isTime(reading)) throw new PawlError("bad_configuration", formatFault(name, reading));
  return reading;
}

/** In milliseconds. A date cannot be further from 1970. */
const maxMs = 8.64e15;

function isTime(reading: unknown): reading is number {
  return typeof reading === "number" && Math.abs(reading) <= maxMs;
}

function formatFault(name: Name, reading: unknown): string {
  const shown = typeof reading === "number" ? String(reading) : `a value of type ${typeof reading}`;
  return `The clock's ${name}() returned ${shown}; it must return milliseconds as a number. Correct the clock option, or find what has replaced Date.now or performance.now.`;
}
