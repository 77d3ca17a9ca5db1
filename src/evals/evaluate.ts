/**
 * Runs an eval: plays each case with each variant of the agent, as often as wanted, and lets judges score the trials.
 */
import { readFileSync } from "node:fs";
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
import { createUsageService } from "../context/usage.js";
import { defined } from "../core/data/defined.js";
import { parseJson } from "../core/data/json.js";
import { PawlError } from "../errors.js";
import { listPrices } from "../models/facts/prices.js";
import { sha256 } from "../platform/hash.js";
import type { Model } from "../ports/model.js";
import type { PriceTable, UsageService } from "../ports/services.js";
import type { Store } from "../ports/store.js";
import type { InputSchema } from "../ports/tool.js";
import type { HandoffAgent } from "../runtime/agent/handoffs.js";
import { createAsk } from "./ask.js";
import type { EvalCase } from "./case.js";
import { compareWithLabels, judgeTrial } from "./judge-trial.js";
import { type Judge, type JudgeFunction, normalizeJudge } from "./judges.js";
import { keepLog } from "./keep-log.js";
import { type Budget, createAnswerKeeper, type KeptAnswers, openAnswers } from "./kept-answers.js";
import { playCase } from "./play.js";
import { checkCases, readCases } from "./read-cases.js";
import { toKey } from "./read-record.js";
import type { Unanswered } from "./recorded-people.js";
import type { ToolAnswer, Unrecorded } from "./recorded-tools.js";
import type { Agreement, Report, TrialReport } from "./report.js";
import { summarizeVariant } from "./summarize.js";
import type { CallCounts } from "./trial.js";

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

/** For a file `*.eval.ts`, whose default export `pawl eval` plays. */
export function defineEval(options: EvalOptions): EvalOptions {
  checkOptions("defineEval()", optionRules, options);
  return options;
}

/**
 * Plays cases and judges the trials. No tool runs unless `tools` says so, and nothing is written but the kept answers and, with
 * `store`, the logs of the trials.
 *
 * @throws PawlError `bad_configuration` if options do not fit together; `bad_input` for a case, a baseline or a file of answers that
 *   cannot be read
 *
 * @example
 * ```ts
 * import { evaluate, formatReport, inRecord, sameCalls, sameEnd, toExitCode } from "pawl/evals";
 *
 * const report = await evaluate({ name: "desk", agent, cases: "evals/cases", judges: [sameEnd(), inRecord(), sameCalls()] });
 * console.log(formatReport(report));
 * process.exitCode = toExitCode(report);
 * ```
 */
export async function evaluate(options: EvalOptions): Promise<Report> {
  checkOptions("evaluate()", optionRules, options);
  const startedAt = performance.now();
  const { name, play = "run", repeat = 1, concurrency = 4, signal } = options;
  const cases = typeof options.cases === "string" ? readCases(options.cases) : checkCases(options.cases);
  if (cases.length === 0)
    throw new PawlError("bad_configuration", `The eval "${name}" has no cases. Make one with: pawl eval add SESSION.`);
  const judges = options.judges.map(normalizeJudge);
  checkNames(judges.map((judge) => judge.name));
  checkToolNames(options, cases);
  const variants = findVariants(options.agent);
  const baseline = typeof options.baseline === "string" ? readReport(options.baseline) : options.baseline;
  const playing = createPlaying(options, variants);
  const queue = variants.flatMap(({ variant, agent }) =>
    cases.flatMap((one) =>
      Array.from({ length: repeat }, (_, index) => ({ variant, agent, case: one, repetition: index + 1 })),
    ),
  );
  const total = queue.length;
  const trials: TrialReport[] = [];
  let leftOut = 0;

  async function work(): Promise<void> {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      signal?.throwIfAborted();
      const trial = await playing.play(next, judges);
      signal?.throwIfAborted();
      if (trial === null) leftOut += 1;
      else trials.push(trial);
      options.onTrial?.(trial, { done: trials.length + leftOut, total, paidUsd: playing.totals.paidUsd });
    }
  }

  await Promise.all(Array.from({ length: Math.min(concurrency, total) }, work));
  const agreement = await playing.compareJudges(judges, cases);
  const order = new Map(queueOrder(variants, cases));
  trials.sort((one, other) => rank(one, order) - rank(other, order) || one.repetition - other.repetition);
  const reports = variants.map(({ variant }, index) => {
    const own = trials.filter((trial) => trial.variant === variant);
    const first = index === 0 ? [] : trials.filter((trial) => trial.variant === variants[0]?.variant);
    return [variant, summarizeVariant(own, findBaseline(baseline, variant) ?? first)] as const;
  });
  const { paidUsd, asked, kept, unpriced } = playing.totals;
  return {
    v: 1,
    name,
    play,
    cases: sha256(toKey(cases)),
    trials,
    variants: Object.fromEntries(reports),
    hasBaseline: baseline !== undefined,
    agreement,
    paidUsd,
    asked,
    kept,
    unpriced,
    leftOut,
    durationMs: performance.now() - startedAt,
  };
}

type Variant = { readonly variant: string; readonly agent: EvalAgent };

function findVariants(given: EvalOptions["agent"]): readonly Variant[] {
  if (isAgent(given)) return [{ variant: "agent", agent: given }];
  const variants = Object.entries(given as { readonly [variant: string]: EvalAgent });
  const wrong = variants.find(([, agent]) => !isAgent(agent));
  if (variants.length === 0 || wrong !== undefined)
    throw new PawlError(
      "bad_configuration",
      `The option agent${wrong === undefined ? "" : `.${wrong[0]}`} is not an agent. Give an agent made by createAgent(), a function that returns one, or several by name.`,
    );
  return variants.map(([variant, agent]) => ({ variant, agent }));
}

function isAgent(given: unknown): given is EvalAgent {
  if (typeof given === "function") return true;
  return typeof given === "object" && given !== null && "run" in given && "options" in given;
}

function checkNames(names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new PawlError("bad_configuration", `Two judges are named "${twice}". Give one of them another name.`);
}

/** A name that no tool has would be ignored without a word, and the record would answer. */
function checkToolNames({ tools = {}, agent }: EvalOptions, cases: readonly EvalCase[]): void {
  const known = new Set(
    cases.flatMap(({ calls = [], expected }) => [...calls, ...(expected?.calls ?? [])].map(({ tool }) => tool)),
  );
  for (const { agent: one } of findVariants(agent)) {
    if (typeof one === "function") return;
    const { tools: own } = one.options as { readonly tools?: unknown };
    if (Array.isArray(own)) for (const { name } of own as readonly { readonly name: string }[]) known.add(name);
    else for (const name of Object.keys(own ?? {})) known.add(name);
  }
  const unknown = Object.keys(tools).find((tool) => !known.has(tool));
  if (unknown !== undefined)
    throw new PawlError(
      "bad_configuration",
      `The option tools names ${JSON.stringify(unknown)}, but the agent has no such tool, and no case has a call of it. Known tools: ${[...known].sort().join(", ") || "none"}.`,
    );
}

function readReport(path: string): Report {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new PawlError(
      "bad_input",
      `The baseline ${path} cannot be read. Write one with: pawl eval --save baseline.`,
      {
        cause,
      },
    );
  }
  const read = parseJson(text, { maxBytes: maxReportBytes });
  const report = read.ok ? (read.value as unknown as Partial<Report> | null) : null;
  if (report?.v !== 1 || !Array.isArray(report.trials))
    throw new PawlError(
      "bad_input",
      `${path} is not a report of this version. Write it again with: pawl eval --save baseline.`,
    );
  return report as Report;
}

const maxReportBytes = 256 * 1024 * 1024;

/** The trials of the same variant, or of the only one; undefined if there is no baseline. */
function findBaseline(baseline: Report | undefined, variant: string): readonly TrialReport[] | undefined {
  if (baseline === undefined) return undefined;
  const isOnlyOne = new Set(baseline.trials.map((trial) => trial.variant)).size <= 1;
  return baseline.trials.filter((trial) => isOnlyOne || trial.variant === variant);
}

function queueOrder(variants: readonly Variant[], cases: readonly EvalCase[]): readonly (readonly [string, number])[] {
  return variants.flatMap(({ variant }, row) =>
    cases.map((one, index) => [`${variant}/${one.name}`, row * cases.length + index] as const),
  );
}

function rank({ variant, case: name }: TrialReport, order: ReadonlyMap<string, number>): number {
  return order.get(`${variant}/${name}`) ?? 0;
}

type Queued = Variant & { readonly case: EvalCase; readonly repetition: number };

/** What all trials of an eval share: kept answers, the budget, and the sums of the report. */
function createPlaying(options: EvalOptions, variants: readonly Variant[]) {
  const { play = "run", budgetUsd = Number.POSITIVE_INFINITY, trialTimeoutMs = 600_000, store, signal } = options;
  const answers = typeof options.answers === "object" ? options.answers : openAnswers(options.answers);
  const totals = { paidUsd: 0, asked: 0, kept: 0, unpriced: 0 };
  const ambiguous = findAmbiguousModels(variants);

  const createBudget = (usage: UsageService): Budget => ({
    refusal: () =>
      totals.paidUsd < budgetUsd
        ? null
        : `The budget of ${budgetUsd} dollars is spent, so the eval asks no model any more.`,
    pay(model, used) {
      const costUsd = used.costUsd ?? usage.costOf(model, used);
      if (costUsd === undefined) totals.unpriced += 1;
      else totals.paidUsd += costUsd;
    },
  });

  function count({ asked, kept }: CallCounts): void {
    totals.asked += asked;
    totals.kept += kept;
  }

  const toModelName = (variant: string) => (model: Model) =>
    ambiguous.has(model.id) ? `${model.id} of ${variant}` : model.id;

  async function playOne(queued: Queued, judges: readonly Required<Judge>[]): Promise<TrialReport | null> {
    const { variant, case: one, repetition } = queued;
    const agent = typeof queued.agent === "function" ? await queued.agent(one) : queued.agent;
    const usage = createUsage(agent, options.prices);
    const budget = createBudget(usage);
    const modelName = toModelName(variant);
    const trial = await playCase({
      case: one,
      agent,
      variant,
      repetition,
      sessionId: toSessionId(options.name, queued),
      play,
      tools: options.tools ?? {},
      unrecorded: options.unrecorded ?? "stop",
      unanswered: options.unanswered ?? "stop",
      answers,
      budget,
      usage,
      modelName,
      timeoutMs: trialTimeoutMs,
      ...defined({ output: options.output, signal }),
    });
    count(trial.modelCalls);
    if (trial.modelCalls.isRefused) return null;
    const counts: CallCounts = { asked: 0, kept: 0, isRefused: false };
    const ask = createAsk(createAnswerKeeper({ answers, repetition, counts, budget, modelName }));
    const report = await judgeTrial(trial, judges, ask);
    count(counts);
    if (counts.isRefused) return null;
    if (store !== undefined) await keepLog(trial.store, store);
    return {
      ...report,
      asked: trial.modelCalls.asked + counts.asked,
      kept: trial.modelCalls.kept + counts.kept,
      ...(store === undefined ? {} : { sessionId: trial.sessionId }),
    };
  }

  async function compareJudges(
    judges: readonly Required<Judge>[],
    cases: readonly EvalCase[],
  ): Promise<{ readonly [judge: string]: Agreement }> {
    const usage = createUsageService(options.prices ?? listPrices);
    const found: { [judge: string]: Agreement } = {};
    for (const judge of judges) {
      if (!judge.isCompared) continue;
      const counts: CallCounts = { asked: 0, kept: 0, isRefused: false };
      const keeping = {
        answers,
        repetition: 1,
        counts,
        budget: createBudget(usage),
        modelName: (model: Model) => model.id,
      };
      const agreement = await compareWithLabels(cases, judge, createAsk(createAnswerKeeper(keeping)));
      count(counts);
      if (agreement.labels > 0) found[judge.name] = agreement;
    }
    return found;
  }

  return { play: playOne, compareJudges, totals };
}

function createUsage(agent: HandoffAgent, prices: PriceTable | undefined): UsageService {
  const { usage } = agent.options as { readonly usage?: { readonly prices?: PriceTable } | null };
  return createUsageService({ ...listPrices, ...usage?.prices, ...prices });
}

/**
 * The ids of models of which two variants have different ones, for example the same model at two addresses. Their answers are kept
 * apart; those of one model object are shared.
 */
function findAmbiguousModels(variants: readonly Variant[]): ReadonlySet<string> {
  const models = new Map<string, unknown>();
  const ambiguous = new Set<string>();
  for (const { agent } of variants) {
    if (typeof agent === "function") continue;
    const { model } = agent.options as { readonly model?: { readonly id?: unknown; readonly modelId?: unknown } };
    const id = model?.id ?? model?.modelId;
    if (typeof id !== "string") continue;
    if (models.has(id) && models.get(id) !== model) ambiguous.add(id);
    models.set(id, model);
  }
  return ambiguous;
}

/** The same for each run of the eval, so that a log takes the place of the one before. */
function toSessionId(name: string, { case: one, variant, repetition }: Queued): string {
  const joined = `eval.${name}.${variant}.${one.name}.${repetition}`;
  return joined.length <= maxIdCharacters && !/[^\w.-]/.test(joined) ? joined : `eval.${sha256(joined)}`;
}

const maxIdCharacters = 150;
