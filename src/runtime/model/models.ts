/**
 * The models of an agent: its own, and the fallbacks that are tried in order when it is given up (RTRY-7). Each has a retry
 * policy and timeouts.
 */
import type { State } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import type { Model, ModelTimeouts } from "../../ports/model.js";
import type { RetryOptions, RetryPolicy } from "../../ports/retry.js";
import { createRetryPolicy } from "./retry.js";

/** A model to fall back on, with a retry policy and timeouts of its own if they differ from the agent's. */
export type Fallback<ModelLike = Model> = {
  readonly model: ModelLike;
  readonly retry?: RetryOptions | RetryPolicy;
  readonly timeouts?: ModelTimeouts;
};

/** A model, and how it is called. */
export type CalledModel = {
  readonly model: Model;
  readonly retry: RetryPolicy;
  readonly timeouts: Required<ModelTimeouts>;
};

/** The agent's own, then its fallbacks. */
export type CalledModels = readonly [CalledModel, ...CalledModel[]];

type ModelOptions<ModelLike> = {
  readonly model: ModelLike;
  readonly fallbacks?: readonly (ModelLike | Fallback<ModelLike>)[];
  readonly retry?: RetryOptions | RetryPolicy;
  readonly timeouts?: ModelTimeouts;
};

const defaultTimeouts: Required<ModelTimeouts> = { firstChunkMs: 120_000, chunkMs: 60_000, totalMs: 600_000 };

/** @throws PawlError `bad_configuration`, `unknown_model` */
export function compileModels<ModelLike>(
  { model, fallbacks = [], retry, timeouts }: ModelOptions<ModelLike>,
  asModel: (model: ModelLike) => Model,
): CalledModels {
  const compile = (own: Fallback<ModelLike>): CalledModel => ({
    model: asModel(own.model),
    retry: compileRetry(own.retry ?? retry),
    timeouts: compileTimeouts({ ...timeouts, ...own.timeouts }),
  });
  return [
    compile({ model }),
    ...fallbacks.map((fallback) => compile(isFallback(fallback) ? fallback : { model: fallback })),
  ];
}

/** The model that a run uses now. If an agent with fewer fallbacks carries a session on, it is the last one. */
export function modelOf(models: CalledModels, state: State): CalledModel {
  const index = state.status === "idle" ? 0 : state.fallback;
  return models[Math.min(index, models.length - 1)] ?? models[0];
}

/** A model can stream; a fallback holds a model instead. */
export function isFallback<ModelLike>(value: ModelLike | Fallback<ModelLike>): value is Fallback<ModelLike> {
  return typeof value === "object" && value !== null && "model" in value && !("stream" in value || "doStream" in value);
}

function compileRetry(retry: RetryOptions | RetryPolicy | undefined): RetryPolicy {
  return retry !== undefined && "decide" in retry ? retry : createRetryPolicy(retry);
}

function compileTimeouts(timeouts: ModelTimeouts): Required<ModelTimeouts> {
  const set = Object.entries(timeouts).filter(([, value]) => value !== undefined);
  for (const [name, value] of set) checkTimeout(name, value);
  return { ...defaultTimeouts, ...Object.fromEntries(set) };
}

function checkTimeout(name: string, value: unknown): void {
  if (!(name in defaultTimeouts))
    throw new PawlError(
      "bad_configuration",
      `There is no timeout ${name}. There are ${Object.keys(defaultTimeouts).join(", ")}.`,
    );
  if (typeof value === "number" && value > 0) return;
  throw new PawlError(
    "bad_configuration",
    `timeouts.${name} is ${String(value)}; give milliseconds above 0, or Infinity for none.`,
  );
}
