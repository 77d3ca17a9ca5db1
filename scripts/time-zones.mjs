/**
 * Compares the slots of schedules with Python's `zoneinfo` in all time zones: around each change of clocks from 2024 to 2030, and on a
 * few ordinary days.
 *
 *     npm run build && npm run time-zones
 *     npm run time-zones -- --only Europe/Berlin
 *
 * Changes of clocks that only one of the two knows are counted apart, because they say that the versions of the time zone database differ.
 * Python needs the system's files or its package `tzdata`: `pip install --target temp/tzdata tzdata`, and then
 * `PYTHONPATH=temp/tzdata PYTHONTZPATH= npm run time-zones`. It exits with 1 if a slot differs.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { createMemoryStore, createSchedules } from "../dist/index.js";
import { createTestClock } from "../dist/testing/index.js";

const aMinute = 60_000;
const aDay = 1_440 * aMinute;
const [first, end] = [Date.UTC(2024, 0), Date.UTC(2031, 0)];
/** With more slots than a window of two days has. */
const patterns = new Map([
  ["30 2 * * *", 5],
  ["0 0 * * *", 5],
  ["15 1 * * 0", 3],
  ["0 0 1 * *", 3],
  ["*/15 * * * *", 204],
  ["0 * * * *", 54],
  ["0 1-3 * * *", 12],
  ["0,45 2 * * 0", 7],
  ["5 */2 * * *", 30],
  ["10 0-23 * * 1-5", 54],
]);

const { values } = parseArgs({ options: { only: { type: "string" } } });
const zones = Intl.supportedValuesOf("timeZone").filter((zone) => values.only === undefined || zone === values.only);
if (zones.length === 0) {
  console.error(`Node knows no time zone ${values.only}.`);
  process.exit(2);
}
const script = fileURLToPath(new URL("./time-zones/check.py", import.meta.url));
const python = spawn("python3", [script], { stdio: ["pipe", "inherit", "inherit"] });
python.on("error", () => {
  console.error("It needs Python 3.9 or newer (python3). Nothing was compared.");
  process.exitCode = 1;
});
python.on("close", (code) => {
  process.exitCode = code ?? 1;
});
// Python has failed, and says why.
python.stdin.on("error", () => {});
await write({ patterns: [...patterns.keys()], first: first / 1_000, end: end / 1_000, version: process.versions.tz });
for (const [index, zone] of zones.entries()) {
  const changes = findChanges(zone);
  const windows = [];
  for (const at of [...changes, ...chooseSample(index, changes)]) windows.push(await findSlotsAround(zone, at));
  await write({ zone, changes: changes.map((at) => at / 1_000), windows });
}
python.stdin.end();

async function write(value) {
  if (python.stdin.write(`${JSON.stringify(value)}\n`) || python.stdin.destroyed) return;
  await new Promise((resolve) => {
    for (const event of ["drain", "close"]) python.stdin.once(event, resolve);
  });
}

/** The times at which the clocks of a zone change, to the minute. */
function findChanges(timeZone) {
  const fields = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric" };
  const format = new Intl.DateTimeFormat("en-US", { timeZone, hourCycle: "h23", ...fields });
  const findOffset = (time) => {
    const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]));
    return Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute) - time;
  };
  const changes = [];
  let offset = findOffset(first);
  for (let day = first; day < end; day += aDay) {
    const nextOffset = findOffset(day + aDay);
    if (offset !== nextOffset) changes.push(findChangeBetween(day, day + aDay, (time) => findOffset(time) !== offset));
    offset = nextOffset;
  }
  return changes;
}

function findChangeBetween(from, to, isAfter) {
  let [before, after] = [from, to];
  while (after - before > aMinute) {
    const middle = before + Math.floor((after - before) / 2 / aMinute) * aMinute;
    if (isAfter(middle)) after = middle;
    else before = middle;
  }
  return after;
}

/** Days on which no clock changes: others in each zone. */
function chooseSample(index, changes) {
  return [2024, 2027, 2030]
    .map((year) => Date.UTC(year, 0, 3 + ((index * 37 + year * 101) % 360)))
    .filter((day) => changes.every((at) => Math.abs(at - day) > 3 * aDay));
}

/** The slots of each pattern from a day before a time to a day after it. All times are in seconds. */
async function findSlotsAround(timezone, at) {
  const schedules = createSchedules({ store: createMemoryStore(), clock: createTestClock(at - aDay) });
  const slots = [];
  for (const [cron, count] of patterns) {
    const next = await schedules.next({ id: "x", cron, timezone, agent: "press", input: "Go." }, { count });
    if (next.length === count && next.at(-1) < at + aDay) throw new Error(`${cron} has more than ${count} slots.`);
    slots.push(next.filter((slot) => slot < at + aDay).map((slot) => slot / 1_000));
  }
  return { at: at / 1_000, slots };
}
