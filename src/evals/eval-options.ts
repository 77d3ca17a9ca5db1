/**
 * The options of an eval.
 */
import {
  aFunction,
  anArray,
  anObject,
  anyValue,
  aSignal,
  aStore,
  checkOptions,
  integerFrom,
  nonEmptyString,
  numberFrom,
  type OptionRule,
  type OptionTable,
  oneOf,
  required,
  timeLimit,
} from "../check-options.js";
import type { PriceTable } from "../ports/services.js";
import type { Store } from "../ports/store.js";
import type { InputSchema } from "../ports/tool.js";
import type { HandoffAgent } from "../runtime/agent/handoffs.js";
import type { EvalCase } from "./case.js";
import type { Judge, JudgeFunction } from "./judges.js";
import type { KeptAnswers } from "./kept-answers.js";
import type { Unanswered } from "./recorded-people.js";
import type { ToolAnswer, Unrecorded } from "./recorded-tools.js";
import type { Report, TrialReport } from "./report.js";

/** An agent under test, or a function that returns one for a case, for example with the date of the recorded session. */
export type EvalAgent = HandoffAgent | ((played: EvalCase) => HandoffAgent | Promise<HandoffAgent>);

/** The progress of an eval. */
export type EvalProgress = {
  /** The number of finished trials. */
  readonly done: number;
  /** The number of all trials. */
  readonly total: number;
  /** US dollars paid so far. */
  readonly paidUsd: number;
};

/** An eval: agents, cases and judges. */
export type EvalOptions = {
  /** The name of the eval, in reports. */
  readonly name: string;
  /** The agent, or several variants by name, to compare prompts, models, tools or policies side by side. */
  readonly agent: EvalAgent | { readonly [variant: string]: EvalAgent };
  /** The cases, or the folder that contains them. */
  readonly cases: readonly EvalCase[] | string;
  /** The judges that score the trials. */
  readonly judges: readonly (Judge | JudgeFunction)[];
  /**
   * `run` plays the whole agent. `steps` asks the model at each recorded step, and continues with the recorded answer.
   * Default: `run`.
   */
  readonly play?: "run" | "steps";
  /** The number of times each case is played. Default: 1. */
  readonly repeat?: number;
  /** The source of a tool's results, by tool name: the record (the default), the tool itself, or a function. */
  readonly tools?: { readonly [tool: string]: ToolAnswer };
  /** How to answer a call that is not in the record. Default: `stop`, which ends the trial. */
  readonly unrecorded?: Unrecorded;
  /** How to answer a question that has no recorded answer. Default: `stop`, which ends the trial. */
  readonly unanswered?: Unanswered;
  /** The number of trials played at the same time. Default: 4. */
  readonly concurrency?: number;
  /** The budget in US dollars. Once it is spent, no model is asked, and trials that need one are omitted. Default: no limit. */
  readonly budgetUsd?: number;
  /** The time limit of a trial, and of each of its judges, in milliseconds. Default: 10 minutes. */
  readonly trialTimeoutMs?: number;
  /** The file of kept answers, or the result of `openAnswers`. Default: answers are kept in memory. */
  readonly answers?: string | KeptAnswers;
  /** The output schema to use instead of the recorded one, if the program has changed its schema. Default: the recorded schema. */
  readonly output?: InputSchema<unknown>;
  /** Model prices, for costs and the budget. Default: those of the agent, then Pawl's list. */
  readonly prices?: PriceTable;
  /** Receives the logs of the trials, for the inspector. The log of a trial replaces that of its previous run. */
  readonly store?: Store;
  /** The report to compare with, or its file. Ignored if its cases were played with another `play`. */
  readonly baseline?: Report | string;
  /** Called after each trial; with null for a trial that was omitted because of the budget. */
  readonly onTrial?: (trial: TrialReport | null, progress: EvalProgress) => void;
  /** Stops the eval: `evaluate` then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
};

const optionRules: OptionTable<EvalOptions> = {
  name: required(nonEmptyString),
  agent: required(anyValue),
  cases: required(anyValue),
  judges: required(anArray),
  play: oneOf("run", "steps"),
  repeat: integerFrom(1),
  tools: {
    accepts: (value) =>
      anObject.accepts(value) && Object.values(value as object).every(oneOfOrFunction("recorded", "real").accepts),
    expected: `an object in which each tool has "recorded", "real" or a function`,
  },
  unrecorded: oneOfOrFunction("stop", "error", "run"),
  unanswered: oneOfOrFunction("stop", "approve", "deny"),
  concurrency: integerFrom(1),
  budgetUsd: numberFrom(0),
  trialTimeoutMs: timeLimit,
  answers: anyValue,
  output: anyValue,
  prices: anObject,
  store: aStore,
  baseline: anyValue,
  onTrial: aFunction,
  signal: aSignal,
};

function oneOfOrFunction(...names: readonly string[]): OptionRule {
  const { accepts, expected } = oneOf(...names);
  return {
    accepts: (value) => typeof value === "function" || accepts(value),
    expected: `${expected}, or a function`,
  };
}

/** @throws PawlError `bad_configuration` */
export function checkEvalOptions(what: "defineEval()" | "evaluate()", options: EvalOptions): void {
  checkOptions(what, optionRules, options);
}

/** Defines the default export of a `*.eval.ts` file, which `pawl eval` plays. */
export function defineEval(options: EvalOptions): EvalOptions {
  checkEvalOptions("defineEval()", options);
  return options;
}
