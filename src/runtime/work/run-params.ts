/**
 * The params of the current run, and their validation before its first model call.
 */
import { deepFreeze } from "../../core/data/freeze.js";
import { canonicalJson, checkJson } from "../../core/data/json.js";
import type { EventOf } from "../../core/machine/event.js";
import { isTerminal } from "../../core/machine/state.js";
import { formatParamsProblem, noParams, type RunParams } from "../agent/params.js";
import { type Coroutine, wait } from "../lib/coroutine.js";
import type { EffectContext, RunMemory } from "./effect-context.js";

type RunContext = Pick<EffectContext, "transcript" | "runMemory">;

/** The `context.params` of tools, hooks and policies. */
export function getParams({ transcript: { run }, runMemory }: RunContext): RunParams {
  if (run === null) return noParams;
  return runMemory.params ?? deepFreeze(run.params ?? run.options.params ?? noParams);
}

/** Whether the params have not been validated yet, neither by this process nor by an earlier one. */
export function needsParams({ agent, transcript: { run }, runMemory }: EffectContext): boolean {
  if (agent.params === null || agent.isReplay === true || run === null || run.params !== null) return false;
  return run.preparedSeq === run.startSeq && runMemory.params === null;
}

/** Validates the params, and stores the result in memory. @returns why they do not match; null if they do */
export function* validateParams({ agent, transcript, runMemory }: EffectContext): Coroutine<string | null> {
  const given = transcript.run?.options.params ?? noParams;
  const checked = yield* wait(agent.params?.validate(given) ?? { ok: true as const, value: given });
  if (!checked.ok) return formatParamsProblem(agent.name, checked.issues);
  const stored = checkJson(checked.value);
  if (!stored.ok || typeof stored.value !== "object" || stored.value === null || Array.isArray(stored.value))
    return formatParamsProblem(agent.name, [
      { path: "", message: "the schema turns them into something other than a plain JSON object" },
    ]);
  runMemory.params = deepFreeze(structuredClone(stored.value)) as RunParams;
  return null;
}

/** The params that a `prepared` event has to store: none if the log has them already. */
export function pickChangedParams({
  transcript: { run },
  runMemory: { params },
}: RunContext): Pick<EventOf<"prepared">, "params"> {
  if (params === null || run === null || run.params !== null) return {};
  const isUnchanged = canonicalJson(run.options.params ?? noParams) === canonicalJson(params);
  return isUnchanged ? {} : { params };
}

/**
 * The params that a `compacted` event has to store: those of a run in progress, once they are validated. Otherwise the next process would
 * validate them again, perhaps with a changed schema.
 */
export function pickValidatedParams(context: EffectContext): Pick<EventOf<"compacted">, "params"> {
  const { state, agent, transcript } = context;
  const { run } = transcript;
  if (run === null || isTerminal(state)) return {};
  // After a handoff, the current agent may not have a schema.
  if (run.params !== null) return { params: run.params };
  return agent.params === null || needsParams(context) ? {} : { params: getParams(context) };
}

/** Restores the params of a recorded run, for a replay. */
export function restoreParams({ params }: Pick<EventOf<"prepared">, "params">, runMemory: RunMemory): void {
  if (params !== undefined) runMemory.params = deepFreeze(params);
}
