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
import type { AnyTool, StepContext, StepOptions } from "../../ports/tool.js";
import type { Cancellation } from "../lib/cancellation.js";
import { never } from "../lib/event-loop.js";
import { errorOfStep, StepError } from "../tools/step-error.js";
import { dataIn, forgetChanges, type TakenChanges, takeChanges } from "../work/data-changes.js";
import type { EffectContext, EffectOf } from "../work/effect-context.js";
import { failed, runStepBody, type StepBody } from "./step-body.js";
import { isWithinStep, withinStep } from "./step-nesting.js";
import { createStepOrder } from "./step-order.js";
import { placeOf, signalOfStep } from "./step-place.js";
import { type KeptValue, keepValue, loadValue, mostStepsOfCall } from "./step-values.js";

/** The call whose tool runs. */
export type SteppingCall = {
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
  readonly whileAsking: () => () => void;
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
    return keep(host, key, { tries: 1, timing: momentOf(context), ...failed("step_in_doubt", inDoubtText) });
  host.enter();
  const place = await placeOf(host, isCleanup);
  if (place === "elsewhere") return host.letGo();
  if (place === "ended") return host.leave(() => throwReason(host));
  const { runId, callKey, attempt } = effect;
  if (options.once === true) {
    const said = await host.record(() => [{ type: "tool_step_started", runId, callKey, attempt, step: key }]);
    if (said === "closed") return host.letGo();
    if (said === "stale" || host.hasEnded(isCleanup)) return host.leave(() => throwReason(host));
  }
  const body = await runStepBody((step) => withinStep(host, () => run(step)), {
    idempotencyKey: `${callKey}/${key}`,
    options,
    signal: signalOfStep(host, isCleanup),
    clock: context.parts.clock,
    mayTryAgain: async () => (await placeOf(host, isCleanup)) === "here",
  });
  return keep(host, key, body, true);
}

const inDoubtText =
  "it may run once only, it had begun in a process that died, and nobody knows whether it took effect";

function momentOf({ now }: EffectContext) {
  return { startedAt: now(), durationMs: 0 };
}

function throwReason({ call }: StepHost): never {
  throw call.signal().reason ?? new DOMException("The call has ended.", "AbortError");
}

/** Commits how a step ended, and then lets the tool know. */
async function keep(host: StepHost, key: string, body: StepBody, isEntered = false): Promise<unknown> {
  if (!isEntered) host.enter();
  const { runId, callKey, attempt } = host.call.effect;
  let kept = await keepValue(body, host.bytes(), host.call.context);
  const { tries, timing } = body;
  const said = await host.record(() => {
    // Changes that a step which failed would carry are lost if the call is tried again: they wait for the next entry.
    const taken = kept.recorded.outcome === "ok" ? host.takeChanges() : noChanges;
    if (!taken.ok) kept = { recorded: failed("step_failed", unchangedText(taken.message)), bytes: 0 };
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
        ...dataIn(taken),
      },
    ];
  });
  if (said === "closed") return host.letGo();
  if (said === "recorded") host.count(kept);
  if (host.isLeaving()) return host.letGoWhenQuiet();
  return host.leave(() => outcomeOf(key, kept));
}

const noChanges: TakenChanges = { ok: true };

function unchangedText(why: string): string {
  return `it ran, and what the tool had changed of the session's data could not be kept: ${why}`;
}

function outcomeOf(key: string, { recorded, value }: KeptValue): unknown {
  if (recorded.outcome === "error") throw errorOfStep(key, recorded.fault);
  return value;
}

export function createStepHost(call: SteppingCall) {
  const { effect, record, tool, context, cancellation, signal } = call;
  const { recorder, parts } = context;
  const { callKey, attempt } = effect;
  const done: readonly StepRecord[] = [...(record.steps?.done ?? [])];
  const order = createStepOrder(done, parts.clock, (next, asked) => stuck(next, asked));
  const counts = new Map<string, number>();
  let steps = done.length + (record.steps?.asked.length ?? 0);
  let bytes = done.reduce((sum, one) => sum + bytesOf(one), 0);
  let waiting = 0;
  let underWay = 0;
  let isSideBySide = false;
  let hasRepeated = false;
  let isLetGo = false;
  let ending: StepEnding | undefined;
  let isOver = false;
  let whenQuiet: (() => void) | null = null;
  let whenOver: (() => void) | null = null;

  const isRunning = (state: State): boolean => {
    const present = callOf(state, callKey);
    return present?.status === "running" && present.attempt === attempt;
  };
  const letGo = (): Promise<never> => {
    isLetGo = true;
    order.stop();
    return never();
  };
  const fail = (given: StepEnding & { readonly message: string }): Promise<never> => {
    ending ??= given;
    order.stop();
    call.fail(new Error(given.message));
    return never();
  };
  const stuck = (next: string, asked: readonly string[]) =>
    fail({ type: "error", message: mismatchText(next, asked.map((one) => `"${one}"`).join(", ")) });

  const failUnrecorded = (key: string) =>
    fail({
      type: "error",
      message: `The log has no tool step "${key}" here. A replay runs nothing that is not recorded.`,
    });

  const isElsewhere = () => recorder.isLost(isRunning);
  const isInGrace = () => !isOver && cancellation.isCancelled && recorder.holds(isRunning);
  /** Whether no step may begin any more. One that tidies up may begin after an abort, until the grace is over. */
  const hasEnded = (isCleanup: boolean): boolean =>
    isOver || (cancellation.isCancelled ? !(isCleanup && isInGrace()) : signal().aborted);

  /** A step is no longer under way. */
  function leave<Result>(settle: () => Result): Result {
    underWay -= 1;
    if (underWay === 0) whenQuiet?.();
    return settle();
  }

  return {
    call,
    letGo,
    fail,
    failUnrecorded,
    leave,
    enter(): void {
      underWay += 1;
    },
    isQuiet: () => underWay === 0,
    onQuiet(listener: () => void): void {
      whenQuiet = listener;
    },
    /** What the tool has begun and does not wait for any more is given up when it ends. */
    onOver(listener: () => void): void {
      const before = whenOver;
      whenOver = () => {
        before?.();
        listener();
      };
    },
    isLetGo: () => isLetGo,
    isOver: () => isOver,
    isInGrace,
    isRunning,
    /** Another process goes on with this call, or may. */
    isElsewhere,
    hasEnded,
    bytes: () => bytes,
    count(kept: KeptValue) {
      bytes += kept.bytes;
    },
    /** In a shutdown a durable tool is let go at its next step. */
    isLeaving: () => tool.durable === true && recorder.isLeaving(),
    letGoWhenQuiet() {
      leave(() => {});
      if (underWay === 0) recorder.letGo(effect.key);
      return letGo();
    },
    /** What the tool has changed of the session's data so far, for the next entry of its call. */
    takeChanges: (): TakenChanges =>
      tool.durable === true && context.memory.changes !== null ? takeChanges(context, effect, false) : noChanges,
    record: (events: (state: State) => readonly EventBody[]) =>
      recorder.record((state) => (isRunning(state) ? events(state) : [])),
    /** The key of a step: its name, with a count if the name came before. @throws StepError */
    admit(name: string): string {
      const times = (counts.get(name) ?? 0) + 1;
      const key = times === 1 ? name : `${name}#${times}`;
      if (isWithinStep(this)) throw new StepError("step_nested", key, nestedText(key));
      counts.set(name, times);
      if (waiting > 0) isSideBySide = true;
      if (times > 1) hasRepeated = true;
      if (isSideBySide && hasRepeated) throw new StepError("step_ambiguous", key, ambiguousText(name));
      return key;
    },
    /** Notes that the tool waits for a step, or does other things beside it. */
    async pending<Result>(act: () => Promise<Result>): Promise<Result> {
      waiting += 1;
      try {
        return await act();
      } finally {
        waiting -= 1;
      }
    },
    /** The recorded result of a step, in its turn. Never settles once the tool is let go. */
    async take(key: string): Promise<StepRecord | undefined> {
      if (isLetGo || ending !== undefined) return never();
      const recorded = await order.take(key);
      if (isLetGo || ending !== undefined || isElsewhere()) return letGo();
      if (!isOver && this.isLeaving()) {
        if (underWay === 0) recorder.letGo(effect.key);
        return letGo();
      }
      // What a tool that runs again had changed by then is in the log.
      if (recorded !== undefined && recorded.outcome !== "error" && tool.durable === true)
        forgetChanges(context.memory, callKey);
      return recorded;
    },
    async given(recorded: StepRecord): Promise<unknown> {
      const { step } = recorded;
      if (recorded.outcome === "error") throw errorOfStep(step, recorded.fault);
      if (recorded.outcome === "answered") return stuck(step, [step]);
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
      steps += 1;
      if (steps > mostStepsOfCall) throw new StepError("step_too_large", key, tooManyText);
    },
    end(): StepEnding | undefined {
      isOver = true;
      whenOver?.();
      order.stop();
      if (isLetGo) return { type: "let_go" };
      if (ending !== undefined) return ending;
      const missing = cancellation.isCancelled || signal().aborted ? undefined : order.missing();
      return missing === undefined ? undefined : { type: "error", message: mismatchText(missing, "nothing more") };
    },
  };
}

function bytesOf(recorded: StepRecord): number {
  if (recorded.outcome !== "ok") return 0;
  if (recorded.valueBlob !== undefined) return recorded.valueBlob.bytes;
  return recorded.value === undefined ? 0 : byteLength(JSON.stringify(recorded.value));
}

const tooManyText = `A call may have ${mostStepsOfCall} tool steps and questions. Do the work of several in one step.`;

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
