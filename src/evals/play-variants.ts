/**
 * Plays the trials of an eval, and adds up their costs.
 */
import { createUsageService } from "../context/usage.js";
import { defined } from "../core/data/defined.js";
import { listPrices } from "../models/facts/prices.js";
import { sha256 } from "../platform/hash.js";
import type { Model } from "../ports/model.js";
import type { PriceTable, UsageService } from "../ports/services.js";
import type { Store } from "../ports/store.js";
import type { HandoffAgent } from "../runtime/agent/handoffs.js";
import { exportSessions } from "../stores/transfer/export.js";
import { importSessions } from "../stores/transfer/import.js";
import { createAsk } from "./ask.js";
import type { EvalCase } from "./case.js";
import type { EvalAgent, EvalOptions } from "./eval-options.js";
import { compareWithLabels, type JudgeDeps, judgeTrial } from "./judge-trial.js";
import type { Judge } from "./judges.js";
import { type Budget, createAnswerKeeper, openAnswers } from "./kept-answers.js";
import { playCase } from "./play.js";
import type { Agreement, TrialReport } from "./report.js";
import type { CallCounts } from "./trial.js";

/** An agent, and its name in reports. */
export type Variant = { readonly variant: string; readonly agent: EvalAgent };

type Queued = Variant & { readonly case: EvalCase; readonly repetition: number };

/** Holds the state shared by all trials of an eval: kept answers, the budget, and the totals of the report. */
export function createTrialPlayer(options: EvalOptions, variants: readonly Variant[]) {
  const { play = "run", budgetUsd = Number.POSITIVE_INFINITY, trialTimeoutMs = 600_000, store, signal } = options;
  const answers = typeof options.answers === "object" ? options.answers : openAnswers(options.answers);
  const totals = { paidUsd: 0, asked: 0, kept: 0, unpriced: 0 };
  const ambiguous = findAmbiguousModels(variants);

  const createBudget = (usage: UsageService): Budget => ({
    refusal: () =>
      totals.paidUsd < budgetUsd ? null : `The budget of $${budgetUsd} is spent, so no more models are asked.`,
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

  const toJudgeDeps = (keep: ReturnType<typeof createAnswerKeeper>): JudgeDeps => ({
    createAsk: (ended) => createAsk(keep, ended),
    timeoutMs: trialTimeoutMs,
    ...defined({ signal }),
  });

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
    const keep = createAnswerKeeper({ answers, repetition, counts, budget, modelName });
    const report = await judgeTrial(trial, judges, toJudgeDeps(keep));
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
      const keep = createAnswerKeeper({
        answers,
        repetition: 1,
        counts,
        budget: createBudget(usage),
        modelName: (model: Model) => model.id,
      });
      const agreement = await compareWithLabels(cases, judge, toJudgeDeps(keep));
      count(counts);
      if (agreement.labels + agreement.noVerdict > 0) found[judge.name] = agreement;
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
 * Finds ids that different models of two variants share, for example the same model at two addresses. The answers of such models
 * are kept apart; answers of the same model object are shared.
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

/** The same in each run of the eval, so that a trial's log replaces the log of the previous run. */
function toSessionId(name: string, { case: one, variant, repetition }: Queued): string {
  const joined = `eval.${name}.${variant}.${one.name}.${repetition}`;
  return joined.length <= maxIdCharacters && !/[^\w.-]/.test(joined) ? joined : `eval.${sha256(joined)}`;
}

const maxIdCharacters = 150;

/** Copies the log of a trial, with its child sessions, into a store for the inspector. Replaces the log of a previous run of the trial. */
async function keepLog(from: Store, to: Store): Promise<void> {
  let text = "";
  for await (const line of exportSessions(from)) text += line;
  for (const { sessionId } of await from.list()) await to.delete(sessionId, { now: Date.now(), force: true });
  await importSessions(to, {
    async *read() {
      yield text;
    },
  });
}
