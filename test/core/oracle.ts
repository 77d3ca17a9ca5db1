/**
 * What must hold of a session after each event, said without looking at how the machine does it.
 */
import { isDeepStrictEqual } from "node:util";
import {
  appendEntry,
  askedAt,
  type Call,
  consequences,
  createTranscript,
  dueAt,
  type Effect,
  type Event,
  type EventOf,
  effects,
  hasCalls,
  isResting,
  isTerminal,
  isWaiting,
  maxRestarts,
  type RunState,
  refusal,
  type State,
  statusOf,
  toolCallsOf,
  transition,
} from "../../src/core/index.js";
import { check } from "./check.js";
import { createHandoffWatch, isWaitingHandoff } from "./handoff-oracle.js";
import { createEventWatch } from "./public-event-oracle.js";
import type { Session } from "./session.js";
import { watchTranscript } from "./transcript-oracle.js";

/** What no state may be that is left to stand. */
export function checkState(state: State): void {
  check(isDeepStrictEqual(JSON.parse(JSON.stringify(state)), state), "the state is not plain JSON");
  check(consequences(state).length === 0, "something still follows from the state by itself");
  checkQueue(state);
  checkEffects(state);
  check(new Set(state.interrupted).size === state.interrupted.length, "a call was given up twice");
  if (state.status === "idle") return;
  check(state.session !== null, "a run without a session");
  checkSize(state);
  check(state.handoff === undefined || state.status === "preparing", "a handoff is pending at the wrong time");
  checkLimits(state);
  switch (state.status) {
    case "preparing":
      check(state.stopping === null, "a run that stops prepares something");
      check((state.for === "handoff") === (state.handoff !== undefined), "a handoff is pending at the wrong time");
      if (state.for === "finish")
        check(["stop", "done", "other"].includes(state.reason), `an end by ${state.reason} waits for somebody`);
      break;
    case "model_running":
      check(state.attempt >= 1, "a model call without an attempt");
      check(
        state.contextSeq <= state.seq && state.contextSeq >= state.startSeq,
        "the model sees what is not in its run's log",
      );
      check(state.backoff === null || state.stopping === null, "a run that stops waits to try again");
      break;
    case "tool_running":
    case "awaiting_human":
      checkCalls(state);
      break;
    case "completed":
    case "failed":
    case "aborted":
      check(state.stopping === null, "an ended run still stops");
      check(statusOf(state.reason) === state.status, `${state.status} by ${state.reason}`);
      check(state.parentNotificationPending !== true || state.session.parent !== undefined, "no parent to be told");
      break;
  }
}

function checkSize(state: Exclude<State, { status: "idle" }>): void {
  const { queue: _, ...rest } = state;
  const calls = hasCalls(state) ? state.calls.length + state.calls.flatMap(listOpenQuestions).length : 0;
  const size = JSON.stringify(rest).length;
  check(size < 1_500 + 40 * state.interrupted.length + 400 * calls, `the state takes ${size} characters`);
  check(state.interrupted.length <= 64, "too many calls are remembered as interrupted");
}

/** The open questions of a call's tool. */
function listOpenQuestions(call: Call) {
  if (call.status === "running") return call.held ?? [];
  return call.status === "asking" ? (call.open ?? []) : [];
}

function checkLimits({
  counters,
  limits,
  restarts,
  status,
  compactionsInRow,
}: Exclude<State, { status: "idle" }>): void {
  check(counters.totalSteps <= limits.maxSteps + 1, "more steps than allowed, and a summary");
  check(counters.errorCount <= limits.maxErrors, "more errors than allowed");
  check(counters.continuations <= limits.maxContinuations, "more continuations than allowed");
  check(counters.stopPreventions <= limits.maxStopPreventions, "kept from stopping more often than allowed");
  check(compactionsInRow <= 3, "more compactions in a row than allowed");
  check(counters.outputRetries <= 1, "an answer was sent back more than once");
  check(restarts < maxRestarts || ["completed", "failed", "aborted"].includes(status), "a run outlived its lives");
}

function checkQueue(state: State): void {
  const seqs = state.queue.map((queued) => queued.seq);
  check(isAscending(seqs) && seqs.every((seq) => seq <= state.seq), "the queue is out of order");
  const runs = state.queue.flatMap((queued) => (queued.kind === "run" ? [queued.runId] : []));
  if (state.status !== "idle") runs.push(state.runId);
  check(new Set(runs).size === runs.length, "a run is queued twice, or is under way");
}

function isAscending(numbers: readonly number[]): boolean {
  return numbers.every((number, index) => index === 0 || number > (numbers[index - 1] ?? 0));
}

function checkEffects(state: State): void {
  const wantedEffects = effects(state);
  const keys = wantedEffects.map((effect) => effect.key);
  check(new Set(keys).size === keys.length, `the keys of effects repeat: ${keys.join(" ")}`);
  check((dueAt(state) === null) === (wantedEffects.length === 0), "the due time and the effects disagree");
  if (isResting(state)) {
    check(
      wantedEffects.every(
        ({ type }) => type === "notify_parent" || type === "call_after_run_hooks" || isCompactionRequested(state, type),
      ),
      "a session that rests wants something",
    );
    return;
  }
  if (state.stopping !== null) {
    const types = wantedEffects.map((effect) => (effect.type === "sleep" ? effect.timer : effect.type));
    check(types.includes("grace"), "a run that stops has no end in sight");
    check(
      types.every((type) => type === "grace" || type === "cancel_child" || type === "tell_parent"),
      `a run that stops wants ${types.join(" ")}`,
    );
  } else if (isWaiting(state)) {
    check(
      wantedEffects.every((effect) => effect.type === "sleep" || effect.type === "tell_parent"),
      "a session that waits wants more than sleep, and that its parent knows",
    );
  } else {
    check(
      wantedEffects.some(
        (effect) => effect.type !== "sleep" || effect.timer === "backoff" || effect.timer === "tool_retry",
      ),
      `nothing is in flight in '${state.status}'`,
    );
  }
}

/** A session at rest is compacted if a person asked for it. */
function isCompactionRequested({ compactionAsked }: State, type: Effect["type"]): boolean {
  return type === "compact" && compactionAsked !== undefined;
}

function checkCalls(state: Extract<State, { calls: readonly Call[] }>): void {
  const { calls, runId, modelCallIndex, limits, stopping } = state;
  const callsIn = (...statuses: Call["status"][]) => calls.filter((call) => statuses.includes(call.status));
  check(calls.length > 0 && callsIn("done").length < calls.length, "a step with nothing open goes on");
  check(callsIn("settling").length === 0, "a call is left settling");
  calls.forEach((call, index) => {
    check(call.callKey === `${runId}/${modelCallIndex}/${index + 1}`, `a call is at the wrong place: ${call.callKey}`);
  });
  const runningCalls = calls.filter(
    (call) => call.status === "running" || (call.status === "waiting" && call.on === "child"),
  );
  const ready = calls.filter((call) => call.status === "ready");
  const asked = calls.flatMap((call) => {
    if (call.status === "running") return stopping === null ? (call.held ?? []).map((one) => one.askedAt) : [];
    return "askedAt" in call && !sleeps(call) ? [call.askedAt ?? 0] : [];
  });
  check(askedAt(state) === (asked.length === 0 ? null : Math.min(...asked)), "what is asked is not told, or too late");
  const blockedCalls = calls.filter(
    (call) => (call.status === "asking" && !sleeps(call)) || (call.status === "waiting" && "askedAt" in call),
  );
  const isAtRest = stopping === null && calls.every((call) => sleeps(call) || ["done", "ready"].includes(call.status));
  check(
    "parkedSince" in state === (isAtRest && calls.some(sleeps)),
    `parked or not with calls ${calls.map((call) => call.status).join(" ")}`,
  );
  if ("parkedSince" in state) {
    check(state.v === 3, "a sleep in a log of format 2");
    const hasClock = effects(state).some((effect) => effect.type === "sleep" && effect.timer === "wall_clock");
    check(!hasClock || limits.wallClockIncludesWaiting === true, "the wall clock of a run runs while it sleeps");
  }
  check(callsIn("running").length <= limits.toolConcurrency, "more calls run than may");
  for (const call of calls) {
    const names = listOpenQuestions(call).map(({ step }) => step);
    check(names.length <= 16 && new Set(names).size === names.length, "questions of a tool are too many, or repeat");
    if (call.status === "asking")
      check((call.why === "tool") === names.length > 0, "a tool asks nothing, or without asking");
  }
  const surplus = calls.slice(limits.maxToolCallsPerStep ?? calls.length);
  check(
    surplus.every((call) => call.status === "done"),
    "a call above the limit of its step may run",
  );
  if (callsIn("running").some((call) => "policy" in call && call.policy.sequential === true))
    check(callsIn("running").length === 1, "a sequential call does not run alone");
  if (stopping !== null) {
    check(
      callsIn("deciding", "ready", "asking", "retrying", "reconciling").length === 0,
      "a run that stops has calls that may start",
    );
    check(state.status === "tool_running", "a run that stops waits for a person");
  } else {
    const busy = callsIn("deciding", "reconciling", "retrying", "running").length > 0;
    check(
      (state.status === "awaiting_human") === (!busy && blockedCalls.length > 0),
      `'${state.status}' with calls ${calls.map((call) => call.status).join(" ")}`,
    );
    const hasForgottenCall = ready.some((call) => !isWaitingHandoff(call));
    const before = callsIn("deciding", "reconciling", "retrying").length;
    if (hasForgottenCall) check(runningCalls.length + before > 0, "a ready call is forgotten");
    check(
      calls.some((call) => call.status !== "done" && !isWaitingHandoff(call)),
      "a handoff is forgotten",
    );
  }
}

/** The call waits, and no person is asked: for a time, a signal, or a child that does. */
function sleeps(call: Call): boolean {
  if (call.status === "waiting") return call.on === "child" && "asleep" in call;
  return call.status === "asking" && call.open !== undefined && call.open.every((one) => one.for !== undefined);
}

type RunProgress = Pick<RunState, "modelCallIndex" | "attempt" | "counters" | "waitedMs" | "usage" | "startedAt">;

/** A child that begins or ceases to wait for a person owes its parent a report, until the run ends or the parent was told. */
function checkReports(before: State, event: Event, after: State): void {
  const hasParent = after.session?.parent !== undefined;
  const owesReport = after.parentUntold !== undefined;
  check(
    !owesReport || (hasParent && !isResting(after)),
    "a parent is to be told that there is not, or of a run that is over",
  );
  if (!hasParent || isResting(after)) return;
  const wasWaiting = before.status === "awaiting_human";
  const hasChanged = wasWaiting !== (after.status === "awaiting_human");
  if (hasChanged) check(after.parentUntold === after.seq, "the parent is not told of a change");
  if (event.type === "parent_told") check(!owesReport, "the parent was told, and is to be told the same again");
  const reports = effects(after).filter((effect) => effect.type === "tell_parent");
  check(reports.length === (owesReport ? 1 : 0), "a report that is owed is not wanted");
  for (const { askedAt: childAskedAt } of reports)
    check((childAskedAt !== null) === (after.status === "awaiting_human"), "the parent is told the contrary");
}

/** A session has the title that it was given last. What else changes leaves it alone. */
function checkTitle(before: State, event: Event, after: State): void {
  if (event.type === "session_created" || event.type === "migrated") return;
  const newTitle = event.type === "session_changed" ? event.title : undefined;
  check(
    after.session?.title === (newTitle ?? before.session?.title),
    "the session has another title than it was given",
  );
}

/** What may only go up within a run. */
function checkProgress(before: RunProgress, after: RunProgress): void {
  for (const name of Object.keys(before.counters) as (keyof RunState["counters"])[])
    check((after.counters[name] ?? 0) >= (before.counters[name] ?? 0), `${name} went down`);
  for (const name of ["inputTokens", "outputTokens", "costUsd"] as const)
    check((after.usage[name] ?? 0) >= (before.usage[name] ?? 0), `the ${name} went down`);
  check(after.modelCallIndex >= before.modelCallIndex, "the number of the step went down");
  check(after.modelCallIndex > before.modelCallIndex || after.attempt >= before.attempt, "an attempt came twice");
  check(after.waitedMs >= before.waitedMs, "the time that was waited went down");
  check(after.startedAt === before.startedAt, "the run started twice");
}

export type Oracle = {
  /** Looks at an event that was offered: what it met, what came of it, and all that was added to the log. */
  readonly observe: (before: State, event: Event, after: State, events: readonly Event[]) => void;
  /** Looks at the whole, at the end. */
  readonly conclude: () => void;
};

/** Watches one session from its start; `session` is the session after what is observed. */
export function createOracle(session: Session): Oracle {
  const settled = new Set<string>();
  const calls = createCallWatch();
  const handoffs = createHandoffWatch(session);
  const transcript = watchTranscript(session);
  const publicEvents = createEventWatch();
  let seenEvents = 0;

  function observe(before: State, event: Event, after: State, events: readonly Event[]): void {
    if (after === before) {
      check(events.length === 0, "an event that does not apply is logged");
      const refusalReason = refusal(before, event);
      check(refusalReason !== undefined, "nothing says why an event does not apply");
      check(
        refusalReason.message.includes(`'${event.type}'`) && refusalReason.message.includes(`'${before.status}'`),
        "a refusal names neither event nor state",
      );
      return;
    }
    check(refusal(before, event) === undefined, "an event that applies is refused");
    for (const effect of effects(before)) if (settlesEffect(effect, event, before)) settled.add(effect.key);
    let folded = before;
    for (const one of events) {
      const next = transition(folded, one);
      check(next.seq === folded.seq + 1, `'${one.type}' does not count as one entry`);
      calls.observe(one, folded, next);
      handoffs.observe(one, folded, next);
      if (one.type !== "migrated") checkReports(folded, one, next);
      checkTitle(folded, one, next);
      folded = next;
    }
    check(isDeepStrictEqual(folded, after), "the log folds to another state");
    checkState(after);
    if (!isResting(before) && after.status !== "idle" && before.runId === after.runId) checkProgress(before, after);
    for (const { key } of effects(after)) check(!settled.has(key), `${key} settled and is wanted again`);
    calls.checkWanted(effects(after));
    transcript.observe(after, events);
    publicEvents.observe(session.events.slice(seenEvents), before, after);
    seenEvents = session.events.length;
  }

  function conclude(): void {
    const rebuilt = createTranscript();
    for (const entry of session.log) appendEntry(rebuilt, entry);
    check(isDeepStrictEqual(rebuilt, session.transcript), "the transcript differs from the one built from the log");
  }

  return { observe, conclude };
}

const settlesCall: ReadonlySet<string> = new Set(["tool_finished", "tool_waiting", "tool_failed", "tool_asked"]);

/** Whether an event is what an effect comes to. */
function settlesEffect(effect: Effect, event: Event, before: State): boolean {
  switch (effect.type) {
    case "prepare":
      return event.type === "prepared" || event.type === "compaction_started";
    case "compact":
      return event.type === "compacted" && (event.runId === undefined) === isTerminal(before);
    case "call_model":
      return event.type === "model_finished" || event.type === "model_failed";
    case "hand_over":
      return event.type === "handed_off" || event.type === "run_finished";
    case "finish":
      return event.type === "run_finished" || (event.type === "steered" && event.source !== "user");
    case "decide":
      return event.type === "tool_decided" && event.callKey === effect.callKey;
    case "run_tool":
      if (event.type === "tool_asked" && event.held === true) return false;
      return settlesCall.has(event.type) && "callKey" in event && event.callKey === effect.callKey;
    case "reconcile":
      return (event.type === "tool_finished" || event.type === "tool_decided") && event.callKey === effect.callKey;
    case "sleep":
      return (
        event.type === "timer_fired" &&
        event.timer === effect.timer &&
        event.callKey === effect.callKey &&
        event.questionId === effect.questionId
      );
    case "cancel_child":
      return event.type === "tool_finished" && event.callKey === effect.callKey;
    case "call_after_run_hooks":
      return event.type === "after_run_hooks_called" && isTerminal(before);
    case "tell_parent":
      return event.type === "parent_told" && event.toldSeq === effect.seq;
    case "notify_parent":
      return event.type === "parent_notified" && isTerminal(before);
  }
}

/** A call fails as often as its policy allows, each time in another attempt, and waits before the next one. */
function findCall(state: State, callKey: string): Call | undefined {
  return hasCalls(state) ? state.calls.find((call) => call.callKey === callKey) : undefined;
}

function checkFailure(event: EventOf<"tool_failed">, before: State, after: State): void {
  const callBefore = findCall(before, event.callKey);
  const callAfter = findCall(after, event.callKey);
  check(
    callBefore?.status === "running" && callBefore.attempt === event.attempt,
    "an attempt fails that is not under way",
  );
  const failures = (callBefore.failures ?? 0) + 1;
  check(failures < (callBefore.policy.retry?.attempts ?? 0), "a call is tried more often than it may be");
  if (callAfter?.status !== "retrying") {
    const isEnding =
      ("stopping" in before && before.stopping !== null) || ("doneSeq" in before && before.doneSeq !== null);
    check(
      isEnding && (callAfter === undefined || callAfter.status === "settling"),
      "a call that failed is not tried again",
    );
    return;
  }
  check(
    callAfter.failures === failures && callAfter.until === event.at + event.retryInMs,
    "a failed call waits wrongly",
  );
}

/** Each call has one result, before its step ends, and is never run after it, nor before it is approved. */
function createCallWatch() {
  const open = new Map<string, "free" | "asked">();
  const finished = new Set<string>();
  const steps = new Set<string>();
  const questions = new Map<string, Set<string>>();

  /** A question of a tool is over. The tool runs again when none is open. */
  function settleQuestion(
    callKey: string,
    questionId: string,
    before: State,
    by: { readonly timerAt: number } | { readonly answerId: string },
  ): void {
    const call = hasCalls(before) ? before.calls.find((one) => one.callKey === callKey) : undefined;
    const question = call === undefined ? undefined : listOpenQuestions(call).find(({ step }) => step === questionId);
    if ("timerAt" in by) check((question?.expiresAt ?? Infinity) <= by.timerAt, "a wait ends before its time");
    else {
      const expected = by.answerId.startsWith("signal/") ? "signal" : undefined;
      check(question?.for === expected, `${by.answerId} ends a wait for ${question?.for ?? "a person"}`);
    }
    if (call?.status === "running") {
      const isOpen = call.held?.some(({ step }) => step === questionId) === true;
      check(isOpen, `the question ${questionId} of the running call ${callKey} is settled, and was not open`);
      return;
    }
    const asked = questions.get(callKey);
    check(asked?.delete(questionId) === true, `the question ${questionId} of ${callKey} is settled, and was not open`);
    if (asked.size === 0) open.set(callKey, "free");
  }

  function observe(event: Event, before: State, after: State): void {
    switch (event.type) {
      case "tool_step_started":
      case "tool_step_finished": {
        const call = hasCalls(before) ? before.calls.find(({ callKey }) => callKey === event.callKey) : undefined;
        check(call?.status === "running", `a tool step of ${event.callKey}, which does not run`);
        check("attempt" in call && call.attempt === event.attempt, "a tool step of another attempt");
        check(!("restarts" in after) || event.type === "tool_step_started" || after.restarts === 0, "no progress");
        break;
      }
      case "tool_asked":
        if (event.held === true) {
          const call = hasCalls(after) ? after.calls.find((one) => one.callKey === event.callKey) : undefined;
          check(call?.status === "running", "a tool that keeps its question is let go");
          break;
        }
        questions.set(event.callKey, (questions.get(event.callKey) ?? new Set()).add(event.step));
        open.set(event.callKey, "asked");
        break;
      case "timer_fired":
        if (event.questionId !== undefined)
          settleQuestion(event.callKey ?? "", event.questionId, before, { timerAt: event.at });
        break;
      case "model_finished": {
        const step = `${event.runId}/${event.modelCallIndex}`;
        check(!steps.has(step), `the step ${step} has two messages`);
        steps.add(step);
        if (before.status === "model_running" && before.purpose === "summary") break;
        toolCallsOf(event.message).forEach((_, index) => {
          open.set(`${step}/${index + 1}`, "free");
        });
        break;
      }
      case "tool_decided":
        if (event.decision.verdict === "ask") open.set(event.callKey, "asked");
        break;
      case "answered":
        if (event.questionId !== undefined) settleQuestion(event.callKey, event.questionId, before, event);
        if (event.answer.type === "approve" || event.answer.type === "rerun" || event.answer.type === "modify")
          open.set(event.callKey, "free");
        break;
      case "tool_failed":
        checkFailure(event, before, after);
        break;
      case "tool_finished":
        check(open.delete(event.callKey), `the call ${event.callKey} has a second result, or was never asked for`);
        finished.add(event.callKey);
        break;
      default:
        break;
    }
    if (!hasCalls(after)) check(open.size === 0, `the step ended without results for ${[...open.keys()].join(" ")}`);
  }

  function checkWanted(wantedEffects: readonly Effect[]): void {
    for (const effect of wantedEffects) {
      if (!("callKey" in effect) || effect.callKey === undefined) continue;
      check(!finished.has(effect.callKey), `the call ${effect.callKey} is worked on after its result`);
      if (effect.type === "run_tool")
        check(open.get(effect.callKey) === "free", `the call ${effect.callKey} runs without its approval`);
    }
  }

  return { observe, checkWanted };
}
