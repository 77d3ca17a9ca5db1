/**
 * Invariants of what people were told.
 */

import { hasCalls } from "../../../src/core/machine/state.js";
import type { RunResult } from "../../../src/core/view/outcome.js";
import { PawlError } from "../../../src/errors.js";
import type { Breach, Invariant } from "../../../src/testing/world/history.js";
import type { Question } from "./clients.js";
import type { SimulationHistory } from "./history.js";

export const peopleInvariants: readonly Invariant<SimulationHistory>[] = [
  { number: 1, name: "what was accepted is in the log once, what was refused at most once", check: inputsAreKept },
  { number: 1, name: "results are what the log says", check: resultsAreTrue },
  { number: 1, name: "readers see the log's events once and in order", check: readersSeeTheLog },
  { number: 1, name: "observers are told of what is in the log, in its order", check: observersHearTheLog },
  { number: 7, name: "only misuse throws", check: onlyMisuseThrows },
  { number: 7, name: "no run is interrupted where nothing went wrong", check: nothingInterruptsInCalm },
];

function inputsAreKept({ log, clients }: SimulationHistory): string | undefined {
  const counts = new Map<string, number>();
  for (const { event } of log)
    if ("input" in event && Array.isArray(event.input))
      for (const message of event.input)
        for (const part of message.parts)
          if (part.type === "text") counts.set(part.text, (counts.get(part.text) ?? 0) + 1);
  for (const question of clients.questions) {
    if (question.input === undefined) continue;
    const count = counts.get(question.input) ?? 0;
    if (count > 1) return `'${question.input}' is in the log ${count} times`;
    if (count === 0 && wasAccepted(question) && !wasWithdrawn(question, clients.questions))
      return `'${question.input}' was accepted, and is not in the log`;
  }
  return undefined;
}

function wasAccepted({ answer }: Question): boolean {
  if (answer?.type === "done") return true;
  return answer?.type === "result" && answer.result.status !== "interrupted";
}

/** Who asked for it may not have heard that it was. */
function wasWithdrawn({ runId, isLater }: Question, all: readonly Question[]): boolean {
  const isUnsent = ({ what, answer }: Question) =>
    what === `unsend ${runId}` && (answer?.type !== "done" || answer.said === "unsent");
  return isLater === true && all.some(isUnsent);
}

function resultsAreTrue({ log, family, clients }: SimulationHistory): string | undefined {
  for (const { answer } of clients.questions) {
    if (answer?.type !== "result") continue;
    const { result } = answer;
    if (result.status === "interrupted" || result.status === "waiting") continue;
    const problem = result.status === "awaiting_human" ? unasked(result, family) : unfinished(result, log);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** An approval that somebody is told of is there for every other process too. */
function unasked(
  { approvals }: Extract<RunResult, { status: "awaiting_human" }>,
  rows: SimulationHistory["family"],
): string | undefined {
  if (approvals.length === 0) return "a run is said to wait for a person, and nothing is asked";
  const asked = (callKey: string) =>
    rows.some(
      ({ commit: { state } }) =>
        hasCalls(state) &&
        state.calls.some((call) => call.callKey === callKey && (call.status === "asking" || call.status === "waiting")),
    );
  const missing = approvals.find((one) => !asked(one.callKey));
  return missing === undefined ? undefined : `${missing.callKey} waits, and the store does not know`;
}

function unfinished(
  result: Exclude<RunResult, { status: "awaiting_human" | "waiting" | "interrupted" }>,
  log: SimulationHistory["log"],
) {
  const end = log.find(({ event }) => event.type === "run_finished" && event.runId === result.runId)?.event;
  if (end?.type === "run_finished" && end.reason === result.reason) return undefined;
  // A run that is aborted while it is queued never starts, as one whose history comes too late.
  const neverBegan = !log.some(({ event }) => event.type === "run_started" && event.runId === result.runId);
  const isAborted = log.some(({ event }) => event.type === "abort_requested" && event.runId === result.runId);
  if (result.reason === "aborted" && isAborted && neverBegan) return undefined;
  return `${result.runId} is said to have ended with ${result.reason}, in the log it ${end === undefined ? "has not ended" : "ended otherwise"}`;
}

function readersSeeTheLog({ events, clients }: SimulationHistory): string | undefined {
  const expected = events.map((event) => `${event.seq} ${event.type}`);
  for (const { process, seen, ended } of clients.readers) {
    const names = seen.map((event) => `${event.seq} ${event.type}`);
    const other = names.findIndex((name, index) => name !== expected[index]);
    if (other !== -1) return `a reader at ${process.name} sees '${names[other]}' in the place of '${expected[other]}'`;
    if (process.status === "running" && !ended && names.length < expected.length)
      return `a reader at ${process.name} has seen ${names.length} of ${expected.length} events`;
  }
  return undefined;
}

function observersHearTheLog({ events, facts }: SimulationHistory): Breach | undefined {
  const known = new Set(events.map((event) => `${event.seq} ${event.type}`));
  const last = new Map<string, number>();
  for (const fact of facts) {
    if (fact.type !== "told") continue;
    const { process, event, seq } = fact;
    if (!known.has(event))
      return { what: `an observer at ${process} is told of '${event}', which is not in the log`, fact };
    if (seq < (last.get(process) ?? 0))
      return { what: `an observer at ${process} is told of '${event}' after ${last.get(process)}`, fact };
    last.set(process, seq);
  }
  return undefined;
}

const misuse: ReadonlySet<string> = new Set(["session_busy", "no_such_call", "run_finished"]);

function onlyMisuseThrows({ clients }: SimulationHistory): string | undefined {
  for (const question of clients.questions) {
    const { what, process, answer } = question;
    if (answer?.type !== "error" || isExpected(answer.error, question, clients.questions)) continue;
    const { error } = answer;
    return `'${what}' at ${process.name} threw ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  }
  return undefined;
}

function isExpected(error: unknown, { what, runId, process }: Question, all: readonly Question[]): boolean {
  if (!(error instanceof PawlError)) return false;
  switch (error.code) {
    case "store_failed":
      return !what.startsWith("run");
    case "bad_input":
      if (what.endsWith("with a history")) return true;
      return all.some((one) => one.runId === runId && one.what.startsWith("steer"));
    case "no_session":
      return what !== "work";
    case "shut_down":
      return all.some((one) => one.process === process && one.what === "shutdown");
    default:
      return misuse.has(error.code);
  }
}

function nothingInterruptsInCalm({ isCalm, clients }: SimulationHistory): string | undefined {
  for (const { what, process, answer } of clients.questions) {
    if (!isCalm || answer?.type !== "result" || answer.result.status !== "interrupted") continue;
    if (answer.result.reason !== "held_back")
      return `'${what}' at ${process.name} was interrupted: ${answer.result.reason}`;
  }
  return undefined;
}
