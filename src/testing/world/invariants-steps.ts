/**
 * Invariants of tool steps and of tools' questions. They read the log independently of Pawl's own view of it.
 *
 * 1. A step that is in the log does not run again. Only if the attempt of the whole call failed may its failed steps run again.
 * 2. A step with `once` begins only after its start is in the log. It begins a second time only if it failed.
 * 3. A tool continues only with what is in the log: with this value or this error, and with the first answer.
 * 4. A tool that runs again gets its steps and answers in the order of the log, starting with the first. Questions of a tool that
 *    keeps running are an exception: each attempt asks its own.
 */
import { isDeepStrictEqual } from "node:util";
import type { Event, EventOf } from "../../core/machine/event.js";
import { callOf, type State } from "../../core/machine/state.js";
import type { FactOf } from "./facts.js";
import type { Breach, History, Invariant } from "./history.js";
import { describeStart, trackHolders } from "./invariants-effects.js";

export const stepInvariants: readonly Invariant[] = [
  { number: 15, name: "a tool step that is committed never runs again", check: checkStepsRunOnce },
  { number: 15, name: "a tool continues with what is committed, in the order of the log", check: checkGivenMatchesLog },
];

type EndedEvent = EventOf<"tool_step_finished" | "answered" | "timer_fired">;

/** The steps of a call, according to the log. */
type CallSteps = {
  /** The ended steps and the answered questions, in order. */
  ended: { readonly step: string; readonly event: EndedEvent }[];
  /** Steps that may run only once, and whose start is in the log. */
  readonly started: Set<string>;
  /** Steps that may run only once, and that have begun in some process. */
  readonly begun: Set<string>;
  /** Questions of a tool that keeps running, by name; null while they are open. Each attempt asks its own. */
  readonly held: Map<string, EndedEvent | null>;
  /** Waits for signals, by name; null while they are open. A wait that skips a value continues as `name/2`. */
  readonly signalWaits: Map<string, EndedEvent | null>;
};

type StepsByCall = (callKey: string) => CallSteps;

function createStepIndex(): StepsByCall {
  const calls = new Map<string, CallSteps>();
  return (callKey) => {
    const steps = calls.get(callKey) ?? {
      ended: [],
      started: new Set(),
      begun: new Set(),
      held: new Map(),
      signalWaits: new Map(),
    };
    calls.set(callKey, steps);
    return steps;
  };
}

function addCommit(stepsOf: StepsByCall, { commit }: FactOf<"written">): void {
  for (const event of commit.events) addEvent(stepsOf, event);
}

function addEvent(stepsOf: StepsByCall, event: Event): void {
  switch (event.type) {
    case "tool_step_started":
      stepsOf(event.callKey).started.add(event.step);
      break;
    case "tool_step_finished":
      stepsOf(event.callKey).ended.push({ step: event.step, event });
      break;
    case "tool_asked":
      if (event.held === true) stepsOf(event.callKey).held.set(event.step, null);
      if (event.for === "signal") stepsOf(event.callKey).signalWaits.set(event.step, null);
      break;
    case "answered":
    case "timer_fired":
      if (event.callKey !== undefined && event.questionId !== undefined)
        recordAnswer(stepsOf(event.callKey), event.questionId, event);
      break;
    case "tool_failed":
      removeFailedSteps(stepsOf(event.callKey));
      break;
    default:
      break;
  }
}

function recordAnswer({ held, signalWaits, ended }: CallSteps, step: string, event: EndedEvent): void {
  if (held.has(step)) held.set(step, event);
  else if (signalWaits.has(step)) signalWaits.set(step, event);
  else ended.push({ step, event });
}

/** A step in doubt has not failed: its outcome is unknown. */
function removeFailedSteps(steps: CallSteps): void {
  const hasFailed = ({ event }: { readonly event: EndedEvent }) =>
    event.type === "tool_step_finished" && event.outcome === "error" && event.fault?.code !== "step_in_doubt";
  for (const entry of steps.ended.filter(hasFailed)) {
    steps.started.delete(entry.step);
    steps.begun.delete(entry.step);
  }
  steps.ended = steps.ended.filter((entry) => !hasFailed(entry));
}

function checkStepsRunOnce({ facts }: History): Breach | undefined {
  const stepsOf = createStepIndex();
  const holders = trackHolders();
  for (const fact of facts) {
    holders.observe(fact);
    if (fact.type === "written") addCommit(stepsOf, fact);
    if (fact.type !== "step_started" || holders.isUnaware(fact)) continue;
    const { ended, started, begun } = stepsOf(fact.callKey);
    if (ended.some(({ step }) => step === fact.step))
      return { what: `${describeStart(fact)}, which is already in the log`, fact };
    if (fact.once !== true) continue;
    if (!started.has(fact.step)) return { what: `${describeStart(fact)} before its start is in the log`, fact };
    if (begun.has(fact.step) && fact.again !== true)
      return { what: `${describeStart(fact)} again, although it may run only once`, fact };
    begun.add(fact.step);
  }
  return undefined;
}

/** The code of a call that is over, or of a failed attempt, still runs to its end. Nothing that it does counts. */
function checkGivenMatchesLog({ facts }: History): Breach | undefined {
  const stepsOf = createStepIndex();
  const given = new Map<string, number>();
  const failed = new Set<string>();
  let state: State | undefined;
  for (const fact of facts) {
    if (fact.type === "written") {
      addCommit(stepsOf, fact);
      state = fact.commit.state;
      for (const event of fact.commit.events)
        if (event.type === "tool_failed") failed.add(`${event.callKey} ${event.attempt}`);
    }
    if (fact.type !== "step_given" || isCallOver(state, fact.callKey)) continue;
    const { callKey, attempt, step } = fact;
    if (failed.has(`${callKey} ${attempt}`)) continue;
    const where = `${fact.process} continues with the step '${step}' of ${callKey} attempt ${attempt}`;
    const signalled = findLastWait(stepsOf(callKey).signalWaits, step);
    if (signalled === null) return { what: `${where}, which waits for its signal`, fact };
    if (signalled !== undefined && !matchesSignal(signalled, fact))
      return { what: `${where}, which got another signal`, fact };
    if (signalled !== undefined) continue;
    const held = stepsOf(callKey).held.get(step);
    if (held === null) return { what: `${where}, whose question is open`, fact };
    if (held !== undefined && !matchesGiven(held, fact))
      return { what: `${where}, which has a different answer`, fact };
    if (held !== undefined) continue;
    const position = given.get(`${callKey} ${attempt}`) ?? 0;
    given.set(`${callKey} ${attempt}`, position + 1);
    const next = stepsOf(callKey).ended[position];
    if (next === undefined) return { what: `${where}, which is not in the log`, fact };
    if (next.step !== step) return { what: `${where}; '${next.step}' comes next in the log`, fact };
    if (!matchesGiven(next.event, fact))
      return { what: `${where} and gets ${JSON.stringify(fact.given).slice(0, 200)}`, fact };
  }
  return undefined;
}

function isCallOver(state: State | undefined, callKey: string): boolean {
  const call = state === undefined ? undefined : callOf(state, callKey);
  return call === undefined || call.status === "done";
}

/** How a wait for a signal ended, with the waits under which it went on; null if it has not, undefined if there is none. */
function findLastWait(waits: CallSteps["signalWaits"], step: string): EndedEvent | null | undefined {
  let last = waits.get(step);
  for (let next = 2; waits.has(`${step}/${next}`); next += 1) last = waits.get(`${step}/${next}`);
  return last;
}

function matchesSignal(event: EndedEvent, { given }: FactOf<"step_given">): boolean {
  if (!("value" in given)) return false;
  if (event.type === "timer_fired") return isDeepStrictEqual(given.value, { type: "expired" });
  if (event.type !== "answered" || event.answer.type !== "reply") return false;
  const { id, value } = event.answer.value as { readonly id: string; readonly value: unknown };
  return isDeepStrictEqual(given.value, {
    type: "signalled",
    value,
    id,
    ...(event.by === undefined ? {} : { by: event.by }),
  });
}

function matchesGiven(event: EndedEvent, { given }: FactOf<"step_given">): boolean {
  if (event.type !== "tool_step_finished")
    return "value" in given && isDeepStrictEqual(given.value, toAnswerValue(event));
  if (event.outcome === "error") return "error" in given && given.error === event.fault?.code;
  if (!("value" in given)) return false;
  if (event.valueBlob === undefined) return isDeepStrictEqual(given.value, event.value);
  return new TextEncoder().encode(JSON.stringify(given.value)).length === event.valueBlob.bytes;
}

function toAnswerValue(event: EventOf<"answered" | "timer_fired">): unknown {
  if (event.type === "timer_fired") return { type: "expired" };
  const { answer, by } = event;
  if (answer.type === "reply") return { type: "answered", value: answer.value, ...(by === undefined ? {} : { by }) };
  return { type: "declined", ...("note" in answer ? { note: answer.note } : {}) };
}
