/**
 * Reference scenarios in which two processes die, around commits: at all pairs in a small scenario, at some in a large one.
 * The end is the one without crashes, but for what its tools cannot know.
 *
 * `npm run crash` plays more of them, in each store: all but those of the two largest scenarios. These have a file of
 * their own, so that two processors share the work.
 */
import { expect, test } from "vitest";
import { createMemoryStore } from "../../src/index.js";
import { isWholeSweep } from "../support/share.js";
import { verifies } from "../verifies.js";
import { scenarios } from "./scenarios/scenarios.js";
import { sweepScenario } from "./scenarios/sweep.js";

/** All pairs of every scenario would take more than ten minutes. */
const mostPairs = isWholeSweep ? 60 : 20;

const proven = {
  ...verifies("REC-1", "REC-3", "REC-8", "TOOL-5", "TOOL-6", "RTRY-3", "LOOP-8#one-process"),
  timeout: 600_000,
};

test.each(scenarios)("$name: pairs of crashes around commits", proven, async (scenario) => {
  const { failures, plays } = await sweepScenario(scenario, createMemoryStore(), "pairs", { mostPairs });
  expect(failures).toEqual([]);
  expect(plays).toBeGreaterThanOrEqual(20);
});
