/**
 * The report of an eval: what was played, how it was judged, and how it compares with a baseline.
 */
import type { ScoreChange } from "./statistics.js";

/** A judge's score of a trial. */
export type Score = {
  readonly score: number;
  /** Null if the score is only reported. */
  readonly passed: boolean | null;
  /** Why the score is not 1. */
  readonly why?: string;
  /** True if the trial broke a rule. */
  readonly broken?: true;
};

/** A trial in a report. */
export type TrialReport = {
  readonly case: string;
  readonly variant: string;
  readonly repetition: number;
  /** By the name of the judge. Judges that had nothing to say are absent. */
  readonly scores: { readonly [judge: string]: Score };
  /** Whether all scores that count reach what they must. */
  readonly passed: boolean;
  readonly status: string;
  readonly reason?: string;
  /** The beginning of the answer. */
  readonly text: string;
  /** The first call or question that is not in the record, in words. */
  readonly departure?: string;
  readonly steps: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** US dollars that the trial would cost if every answer had to be paid. */
  readonly costUsd?: number;
  /** Model calls that were answered now. */
  readonly asked: number;
  /** Model calls that were answered from kept answers. */
  readonly kept: number;
  readonly durationMs: number;
  /** The session of the trial, if its log was kept. */
  readonly sessionId?: string;
  /** The session that the case was made from. */
  readonly recordedSessionId?: string;
  readonly isSimulated?: true;
};

/** A variant of the agent in a report. */
export type VariantReport = {
  /** The number of trials that passed. */
  readonly passed: number;
  /** The number of trials. */
  readonly trials: number;
  /** Mean scores, by judge. */
  readonly scores: { readonly [judge: string]: number };
  /** US dollars that the trials would cost if every answer had to be paid. */
  readonly costUsd: number;
  /** How the scores differ from the baseline; without one, from the first variant. */
  readonly changes: { readonly [judge: string]: ScoreChange };
  /** The judges by which the variant is worse than that, beyond chance. */
  readonly worse: readonly string[];
  /** The rules that a trial broke. */
  readonly broken: readonly string[];
  /** The cases that pass there and fail here. */
  readonly newlyFailing: readonly string[];
};

/** How often a judge agrees with the labels of people. */
export type Agreement = {
  /** The labelled answers that it judged. */
  readonly labels: number;
  /** How many of them it judges as people do. */
  readonly agreed: number;
  /** Answers that are good and that it judges bad. */
  readonly tooStrict: number;
  /** Answers that are bad and that it judges good. */
  readonly tooKind: number;
};

/** What an eval found. */
export type Report = {
  /** The version of the format. */
  readonly v: 1;
  readonly name: string;
  /** What was played. */
  readonly play: "run" | "steps";
  /** SHA-256 of the cases. */
  readonly cases: string;
  readonly trials: readonly TrialReport[];
  readonly variants: { readonly [variant: string]: VariantReport };
  /** Whether it was compared with a baseline. */
  readonly hasBaseline: boolean;
  /** By judge; only judges that ask a model and cases with labels. */
  readonly agreement: { readonly [judge: string]: Agreement };
  /** US dollars that were paid now. */
  readonly paidUsd: number;
  /** Model calls that were answered now, those of judges included. */
  readonly asked: number;
  /** Model calls that were answered from kept answers. */
  readonly kept: number;
  /** Model calls that were answered now and have no price: the budget does not count them. */
  readonly unpriced: number;
  /** Trials that the budget left out. */
  readonly leftOut: number;
  readonly durationMs: number;
};
