/**
 * Decides whether a change of scores is more than chance. The unit is the case: its repetitions are averaged first.
 *
 * 1. Two tests must agree: a bootstrap interval of the mean difference lies below zero, and an exact sign test finds so many worse
 *    cases unlikely. Either test alone raised false alarms in a tenth of the comparisons of two runs without any change.
 * 2. The more judges are compared, the more unlikely a change must be: one false alarm in twenty comparisons of reports, rather
 *    than of judges.
 */

/** The change of a judge's mean score. */
export type ScoreChange = {
  /** The number of cases in both reports. */
  readonly cases: number;
  /** The mean before. */
  readonly before: number;
  /** The mean now. */
  readonly now: number;
  /** The lower end of the 95 % bootstrap interval of the mean difference. */
  readonly low: number;
  /** The upper end of the interval. */
  readonly high: number;
  /** The number of cases that became better. */
  readonly better: number;
  /** The number of cases that became worse. */
  readonly worse: number;
  /** The probability of so many worse cases if nothing changed: a one-sided exact sign test. */
  readonly p: number;
};

/** A case's mean score in two reports. */
export type ScorePair = { readonly before: number; readonly now: number };

const defaultResamples = 2_000;
/** Smaller differences are rounding errors of floating-point sums. */
const minDifference = 1e-9;
const significance = 0.05;

export function compareScores(pairs: readonly ScorePair[], resamples = defaultResamples): ScoreChange {
  const differences = pairs.map(({ before, now }) => now - before);
  const worse = differences.filter((one) => one < -minDifference).length;
  const better = differences.filter((one) => one > minDifference).length;
  const [low, high] = resampleMean(differences, resamples);
  return {
    cases: pairs.length,
    before: mean(pairs.map((pair) => pair.before)),
    now: mean(pairs.map((pair) => pair.now)),
    low,
    high,
    better,
    worse,
    p: signTest(worse, better),
  };
}

/** The 95 % bootstrap interval of the mean. Deterministic: the same differences give the same interval. */
function resampleMean(differences: readonly number[], resamples: number): readonly [number, number] {
  if (differences.length === 0) return [0, 0];
  const random = createRandom(differences.length);
  const means: number[] = [];
  for (let count = 0; count < resamples; count += 1) {
    let sum = 0;
    for (let draw = 0; draw < differences.length; draw += 1)
      sum += differences[Math.floor(random() * differences.length)] ?? 0;
    means.push(sum / differences.length);
  }
  means.sort((one, other) => one - other);
  const at = (share: number) => means[Math.min(means.length - 1, Math.floor(share * means.length))] ?? 0;
  return [at(0.025), at(0.975)];
}

/** @param judges the number of judges that are compared */
export function isWorse({ high, p }: Pick<ScoreChange, "high" | "p">, judges: number): boolean {
  return high < 0 && p < significance / Math.max(1, judges);
}

/**
 * The smallest number of cases in which a judge can be significantly worse. With fewer cases, even a fault in every case may be
 * chance.
 *
 * @param judges the number of judges that are compared
 */
export function countNeededCases(judges: number): number {
  return Math.floor(Math.log2(Math.max(1, judges) / significance)) + 1;
}

/** The probability of at least `worse` heads in `worse + better` throws of a fair coin. */
export function signTest(worse: number, better: number): number {
  const throws = worse + better;
  if (throws === 0) return 1;
  // Uses logarithms, because a thousandth power of one half underflows.
  let logTerm = -throws * Math.LN2;
  let sum = 0;
  for (let heads = 0; heads <= throws; heads += 1) {
    if (heads >= worse) sum += Math.exp(logTerm);
    logTerm += Math.log(throws - heads) - Math.log(heads + 1);
  }
  return Math.min(1, sum);
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, one) => sum + one, 0) / values.length;
}

/** mulberry32. */
function createRandom(seed: number): () => number {
  let state = (seed + 0x9e3779b9) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
