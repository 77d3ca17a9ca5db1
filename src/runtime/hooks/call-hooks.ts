/**
 * Calls hooks, whatever they do.
 *
 * 1. Hooks are called one after another. If all of them return synchronously, so does this code.
 * 2. A hook that throws, takes too long, or returns an invalid value has no effect except for its `onFailure`.
 * 3. Anything that a hook does after its time limit has no effect.
 */

import { deepFreeze } from "../../core/data/freeze.js";
import type { HookPoint, HookRecord } from "../../core/machine/event.js";
import { pickPrincipal } from "../../core/machine/session-info.js";
import type { HookContext } from "../../ports/hook.js";
import type { CompiledHook } from "../agent/compile-hooks.js";
import { resolveDeps } from "../agent/local-run-options.js";
import { abort, type Cancellation, createCancellation, getSignal } from "../lib/cancellation.js";
import { type Awaitable, type MaybePromise, wait } from "../lib/coroutine.js";
import { formatError } from "../lib/error-text.js";
import { callInTime, type SettledCall } from "../lib/time-limit.js";
import type { CancellableHookContext, EffectContext } from "../work/effect-context.js";
import { getParams } from "../work/run-params.js";

/** The effect of a hook's return value on the value that the hooks of a point can change. */
export type HookVerdict<Value> =
  | { readonly type: "changed"; readonly to: Value }
  /** Decides: the remaining hooks are not called. */
  | { readonly type: "settled"; readonly to: Value }
  /** A valid return value that changes nothing now. */
  | { readonly type: "ignored" }
  | { readonly type: "refused"; readonly message: string };

export type HookCall<Value> = {
  readonly point: HookPoint;
  /** The value before the first hook. */
  readonly initial: Value;
  /** Creates the hook's argument from the value. */
  readonly toSubject: (value: Value) => object;
  /** Checks a return value. If this throws, the return value is refused. */
  readonly accept: (answer: unknown, value: Value) => HookVerdict<Value>;
};

export type HookCallResult<Value> = {
  readonly value: Value;
  readonly records: readonly HookRecord[];
  /** Why the run must not continue as if there were no hooks: a hook with `onFailure: "closed"` failed. */
  readonly failure?: string;
};

/** Calls the hooks of a point. Without a `cancellation`, only the hooks' own time limits end the wait for them. */
export function callHooks<Value>(
  call: HookCall<Value>,
  context: EffectContext,
  cancellation?: Cancellation,
): Awaitable<HookCallResult<Value>> {
  return wait(callHooksFrom(0, { call, context, cancellation, records: [], value: call.initial, subject: undefined }));
}

/** The state that is passed from one hook of a point to the next. */
type HookSequence<Value> = {
  readonly call: HookCall<Value>;
  readonly context: EffectContext;
  readonly cancellation: Cancellation | undefined;
  readonly records: HookRecord[];
  value: Value;
  /** The argument of the hooks; undefined after a change. */
  subject: object | undefined;
};

/** A plain loop while hooks return synchronously: a generator for each point would be most of their cost. */
function callHooksFrom<Value>(first: number, sequence: HookSequence<Value>): MaybePromise<HookCallResult<Value>> {
  const { call, context, cancellation } = sequence;
  const { hooks, clock } = context.agent;
  for (let index = first; ; index += 1) {
    const hook = hooks[call.point][index];
    if (hook === undefined) return { value: sequence.value, records: sequence.records };
    sequence.subject ??= deepFreeze(call.toSubject(sequence.value));
    const { subject } = sequence;
    const startedAt = clock.elapsed();
    const ownContext = takeHookContext(context);
    const called = callWithContext(
      (given) => hook.call(subject, given),
      hook.timeoutMs,
      context,
      cancellation,
      ownContext,
    );
    if (called instanceof Promise)
      return called.then(
        (settled) => applyAnswer(settled, hook, startedAt, sequence) ?? callHooksFrom(index + 1, sequence),
      );
    if (ownContext.cancellation.controller === undefined) context.memory.spareHookContext = ownContext;
    const ended = applyAnswer(called, hook, startedAt, sequence);
    if (ended !== undefined) return ended;
  }
}

/** Records a hook's return value. Returns the result if no further hook of the point is called. */
function applyAnswer<Value>(
  settled: SettledCall,
  { name, isClosed }: CompiledHook,
  startedAt: number,
  sequence: HookSequence<Value>,
): HookCallResult<Value> | undefined {
  const { call, context, records, value } = sequence;
  const { point } = call;
  const { outcome, message, to, isSettled } = judgeAnswer(settled, value, call);
  const ms = Math.max(0, Math.round((context.agent.clock.elapsed() - startedAt) * 1_000) / 1_000);
  records.push(
    message === undefined ? { name, hook: point, ms, outcome } : { name, hook: point, ms, outcome, message },
  );
  if (message !== undefined && isClosed)
    return { value, records, failure: `the hook "${name}" failed at ${point}: ${message.replace(/\.$/, "")}` };
  if (to !== value) sequence.subject = undefined;
  sequence.value = to;
  return isSettled ? { value: to, records } : undefined;
}

type HookOutcome<Value> = {
  readonly outcome: HookRecord["outcome"];
  readonly message: string | undefined;
  readonly to: Value;
  readonly isSettled: boolean;
};

function judgeAnswer<Value>(settled: SettledCall, value: Value, { accept }: HookCall<Value>): HookOutcome<Value> {
  if (settled.type !== "returned")
    return { outcome: settled.type, message: settled.message, to: value, isSettled: false };
  if (settled.value === undefined) return { outcome: "ok", message: undefined, to: value, isSettled: false };
  let verdict: HookVerdict<Value>;
  try {
    verdict = accept(settled.value, value);
  } catch (error) {
    verdict = { type: "refused", message: `What it returned cannot be used: ${formatError(error, 500)}` };
  }
  if (verdict.type === "refused") return { outcome: "refused", message: verdict.message, to: value, isSettled: false };
  if (verdict.type === "ignored") return { outcome: "ok", message: undefined, to: value, isSettled: false };
  return { outcome: "changed", message: undefined, to: verdict.to, isSettled: verdict.type === "settled" };
}

/** Returns the context that the last hook of this run did not keep, or a new one: creating a context costs more than calling a hook. */
function takeHookContext(context: EffectContext): CancellableHookContext {
  const { spareHookContext: spare } = context.memory;
  context.memory.spareHookContext = null;
  return spare?.hookContext.runId === currentRunId(context) ? spare : createHookContext(context);
}

function currentRunId({ transcript }: EffectContext): string {
  return transcript.run?.runId ?? "";
}

/** Creates the signal only if code reads it. */
function createHookContext(context: EffectContext): CancellableHookContext {
  const { sessionId, agent, transcript, state } = context;
  const runId = currentRunId(context);
  const cancellation = createCancellation();
  const hookContext: HookContext = Object.freeze({
    sessionId,
    runId,
    ...pickPrincipal(state),
    deps: resolveDeps(agent, sessionId, runId),
    params: getParams(context),
    get signal() {
      return getSignal(cancellation);
    },
    get data() {
      return transcript.data;
    },
  });
  return { hookContext, cancellation };
}

/** Calls a hook or a permission check, and stops waiting for it when its time limit has passed. */
export function callWithContext(
  call: (hookContext: HookContext) => unknown,
  timeoutMs: number,
  context: EffectContext,
  cancellation: Cancellation | undefined,
  ownContext = createHookContext(context),
): MaybePromise<SettledCall> {
  const { clock } = context.agent;
  const onGivenUp = () =>
    abort(ownContext.cancellation, cancellation?.isCancelled === true ? cancellation.reason : timedOut);
  return callInTime(() => call(ownContext.hookContext), { timeoutMs, clock, cancellation, onGivenUp });
}

const timedOut = () => new DOMException("The hook took too long.", "TimeoutError");

/** For hooks that return nothing. */
export function refuseAnyReturn(answer: unknown): HookVerdict<never> {
  return refuseAnswer(answer, "nothing");
}

export function refuseAnswer(answer: unknown, allowed: string): HookVerdict<never> {
  const kind = Array.isArray(answer) ? "an array" : answer === null ? "null" : typeof answer;
  const keys = kind === "object" ? Object.keys(answer as object) : [];
  const what = kind === "object" ? `an object with ${keys.slice(0, 10).join(", ") || "no keys"}` : `a value (${kind})`;
  return { type: "refused", message: `It returned ${what.slice(0, 300)}; it may return ${allowed}.` };
}
