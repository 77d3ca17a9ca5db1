/**
 * Parses the times that callers pass in.
 */
import { isCalendarDay } from "../../platform/calendar.js";

/** How far ahead a time may be: ten years with their leap days, in milliseconds. */
export const tenYearsMs = 3_653 * 86_400_000;

/** The last time that a `Date` can hold. */
const maxDate = 8_640_000_000_000_000;

/**
 * Epoch milliseconds from a number, a `Date` or an ISO 8601 string with a UTC offset; undefined for anything else. A string without an
 * offset would mean another time on each machine.
 */
export function parseTime(given: unknown): number | undefined {
  const isExact =
    typeof given === "string" &&
    /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)$/i.test(given) &&
    isCalendarDay(given.slice(0, 10));
  const time =
    typeof given === "number" ? given : isExact || given instanceof Date ? new Date(given).getTime() : Number.NaN;
  return Number.isFinite(time) && Math.abs(time) <= maxDate ? Math.ceil(time) : undefined;
}
