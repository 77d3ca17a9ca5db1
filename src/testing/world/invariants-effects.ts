/**
 * Invariants about the effects that start, for any agent and any tools.
 */
import { parseCallKey } from "../../core/data/call-key.js";
import type { Effect } from "../../core/machine/effect.js";
import { effects } from "../../core/machine/effects.js";
import { callOf, hasCalls, initialState, isTerminal, type State } from "../../core/machine/state.js";
import type { Fact, FactOf } from "./facts.js";
import type { Breach, History, Invariant } from "./history.js";
import { leaseMs } from "./processes.js";

export const effectInvariants: readonly Invariant[] = [
  { number: 2, name: "a holder whose lease is gone starts nothing", check: checkOnlyHoldersStart },
  {
    number: 6,
    name: "no result 'interrupted' for a call that was never allowed to start",
    check: checkOnlyStartedInDoubt,
  },
  {
    number: 7,
    name: "a failed write is followed by no model call and no tool call",
    check: checkNothingAfterFailedWrite,
  },
  { number: 8, name: "no effect starts after an abort is committed", check: checkNothingAfterAbort },
  { number: 8, name: "nothing waits for its start in a run that stops", check: checkNothingReadyWhileStopping },
  { number: 8, name: "what is started is wanted by the committed state", check: checkOnlyWantedStarts },
  {
    number: 12,
    name: "no attempt of a model call and no attempt of a tool call begins twice",
    check: checkAttemptsUnique,
  },
];

type StartFact = FactOf<"model_called" | "summary_asked" | "tool_started" | "step_started">;

function isStart(fact: Fact): fact is StartFact {
  switch (fact.type) {
    case "model_called":
    case "summary_asked":
    case "tool_started":
    case "step_started":
      return true;
    default:
      return false;
  }
}

export function describeStart(start: StartFact): string {
  if (start.type === "step_started")
    return `${start.process} ${start.again === true ? "tries" : "begins"} the step '${start.step}' of ${start.callKey} attempt ${start.attempt}`;
  if (start.type === "tool_started") return `${start.process} runs ${start.tool} ${start.callKey}`;
  if (start.type === "summary_asked") return `${start.process} asks for a summary in ${start.runId}`;
  return `${start.process} calls the model for ${start.request.runId}/${start.request.modelCallIndex}`;
}

function findRunId(start: StartFact): string {
  if (start.type === "summary_asked") return start.runId;
  return start.type === "model_called" ? start.request.runId : parseCallKey(start.callKey).runId;
}

type LeaseFact = FactOf<"holding" | "renewed">;
type Holders = {
  readonly observe: (fact: Fact) => void;
  readonly of: (start: StartFact) => LeaseFact | undefined;
  readonly isUnaware: (start: StartFact) => boolean;
  /** The last state that a process knows to be durable, if it has written other states since. */
  readonly knownTo: (start: StartFact) => State | undefined;
  currentEpoch: number;
};

/**
 * Tracks who holds the session, and which former holders cannot know that they lost it, so that only the fence protects the session
 * from them. A former holder cannot know in two cases. The claim that replaced it took so long that the time in the claim had passed.
 * Or, at that claim, the wall clock, which has since been set back, showed a time at which the former lease was void.
 */
export function trackHolders(): Holders {
  const known = new Map<string, LeaseFact>();
  /** By process: the states that it wrote and that were not confirmed, and the last confirmed state. */
  const written = new Map<string, State[]>();
  const durableStates = new Map<string, State>();
  let last: State = initialState;
  const claimedLate = new Set<number>();
  const claimSettings = new Map<number, number>();
  const holders: Holders = {
    currentEpoch: 0,
    observe(fact) {
      // The reply to a renewal may arrive after the lease was released and the next one was claimed.
      if (fact.type === "holding" || (fact.type === "renewed" && fact.epoch === known.get(fact.process)?.epoch))
        known.set(fact.process, fact);
      if (fact.type === "holding") startLease(fact.process);
      if (fact.type === "written") {
        last = fact.commit.state;
        written.set(fact.process, [...(written.get(fact.process) ?? []), last]);
      }
      if (fact.type === "confirmed") markDurable(fact.process, fact.seq);
      if (fact.type !== "claimed") return;
      if (fact.late) claimedLate.add(holders.currentEpoch);
      claimSettings.set(holders.currentEpoch, fact.setting);
      holders.currentEpoch = fact.epoch;
    },
    of: ({ process }) => known.get(process),
    knownTo: ({ process }) => ((written.get(process) ?? []).length === 0 ? undefined : durableStates.get(process)),
    isUnaware(start) {
      const holding = known.get(start.process);
      if (holding === undefined || holding.epoch === holders.currentEpoch) return false;
      const wasSet = claimSettings.get(holding.epoch) !== holding.setting && start.at - holding.askedAt < leaseMs;
      return claimedLate.has(holding.epoch) || wasSet;
    },
  };
  /** With its lease, a process gets the log in its current state. */
  function startLease(process: string): void {
    written.delete(process);
    durableStates.set(process, last);
  }
  function markDurable(process: string, seq: number | null): void {
    const states = written.get(process) ?? [];
    const newest = states.findLast((state) => seq !== null && state.seq <= seq);
    if (newest !== undefined) durableStates.set(process, newest);
    written.set(process, seq === null ? [] : states.filter((state) => state.seq > seq));
  }
  return holders;
}

/**
 * Nothing waits between an effect's last check of its lease and the call that it starts, so no pause in this world falls in
 * between. A real process can be paused there, in the middle of its own code; neither the process nor this oracle can notice that.
 */
function checkOnlyHoldersStart({ facts }: History): Breach | undefined {
  const holders = trackHolders();
  for (const fact of facts) {
    holders.observe(fact);
    if (!isStart(fact) || holders.of(fact)?.epoch === holders.currentEpoch || holders.isUnaware(fact)) continue;
    const what = `${describeStart(fact)} with epoch ${holders.of(fact)?.epoch}, while epoch ${holders.currentEpoch} is current`;
    return { what, fact };
  }
  return undefined;
}

function checkNothingAfterFailedWrite({ facts }: History): Breach | undefined {
  const epochByProcess = new Map<string, number>();
  const lostEpochs = new Set<number>();
  for (const fact of facts) {
    if (fact.type === "holding") epochByProcess.set(fact.process, fact.epoch);
    if (fact.type === "refused" || (fact.type === "confirmed" && fact.released)) lostEpochs.add(fact.epoch);
    if (fact.type === "process" && fact.what === "gone") lostEpochs.add(epochByProcess.get(fact.process) ?? 0);
    if (isStart(fact) && lostEpochs.has(epochByProcess.get(fact.process) ?? 0))
      return { what: `${describeStart(fact)} after it lost its right to`, fact };
  }
  return undefined;
}

function checkOnlyStartedInDoubt({ rows }: History): Breach | undefined {
  const startedCalls = new Set<string>();
  for (const fact of rows) {
    const { commit } = fact;
    for (const event of commit.events) {
      const { type } = event;
      if (type === "tool_finished" && event.outcome === "interrupted" && !startedCalls.has(event.callKey))
        return { what: `${event.callKey} was reported as interrupted, but was never under way`, fact };
      // A call that runs elsewhere counts as started when it is allowed.
      if (type === "tool_decided" && "policy" in event.decision && event.decision.policy.external === true)
        startedCalls.add(event.callKey);
    }
    if (hasCalls(commit.state))
      for (const call of commit.state.calls)
        if (call.status === "running" || call.status === "waiting") startedCalls.add(call.callKey);
  }
  return undefined;
}

/**
 * The process that wrote the abort knows of it once the store has confirmed it. A compaction that was requested after the abort
 * takes place at rest, under the id of the aborted run.
 */
function checkNothingAfterAbort({ facts }: History): Breach | undefined {
  const aborted = new Set<string>();
  const compactionRequested = new Set<string>();
  const resting = new Set<string>();
  const holders = trackHolders();
  for (const fact of facts) {
    holders.observe(fact);
    if (fact.type === "written" && "runId" in fact.commit.state) {
      const { runId } = fact.commit.state;
      for (const event of fact.commit.events) {
        if (event.type === "abort_requested") aborted.add(event.runId);
        if (event.type === "abort_requested") compactionRequested.delete(event.runId);
        if (event.type === "compaction_requested") compactionRequested.add(runId);
      }
      if (isTerminal(fact.commit.state)) resting.add(runId);
    }
    if (fact.type === "summary_asked" && compactionRequested.has(fact.runId) && resting.has(fact.runId)) continue;
    if (!isStart(fact) || isCleanup(fact)) continue;
    const known = holders.knownTo(fact);
    const knowsAbort = known === undefined || !("stopping" in known) || known.stopping !== null;
    if (aborted.has(findRunId(fact)) && knowsAbort && !holders.isUnaware(fact))
      return { what: describeStart(fact), fact };
  }
  return undefined;
}

/** A cleanup step of a tool may begin after an abort. */
function isCleanup(start: StartFact): boolean {
  return start.type === "step_started" && start.cleanup === true;
}

function checkNothingReadyWhileStopping({ rows }: History): Breach | undefined {
  for (const fact of rows) {
    const { state } = fact.commit;
    if (!hasCalls(state) || state.stopping === null) continue;
    const waiting = state.calls.find(
      (call) => call.status !== "running" && call.status !== "waiting" && call.status !== "done",
    );
    if (waiting !== undefined)
      return { what: `${waiting.callKey} is ${waiting.status} after entry ${state.seq}`, fact };
  }
  return undefined;
}

function checkOnlyWantedStarts({ facts }: History): Breach | undefined {
  let state: State = initialState;
  const holders = trackHolders();
  for (const fact of facts) {
    holders.observe(fact);
    if (fact.type === "written") state = fact.commit.state;
    if (!isStart(fact) || holders.isUnaware(fact)) continue;
    const isWanted = (candidate: State) =>
      isCleaningUp(candidate, fact) || effects(candidate).some((effect) => leadsTo(effect, fact));
    const known = holders.knownTo(fact);
    if (isWanted(state) || (known !== undefined && isWanted(known))) continue;
    return { what: `${describeStart(fact)} while the session is '${state.status}' at entry ${state.seq}`, fact };
  }
  return undefined;
}

/** Whether the start is a cleanup step of a call that is still running. */
function isCleaningUp(state: State, start: StartFact): boolean {
  if (start.type !== "step_started" || !isCleanup(start)) return false;
  const call = callOf(state, start.callKey);
  return call?.status === "running" && call.attempt === start.attempt;
}

/** Whether this effect leads to the start. */
function leadsTo(effect: Effect, start: StartFact): boolean {
  switch (start.type) {
    case "summary_asked":
      return effect.type === "compact" && effect.runId === start.runId;
    case "tool_started":
    case "step_started":
      return effect.type === "run_tool" && effect.callKey === start.callKey && effect.attempt === start.attempt;
    case "model_called": {
      const { runId, modelCallIndex, attempt } = start.request;
      const isOfRun = effect.type === "call_model" && effect.runId === runId;
      return isOfRun && effect.modelCallIndex === modelCallIndex && effect.attempt === attempt;
    }
  }
}

function checkAttemptsUnique({ facts }: History): Breach | undefined {
  const seen = new Set<string>();
  for (const fact of facts) {
    if (!isStart(fact) || fact.type === "summary_asked" || fact.type === "step_started") continue;
    const { runId, modelCallIndex, attempt } = fact.type === "model_called" ? fact.request : { ...noIdentity, ...fact };
    const key = fact.type === "model_called" ? `${runId}/${modelCallIndex} ${attempt}` : `${fact.callKey} ${attempt}`;
    if (seen.has(`${fact.type} ${key}`))
      return { what: `${describeStart(fact)}, attempt ${attempt}, for the second time`, fact };
    seen.add(`${fact.type} ${key}`);
  }
  return undefined;
}

const noIdentity = { runId: "", modelCallIndex: 0 };
