/**
 * Invariants of what took effect in the world, by the tools of the simulation.
 */

import { isDeepStrictEqual } from "node:util";
import { callKeyOf } from "../../../src/core/data/call-key.js";
import { toolCallsOf } from "../../../src/core/data/message.js";
import type { Event } from "../../../src/core/machine/event.js";
import type { Fact, FactOf } from "../../../src/testing/world/facts.js";
import { type Breach, type History, type Invariant, isAnswer } from "../../../src/testing/world/history.js";
import { describeStart } from "../../../src/testing/world/invariants-effects.js";
import { delegate, toTransferName } from "./family.js";
import { retriesOfPersistent } from "./stepped-tools.js";
import { approvalNeeded, forbidden, isDeniedAfterAsking, onceOnly, retryCounts } from "./tools.js";

export const toolInvariants: readonly Invariant[] = [
  { number: 5, name: "what may take effect once only does so at most once", check: atMostOnce },
  { number: 5, name: "a call is tried again as often as its tool allows", check: retriesAreBounded },
  { number: 15, name: "each step has a key of its own", check: stepsHaveTheirOwnValues },
  { number: 15, name: "a tool that has ended asks nothing", check: endedAsksNothing },
  { number: 6, name: "no result 'ok' without an effect", check: noInventedResults },
  { number: 8, name: "what settles in a run that stops is recorded, in time or late", check: lateResultsAreKept },
  { number: 8, name: "what runs when a run is aborted is signalled", check: runningIsSignalled },
  { number: 9, name: "no tool that needs an approval runs before it is committed", check: nothingUnapproved },
  { number: 9, name: "no approval counts that the rules deny by then", check: nothingOverruledRuns },
];

function atMostOnce({ facts, log }: History): Breach | undefined {
  const inputs = new Map<string, string>();
  const starts = new Map<string, number>();
  for (const fact of facts) {
    if (fact.type === "tool_acted" && (fact.tool === "keyed" || onceOnly.has(fact.tool))) {
      const name = `${fact.tool} ${fact.input}`;
      if (inputs.has(name))
        return { what: `${name} took effect for ${inputs.get(name)} and again for ${fact.callKey}`, fact };
      inputs.set(name, fact.callKey);
    }
    if (fact.type !== "tool_started") continue;
    const count = (starts.get(fact.callKey) ?? 0) + 1;
    starts.set(fact.callKey, count);
    if (count > 1 && onceOnly.has(fact.tool))
      return { what: `${fact.callKey} (${fact.tool}) was started ${count} times`, fact };
    const agreed = log.filter(({ event }) => isAnswer(event, fact.callKey, ["rerun", "approve"])).length;
    if (fact.tool === "unsure" && count > 1 + agreed)
      return { what: `${fact.callKey} ran again and nobody agreed`, fact };
  }
  return undefined;
}

function nothingOverruledRuns({ facts }: History): Breach | undefined {
  const fact = facts.find((one) => one.type === "tool_started" && isDeniedAfterAsking(one.tool, one.input));
  return fact === undefined ? undefined : { what: "a call runs that the rules deny since it was asked about", fact };
}

function retriesAreBounded({ log }: History): string | undefined {
  const failures = new Map<string, number>();
  for (const { event } of log) {
    if (event.type !== "tool_failed") continue;
    const count = (failures.get(event.callKey) ?? 0) + 1;
    failures.set(event.callKey, count);
    if (count > Math.max(retriesOfPersistent, ...Object.values(retryCounts)))
      return `${event.callKey} was tried again ${count} times`;
  }
  for (const [callKey, name] of namesIn(log)) {
    const count = failures.get(callKey) ?? 0;
    if (count > (retries.get(name) ?? 0)) return `${name} was tried again ${count} times`;
  }
  return undefined;
}

/** The tool of each call; the one that it was mended to, if it was. */
function namesIn(log: History["log"]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const { event } of log) {
    if (event.type === "model_finished")
      for (const [index, { name }] of toolCallsOf(event.message).entries())
        names.set(callKeyOf(event.runId, event.modelCallIndex, index + 1), name);
    if (event.type === "tool_decided" && event.decision.repair?.name !== undefined)
      names.set(event.callKey, event.decision.repair.name);
  }
  return names;
}

const retries = new Map<string, number>([...Object.entries(retryCounts), ["persistent", retriesOfPersistent]]);

function noInventedResults({ facts, log }: History): Breach | undefined {
  const settled = new Map<string, unknown[]>();
  const delegated = delegatedIn(log);
  for (const fact of facts) {
    if (fact.type === "tool_settled") settled.set(fact.callKey, [...(settled.get(fact.callKey) ?? []), fact.output]);
    if (fact.type !== "written") continue;
    for (const event of fact.commit.events) {
      if (event.type !== "tool_finished" || event.outcome !== "ok" || event.done !== undefined) continue;
      const { callKey, output } = event;
      if (delegated.has(callKey)) continue;
      if (settled.get(callKey)?.some((one) => isDeepStrictEqual(one, output)) === true) continue;
      if (log.some((entry) => entry.seq === event.causeSeq && isAnswer(entry.event, callKey, ["result"]))) continue;
      if (output?.type === "text" && output.text.startsWith("given ")) continue;
      return { what: `${callKey} is said to have given ${JSON.stringify(output)}`, fact };
    }
  }
  return undefined;
}

/** The calls of agents: their results are those of other sessions, or the machine makes them. */
function delegatedIn(log: History["log"]): ReadonlySet<string> {
  const isOfAgent = (name: string) => name === delegate || name.startsWith(toTransferName(""));
  return new Set([...namesIn(log)].flatMap(([callKey, name]) => (isOfAgent(name) ? callKey : [])));
}

/** Only where nothing befalls the process that ran it: who dies, or cannot reach the store, has nobody to tell. */
function lateResultsAreKept({ facts, log }: History): string | undefined {
  const settled = settledUndisturbed(facts);
  for (const { event } of log) {
    if (event.type !== "tool_finished" || event.outcome !== "interrupted" || !settled.has(event.callKey)) continue;
    if (lastStarted(facts, event.callKey) <= lastFailed(log, event.callKey)) continue;
    if (!log.some((entry) => entry.event.type === "late_result" && entry.event.callKey === event.callKey))
      return `${event.callKey} settled, and the log does not say so`;
  }
  return undefined;
}

function lastStarted(facts: readonly Fact[], callKey: string): number {
  const attempts = facts.map((fact) => (fact.type === "tool_started" && fact.callKey === callKey ? fact.attempt : 0));
  return Math.max(0, ...attempts);
}

/** The last attempt whose failure is in the log. A run may stop before the next attempt of a call has begun. */
function lastFailed(log: History["log"], callKey: string): number {
  const attempts = log.map(({ event }) =>
    event.type === "tool_failed" && event.callKey === callKey ? event.attempt : 0,
  );
  return Math.max(0, ...attempts);
}

/**
 * The calls that settled in a process which nothing befell since it started them, and which, whenever it held the session, gave
 * it back because nothing was left to do.
 */
function settledUndisturbed(facts: readonly Fact[]): ReadonlySet<string> {
  const holding = new Set<string>();
  const started = new Map<string, Set<string>>();
  const settled = new Map<string, Set<string>>();
  const forget = (process: string) => {
    started.delete(process);
    settled.delete(process);
  };
  for (const fact of facts) {
    if (befallsItsProcess(fact)) forget(fact.process);
    if (fact.type === "holding") {
      if (holding.has(fact.process)) forget(fact.process);
      holding.add(fact.process);
    }
    if (fact.type === "confirmed" && fact.released) holding.delete(fact.process);
    if (fact.type === "tool_started") addTo(started, fact);
    if (fact.type === "tool_settled" && started.get(fact.process)?.has(fact.callKey) === true) addTo(settled, fact);
  }
  for (const process of holding) forget(process);
  return new Set([...settled.values()].flatMap((calls) => [...calls]));
}

function addTo(calls: Map<string, Set<string>>, { process, callKey }: FactOf<"tool_started" | "tool_settled">): void {
  calls.set(process, (calls.get(process) ?? new Set()).add(callKey));
}

/** A release by itself, without a commit, is that of a driver that was cut off. */
function befallsItsProcess(fact: Fact): fact is FactOf<"process" | "refused" | "unanswered" | "confirmed" | "asked"> {
  switch (fact.type) {
    case "process":
    case "refused":
    case "unanswered":
      return true;
    case "confirmed":
      return fact.released && fact.seq === null;
    case "asked":
      return fact.what === "shutdown";
    default:
      return false;
  }
}

/**
 * By a process that lives on and keeps its lease, once it knows of the abort. Where it has to make sure of its lease first, a call
 * may settle meanwhile, and is signalled all the same.
 */
function runningIsSignalled({ facts }: History): string | undefined {
  const killed = new Set(
    facts.flatMap((fact) => (fact.type === "process" && fact.what === "killed" ? fact.process : [])),
  );
  const aborts = new Map<string, readonly string[]>();
  const running = new Map<string, string>();
  const owed = new Map<string, string>();
  const unsignalled = new Set<string>();
  for (const fact of facts) {
    if (fact.type === "tool_started" && fact.heeds === true) running.set(fact.callKey, fact.process);
    if (fact.type === "written") aborts.set(`${fact.process} ${fact.epoch}`, abortsIn(fact));
    if (fact.type === "confirmed" && !killed.has(fact.process))
      for (const runId of aborts.get(`${fact.process} ${fact.epoch}`) ?? [])
        for (const [callKey, process] of running)
          if (process === fact.process && callKey.startsWith(`${runId}/`)) owed.set(callKey, process);
    if (fact.type === "renewed" || fact.type === "refused")
      for (const [callKey, process] of owed) if (process === fact.process) owed.delete(callKey);
    if (fact.type === "tool_signalled") {
      owed.delete(fact.callKey);
      // One whose time is up is signalled once, and an abort signals it no more.
      running.delete(fact.callKey);
    }
    if (fact.type === "tool_settled") running.delete(fact.callKey);
    if (fact.type === "tool_settled" && owed.has(fact.callKey)) unsignalled.add(fact.callKey);
  }
  for (const [callKey, process] of owed)
    if (unsignalled.has(callKey)) return `${callKey} went on in ${process}, which knew of the abort`;
  return undefined;
}

function abortsIn({ commit }: FactOf<"written">): readonly string[] {
  return commit.events.flatMap((event) => (event.type === "abort_requested" ? event.runId : []));
}

function nothingUnapproved({ facts }: History): Breach | undefined {
  const approved = new Map<string, number | null>();
  for (const fact of facts) {
    if (fact.type === "written")
      for (const event of fact.commit.events) {
        if (isAnswer(event, event.type === "answered" ? event.callKey : "", ["approve", "modify"]))
          if (event.type === "answered") approved.set(event.callKey, editedInput(event.answer));
      }
    if (fact.type !== "tool_started") continue;
    if (forbidden.has(fact.tool)) return { what: `${describeStart(fact)}, which is forbidden`, fact };
    if (!approvalNeeded.has(fact.tool)) continue;
    const input = approved.get(fact.callKey);
    if (input === undefined) return { what: `${describeStart(fact)}, which nobody approved`, fact };
    if (input !== null && input !== fact.input)
      return { what: `${describeStart(fact)} with ${fact.input}; approved was ${input}`, fact };
  }
  return undefined;
}

function editedInput(answer: Extract<Event, { type: "answered" }>["answer"]): number | null {
  if (answer.type !== "modify") return null;
  const { input } = answer;
  return typeof input === "object" && input !== null && "n" in input && typeof input.n === "number" ? input.n : null;
}

/** Services that honor keys know a step by its key: another step has another one. */
function stepsHaveTheirOwnValues({ facts }: History): Breach | undefined {
  for (const fact of facts) {
    if (fact.type !== "step_given" || !("value" in fact.given) || typeof fact.given.value !== "string") continue;
    if (!fact.given.value.startsWith(`${fact.step} `))
      return { what: `${fact.callKey} gets '${fact.given.value}' of its step '${fact.step}'`, fact };
  }
  return undefined;
}

/**
 * A question after the end would count instead of what hooks were told, and of what the tool gave. An attempt can outlive its driver if
 * something befalls the process: what settles there from then on may be that attempt, and not the next one.
 */
function endedAsksNothing({ facts }: History): Breach | undefined {
  const calls = new Map<string, Map<string, "running" | "ended" | "unclear">>();
  for (const fact of facts) {
    if (befallsItsProcess(fact))
      for (const callKey of calls.get(fact.process)?.keys() ?? []) calls.get(fact.process)?.set(callKey, "unclear");
    if (fact.type === "tool_started") {
      const here = calls.get(fact.process) ?? new Map<string, "running" | "ended" | "unclear">();
      calls.set(fact.process, here);
      if (here.get(fact.callKey) !== "unclear") here.set(fact.callKey, "running");
    }
    if (fact.type === "tool_settled") {
      const here = calls.get(fact.process);
      if (here?.get(fact.callKey) === "running") here.set(fact.callKey, "ended");
    }
    if (fact.type !== "written") continue;
    for (const event of fact.commit.events)
      if (event.type === "tool_asked" && calls.get(fact.process)?.get(event.callKey) === "ended")
        return { what: `${event.callKey} asks '${event.step}' after its end`, fact };
  }
  return undefined;
}
