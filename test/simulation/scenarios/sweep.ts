/**
 * Plays a reference scenario with every crash of one kind, and counts the outcomes.
 */
import type { Store } from "../../../src/ports/store.js";
import { type Failure, toFailure } from "../../../src/testing/crash/failure.js";
import { type PlayWithDeaths, sweepPairs, sweepSingles } from "../../../src/testing/crash/sweep.js";
import { createTally, sumTallies, type Tally } from "../../../src/testing/crash/tally.js";
import { createSeededRandom } from "../../../src/testing/world/seeded-random.js";
import { isInShare } from "../../support/share.js";
import { findDifference, type PlayEnding, playScenario } from "./play.js";
import type { Scenario } from "./scenarios.js";

export type Swept = Tally & {
  /** The points at which a process can die in the play without crashes. */
  readonly points: number;
  /** The number of plays with crashes. */
  readonly plays: number;
  /** The failed plays, each with its trace. */
  readonly failures: readonly Failure[];
};

/**
 * `waits`: one crash at every wait. `commits`: one crash around every commit. `pairs`: every pair of crashes around
 * commits, or as many as the scenario says. Of single crashes, those in the share of this run (test/support/share.ts).
 */
export type Sweep = "waits" | "commits" | "pairs";

export async function sweepScenario(
  scenario: Scenario,
  store: Store,
  kind: Sweep,
  { mostPairs = Number.POSITIVE_INFINITY }: SweepOptions = {},
): Promise<Swept> {
  const { pairs } = scenario;
  if (kind === "pairs" && pairs !== undefined)
    return await sampleScenario(scenario, store, { deaths: 2, count: Math.min(pairs, mostPairs), seed: 1 });
  const run = await beginRun(scenario, store, kind);
  if (kind === "pairs" && (run.points * (run.points - 1)) / 2 > mostPairs)
    return await sampleScenario(scenario, store, { deaths: 2, count: mostPairs, seed: 1 });
  if (kind === "pairs") await sweepPairs(run.playAt, run.points);
  else await sweepSingles(async ([point = 0]) => (isInShare(point) ? await run.playAt([point]) : run), run.points);
  return run.swept();
}

export type SweepOptions = {
  /** The most pairs that are played. Of more, so many are drawn at random. Default: all are played. */
  readonly mostPairs?: number;
};

export type Sample = { readonly deaths: number; readonly count: number; readonly seed: number };

/** Plays `count` random combinations of `deaths` crashes around commits. */
export async function sampleScenario(
  scenario: Scenario,
  store: Store,
  { deaths, count, seed }: Sample,
): Promise<Swept> {
  const run = await beginRun(scenario, store, `sample ${seed}`);
  const chance = createSeededRandom(seed);
  for (let number = 0; number < count; number += 1) {
    const dies = new Set<number>();
    // Lives after a death add points, so a play has more points than the play without crashes.
    while (dies.size < deaths) dies.add(1 + chance.below(run.points + deaths));
    await run.playAt([...dies].sort((a, b) => a - b));
  }
  return run.swept();
}

type Run = { readonly points: number; readonly playAt: PlayWithDeaths; readonly swept: () => Swept };

/** Plays without a crash first. All other plays are compared with that one. */
async function beginRun(scenario: Scenario, store: Store, name: string): Promise<Run> {
  const failures: Failure[] = [];
  const tallies: Tally[] = [];
  let plays = 0;
  const play = (dies: readonly number[]): Promise<PlayEnding> =>
    playScenario(scenario, {
      store,
      sessionId: [scenario.name, name, plays].join(" "),
      dies,
      points: name === "waits" ? "waits" : "commits",
      // In half of the plays the next process can see that the last one is dead. In the others it waits for the end
      // of the lease.
      sameHost: (dies[0] ?? 0) % 2 === 0,
    });
  const clean = await play([]);
  const playAt = async (dies: readonly number[]): Promise<PlayEnding> => {
    plays += 1;
    try {
      const ending = await play(dies);
      const difference = findDifference(clean, ending);
      if (difference !== undefined)
        failures.push({ invariant: null, message: `${scenario.name}, dies at ${dies.join(" and ")}: ${difference}` });
      tallies.push(createTally(ending.calls.values()));
      return ending;
    } catch (error) {
      failures.push(toFailure(error));
      return clean;
    }
  };
  return {
    points: clean.points,
    playAt,
    swept: () => ({ ...sumTallies(tallies), points: clean.points, plays, failures }),
  };
}
