/**
 * Reference scenarios, crashed everywhere: at every wait, which includes the moments before and after each commit. Wherever
 * a process dies, the end is the one without crashes, but for what its tools cannot know.
 */
import { expect, test } from "vitest";
import { createMemoryStore } from "../../src/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { verifies } from "../verifies.js";
import { scenarios } from "./scenarios/scenarios.js";
import { sweepScenario } from "./scenarios/sweep.js";

const proven = {
  ...verifies("REC-1", "REC-3", "REC-8", "TOOL-5", "TOOL-6", "RTRY-3", "LOOP-8#one-process"),
  timeout: 600_000,
};

test.each(scenarios)("in memory, $name: a crash at every wait", proven, async (scenario) => {
  const { failures, points, plays } = await sweepScenario(scenario, createMemoryStore(), "waits");
  expect(failures).toEqual([]);
  expect(points).toBeGreaterThan(20);
  expect(plays).toBeGreaterThan(6);
});

test.each(scenarios)("in SQLite, $name: a crash around every commit", proven, async (scenario) => {
  const store = await openSqliteStore({ path: ":memory:" });
  try {
    const { failures, points, plays } = await sweepScenario(scenario, store, "commits");
    expect(failures).toEqual([]);
    expect(points).toBeGreaterThan(8);
    expect(plays).toBeGreaterThan(1);
    expect(await store.verify()).toEqual([]);
  } finally {
    await store.close();
  }
});
