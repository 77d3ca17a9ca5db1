/**
 * When to post input that is sent with a delay.
 */
import { anyValue, numberFrom, type OptionTable } from "../../check-options.js";
import { PawlError } from "../../errors.js";
import { parseTime, tenYearsMs } from "../lib/parse-time.js";

/** When to send input to a session. Default: now. */
export type DelayOptions = {
  /**
   * Post the input at this time, at most ten years from now: epoch milliseconds, a `Date`, or an ISO 8601 string with a UTC offset. A
   * worker of the store posts it. A time in the past means now. Cannot be combined with `signal` or with mode `reject`.
   */
  readonly at?: number | Date | string;
  /** Post the input this many milliseconds from now. Give either this or `at`. */
  readonly afterMs?: number;
};

export const delayRules: OptionTable<DelayOptions> = { at: anyValue, afterMs: numberFrom(0, tenYearsMs) };

/** When to post the input, in epoch milliseconds; null for now. @throws PawlError `bad_input` */
export function parseDelay(
  { at, afterMs, mode, signal }: DelayOptions & { readonly mode?: string | undefined; readonly signal?: unknown },
  now: number,
): number | null {
  if (at === undefined && afterMs === undefined) return null;
  const refuse = (problem: string): never => {
    throw new PawlError("bad_input", `Invalid options of send(): ${problem}.`);
  };
  if (at !== undefined && afterMs !== undefined) refuse("give either `at` or `afterMs`");
  if (mode === "reject")
    refuse('mode "reject" cannot be combined with a delay, because the session may be busy at that time');
  if (signal !== undefined) refuse("`signal` cannot be combined with a delay. Use unsend() to withdraw the message");
  const time = at === undefined ? now + (afterMs ?? 0) : parseTime(at);
  if (time === undefined)
    return refuse("`at` must be epoch milliseconds, a Date, or an ISO 8601 string with a UTC offset");
  if (time > now + tenYearsMs) refuse("`at` must be within ten years");
  return time <= now ? null : Math.ceil(time);
}
