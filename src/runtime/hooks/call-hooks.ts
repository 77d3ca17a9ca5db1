/**
 * Calls hooks, whatever they do.
 *
 * 1. Hooks are called one after the other. If all of them answer at once, so does this.
 * 2. A hook that throws, takes too long, or returns what it may not return has no effect but what its `onFailure` says.
 * 3. What a hook does after it was given up has no effect.
 */

import { freeze } from "../../core/data/freeze.js";
import type { HookPoint, HookRecord } from "../../core/machine/event.js";
import type { HookContext } from "../../ports/hook.js";
import { depsOf } from "../agent/local-run-options.js";
import { abort, type Cancellation, createCancellation, signalOf } from "../lib/cancellation.js";
import { type Coroutine, type MaybePromise, wait } from "../lib/coroutine.js";
import { textOfError } from "../lib/error-text.js";
import { callInTime, type SettledCall } from "../lib/time-limit.js";
import type { EffectContext } from "../work/effect-context.js";

/** What a hook's answer does to the value that the hooks of a point may change. */
export type HookVerdict<Value> =
  | { readonly type: "changed"; readonly to: Value }
  /** Settles the matter: the hooks after it are not called. */
  | { readonly type: "settled"; readonly to: Value }
  | { readonly type: "refused"; readonly message: string };

export type HookCall<Value> = {
  readonly point: HookPoint;
  /** The value before the first hook. */
  readonly initial: Value;
  /** What a hook sees of the value. */
  readonly subjectOf: (value: Value) => object;
  /** Checks an answer; what it throws refuses the answer. */
  readonly accept: (answer: unknown, value: Value) => HookVerdict<Value>;
};

export type HookCallResult<Value> = {
  readonly value: Value;
  readonly records: readonly HookRecord[];
  /** Why the run may not go on as if there were no hooks: a hook failed whose `onFailure` is "closed". */
  readonly failure?: string;
};

/** Calls the hooks of a point. Without a `cancellation`, only their own time limit ends the wait for them. */
export function* callHooks<Value>(
  call: HookCall<Value>,
  context: EffectContext,
  cancellation?: Cancellation,
): Coroutine<HookCallResult<Value>> {
  const { hooks, clock } = context.parts;
  const { point } = call;
  const records: HookRecord[] = [];
  let value = call.initial;
  let unchanged: object | undefined;
  let spare: OwnContext | undefined;
  for (const hook of hooks[point]) {
    const subject = unchanged ?? freeze(call.subjectOf(value));
    const startedAt = clock.elapsed();
    // With many hooks, a context for each would be most of the cost: if nobody read the signal, the next hook gets the same one.
    const own = spare ?? createContext(context);
    const called = callWithContext(
      (hookContext) => hook.call(subject, hookContext),
      hook.timeoutMs,
      context,
      cancellation,
      own,
    );
    spare = called instanceof Promise || own.cancellation.controller !== undefined ? undefined : own;
    // No `wait` without a promise, for the same reason.
    const settled = called instanceof Promise ? yield* wait(called) : called;
    const { outcome, message, to, isSettled } = judged(settled, value, call);
    const ms = Math.max(0, Math.round((clock.elapsed() - startedAt) * 1_000) / 1_000);
    const { name } = hook;
    records.push(
      message === undefined ? { name, hook: point, ms, outcome } : { name, hook: point, ms, outcome, message },
    );
    if (message !== undefined && hook.isClosed)
      return { value, records, failure: `the hook "${name}" failed at ${point}: ${message.replace(/\.$/, "")}` };
    unchanged = to === value ? subject : undefined;
    value = to;
    if (isSettled) break;
  }
  return { value, records };
}

type HookOutcome<Value> = {
  readonly outcome: HookRecord["outcome"];
  readonly message: string | undefined;
  readonly to: Value;
  readonly isSettled: boolean;
};

function judged<Value>(settled: SettledCall, value: Value, { accept }: HookCall<Value>): HookOutcome<Value> {
  if (settled.type !== "returned")
    return { outcome: settled.type, message: settled.message, to: value, isSettled: false };
  if (settled.value === undefined) return { outcome: "ok", message: undefined, to: value, isSettled: false };
  let verdict: HookVerdict<Value>;
  try {
    verdict = accept(settled.value, value);
  } catch (error) {
    verdict = { type: "refused", message: `What it returned cannot be used: ${textOfError(error, 500)}` };
  }
  if (verdict.type === "refused") return { outcome: "refused", message: verdict.message, to: value, isSettled: false };
  return { outcome: "changed", message: undefined, to: verdict.to, isSettled: verdict.type === "settled" };
}

/** What a hook or a permission check gets beside its subject, and the way to abort its signal. */
type OwnContext = { readonly hookContext: HookContext; readonly cancellation: Cancellation };

/** The signal is made only for code that reads it. */
function createContext({ sessionId, parts, transcript }: EffectContext): OwnContext {
  const runId = transcript.run?.runId ?? "";
  const cancellation = createCancellation();
  const hookContext: HookContext = Object.freeze({
    sessionId,
    runId,
    deps: depsOf(parts, runId),
    get signal() {
      return signalOf(cancellation);
    },
  });
  return { hookContext, cancellation };
}

/** Calls a hook or a permission check, and ends the wait for it when its time is up. */
export function callWithContext(
  call: (hookContext: HookContext) => unknown,
  timeoutMs: number,
  context: EffectContext,
  cancellation: Cancellation | undefined,
  own = createContext(context),
): MaybePromise<SettledCall> {
  const { clock } = context.parts;
  const onGivenUp = () => abort(own.cancellation);
  return callInTime(() => call(own.hookContext), { timeoutMs, clock, cancellation, onGivenUp });
}

/** For hooks that return nothing. */
export function refuseAnyReturn(answer: unknown): HookVerdict<never> {
  return refused(answer, "nothing");
}

export function refused(answer: unknown, allowed: string): HookVerdict<never> {
  const kind = Array.isArray(answer) ? "an array" : answer === null ? "null" : typeof answer;
  const keys = kind === "object" ? Object.keys(answer as object) : [];
  const what = kind === "object" ? `an object with ${keys.slice(0, 10).join(", ") || "no keys"}` : `a value (${kind})`;
  return { type: "refused", message: `It returned ${what.slice(0, 300)}; it may return ${allowed}.` };
}
