/**
 * The models of an agent: its own, and those that are tried in order once it was given up (RTRY-7). Each has its policy of
 * retries and its timeouts.
 */
import type { State } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import type { Model, ModelTimeouts } from "../../ports/model.js";
import type { RetryOptions, RetryPolicy } from "../../ports/retry.js";
import { createRetryPolicy } from "./retry.js";

/** A model to fall back on, with a policy and timeouts of its own where they differ from the agent's. */
export type Fallback<ModelLike = Model> = {
  readonly model: ModelLike;
  readonly retry?: RetryOptions | RetryPolicy;
  readonly timeouts?: ModelTimeouts;
};

/** A model as it is called. */
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
  return [compile({ model }), ...fallbacks.map((one) => compile(isFallback(one) ? one : { model: one }))];
}

/** The model that a run has come to. A session may be carried on by an agent that has fewer. */
export function modelOf(models: CalledModels, state: State): CalledModel {
  const index = state.status === "idle" ? 0 : state.fallback;
  return models[Math.min(index, models.length - 1)] ?? models[0];
}

/** A model is known by its way to stream; what has a `model` instead is about one. */
export function isFallback<ModelLike>(value: ModelLike | Fallback<ModelLike>): value is Fallback<ModelLike> {
  return typeof value === "object" && value !== null && "model" in value && !("stream" in value || "doStream" in value);
}

function compileRetry(retry: RetryOptions | RetryPolicy | undefined): RetryPolicy {
  return retry !== undefined && "decide" in retry ? retry : createRetryPolicy(retry);
}

function compileTimeouts(given: ModelTimeouts): Required<ModelTimeouts> {
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
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
