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
  type OptionTable,
  oneOf,
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

/** An agent that is played, or a function that makes one for a case: with the date of its session, for example. */
export type EvalAgent = HandoffAgent | ((played: EvalCase) => HandoffAgent | Promise<HandoffAgent>);

/** How far an eval has come. */
export type EvalProgress = {
  /** Trials that are over. */
  readonly done: number;
  /** All trials. */
  readonly total: number;
  /** US dollars that were paid so far. */
  readonly paidUsd: number;
};

/** An eval: which agents play which cases, and who judges. */
export type EvalOptions = {
  /** The name of the eval, in reports. */
  readonly name: string;
  /** The agent, or several by name: with other prompts, models, tools or policies, side by side. */
  readonly agent: EvalAgent | { readonly [variant: string]: EvalAgent };
  /** The cases, or the folder of their files. */
  readonly cases: readonly EvalCase[] | string;
  /** Who scores the trials. */
  readonly judges: readonly (Judge | JudgeFunction)[];
  /**
   * `run` plays the whole agent. `steps` asks the model at each step of the record, and goes on with the recorded answer.
   * Default: `run`.
   */
  readonly play?: "run" | "steps";
  /** How often each case is played. Default: 1. */
  readonly repeat?: number;
  /** What answers the calls of a tool, by its name: the record (the default), the tool itself, or a function. */
  readonly tools?: { readonly [tool: string]: ToolAnswer };
  /** What a call gets that is not in the record. Default: `stop`, which ends the trial. */
  readonly unrecorded?: Unrecorded;
  /** What becomes of a question that nobody answered in the record. Default: `stop`, which ends the trial. */
  readonly unanswered?: Unanswered;
  /** How many trials are played at the same time. Default: 4. */
  readonly concurrency?: number;
  /** US dollars. Once they are paid, no model is asked any more, and the trials that would have to ask are left out. Default: no bound. */
  readonly budgetUsd?: number;
  /** How long a trial may take, in milliseconds. Default: 10 minutes. */
  readonly trialTimeoutMs?: number;
  /** The file of kept answers, or kept answers that are open. Default: answers are kept in memory. */
  readonly answers?: string | KeptAnswers;
  /** The shape of the answers, if the program asks for another one today. Default: the recorded one. */
  readonly output?: InputSchema<unknown>;
  /** Prices of models, for costs and the budget. Default: those of the agent, and then Pawl's list. */
  readonly prices?: PriceTable;
  /** Gets the logs of the trials, for the inspector. A later trial of the same name takes the place of an earlier one. */
  readonly store?: Store;
  /** The report that this one is compared with, or its file. */
  readonly baseline?: Report | string;
  /** Called after each trial; with null after one that the budget left out. */
  readonly onTrial?: (trial: TrialReport | null, progress: EvalProgress) => void;
  /** Stops the eval: `evaluate` then rejects with the reason of the signal. */
  readonly signal?: AbortSignal;
};

const optionRules: OptionTable<EvalOptions> = {
  name: nonEmptyString,
  agent: anyValue,
  cases: anyValue,
  judges: anArray,
  play: oneOf("run", "steps"),
  repeat: integerFrom(1),
  tools: anObject,
  unrecorded: anyValue,
  unanswered: anyValue,
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

/** @throws PawlError `bad_configuration` */
export function checkEvalOptions(what: "defineEval()" | "evaluate()", options: EvalOptions): void {
  checkOptions(what, optionRules, options);
}

/** For a file `*.eval.ts`, whose default export `pawl eval` plays. */
export function defineEval(options: EvalOptions): EvalOptions {
  checkEvalOptions("defineEval()", options);
  return options;
}
