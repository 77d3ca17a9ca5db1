/**
 * The invariants of a play with a user's agent, checked against the log, the rows of the store, and the starts of calls.
 */
import type { Event } from "../../core/machine/event.js";
import { type History, type Invariant, isAnswer } from "../world/history.js";
import { describeStart, effectInvariants } from "../world/invariants-effects.js";
import { logInvariants } from "../world/invariants-log.js";
import { stepInvariants } from "../world/invariants-steps.js";

export const agentInvariants: readonly Invariant[] = [
  ...logInvariants,
  ...effectInvariants,
  ...stepInvariants,
  { number: 5, name: "a call that may not run again by itself is started once", check: checkStartedOnce },
  { number: 6, name: "a call with a result is not started again", check: checkNoStartAfterResult },
  { number: 6, name: "no result 'ok' of a call that was not started", check: checkNoInventedResults },
  { number: 9, name: "no call that asks is started before it is approved", check: checkApproved },
];

type ToolDecision = Extract<Event, { type: "tool_decided" }>["decision"];

/** The last decision about each call. */
function collectDecisions({ log }: History): ReadonlyMap<string, ToolDecision> {
  return new Map(log.flatMap(({ event }) => (event.type === "tool_decided" ? [[event.callKey, event.decision]] : [])));
}

function checkStartedOnce(history: History): string | undefined {
  const decisions = collectDecisions(history);
  const starts = new Map<string, number>();
  for (const fact of history.facts) {
    if (fact.type !== "tool_started") continue;
    const { callKey, tool } = fact;
    const count = (starts.get(callKey) ?? 0) + 1;
    starts.set(callKey, count);
    const decision = decisions.get(callKey);
    const recover = decision !== undefined && "policy" in decision ? decision.policy.recover : undefined;
    const agreements = history.log.filter(({ event }) => isAnswer(event, callKey, ["rerun", "approve"])).length;
    if (recover === "fail" && count > 1) return `${callKey} (${tool}) was started ${count} times`;
    if (recover === "ask" && count > 1 + agreements) return `${callKey} (${tool}) ran again without approval`;
  }
  return undefined;
}

function checkNoStartAfterResult({ facts }: History): string | undefined {
  const ended = new Set<string>();
  for (const fact of facts) {
    if (fact.type === "written")
      for (const event of fact.commit.events) if (event.type === "tool_finished") ended.add(event.callKey);
    if (fact.type === "tool_started" && ended.has(fact.callKey))
      return `${describeStart(fact)} after its result was stored`;
  }
  return undefined;
}

function checkNoInventedResults({ facts, log }: History): string | undefined {
  const started = new Set(facts.flatMap((fact) => (fact.type === "tool_started" ? fact.callKey : [])));
  const elsewhere = new Set(log.flatMap(({ event }) => (event.type === "tool_waiting" ? event.callKey : [])));
  for (const { seq, event } of log) {
    if (event.type === "tool_decided" && "policy" in event.decision && event.decision.policy.external === true)
      elsewhere.add(event.callKey);
    if (event.type !== "tool_finished" || event.outcome !== "ok" || event.causeSeq !== undefined) continue;
    // The result says that a child was started in the background, which is all that the call does.
    if (event.startedChild !== undefined) continue;
    if (!started.has(event.callKey) && !elsewhere.has(event.callKey))
      return `entry ${seq} is a result of ${event.callKey}`;
  }
  return undefined;
}

function checkApproved(history: History): string | undefined {
  const approved = new Set<string>();
  const decisions = collectDecisions(history);
  for (const fact of history.facts) {
    if (fact.type === "written")
      for (const event of fact.commit.events)
        if (event.type === "answered" && isAnswer(event, event.callKey, ["approve", "modify"]))
          approved.add(event.callKey);
    if (fact.type !== "tool_started" || approved.has(fact.callKey)) continue;
    if (decisions.get(fact.callKey)?.verdict === "ask") return `${describeStart(fact)}, which was not approved`;
  }
  return undefined;
}
