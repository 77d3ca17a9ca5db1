/**
 * Calendar days and time zones.
 */

/** Whether a date such as `2026-11-30` exists. `Date` alone would read February 30 as a day in March. */
export function isCalendarDay(day: string): boolean {
  const time = new Date(`${day}T00:00:00Z`).getTime();
  return Number.isFinite(time) && new Date(time).toISOString().slice(0, 10) === day;
}

/**
 * Whether this is the name of a time zone. Offsets such as +02:00 are rejected, because not every supported version of Node accepts them.
 */
export function isTimeZone(name: string): boolean {
  try {
    return /^[a-z]/i.test(name) && new Intl.DateTimeFormat("en", { timeZone: name }) !== null;
  } catch {
    return false;
  }
}
