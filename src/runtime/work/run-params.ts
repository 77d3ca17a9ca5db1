/**
 * The params of the run under way, and their check before its first model call.
 */
import { deepFreeze } from "../../core/data/freeze.js";
import { canonicalJson, checkJson } from "../../core/data/json.js";
import type { EventOf } from "../../core/machine/event.js";
import { noParams, type Params, paramsProblem } from "../agent/params.js";
import { type Coroutine, wait } from "../lib/coroutine.js";
import type { EffectContext } from "./effect-context.js";

type Knowing = Pick<EffectContext, "transcript" | "memory">;

/** What tools, hooks and policies get as `context.params`. */
export function paramsOf({ transcript: { run }, memory }: Knowing): Params {
  if (run === null) return noParams;
  return memory.params?.runId === run.runId ? memory.params.value : (run.params ?? run.options.params ?? noParams);
}

/** Whether the params of a run that has not called a model yet are still to be checked in this process. */
export function needsParams(runId: string, { parts, transcript: { run }, memory }: EffectContext): boolean {
  if (parts.params === null || parts.isReplay === true || run === null || run.params !== null) return false;
  return run.preparedSeq === run.startSeq && memory.params?.runId !== runId;
}

/** Checks the params, and keeps what the schema makes of them. Gives why they do not fit; null if they do. */
export function* findParams(runId: string, { parts, transcript, memory }: EffectContext): Coroutine<string | null> {
  const given = transcript.run?.options.params ?? noParams;
  const checked = yield* wait(parts.params?.validate(given) ?? { ok: true as const, value: given });
  if (!checked.ok) return paramsProblem(parts.name, checked.issues);
  const stored = checkJson(checked.value);
  if (!stored.ok || typeof stored.value !== "object" || stored.value === null || Array.isArray(stored.value))
    return paramsProblem(parts.name, [{ path: "", message: "what the schema makes of them is not plain JSON" }]);
  memory.params = { runId, value: deepFreeze(structuredClone(stored.value)) as Params };
  return null;
}

/** What the entry of a model call says of the params: nothing if the log has them already. */
export function namedParams(
  runId: string,
  { transcript: { run }, memory: { params } }: Knowing,
): Pick<EventOf<"prepared">, "params"> {
  if (params === null || params.runId !== runId || run === null || run.params !== null) return {};
  const isUnchanged = canonicalJson(run.options.params ?? noParams) === canonicalJson(params.value);
  return isUnchanged ? {} : { params: params.value };
}
