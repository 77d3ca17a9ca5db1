/**
 * Reports from a child session to its parent: that it waits for a person, and that it sleeps.
 *
 * 1. A report to the parent is due (`parentUntold`) whenever the run starts or stops waiting for a person, and whenever the open questions
 *    change, including those of a tool that keeps running while it asks. The same applies to long sleeps and waits for signals. At the end
 *    of a run its result is sent instead.
 * 2. Each report carries the number of the entry that it is about. Repeated reports, and reports that arrive after a later one, are
 *    therefore ignored.
 */
import { defined } from "../data/defined.js";
import { findBackgroundChildren } from "./background-children.js";
import type { Effect } from "./effect.js";
import type { EventOf } from "./event.js";
import {
  type ActiveState,
  asksOutside,
  type Call,
  type ChildSleep,
  callOf,
  earliestEnd,
  type HeldQuestion,
  hasCalls,
  isAsleep,
  isSuspended,
  isTerminal,
  type State,
} from "./state.js";

/** Marks the next state of a child session if a report to its parent is due. Mutates the state, which is not shared yet. */
export function markParentReportDue(before: State, after: State): void {
  if (after.status === "idle" || isTerminal(after)) return;
  if (hasSameQuestions(before, after) && !hasNewQuestionWhileRunning(before, after) && isSameSleep(before, after))
    return;
  (after as { parentUntold?: number }).parentUntold = after.seq;
}

/** Whether both states sleep until the same time, or neither sleeps. */
function isSameSleep(before: State, after: State): boolean {
  const [earlier, now] = [findReportableSleep(before), findReportableSleep(after)];
  return (earlier === undefined) === (now === undefined) && earlier?.until === now?.until;
}

/** The sleep to report to the parent. Short sleeps are not worth two messages, so they are not reported. */
function findReportableSleep(state: State): ChildSleep | undefined {
  if (!isAsleep(state) || !isSuspended(state)) return undefined;
  const until = earliestEnd(state);
  return until === undefined ? {} : { until };
}

/** Whether both states wait for the same answers, or neither waits for any. */
function hasSameQuestions(before: State, after: State): boolean {
  const waitingBefore = findWaitingCalls(before);
  const waitingAfter = findWaitingCalls(after);
  if (waitingBefore === waitingAfter) return true;
  return (
    waitingBefore.length === waitingAfter.length &&
    waitingAfter.every((call) => {
      const earlier = callOf(before, call.callKey);
      return earlier !== undefined && isSameQuestion(earlier, call);
    })
  );
}

/** Whether a tool that keeps running, here or in a descendant session, has a new question. */
function hasNewQuestionWhileRunning(before: State, after: State): boolean {
  if (!hasCalls(after)) return false;
  return after.calls.some((call) => {
    if (call.status === "running" && call.held !== undefined)
      return hasNewHeldQuestion(callOf(before, call.callKey), call.held);
    return reportsNewQuestion(callOf(before, call.callKey), call);
  });
}

function hasNewHeldQuestion(earlier: Call | undefined, held: readonly HeldQuestion[]): boolean {
  const known = earlier?.status === "running" ? (earlier.held ?? []) : [];
  return held.some(({ step, askedAt }) => !known.some((one) => one.step === step && one.askedAt === askedAt));
}

/** A child that is not waiting, and was not waiting at its previous report, has only one reason to report: a tool's question. */
function reportsNewQuestion(earlier: Call | undefined, call: Call): boolean {
  const report = lastReportSeq(call);
  if (report === undefined || earlier === undefined || lastReportSeq(earlier) === report) return false;
  return !asksOutside(call) && !asksOutside(earlier);
}

const none: readonly Call[] = [];

function findWaitingCalls(state: State): readonly Call[] {
  return state.status === "awaiting_human" ? state.calls.filter(asksOutside) : none;
}

function isSameQuestion(earlier: Call, call: Call): boolean {
  if (!asksOutside(earlier) || !asksOutside(call)) return false;
  const isSameReport = lastReportSeq(earlier) === lastReportSeq(call);
  const isSameCall = earlier.askedAt === call.askedAt && earlier.inputSeq === call.inputSeq;
  return isSameReport && isSameCall && openQuestionList(earlier) === openQuestionList(call);
}

/** The list of a tool's open questions. The array is replaced with each change. */
function openQuestionList(call: Call): unknown {
  return call.status === "asking" ? call.open : undefined;
}

/** The child's entry that the last report to this call is about. */
function lastReportSeq(call: Call): number | undefined {
  return "childSeq" in call ? call.childSeq : undefined;
}

/**
 * Records that the parent has received a report. A later change is still to be reported. In a fork of a child session, which has no parent,
 * the entry is only counted.
 */
export function applyParentTold(state: State, { runId, toldSeq }: EventOf<"parent_told">): State {
  if (state.status === "idle" || isTerminal(state) || state.runId !== runId) return state;
  if (state.session?.parent === undefined) return { ...state };
  if (state.parentUntold !== toldSeq) return state;
  const { parentUntold: _, ...rest } = state;
  return rest;
}

export function createParentReportEffects(state: ActiveState): readonly Effect[] {
  const { runId, parentUntold: seq, session } = state;
  if (seq === undefined || session?.parent === undefined) return [];
  const report = { ...createParentReport(state), seq };
  return [{ type: "tell_parent", key: `${runId}/tell/${seq}`, runId, parent: session.parent, ...report }];
}

/** Whether a child session waits for a person, and since when, and whether it sleeps. */
export function createParentReport(state: ActiveState): ParentReport {
  const askedAt = state.status === "awaiting_human" ? state.since : null;
  return { askedAt, ...defined({ asleep: findReportableSleep(state) }) };
}

type ParentReport = Pick<Extract<Effect, { readonly type: "tell_parent" }>, "askedAt" | "asleep">;

type ChildCall = Extract<Call, { readonly status: "running" } | { readonly status: "waiting"; readonly on: "child" }>;

/** Records the child session's report on its call. The report may arrive before the entry that says that the call waits. */
export function applyChildReport(call: Call, { childId, childSeq, askedAt, asleep }: EventOf<"child_waiting">): Call {
  if (!isChildCall(call) || childSeq <= (call.childSeq ?? 0)) return call;
  if (call.childId !== undefined && call.childId !== childId) return call;
  const { askedAt: _, asleep: __, ...rest } = call;
  return { ...rest, childId, childSeq, ...(askedAt === null ? {} : { askedAt }), ...defined({ asleep }) };
}

function isChildCall(call: Call): call is ChildCall {
  return call.status === "running" || (call.status === "waiting" && call.on === "child");
}

/** The child's last report, for the next state of its call. */
export function pickChildReport({
  childId,
  childSeq,
  askedAt,
  asleep,
}: Extract<Call, { readonly status: "running" }>): Pick<ChildCall, "childId" | "childSeq" | "askedAt" | "asleep"> {
  if (childSeq === undefined || childId === undefined) return {};
  return { childId, childSeq, ...defined({ askedAt, asleep }) };
}

/** The calls that wait for a child session. */
export function findChildCalls(state: State): readonly (ChildCall & { readonly childId: string })[] {
  if (!hasCalls(state)) return [];
  return state.calls.filter(
    (call): call is ChildCall & { readonly childId: string } =>
      call.status === "waiting" && call.on === "child" && call.childId !== undefined,
  );
}

/** The child sessions of a session: those that its calls wait for, and those in the background. */
export function findChildSessions(state: State): readonly { readonly name: string; readonly childId: string }[] {
  return [...findChildCalls(state), ...findBackgroundChildren(state)];
}
