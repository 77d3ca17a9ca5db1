/**
 * The tool steps of one attempt of a call: which were asked for, which are under way, and whether the tool was let go.
 *
 * 1. What a step gave is committed before the tool goes on, and the tool gets a copy of what was committed.
 * 2. A recorded step is never run again: the order of the log decides what a tool that runs again is given.
 * 3. `closed` means that another process goes on with this call: then nothing here settles any more. `stale` means
 *    that the call is over, and nobody runs it again: then its code comes to its end, and nothing of it counts.
 * 4. A tool is let go only while none of its steps is under way.
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
import { isWithinStep, runWithinStep } from "./step-nesting.js";
import { createStepOrder } from "./step-order.js";
import { loadValue, maxStepsOfCall, type StoredValue, storeValue } from "./step-values.js";

/** The call whose tool runs. */
export type StepCall = {
  readonly effect: EffectOf<"run_tool">;
  readonly record: CallRecord;
  readonly tool: AnyTool;
  readonly context: EffectContext;
  readonly cancellation: Cancellation;
  /** Aborted with the call, and when its time is up. */
  readonly signal: () => AbortSignal;
  /** Ends the wait for the tool. */
  readonly fail: (error: unknown) => void;
  /** Stops the time limit of the tool, until the function that it gives is called. */
  readonly pauseTimeLimit: () => () => void;
};

/** What becomes of a call when its tool has ended, if not what the tool says. */
export type StepEnding =
  | { readonly type: "let_go" }
  | { readonly type: "error" | "interrupted"; readonly message: string };

/** What a step has in hand. */
export type StepHost = ReturnType<typeof createStepHost>;

/** Runs a step that the log does not have, and keeps what it gives. */
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
  host.enter();
  const access = await findStepAccess(host, isCleanup);
  if (access === "elsewhere") return host.suspend();
  if (access === "ended") return host.leave(() => throwReason(host));
  const { runId, callKey, attempt } = effect;
  if (options.once === true) {
    const said = await host.record(() => [{ type: "tool_step_started", runId, callKey, attempt, step: key }]);
    if (said === "closed") return host.suspend();
    if (said === "stale" || host.hasEnded(isCleanup)) return host.leave(() => throwReason(host));
  }
  const shutdown = isAbandonable(options) ? watchShutdown(host) : null;
  const signal = createStepSignal(host, isCleanup);
  const body = await runStepBody((step) => runWithinStep(host, () => run(step)), {
    idempotencyKey: `${callKey}/${key}`,
    options,
    signal: shutdown === null ? signal : AbortSignal.any([signal, shutdown.signal]),
    clock: context.parts.clock,
    mayTryAgain: async () => (await findStepAccess(host, isCleanup)) === "here",
  });
  shutdown?.end();
  if (shutdown?.signal.aborted === true && body.outcome === "error") return host.letGoWhenQuiet();
  return commitStep(host, key, body, true);
}

/** Aborted when the process begins to shut down, if the tool can then be let go. */
function watchShutdown({ call: { context }, isLeaving }: StepHost) {
  const controller = new AbortController();
  const end = context.recorder.onDraining(() => {
    if (isLeaving()) controller.abort(new DOMException("The process shuts down.", "AbortError"));
  });
  return { signal: controller.signal, end };
}

const inDoubtText =
  "it may run once only, it had begun in a process that died, and nobody knows whether it took effect";

function createInstantTiming({ now }: EffectContext) {
  return { startedAt: now(), durationMs: 0 };
}

function throwReason({ call }: StepHost): never {
  throw call.signal().reason ?? new DOMException("The call has ended.", "AbortError");
}

/** Commits how a step ended, and then lets the tool know. */
async function commitStep(host: StepHost, key: string, body: StepBody, isEntered = false): Promise<unknown> {
  if (!isEntered) host.enter();
  const { runId, callKey, attempt } = host.call.effect;
  let kept = await storeValue(body, host.bytes(), host.call.context);
  const { tries, timing } = body;
  const said = await host.record(() => {
    // Changes that a step which failed would carry are lost if the call is tried again: they wait for the next entry.
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
  if (said === "closed") return host.suspend();
  if (said === "recorded") host.count(kept);
  if (host.isLeaving()) return host.letGoWhenQuiet();
  return host.leave(() => unwrapValue(key, kept));
}

const noChanges: TakeChangesResult = { ok: true };

function formatUnkeptChanges(why: string): string {
  return `it ran, and what the tool had changed of the session's data could not be kept: ${why}`;
}

function unwrapValue(key: string, { recorded, value }: StoredValue): unknown {
  if (recorded.outcome === "error") throw toStepError(key, recorded.fault);
  return value;
}

export function createStepHost(call: StepCall) {
  const { effect, record, tool, context, cancellation, signal } = call;
  const { recorder, parts } = context;
  const { callKey, attempt } = effect;
  const done: readonly StepRecord[] = [...(record.steps?.done ?? [])];
  const order = createStepOrder(done, parts.clock, (next, asked) => failStuck(next, asked));
  const nameCounts = new Map<string, number>();
  let stepCount = done.length + (record.steps?.asked.length ?? 0);
  let totalBytes = done.reduce((sum, one) => sum + measureRecord(one), 0);
  let waitingSteps = 0;
  let activeSteps = 0;
  let isSideBySide = false;
  let hasRepeated = false;
  let isSuspended = false;
  let ending: StepEnding | undefined;
  let isOver = false;
  let onQuietListener: (() => void) | null = null;
  let onOverListener: (() => void) | null = null;

  const isRunning = (state: State): boolean => {
    const present = callOf(state, callKey);
    return present?.status === "running" && present.attempt === attempt;
  };
  const suspend = (): Promise<never> => {
    isSuspended = true;
    order.stop();
    return never();
  };
  const fail = (given: StepEnding & { readonly message: string }): Promise<never> => {
    ending ??= given;
    order.stop();
    call.fail(new Error(given.message));
    return never();
  };
  const failStuck = (next: string, asked: readonly string[]) =>
    fail({ type: "error", message: mismatchText(next, asked.map((one) => `"${one}"`).join(", ")) });

  const failUnrecorded = (key: string) =>
    fail({
      type: "error",
      message: `The log has no tool step "${key}" here. A replay runs nothing that is not recorded.`,
    });

  const isElsewhere = () => recorder.isLost(isRunning);
  const isInGrace = () => !isOver && cancellation.isCancelled && recorder.isDriving(isRunning);
  /** Whether no step may begin any more. One that tidies up may begin after an abort, until the grace is over. */
  const hasEnded = (isCleanup: boolean): boolean =>
    isOver || (cancellation.isCancelled ? !(isCleanup && isInGrace()) : signal().aborted);

  /** A step is no longer under way. */
  function leave<Result>(settle: () => Result): Result {
    activeSteps -= 1;
    if (activeSteps === 0) onQuietListener?.();
    return settle();
  }

  return {
    call,
    suspend,
    fail,
    failUnrecorded,
    leave,
    enter(): void {
      activeSteps += 1;
    },
    /** When a wait of this name ends, if the log has it. */
    askedUntil: (step: string) => record.steps?.asked.findLast((one) => one.step === step)?.expiresAt,
    isQuiet: () => activeSteps === 0,
    onQuiet(listener: () => void): void {
      onQuietListener = listener;
    },
    /** What the tool has begun and does not wait for any more is given up when it ends. */
    onOver(listener: () => void): void {
      const before = onOverListener;
      onOverListener = () => {
        before?.();
        listener();
      };
    },
    isLetGo: () => isSuspended,
    isOver: () => isOver,
    isInGrace,
    isRunning,
    /** Another process goes on with this call, or may. */
    isElsewhere,
    hasEnded,
    bytes: () => totalBytes,
    count(kept: StoredValue) {
      totalBytes += kept.bytes;
    },
    /** In a shutdown a durable tool is let go at its next step. */
    isLeaving: () => tool.durable === true && recorder.isDraining(),
    letGoWhenQuiet() {
      leave(() => {});
      if (activeSteps === 0) recorder.detachJob(effect.key);
      return suspend();
    },
    /** What the tool has changed of the session's data so far, for the next entry of its call. */
    takeChanges: (): TakeChangesResult =>
      tool.durable === true && context.memory.changes !== null ? takeChanges(context, effect, false) : noChanges,
    record: (events: (state: State) => readonly EventBody[]) =>
      recorder.record((state) => (isRunning(state) ? events(state) : [])),
    /** The key of a step: its name, with a count if the name came before. @throws StepError */
    admit(name: string): string {
      const times = (nameCounts.get(name) ?? 0) + 1;
      const key = times === 1 ? name : `${name}#${times}`;
      if (isWithinStep(this)) throw new StepError("step_nested", key, nestedText(key));
      nameCounts.set(name, times);
      if (waitingSteps > 0) isSideBySide = true;
      if (times > 1) hasRepeated = true;
      if (isSideBySide && hasRepeated) throw new StepError("step_ambiguous", key, ambiguousText(name));
      return key;
    },
    /** Notes that the tool waits for a step, or does other things beside it. */
    async pending<Result>(act: () => Promise<Result>): Promise<Result> {
      waitingSteps += 1;
      try {
        return await act();
      } finally {
        waitingSteps -= 1;
      }
    },
    /** The recorded result of a step, in its turn. Never settles once the tool is let go. */
    async take(key: string): Promise<StepRecord | undefined> {
      if (isSuspended || ending !== undefined) return never();
      const recorded = await order.take(key);
      if (isSuspended || ending !== undefined || isElsewhere()) return suspend();
      if (!isOver && this.isLeaving()) {
        if (activeSteps === 0) recorder.detachJob(effect.key);
        return suspend();
      }
      // What a tool that runs again had changed by then is in the log.
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
        message: `The result of the tool step "${step}" is gone from the store (blob ${recorded.valueBlob.blob}), so the call cannot go on.`,
      });
    },
    /** Whether a step that is not recorded may begin. @throws the reason of the signal; StepError `step_too_large` */
    mayBegin(key: string, isCleanup: boolean): void {
      if (isOver) throw new DOMException("The call has ended.", "AbortError");
      if (hasEnded(isCleanup)) throw signal().reason;
      stepCount += 1;
      if (stepCount > maxStepsOfCall) throw new StepError("step_too_large", key, tooManyText);
    },
    end(): StepEnding | undefined {
      isOver = true;
      onOverListener?.();
      order.stop();
      if (isSuspended) return { type: "let_go" };
      if (ending !== undefined) return ending;
      const missing = cancellation.isCancelled || signal().aborted ? undefined : order.missing();
      return missing === undefined ? undefined : { type: "error", message: mismatchText(missing, "nothing more") };
    },
  };
}

function measureRecord(recorded: StepRecord): number {
  if (recorded.outcome !== "ok") return 0;
  if (recorded.valueBlob !== undefined) return recorded.valueBlob.bytes;
  return recorded.value === undefined ? 0 : byteLength(JSON.stringify(recorded.value));
}

const tooManyText = `A call may have ${maxStepsOfCall} tool steps and questions. Do the work of several in one step.`;

function nestedText(key: string): string {
  return `The tool step "${key}" was begun within another step. Begin it after that one, or do its work there.`;
}

function ambiguousText(name: string): string {
  return `The name "${name}" of a tool step comes twice in a call that has had two steps side by side, so nobody could tell which result belongs to which. Give each step a name of its own, such as "${name} 17".`;
}

/** The result of a call whose tool does not take its steps as the log has them. */
export function mismatchText(next: string, asked: string): string {
  return `The tool does not take its steps as the log has them: "${next}" was recorded next, and it asks for ${asked}. Its code has changed since the call began. Nothing was run again.`;
}
