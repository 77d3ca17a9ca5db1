/**
 * The tool steps of one attempt of a call. The state of the attempt is a state machine (tool-attempt.ts): events are reported to it, and
 * its actions are performed here.
 *
 * 1. The value that a step returned is committed before the tool continues, and the tool gets a copy of the committed value.
 * 2. A recorded step never runs again: a tool that runs again gets the recorded results in the order of the log.
 * 3. `closed` means that another process continues this call: the tool then gets nothing more here. `stale` means that the call has ended
 *    and will not run again: its code runs to the end, and nothing of it counts.
 */

import { copyJson } from "../../core/data/json.js";
import type { EventBody } from "../../core/machine/event.js";
import { callOf, type State } from "../../core/machine/state.js";
import type { CallRecord } from "../../core/transcript/results.js";
import type { StepRecord } from "../../core/transcript/tool-steps.js";
import { byteLength } from "../../platform/bytes.js";
import { isAbandonable } from "../../ports/abandonable-step.js";
import type { AnyTool, StepContext, StepOptions } from "../../ports/tool.js";
import type { Cancellation } from "../lib/cancellation.js";
import { never } from "../lib/event-loop.js";
import { StepError, toStepError } from "../tools/step-error.js";
import { clearChanges, pickData, type TakeChangesResult, takeChanges } from "../work/data-changes.js";
import type { EffectContext, EffectOf } from "../work/effect-context.js";
import { createStepSignal, findStepAccess } from "./step-access.js";
import { failedStep, runStepBody, type StepBody } from "./step-body.js";
import { createStepNames } from "./step-names.js";
import { runWithinStep } from "./step-nesting.js";
import { createStepOrder } from "./step-order.js";
import { loadValue, maxStepsOfCall, type StoredValue, storeValue } from "./step-values.js";
import {
  advanceAttempt,
  detached,
  type Failure,
  findFailure,
  initialAttempt,
  isDetached,
  mayBeginStep,
  type ToolAttemptAct,
  type ToolAttemptEvent,
} from "./tool-attempt.js";

/** The call whose tool runs. */
export type StepCall = {
  readonly effect: EffectOf<"run_tool">;
  readonly record: CallRecord;
  readonly idempotencyKey: string;
  readonly tool: AnyTool;
  readonly context: EffectContext;
  readonly cancellation: Cancellation;
  /** Aborted together with the call, and when its time limit has passed. */
  readonly signal: () => AbortSignal;
  /** Ends the wait for the tool. */
  readonly fail: (error: unknown) => void;
  /** Pauses the tool's time limit until the returned function is called. */
  readonly pauseTimeLimit: () => () => void;
};

/** How a call ends if the tool does not decide it. */
export type StepEnding = { readonly type: "suspended" } | Failure;

/** Called by the host for waiting questions. */
export type QuestionListener = {
  /** Called when the last step has ended, so that the questions can be asked. */
  readonly tryAsking: () => void;
  readonly commit: () => void;
};

/** The interface of the host that steps use. */
export type StepHost = ReturnType<typeof createStepHost>;

/** Runs a step that is not in the log, and stores its result. Resolves to `detached` if the tool does not continue here. */
export async function runStep(
  host: StepHost,
  key: string,
  run: (context: StepContext) => unknown,
  options: StepOptions,
): Promise<unknown> {
  const { effect, record, context } = host.call;
  const isCleanup = options.cleanup === true;
  if (context.recorder.isReplay === true) return host.failUnrecorded(key);
  host.mayBegin(key, isCleanup);
  if (record.steps?.started.includes(key) === true)
    return commitStep(host, key, {
      tries: 1,
      timing: createInstantTiming(context),
      ...failedStep("step_in_doubt", inDoubtText),
    });
  host.report("step_began");
  const access = await findStepAccess(host, isCleanup);
  if (access === "elsewhere") return host.report("lease_lost");
  if (access === "ended") return throwReason(host);
  const { runId, callKey, attempt } = effect;
  if (options.once === true) {
    const outcome = await host.record(() => [{ type: "tool_step_started", runId, callKey, attempt, step: key }]);
    if (outcome === "closed") return host.report("lease_lost");
    if (outcome === "stale" || host.hasEnded(isCleanup)) return throwReason(host);
  }
  const shutdown = isAbandonable(options) ? watchShutdown(host) : null;
  const signal = createStepSignal(host, isCleanup);
  const body = await runStepBody((step) => runWithinStep(host.call, () => run(step)), {
    idempotencyKey: `${host.call.idempotencyKey}/${key}`,
    options,
    signal: shutdown === null ? signal : AbortSignal.any([signal, shutdown.signal]),
    clock: context.agent.clock,
    mayTryAgain: async () => (await findStepAccess(host, isCleanup)) === "here",
  });
  shutdown?.end();
  if (shutdown?.signal.aborted === true && body.outcome === "error") return host.drain();
  return commitStep(host, key, body, true);
}

/** A signal that is aborted when the process begins to shut down, if the tool can then be suspended. */
function watchShutdown({ call: { context }, isLeaving }: StepHost) {
  const controller = new AbortController();
  const end = context.recorder.onDraining(() => {
    if (isLeaving()) controller.abort(new DOMException("The process is shutting down.", "AbortError"));
  });
  return { signal: controller.signal, end };
}

const inDoubtText =
  "it may run only once, it had begun in a process that died, and it is unknown whether it took effect";

function createInstantTiming({ now }: EffectContext) {
  return { startedAt: now(), durationMs: 0 };
}

/** Ends a step in progress, because the call has ended. */
function throwReason({ call, report }: StepHost): never {
  report("step_ended");
  throw call.signal().reason ?? new DOMException("The call has ended.", "AbortError");
}

/** Commits the outcome of a step, and then lets the tool continue. */
async function commitStep(host: StepHost, key: string, body: StepBody, isEntered = false): Promise<unknown> {
  if (!isEntered) host.report("step_began");
  const { runId, callKey, attempt } = host.call.effect;
  let kept = await storeValue(body, host.bytes(), host.call.context);
  const { tries, timing } = body;
  const outcome = await host.record(() => {
    // A failed step does not carry data changes, because they would be lost if the call is retried. They wait for the next entry.
    const taken = kept.recorded.outcome === "ok" ? host.takeChanges() : noChanges;
    if (!taken.ok) kept = { recorded: failedStep("step_failed", formatUnkeptChanges(taken.message)), bytes: 0 };
    return [
      {
        type: "tool_step_finished",
        runId,
        callKey,
        attempt,
        step: key,
        ...kept.recorded,
        ...(tries > 1 ? { tries } : {}),
        timing,
        ...pickData(taken),
      },
    ];
  });
  if (outcome === "closed") return host.report("lease_lost");
  if (outcome === "recorded") host.count(kept);
  if (host.isLeaving()) return host.drain();
  host.report("step_ended");
  return unwrapValue(key, kept);
}

const noChanges: TakeChangesResult = { ok: true };

function formatUnkeptChanges(why: string): string {
  return `it ran, but the tool's changes of the session's data could not be stored: ${why}`;
}

function unwrapValue(key: string, { recorded, value }: StoredValue): unknown {
  if (recorded.outcome === "error") throw toStepError(key, recorded.fault);
  return value;
}

export function createStepHost(call: StepCall) {
  const { effect, record, tool, context, cancellation, signal } = call;
  const { recorder, agent } = context;
  const { callKey, attempt: number } = effect;
  const done: readonly StepRecord[] = [...(record.steps?.done ?? [])];
  const order = createStepOrder(done, agent.clock, (next, asked) => void failStuck(next, asked));
  const names = createStepNames();
  let attempt = initialAttempt;
  let questions: QuestionListener = { tryAsking() {}, commit() {} };
  let stepCount = done.length + (record.steps?.asked.length ?? 0);
  let totalBytes = done.reduce((sum, one) => sum + measureRecord(one), 0);
  const overListeners: (() => void)[] = [];

  const isRunning = (state: State): boolean => {
    const current = callOf(state, callKey);
    return current?.status === "running" && current.attempt === number;
  };

  const acts: { readonly [Act in ToolAttemptAct]: () => void } = {
    commit_questions: () => questions.commit(),
    try_asking: () => questions.tryAsking(),
    stop_order: () => order.stop(),
    detach: () => recorder.detachJob(effect.key),
    stop_waiting: () => call.fail(new Error(findFailure(attempt)?.message)),
  };

  /** Returns `detached`, for the events after which the tool gets nothing more. */
  function dispatch(event: ToolAttemptEvent): typeof detached {
    const advanced = advanceAttempt(attempt, event);
    attempt = advanced.attempt;
    for (const act of advanced.acts) acts[act]();
    return detached;
  }
  const report = (type: Exclude<ToolAttemptEvent["type"], "failed">): typeof detached => dispatch({ type });

  /** Reports an abort and the end of the time limit, which only signals show. */
  function observe(): void {
    if (cancellation.isCancelled) report("cancelled");
    else if (signal().aborted) report("timeout");
  }

  const fail = (why: Failure): typeof detached => dispatch({ type: "failed", why });
  const failStuck = (next: string, asked: readonly string[]) =>
    fail({ type: "error", message: mismatchText(next, asked.map((one) => `"${one}"`).join(", ")) });

  const isElsewhere = () => recorder.isLost(isRunning);
  const isInGrace = () => attempt.status !== "ended" && cancellation.isCancelled && recorder.isDriving(isRunning);
  /** During a shutdown, a durable tool is suspended at its next step. */
  const isLeaving = () => tool.durable === true && recorder.isDraining();

  /** Whether no further step may begin. A cleanup step may begin after an abort, until the grace period is over. */
  function hasEnded(isCleanup: boolean): boolean {
    observe();
    return !mayBeginStep(attempt, isCleanup, isInGrace());
  }

  return {
    call,
    report,
    fail,
    failUnrecorded: (key: string): typeof detached =>
      fail({
        type: "error",
        message: `The log has no tool step "${key}" here. A replay runs nothing that is not recorded.`,
      }),
    /** Ends a step without a result, because the process is shutting down. */
    drain() {
      report("step_ended");
      return report("drained");
    },
    onQuestions(listener: QuestionListener): void {
      questions = listener;
    },
    /** When a wait with this name ends, if the log has it. */
    askedUntil: (step: string) => record.steps?.asked.findLast((one) => one.step === step)?.expiresAt,
    /** Adds a listener that is called when the tool ends, to give up work that the tool no longer waits for. */
    onOver(listener: () => void): void {
      overListeners.push(listener);
    },
    isSuspended: () => attempt.status === "suspended",
    hasToolEnded: () => attempt.status === "ended",
    isInGrace,
    isRunning,
    /** Whether another process continues this call, or may continue it. */
    isElsewhere,
    hasEnded,
    isLeaving,
    bytes: () => totalBytes,
    count(kept: StoredValue) {
      totalBytes += kept.bytes;
    },
    /** The tool's changes of the session's data so far, for the next entry of its call. */
    takeChanges: (): TakeChangesResult =>
      tool.durable === true && context.memory.changes !== null ? takeChanges(context, effect, false) : noChanges,
    record: (events: (state: State) => readonly EventBody[]) =>
      recorder.record((state) => (isRunning(state) ? events(state) : [])),
    admit: (name: string) => names.admit(name, call),
    /** Records that the tool waits for a step, or does other work in parallel. The result `detached` never reaches the tool. */
    pending: <Result>(key: string, act: () => Promise<Result | typeof detached>): Promise<Result> =>
      names.pending(key, async () => giveToTool(await act())),
    listPending: names.listPending,
    /** The recorded result of a step, returned in its turn. */
    async take(key: string): Promise<StepRecord | undefined | typeof detached> {
      if (isDetached(attempt)) return detached;
      const recorded = await order.take(key);
      if (recorded === detached || isDetached(attempt)) return detached;
      if (isElsewhere()) return report("lease_lost");
      if (attempt.status !== "ended" && isLeaving()) return report("drained");
      // The log already has the changes that a tool that runs again made before this point.
      if (recorded !== undefined && recorded.outcome !== "error" && tool.durable === true)
        clearChanges(context.memory, callKey);
      return recorded;
    },
    async given(recorded: StepRecord): Promise<unknown> {
      const { step } = recorded;
      if (recorded.outcome === "error") throw toStepError(step, recorded.fault);
      if (recorded.outcome === "answered") return failStuck(step, [step]);
      if (recorded.valueBlob === undefined) return recorded.value === undefined ? undefined : copyJson(recorded.value);
      const loaded = await loadValue(recorded.valueBlob, context);
      if (loaded.found) return loaded.value;
      return fail({
        type: "interrupted",
        message: `The result of the tool step "${step}" is missing from the store (blob ${recorded.valueBlob.blob}), so the call cannot continue.`,
      });
    },
    /** Whether a step that is not recorded may begin. @throws the reason of the signal; StepError `step_too_large` */
    mayBegin(key: string, isCleanup: boolean): void {
      if (hasEnded(isCleanup)) throw signal().reason ?? new DOMException("The call has ended.", "AbortError");
      stepCount += 1;
      if (stepCount > maxStepsOfCall) throw new StepError("step_too_large", key, tooManyText);
    },
    end(): StepEnding | undefined {
      const wasStopped = cancellation.isCancelled || signal().aborted;
      report("tool_returned");
      for (const listener of overListeners) listener();
      order.stop();
      if (attempt.status === "suspended") return { type: "suspended" };
      const failure = findFailure(attempt);
      if (failure !== undefined) return failure;
      const missing = wasStopped ? undefined : order.missing();
      return missing === undefined ? undefined : { type: "error", message: mismatchText(missing, "nothing more") };
    },
  };
}

/** The only promise that never settles is the tool's own: its code stops there, and can be garbage-collected. */
export function giveToTool<Result>(result: Result | typeof detached): Result | Promise<never> {
  return result === detached ? never() : (result as Result);
}

function measureRecord(recorded: StepRecord): number {
  if (recorded.outcome !== "ok") return 0;
  if (recorded.valueBlob !== undefined) return recorded.valueBlob.bytes;
  return recorded.value === undefined ? 0 : byteLength(JSON.stringify(recorded.value));
}

const tooManyText = `A call may have ${maxStepsOfCall} tool steps and questions. Do the work of several in one step.`;

/** The result of a call whose tool does not request its steps as recorded in the log. */
export function mismatchText(next: string, asked: string): string {
  return `The tool does not take its steps as the log has them: "${next}" was recorded next, and it asks for ${asked}. Its code has changed since the call began. Nothing was run again.`;
}
