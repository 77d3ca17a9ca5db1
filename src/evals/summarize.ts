/**
 * Summarizes the trials of a variant, and compares them with a baseline.
 */
import { defined } from "../core/data/defined.js";
import type { NoVerdicts, TrialReport, VariantReport } from "./report.js";
import { compareScores, isWorse, mean, type ScoreChange, type ScorePair } from "./statistics.js";

/** @param before the trials to compare with */
export function summarizeVariant(now: readonly TrialReport[], before: readonly TrialReport[]): VariantReport {
  const judges = [...new Set(now.flatMap(({ scores }) => Object.keys(scores)))];
  const changes = compareJudges(judges, now, before);
  const compared = Object.keys(changes).length;
  const [failing, failingBefore] = [findFailing(now), findFailing(before)];
  const known = new Set(before.map((trial) => trial.case));
  return {
    passed: now.filter(({ passed }) => passed).length,
    trials: now.length,
    scores: Object.fromEntries(judges.map((judge) => [judge, mean([...averageByCase(now, judge).values()])])),
    noVerdicts: countNoVerdicts(now),
    ...defined({ costUsd: sumCosts(now) }),
    changes,
    worse: Object.entries(changes).flatMap(([judge, change]) => (isWorse(change, compared) ? [judge] : [])),
    broken: judges.filter((judge) => now.some(({ scores }) => scores[judge]?.broken === true)),
    newlyFailing: [...failing].filter((name) => known.has(name) && !failingBefore.has(name)),
  };
}

function countNoVerdicts(trials: readonly TrialReport[]): { readonly [judge: string]: NoVerdicts } {
  const whys = new Map<string, Map<string, number>>();
  for (const [judge, why] of trials.flatMap(({ noVerdict = {} }) => Object.entries(noVerdict))) {
    const counts = whys.get(judge) ?? new Map<string, number>();
    whys.set(judge, counts.set(why, (counts.get(why) ?? 0) + 1));
  }
  return Object.fromEntries(
    [...whys].map(([judge, counts]) => {
      const [[why] = [""]] = [...counts].sort(([, one], [, other]) => other - one);
      return [
        judge,
        { trials: [...counts.values()].reduce((sum, count) => sum + count, 0), why, reasons: counts.size },
      ];
    }),
  );
}

/** Undefined if any trial has no price: the sum of the others would look like the whole. */
function sumCosts(trials: readonly TrialReport[]): number | undefined {
  const costs = trials.flatMap(({ costUsd }) => (costUsd === undefined ? [] : [costUsd]));
  return costs.length < trials.length ? undefined : costs.reduce((sum, cost) => sum + cost, 0);
}

function compareJudges(
  judges: readonly string[],
  now: readonly TrialReport[],
  before: readonly TrialReport[],
): { readonly [judge: string]: ScoreChange } {
  const changes: { [judge: string]: ScoreChange } = {};
  for (const judge of judges) {
    const earlier = averageByCase(before, judge);
    const pairs: ScorePair[] = [];
    for (const [name, score] of averageByCase(now, judge)) {
      const old = earlier.get(name);
      if (old !== undefined) pairs.push({ before: old, now: score });
    }
    if (pairs.length > 0) changes[judge] = compareScores(pairs);
  }
  return changes;
}

function averageByCase(trials: readonly TrialReport[], judge: string): ReadonlyMap<string, number> {
  const scores = new Map<string, number[]>();
  for (const trial of trials) {
    const score = trial.scores[judge]?.score;
    if (score === undefined) continue;
    const known = scores.get(trial.case);
    if (known === undefined) scores.set(trial.case, [score]);
    else known.push(score);
  }
  return new Map([...scores].map(([name, values]) => [name, mean(values)]));
}

function findFailing(trials: readonly TrialReport[]): ReadonlySet<string> {
  return new Set(trials.filter(({ passed }) => !passed).map((trial) => trial.case));
}
