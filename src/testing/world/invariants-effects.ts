/**
 * Invariants of what was started, whatever the agent and its tools are.
 */
import { effects } from "../../core/machine/effects.js";
import { hasCalls, initialState, type State } from "../../core/machine/state.js";
import type { Fact, FactOf } from "./facts.js";
import type { History, Invariant } from "./history.js";
import { leaseMs } from "./processes.js";

export const effectInvariants: readonly Invariant[] = [
  { number: 2, name: "a holder whose lease is gone starts nothing", check: onlyHoldersStart },
  {
    number: 6,
    name: "no result 'interrupted' of a call that nobody was allowed to start",
    check: onlyStartedAreInDoubt,
  },
  { number: 7, name: "a failed write is followed by no model call and no tool call", check: nothingAfterFailedWrite },
  { number: 8, name: "no effect starts after an abort is committed", check: nothingAfterAbort },
  { number: 8, name: "nothing waits for its start in a run that stops", check: nothingReadyWhileStopping },
  { number: 8, name: "what is started is wanted by the committed state", check: onlyWantedStarts },
  {
    number: 12,
    name: "no attempt of a model call and no attempt of a tool call begins twice",
    check: attemptsAreUnique,
  },
];

type Start = FactOf<"model_called" | "tool_started">;

function isStart(fact: Fact): fact is Start {
  return fact.type === "model_called" || fact.type === "tool_started";
}

export function nameOf(start: Start): string {
  if (start.type === "tool_started") return `${start.process} runs ${start.tool} ${start.callKey}`;
  return `${start.process} calls the model for ${start.request.runId}/${start.request.modelCallIndex}`;
}

function runOf(start: Start): string {
  return start.type === "model_called" ? start.request.runId : (start.callKey.split("/")[0] ?? "");
}

type Holding = FactOf<"holding" | "renewed">;
type Holders = {
  readonly see: (fact: Fact) => void;
  readonly of: (start: Start) => Holding | undefined;
  readonly isUnaware: (start: Start) => boolean;
  present: number;
};

/**
 * Who holds the session, and who cannot know that he does not, so that only the fence stands between the two: from whom it was
 * taken by a claim that was under way for long and named a time that has passed, or while the wall clock, now back where it was,
 * was set so that his lease was void.
 */
function watchHolders(): Holders {
  const known = new Map<string, Holding>();
  const takenLate = new Set<number>();
  const takenAt = new Map<number, number>();
  const holders: Holders = {
    present: 0,
    see(fact) {
      // A renewal may be answered after the lease was given back, and the next one claimed.
      if (fact.type === "holding" || (fact.type === "renewed" && fact.epoch === known.get(fact.process)?.epoch))
        known.set(fact.process, fact);
      if (fact.type !== "claimed") return;
      if (fact.late) takenLate.add(holders.present);
      takenAt.set(holders.present, fact.setting);
      holders.present = fact.epoch;
    },
    of: ({ process }) => known.get(process),
    isUnaware(start) {
      const holding = known.get(start.process);
      if (holding === undefined) return false;
      const wasSet = takenAt.get(holding.epoch) !== holding.setting && start.at - holding.askedAt < leaseMs;
      return takenLate.has(holding.epoch) || wasSet;
    },
  };
  return holders;
}

/**
 * Nothing waits between an effect's last look at its lease and the call that it starts, so no pause of this world falls in
 * between. A real process can be paused there, in the middle of its own code; neither it nor this oracle can see that.
 */
function onlyHoldersStart({ facts }: History): string | undefined {
  const holders = watchHolders();
  for (const fact of facts) {
    holders.see(fact);
    if (!isStart(fact) || holders.of(fact)?.epoch === holders.present || holders.isUnaware(fact)) continue;
    return `${nameOf(fact)} with epoch ${holders.of(fact)?.epoch}, while ${holders.present} is the present one`;
  }
  return undefined;
}

function nothingAfterFailedWrite({ facts }: History): string | undefined {
  const held = new Map<string, number>();
  const lost = new Set<number>();
  for (const fact of facts) {
    if (fact.type === "holding") held.set(fact.process, fact.epoch);
    if (fact.type === "refused" || (fact.type === "confirmed" && fact.released)) lost.add(fact.epoch);
    if (fact.type === "process" && fact.what === "gone") lost.add(held.get(fact.process) ?? 0);
    if (isStart(fact) && lost.has(held.get(fact.process) ?? 0)) return `${nameOf(fact)} after it lost its right to`;
  }
  return undefined;
}

function onlyStartedAreInDoubt({ rows }: History): string | undefined {
  const begun = new Set<string>();
  for (const { commit } of rows) {
    for (const event of commit.events) {
      const { type } = event;
      if (type === "tool_finished" && event.outcome === "interrupted" && !begun.has(event.callKey))
        return `${event.callKey} is said to have been interrupted, and was never under way`;
      // What is run elsewhere counts as begun when it is allowed.
      if (type === "tool_decided" && "policy" in event.decision && event.decision.policy.external === true)
        begun.add(event.callKey);
    }
    if (hasCalls(commit.state))
      for (const call of commit.state.calls)
        if (call.status === "running" || call.status === "waiting") begun.add(call.callKey);
  }
  return undefined;
}

function nothingAfterAbort({ facts }: History): string | undefined {
  const aborted = new Set<string>();
  const holders = watchHolders();
  for (const fact of facts) {
    holders.see(fact);
    if (fact.type === "written")
      for (const event of fact.commit.events) if (event.type === "abort_requested") aborted.add(event.runId);
    if (isStart(fact) && aborted.has(runOf(fact)) && !holders.isUnaware(fact)) return nameOf(fact);
  }
  return undefined;
}

function nothingReadyWhileStopping({ rows }: History): string | undefined {
  for (const { commit } of rows) {
    const { state } = commit;
    if (!hasCalls(state) || state.stopping === null) continue;
    const waiting = state.calls.find(
      (call) => call.status !== "running" && call.status !== "waiting" && call.status !== "done",
    );
    if (waiting !== undefined) return `${waiting.callKey} is ${waiting.status} after entry ${state.seq}`;
  }
  return undefined;
}

function onlyWantedStarts({ facts }: History): string | undefined {
  let state: State = initialState;
  const holders = watchHolders();
  for (const fact of facts) {
    holders.see(fact);
    if (fact.type === "written") state = fact.commit.state;
    if (!isStart(fact) || holders.isUnaware(fact)) continue;
    const isWanted = effects(state).some((effect) =>
      fact.type === "model_called"
        ? effect.type === "call_model" &&
          effect.runId === fact.request.runId &&
          effect.modelCallIndex === fact.request.modelCallIndex &&
          effect.attempt === fact.request.attempt
        : effect.type === "run_tool" && effect.callKey === fact.callKey && effect.attempt === fact.attempt,
    );
    if (!isWanted) return `${nameOf(fact)} while the session is '${state.status}' at entry ${state.seq}`;
  }
  return undefined;
}

function attemptsAreUnique({ facts }: History): string | undefined {
  const seen = new Set<string>();
  for (const fact of facts) {
    if (!isStart(fact)) continue;
    const { runId, modelCallIndex, attempt } = fact.type === "model_called" ? fact.request : { ...none, ...fact };
    const key = fact.type === "model_called" ? `${runId}/${modelCallIndex} ${attempt}` : `${fact.callKey} ${attempt}`;
    if (seen.has(`${fact.type} ${key}`)) return `${nameOf(fact)}, attempt ${attempt}, for the second time`;
    seen.add(`${fact.type} ${key}`);
  }
  return undefined;
}

const none = { runId: "", modelCallIndex: 0 };
