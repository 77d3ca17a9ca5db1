/**
 * The report of an eval: the trials, their scores, and the comparison with a baseline.
 */
import type { ScoreChange } from "./statistics.js";

/** A judge's score for a trial. */
export type Score = {
  /** From 0 to 1. */
  readonly score: number;
  /** Whether the score passed; null if it is only reported. */
  readonly passed: boolean | null;
  /** Why the score is not 1. */
  readonly why?: string;
  /** True if the trial broke a rule. */
  readonly broken?: true;
};

/** A trial in a report. */
export type TrialReport = {
  /** The name of the case. */
  readonly case: string;
  /** The name of the variant. */
  readonly variant: string;
  /** The repetition, from 1. */
  readonly repetition: number;
  /**
   * By judge. Judges that returned null are absent. A judge without a verdict has the score 0 if it has a bound, and otherwise no
   * score.
   */
  readonly scores: { readonly [judge: string]: Score };
  /** Why a judge that applies gave no verdict, by judge. Absent if every judge gave one. */
  readonly noVerdict?: { readonly [judge: string]: string };
  /** Whether no judge failed the trial, and it ended within its time limit. */
  readonly passed: boolean;
  readonly status: string;
  readonly reason?: string;
  /** The beginning of the answer. */
  readonly text: string;
  /** A description of the first call or question that is not in the record. */
  readonly departure?: string;
  /** The number of model calls, child sessions included. */
  readonly steps: number;
  /** Input tokens, child sessions included. */
  readonly inputTokens: number;
  /** Output tokens, child sessions included. */
  readonly outputTokens: number;
  /** The cost of the trial in US dollars if every answer had to be paid for. */
  readonly costUsd?: number;
  /** The number of model calls that a model answered now. */
  readonly asked: number;
  /** The number of model calls that were answered from kept answers. */
  readonly kept: number;
  readonly durationMs: number;
  /** The session of the trial, if its log was stored. */
  readonly sessionId?: string;
  /** The session that the case was made from. */
  readonly recordedSessionId?: string;
  /** True if a model simulated results of calls. */
  readonly isSimulated?: true;
};

/** How often a judge gave no verdict, for example because its model did not answer in the requested form. */
export type NoVerdicts = {
  /** The number of trials without a verdict of this judge. */
  readonly trials: number;
  /** The most frequent reason. */
  readonly why: string;
  /** The number of different reasons. */
  readonly reasons: number;
};

/** A variant of the agent in a report. */
export type VariantReport = {
  /** The number of trials that passed. */
  readonly passed: number;
  /** The number of trials. */
  readonly trials: number;
  /** Mean scores, by judge. */
  readonly scores: { readonly [judge: string]: number };
  /** The judges that gave no verdict on at least one trial. */
  readonly noVerdicts: { readonly [judge: string]: NoVerdicts };
  /** The cost of the trials in US dollars if every answer had to be paid for. Absent if a model has no known price. */
  readonly costUsd?: number;
  /** How the scores differ from the baseline's or, without a baseline, from the first variant's. */
  readonly changes: { readonly [judge: string]: ScoreChange };
  /** The judges whose scores are worse, beyond chance, than the scores they are compared with. */
  readonly worse: readonly string[];
  /** The rules broken by at least one trial. */
  readonly broken: readonly string[];
  /** The cases that fail in these trials but passed in the trials they are compared with. */
  readonly newlyFailing: readonly string[];
};

/** How often a judge agrees with people's labels. */
export type Agreement = {
  /** The number of labelled answers that the judge scored. */
  readonly labels: number;
  /** The number of verdicts that agree with the label. */
  readonly agreed: number;
  /** The number of good answers that the judge rejected. */
  readonly tooStrict: number;
  /** The number of bad answers that the judge accepted. */
  readonly tooKind: number;
  /** The number of labelled answers without a verdict. They are not in `labels`. */
  readonly noVerdict: number;
};

/** The report of an eval. */
export type Report = {
  /** The version of the format. */
  readonly v: 1;
  readonly name: string;
  /** How the cases were played. */
  readonly play: "run" | "steps";
  /** The trials, by variant, case and repetition. */
  readonly trials: readonly TrialReport[];
  /** The summary of each variant, by name. */
  readonly variants: { readonly [variant: string]: VariantReport };
  /** Whether the variants were compared with a baseline. */
  readonly hasBaseline: boolean;
  /** By judge: only judges with `isCompared`, and only if there are labelled cases. */
  readonly agreement: { readonly [judge: string]: Agreement };
  /** US dollars paid in this run. */
  readonly paidUsd: number;
  /** The number of model calls that a model answered now, including those of judges. */
  readonly asked: number;
  /** The number of model calls that were answered from kept answers. */
  readonly kept: number;
  /** The number of model calls answered now that have no known price, so that the budget does not count them. */
  readonly unpriced: number;
  /** The number of trials that were omitted because of the budget. */
  readonly leftOut: number;
  readonly durationMs: number;
};
