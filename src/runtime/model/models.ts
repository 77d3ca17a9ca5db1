/**
 * The models of an agent: its own model, and the fallbacks that a run tries in order after it gives up on that model (RTRY-7). Each has a
 * retry policy and timeouts.
 */
import { anyValue, checkOptions, checkPlainOptions, type OptionTable, timeLimit } from "../../check-options.js";
import type { State } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import type { Model, ModelTimeouts, RunModel } from "../../ports/model.js";
import type { RetryOptions, RetryPolicy } from "../../ports/retry.js";
import { createRetryPolicy } from "./retry.js";

/** A model to fall back on. It may have its own retry policy and timeouts, if they differ from the agent's. */
export type Fallback<ModelLike = Model> = {
  /** The model. */
  readonly model: ModelLike;
  /** Its retry policy. Default: the agent's. */
  readonly retry?: RetryOptions | RetryPolicy;
  /** How long to wait for it. Default: the agent's. */
  readonly timeouts?: ModelTimeouts;
};

/** A model, and the policies with which it is called. */
export type CalledModel = {
  readonly model: Model;
  readonly retry: RetryPolicy;
  readonly timeouts: Required<ModelTimeouts>;
};

/** The agent's own model, then its fallbacks. */
export type CalledModels = readonly [CalledModel, ...CalledModel[]];

/** The models of an agent, and those that a run or a hook can choose by name. */
export type ModelsOfAgent = { readonly models: CalledModels; readonly named: ReadonlyMap<string, CalledModel> };

type ModelOptions<ModelLike> = {
  readonly model: ModelLike;
  readonly models?: { readonly [name: string]: ModelLike | Fallback<ModelLike> };
  readonly fallbacks?: readonly (ModelLike | Fallback<ModelLike>)[];
  readonly retry?: RetryOptions | RetryPolicy;
  readonly timeouts?: ModelTimeouts;
};

const defaultTimeouts: Required<ModelTimeouts> = { firstChunkMs: 120_000, chunkMs: 60_000, totalMs: 600_000 };

/** @throws PawlError `bad_configuration`, `unknown_model` */
export function compileModels<ModelLike>(
  { model, models = {}, fallbacks = [], retry, timeouts }: ModelOptions<ModelLike>,
  asModel: (model: ModelLike) => Model,
): ModelsOfAgent {
  const compile = (own: Fallback<ModelLike>): CalledModel => ({
    model: asModel(own.model),
    retry: compileRetry(own.retry ?? retry),
    timeouts: compileTimeouts({ ...timeouts, ...own.timeouts }),
  });
  const compileModel = (given: ModelLike | Fallback<ModelLike>): CalledModel =>
    compile(isFallback(given) ? checkFallback(given) : { model: given });
  const named = Object.entries(models).map(([name, given]) => [checkModelName(name), compileModel(given)] as const);
  return { models: [compile({ model }), ...fallbacks.map(compileModel)], named: new Map(named) };
}

function checkModelName(name: string): string {
  if (name !== "" && name.length <= 100) return name;
  throw new PawlError("bad_configuration", "The names in models must be strings of 1 to 100 characters.");
}

const fallbackRules: OptionTable<Fallback<unknown>> = { model: anyValue, retry: anyValue, timeouts: anyValue };

function checkFallback<ModelLike>(fallback: Fallback<ModelLike>): Fallback<ModelLike> {
  checkPlainOptions<Fallback<unknown>>("A fallback", fallbackRules, fallback);
  return fallback;
}

/** The state and the run's options in the log, which determine the model to call. */
type ModelCallState = {
  readonly agent: ModelsOfAgent;
  readonly state: State;
  readonly transcript: { readonly run: { readonly options: { readonly model?: string } } | null };
};

/**
 * The model to call now: the model that was chosen for this call, or else the run's current model. If the agent does not know the chosen
 * name, it is ignored. If an agent with fewer fallbacks continues the session, its last fallback is used.
 */
export function chooseModel({ agent, state, transcript }: ModelCallState): CalledModel {
  const { models, named } = agent;
  const own = state.status === "model_running" && state.model !== undefined ? named.get(state.model) : undefined;
  if (own !== undefined) return own;
  const index = state.status === "idle" ? 0 : state.fallback;
  const chosen = index > 0 ? undefined : transcript.run?.options.model;
  if (chosen !== undefined) return named.get(chosen) ?? models[0];
  return models[Math.min(index, models.length - 1)] ?? models[0];
}

/** Distinguishes a fallback from a model: a model can stream, and a fallback contains a model. */
export function isFallback<ModelLike>(value: ModelLike | Fallback<ModelLike>): value is Fallback<ModelLike> {
  return typeof value === "object" && value !== null && "model" in value && !("stream" in value || "doStream" in value);
}

function compileRetry(retry: RetryOptions | RetryPolicy | undefined): RetryPolicy {
  return retry !== undefined && "decide" in retry ? retry : createRetryPolicy(retry);
}

const timeoutRules: OptionTable<ModelTimeouts> = {
  firstChunkMs: timeLimit,
  chunkMs: timeLimit,
  totalMs: timeLimit,
};

function compileTimeouts(timeouts: ModelTimeouts): Required<ModelTimeouts> {
  checkOptions("timeouts", timeoutRules, timeouts);
  const set = Object.entries(timeouts).filter(([, value]) => value !== undefined);
  return { ...defaultTimeouts, ...Object.fromEntries(set) };
}

/** The model's own stream, or the stream of the agent's `runModel`. */
export function findStream(
  { name, runModel }: { readonly name: string; readonly runModel?: RunModel },
  model: Model,
): Model["stream"] {
  const own: Model["stream"] = (request, signal) => model.stream(request, signal);
  if (runModel === undefined) return own;
  return (request, signal) => runModel({ agent: name, model, request, signal }, () => own(request, signal));
}
