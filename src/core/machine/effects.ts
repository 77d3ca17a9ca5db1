/**
 * The effects that a state wants in flight. The same function is used for the first start and for every recovery.
 *
 * 1. Keys are unique within a state, and stable while the same work is wanted.
 * 2. An effect that has settled is never wanted again under the same key.
 * 3. The state of an active run that does not wait for an answer has at least one effect.
 */

import { createParentReportEffects } from "./child-reports.js";
import type { Effect } from "./effect.js";
import { computeDeadline } from "./reached-limits.js";
import { isCompacting } from "./requested-compaction.js";
import {
  type ActiveState,
  type AwaitingHuman,
  type Call,
  hasCalls,
  isTerminal,
  type OpenQuestion,
  openQuestionsOf,
  type State,
  type TerminalState,
  type ToolRunning,
} from "./state.js";
import { isClockHeld } from "./steps.js";

/**
 * The effects that should be in flight in this state.
 *
 * @example
 * ```ts
 * import { effects } from "pawl/core";
 *
 * for (const effect of effects(await session.state())) {
 *   if (effect.type === "call_model") console.log(`model call ${effect.modelCallIndex}, attempt ${effect.attempt}`);
 *   if (effect.type === "run_tool") console.log(`tool call ${effect.callKey}`);
 *   if (effect.type === "sleep") console.log(`waits until ${new Date(effect.until).toISOString()}`);
 * }
 * ```
 */
export function effects(state: State): readonly Effect[] {
  if (state.status === "idle") return none;
  if (isTerminal(state)) return collectEndEffects(state);
  const wanted = state.stopping === null ? collectRunEffects(state) : collectStoppingEffects(state);
  return state.parentUntold === undefined ? wanted : [...wanted, ...createParentReportEffects(state)];
}

function collectRunEffects(state: ActiveState): readonly Effect[] {
  switch (state.status) {
    case "preparing":
    case "model_running":
      return withDeadline(state, [createStepEffect(state)]);
    case "tool_running":
    case "awaiting_human": {
      const wanted = collectCallEffects(state);
      return isClockHeld(state) ? wanted : withDeadline(state, wanted);
    }
  }
}

/** When the session needs a driver even without a new message, in epoch milliseconds. 0: at once; null: never. */
export function dueAt(state: State): number | null {
  return findDueTime(effects(state));
}

/** The same, for effects that are already computed. */
export function findDueTime(wanted: readonly Effect[]): number | null {
  let due: number | null = null;
  for (const effect of wanted) {
    const at = effect.type === "sleep" ? effect.until : 0;
    if (due === null || at < due) due = at;
  }
  return due;
}

const none: readonly Effect[] = [];

function createStepEffect(state: Extract<State, { status: "preparing" | "model_running" }>): Effect {
  const { runId, modelCallIndex, attempt } = state;
  const step = `${runId}/${modelCallIndex}`;
  if (state.status === "model_running") {
    if (state.backoff === null)
      return { type: "call_model", key: `${step}/model/${attempt}`, runId, modelCallIndex, attempt };
    const { until, ms } = state.backoff;
    return { type: "sleep", key: `${step}/backoff/${attempt}`, runId, timer: "backoff", until, ms, attempt };
  }
  const { compactionAttempts } = state.counters;
  switch (state.for) {
    case "step":
      return { type: "prepare", key: `${step}/prepare/${attempt}.${compactionAttempts}`, runId };
    case "compaction":
      return { type: "compact", key: `${step}/compact/${compactionAttempts}`, runId };
    case "handoff":
      return { type: "hand_over", key: `${step}/hand_over`, runId };
    case "finish":
      return { type: "finish", key: `${step}/finish`, runId };
  }
}

function collectCallEffects({ runId, calls }: ToolRunning | AwaitingHuman): readonly Effect[] {
  const wanted: Effect[] = [];
  for (const call of calls) {
    const effect = createCallEffect(runId, call);
    if (effect !== undefined) wanted.push(effect);
    const open = openQuestionsOf(call);
    if (open !== undefined) addExpiryTimers(wanted, runId, call, open);
  }
  return wanted;
}

function createCallEffect(runId: string, call: Call): Effect | undefined {
  const { callKey } = call;
  switch (call.status) {
    case "deciding":
      return { type: "decide", key: `${callKey}/decide/${call.inputSeq}`, runId, callKey };
    case "running":
      return { type: "run_tool", key: `${callKey}/run/${call.attempt}`, runId, callKey, attempt: call.attempt };
    case "reconciling":
      return { type: "reconcile", key: `${callKey}/reconcile/${call.attempt}`, runId, callKey, attempt: call.attempt };
    case "asking": {
      if (call.expiresAt === undefined) return undefined;
      const key = `${callKey}/expiry/${call.inputSeq}`;
      return { type: "sleep", key, runId, timer: "approval", until: call.expiresAt, callKey };
    }
    case "retrying": {
      const { attempt, until, ms } = call;
      return {
        type: "sleep",
        key: `${callKey}/retry/${attempt}`,
        runId,
        timer: "tool_retry",
        until,
        ms,
        callKey,
        attempt,
      };
    }
    case "ready":
    case "waiting":
    case "settling":
    case "done":
      return undefined;
  }
}

/** Each question of a tool has its own expiry, and so does each sleep and each wait. */
function addExpiryTimers(wanted: Effect[], runId: string, { callKey }: Call, open: readonly OpenQuestion[]): void {
  for (const { step, expiresAt, for: wait } of open) {
    if (expiresAt === undefined) continue;
    const timer = wait === undefined ? "approval" : "wait";
    const key = `${callKey}/${wait === undefined ? "expiry" : "wait"}/${step}`;
    wanted.push({ type: "sleep", key, runId, timer, until: expiresAt, callKey, questionId: step });
  }
}

function withDeadline(state: ActiveState, wanted: readonly Effect[]): readonly Effect[] {
  const { maxWallClockMs } = state.limits;
  const until = computeDeadline(state);
  if (until === undefined || maxWallClockMs === undefined) return wanted;
  const key = `${state.runId}/wall_clock/${state.waitedMs}`;
  return [...wanted, { type: "sleep", key, runId: state.runId, timer: "wall_clock", until, ms: maxWallClockMs }];
}

/** Running effects are no longer wanted, so the driver signals them. Their results still count until the grace period is over. */
function collectStoppingEffects(state: ActiveState): readonly Effect[] {
  if (state.stopping === null) return none;
  const { until, graceMs } = state.stopping;
  const grace: Effect = {
    type: "sleep",
    key: `${state.runId}/grace`,
    runId: state.runId,
    timer: "grace",
    until,
    ms: graceMs,
  };
  if (!hasCalls(state)) return [grace];
  // A child may report before the commit that records that the call waits for it, and that commit may be lost.
  const children = state.calls.flatMap((call): readonly Effect[] =>
    (call.status === "waiting" || call.status === "running") && "childId" in call && call.childId !== undefined
      ? [
          {
            type: "cancel_child",
            key: `${call.callKey}/cancel`,
            runId: state.runId,
            callKey: call.callKey,
            name: call.name,
            childId: call.childId,
          },
        ]
      : none,
  );
  return [grace, ...children];
}

function collectEndEffects(state: TerminalState): readonly Effect[] {
  const { runId, session, parentNotificationPending, afterRunHooksPending } = state;
  if (afterRunHooksPending === true) return [{ type: "call_after_run_hooks", key: `${runId}/leave`, runId }];
  // The parent gets the result after everything else of the child's run, so a reader that follows both sees the run before its result.
  if (parentNotificationPending === true && session?.parent !== undefined)
    return [{ type: "notify_parent", key: `${runId}/notify`, runId, parent: session.parent }];
  return isCompacting(state)
    ? [{ type: "compact", key: `${runId}/compact/asked/${state.compactionAsked.seq}`, runId }]
    : none;
}
