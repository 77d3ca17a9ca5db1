import { expect, test } from "vitest";
import { transitionTable } from "../../src/core/index.js";
import { verifies } from "../verifies.js";
import { fuzz } from "./fuzz.js";

/** The same each time, unless asked for otherwise; `npm run fuzz` takes another seed and ten times the events. */
const seed = Number(process.env.PAWL_SEED ?? 1);
const events = Number(process.env.PAWL_EVENTS ?? 40_000);

test(`${events} random events from seed ${seed} break nothing`, { ...verifies("LOOP-3"), timeout: 1_200_000 }, () => {
  const startedAt = performance.now();
  const coverage = fuzz(seed, events);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(
    `${coverage.offered} events in ${coverage.sessions} sessions from seed ${seed}, ${seconds} s: ${coverage.pairs.size} pairs of state and event, ${coverage.edges.size} edges.`,
  );
  if (events < 30_000) return;
  const applicable = Object.entries(transitionTable).flatMap(([status, row]) =>
    Object.entries(row).flatMap(([type, pair]) => (pair === "applies" ? [`${status} ${type}`] : [])),
  );
  expect([...coverage.pairs.keys()].sort()).toEqual(applicable.sort());
});
