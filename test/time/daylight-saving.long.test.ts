/**
 * The slots of schedules around each change of clocks from 2024 to 2030, compared with a rule of this test's own.
 *
 * The rule is Vixie cron's. A fixed time of day runs once: at the first of two, or right after the gap that skips it. Steps, ranges and
 * lists run at each matching time that exists.
 */
import { expect, test } from "vitest";
import { createMemoryStore, createSchedules } from "../../src/index.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { verifies } from "../verifies.js";
import { asked } from "./schedule-cases.js";

const aMinute = 60_000;
/** All offsets, changes and patterns here are multiples of it. */
const aQuarter = 15 * aMinute;
const aDay = 86_400_000;

/** Zones whose clocks change by an hour, by half an hour or by two; at midnight; for Ramadan; south of the equator. */
const zones = [
  ...[
    "Africa/Cairo",
    "Africa/Casablanca",
    "America/Asuncion",
    "America/Havana",
    "America/New_York",
    "America/Santiago",
  ],
  ...["America/St_Johns", "Antarctica/Troll", "Asia/Beirut", "Asia/Gaza", "Asia/Jerusalem", "Atlantic/Azores"],
  ...[
    "Australia/Adelaide",
    "Australia/Lord_Howe",
    "Europe/Berlin",
    "Europe/Dublin",
    "Europe/Lisbon",
    "Pacific/Chatham",
  ],
];

type Pattern = {
  readonly cron: string;
  readonly minutes: (minute: number) => boolean;
  readonly hours: (hour: number) => boolean;
  readonly isSunday?: true;
  /** A single time of day. */
  readonly isFixed: boolean;
};

const any = () => true;
const patterns: readonly Pattern[] = [
  { cron: "30 2 * * *", minutes: (minute) => minute === 30, hours: (hour) => hour === 2, isFixed: true },
  { cron: "0 0 * * *", minutes: (minute) => minute === 0, hours: (hour) => hour === 0, isFixed: true },
  { cron: "*/30 * * * *", minutes: (minute) => minute % 30 === 0, hours: any, isFixed: false },
  { cron: "0 1-3 * * *", minutes: (minute) => minute === 0, hours: (hour) => hour >= 1 && hour <= 3, isFixed: false },
  {
    cron: "0,45 2 * * 0",
    minutes: (minute) => minute === 0 || minute === 45,
    hours: (hour) => hour === 2,
    isSunday: true,
    isFixed: false,
  },
];

/** The local time of a zone, as the epoch milliseconds at which UTC shows it. */
function createLocalClock(timeZone: string): (time: number) => number {
  const numeric = "numeric";
  const fields = { year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric } as const;
  const format = new Intl.DateTimeFormat("en-US", { timeZone, hourCycle: "h23", ...fields });
  return (time) => {
    const part = (type: string) => Number(parts.find((one) => one.type === type)?.value);
    const parts = format.formatToParts(time);
    return Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"));
  };
}

function findChanges(local: (time: number) => number): readonly number[] {
  const offset = (time: number) => local(time) - time;
  const changes: number[] = [];
  for (let day = Date.UTC(2024, 0); day < Date.UTC(2031, 0); day += aDay) {
    if (offset(day) === offset(day + aDay)) continue;
    const quarters = Array.from({ length: aDay / aQuarter }, (_, index) => day + (index + 1) * aQuarter);
    changes.push(quarters.find((time) => offset(time) !== offset(day)) ?? day + aDay);
  }
  return changes;
}

function expectedSlots(pattern: Pattern, local: (time: number) => number, change: number): readonly number[] {
  const matches = (time: number) => {
    const date = new Date(time);
    const isDay = pattern.isSunday !== true || date.getUTCDay() === 0;
    return isDay && pattern.minutes(date.getUTCMinutes()) && pattern.hours(date.getUTCHours());
  };
  const times = Array.from({ length: (2 * aDay) / aQuarter - 1 }, (_, index) => change - aDay + (index + 1) * aQuarter);
  const found = times.filter((time) => matches(local(time)));
  if (!pattern.isFixed) return found;
  const days = found.map((time) => Math.floor(local(time) / aDay));
  const first = found.filter((_, index) => days.indexOf(days[index] ?? 0) === index);
  const gapStart = local(change - aMinute) + aMinute;
  for (let skipped = gapStart; skipped < local(change); skipped += aQuarter) if (matches(skipped)) first.push(change);
  return [...new Set(first)].sort((a, b) => a - b);
}

test.each(zones)(
  "slots in %s follow Vixie cron around each change of clocks",
  verifies("TIME-4#schedules"),
  async (timezone) => {
    const local = createLocalClock(timezone);
    const changes = findChanges(local);
    expect(changes.length).toBeGreaterThan(0);
    for (const change of changes) {
      const schedules = createSchedules({ store: createMemoryStore(), clock: createTestClock(change - aDay) });
      for (const pattern of patterns) {
        const next = await schedules.next({ id: "x", cron: pattern.cron, timezone, ...asked }, { count: 110 });
        const slots = next.filter((slot) => slot < change + aDay);
        const where = `${pattern.cron} around ${new Date(change).toISOString()}`;
        expect(slots, where).toEqual(expectedSlots(pattern, local, change));
      }
    }
  },
);
