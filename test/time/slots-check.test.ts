/**
 * The check of the kill test of schedules (scripts/slots.mjs), with what a worker really counts.
 */
import { expect, test } from "vitest";
import { checkSlots } from "../../scripts/slots/check.mjs";
import { createMemoryStore, createSchedules, createWorker } from "../../src/index.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { verifies } from "../verifies.js";
import { asked, noon } from "./schedule-cases.js";

const seconds = 250;

async function countSlots(missed: "all" | "last") {
  const store = createMemoryStore();
  const clock = createTestClock(noon);
  const schedules = createSchedules({ store, clock });
  await schedules.put({ id: "s", everyMs: 1_000, startAt: noon + 1_000, overlap: "allow", missed, ...asked });
  clock.jump(seconds * 1_000);
  await createWorker({ store, agents: [], clock }).runUntilIdle();
  return schedules.slots("s", { limit: 1_000 });
}

function findFailures(rows: Awaited<ReturnType<typeof countSlots>>): readonly string[] {
  const failures: string[] = [];
  const to = noon + seconds * 1_000;
  checkSlots(rows, { id: "steady", from: noon + 1_000, to, gaps: [], fail: (what) => failures.push(what) });
  return failures;
}

test("slots are missed if a hundred newer ones run", verifies("TIME-4#schedules"), async () => {
  const rows = await countSlots("all");
  expect(rows.at(-1)).toMatchObject({ outcome: "missed", count: seconds - 100 });
  expect(findFailures(rows)).toEqual([]);
});

test(
  "slots that were counted as missed although they would have run are found",
  verifies("TIME-4#schedules"),
  async () => {
    const rows = await countSlots("last");
    expect(findFailures(rows)).toEqual([expect.stringContaining("would still have run")]);
  },
);
