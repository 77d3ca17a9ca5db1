/**
 * Days of the calendar.
 */

/** Whether there is this day, as `2026-11-30`. `Date` would take February 30 for a day in March. */
export function isCalendarDay(day: string): boolean {
  const time = new Date(`${day}T00:00:00Z`).getTime();
  return Number.isFinite(time) && new Date(time).toISOString().slice(0, 10) === day;
}
