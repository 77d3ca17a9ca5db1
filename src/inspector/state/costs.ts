/**
 * The usage of a session: by run, by model and by step, from the records of its trace.
 *
 * 1. Unreported usage stays unknown. A sum with unknown parts is a lower bound.
 * 2. The usage of a run includes its compactions, tools and child sessions. The usage of a step includes only its model calls.
 */
import { addUsage } from "../../core/data/usage.js";
import type { Usage } from "../../index.js";
import type { TraceRecord } from "../../inspect.js";
import { toStepKey } from "./route.js";

export type RunCost = {
  readonly runId: string;
  /** The beginning of its request. */
  readonly text: string;
  readonly at: number;
  readonly steps: number;
  /** The usage of its model calls so far. */
  readonly modelUsage: Usage;
  /** Its total usage; null while it is in progress. */
  readonly usage: Usage | null;
};

export type StepCost = {
  readonly key: string;
  readonly index: number;
  /** The models that were called, in order. */
  readonly models: readonly string[];
  readonly usage: Usage;
};

export type ModelCost = { readonly model: string; readonly attempts: number; readonly usage: Usage };

export type Costs = {
  readonly runs: readonly RunCost[];
  readonly steps: readonly StepCost[];
  readonly models: readonly ModelCost[];
  /** The model calls of compactions; null if there were none. */
  readonly compactions: { readonly count: number; readonly usage: Usage } | null;
};

export const emptyCosts: Costs = { runs: [], steps: [], models: [], compactions: null };

/** Adds the costs of further records. */
export function addRecords(costs: Costs, records: readonly TraceRecord[]): Costs {
  const runs = new Map(costs.runs.map((run) => [run.runId, run]));
  const models = new Map(costs.models.map((model) => [model.model, model]));
  const steps = [...costs.steps];
  let { compactions } = costs;
  const updateRun = (runId: string, update: (run: RunCost) => RunCost) => {
    const run = runs.get(runId);
    if (run !== undefined) runs.set(runId, update(run));
  };
  for (const record of records) {
    const { runId } = record;
    if (record.type === "run_started")
      runs.set(runId, { runId, text: record.input, at: record.at, steps: 0, modelUsage: {}, usage: null });
    else if (record.type === "run_finished") updateRun(runId, (run) => ({ ...run, usage: record.usage }));
    else if (record.type === "compaction" && record.usage !== undefined) {
      const { usage } = record;
      compactions = { count: (compactions?.count ?? 0) + 1, usage: addUsage(compactions?.usage ?? {}, usage) };
      updateRun(runId, (run) => ({ ...run, modelUsage: addUsage(run.modelUsage, usage) }));
    } else if (record.type === "step" && record.underWay === undefined) {
      const step = toStepCost(record);
      steps.push(step);
      updateRun(runId, (run) => ({ ...run, steps: run.steps + 1, modelUsage: addUsage(run.modelUsage, step.usage) }));
      for (const { model, usage = {} } of record.attempts) {
        const modelCost = models.get(model) ?? { model, attempts: 0, usage: {} };
        models.set(model, { model, attempts: modelCost.attempts + 1, usage: addUsage(modelCost.usage, usage) });
      }
    }
  }
  return { runs: [...runs.values()], steps, models: [...models.values()], compactions };
}

function toStepCost({ runId, modelCallIndex, attempts }: Extract<TraceRecord, { readonly type: "step" }>): StepCost {
  return {
    key: toStepKey(runId, modelCallIndex),
    index: modelCallIndex,
    models: [...new Set(attempts.map(({ model }) => model))],
    usage: attempts.reduce<Usage>((sum, { usage }) => (usage === undefined ? sum : addUsage(sum, usage)), {}),
  };
}

/** The usage of the run in progress so far, as reported by the server. */
type UnderWay = { readonly runId: string; readonly usage: Usage } | null;

/** The usage of all runs. */
export function sumRunUsage({ runs }: Pick<Costs, "runs">, underWay: UnderWay): Usage {
  return runs.reduce<Usage>((sum, run) => addUsage(sum, usageOfRun(run, underWay)), {});
}

export function usageOfRun({ runId, usage, modelUsage }: RunCost, underWay: UnderWay): Usage {
  return usage ?? (underWay?.runId === runId ? underWay.usage : modelUsage);
}

/** The value by which steps are compared: their cost or, if no cost is known, their tokens. */
export function weightOf({ costUsd, inputTokens, outputTokens }: Usage, byCost: boolean): number {
  return byCost ? (costUsd ?? 0) : (inputTokens ?? 0) + (outputTokens ?? 0);
}
