/**
 * Plays a reference scenario with every crash of a kind, and counts what came of it.
 */
import type { Store } from "../../ports/store.js";
import { type Failure, failureOf } from "./failure.js";
import type { Scenario } from "./reference.js";
import { differenceFrom, type Ending, playScenario } from "./reference-play.js";
import { sweepPairs, sweepSingles } from "./sweep.js";
import { sumOf, type Tally, tallyOf } from "./tally.js";

export type Swept = Tally & {
  /** Moments of the play without crashes at which a process can die. */
  readonly points: number;
  /** Plays with crashes. */
  readonly plays: number;
  /** What did not hold, each with its trace. */
  readonly failures: readonly Failure[];
};

/** `waits`: one crash at every wait; `commits`: one around every commit; `pairs`: every two around commits. */
export type Sweep = "waits" | "commits" | "pairs";

export async function sweepScenario(scenario: Scenario, store: Store, kind: Sweep): Promise<Swept> {
  const failures: Failure[] = [];
  const tallies: Tally[] = [];
  const play = (dies: readonly number[]): Promise<Ending> =>
    playScenario(scenario, {
      store,
      sessionId: [scenario.name, kind, ...dies].join(" "),
      dies,
      points: kind === "waits" ? "waits" : "commits",
      // Half of the time the next process sees that the one before it is dead; otherwise its lease has to end.
      sameHost: (dies[0] ?? 0) % 2 === 0,
    });
  const clean = await play([]);
  const playAt = async (dies: readonly number[]): Promise<Ending> => {
    try {
      const ending = await play(dies);
      const difference = differenceFrom(clean, ending);
      if (difference !== undefined)
        failures.push({ invariant: null, message: `${scenario.name}, dies at ${dies.join(" and ")}: ${difference}` });
      tallies.push(tallyOf(ending.calls.values()));
      return ending;
    } catch (error) {
      failures.push(failureOf(error));
      return clean;
    }
  };
  const plays = await (kind === "pairs" ? sweepPairs : sweepSingles)(playAt, clean.points);
  return { ...sumOf(tallies), points: clean.points, plays, failures };
}
