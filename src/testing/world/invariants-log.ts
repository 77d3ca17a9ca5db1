/**
 * Invariants of the log and its rows.
 */

import { isDeepStrictEqual } from "node:util";
import { callKeyOf } from "../../core/data/call-key.js";
import { type Message, toolCallsOf } from "../../core/data/message.js";
import type { Event, EventOf } from "../../core/machine/event.js";
import { initialState, isResting, isTerminal, isWaiting, maxRestarts, type State } from "../../core/machine/state.js";
import { transition } from "../../core/machine/transition.js";
import type { MessageDelta } from "../../ports/model.js";
import type { FactOf } from "./facts.js";
import { type Breach, createBreach, type History, type Invariant } from "./history.js";
import { assembleParts, formatAttempt, formatPart } from "./message-parts.js";

export const logInvariants: readonly Invariant[] = [
  { number: 1, name: "every acknowledged event is there, once, without gaps", check: checkNothingLost },
  { number: 2, name: "epochs never go back, and a holder whose lease is gone writes nothing", check: checkOneWriter },
  { number: 3, name: "one assistant message for each step, in order", check: checkOneMessageEach },
  {
    number: 4,
    name: "one result for each call, in call order, in all that a model is sent",
    check: checkOneResultEach,
  },
  { number: 10, name: "deltas put together equal the committed message", check: checkDeltasMatchMessage },
  { number: 11, name: "the log up to a commit folds to its state", check: checkLogFolds },
  { number: 12, name: "a run ends within a bounded number of restarts", check: checkRestarts },
  { number: 12, name: "what is active can be claimed", check: checkClaimable },
  { number: 13, name: "counters never go down within a run", check: checkCountersGrow },
];

/** The invariants that need only the log and the state of its last entry. */
export const storedInvariants: readonly Invariant[] = [
  { number: 1, name: "every acknowledged event is there, once, without gaps", check: checkNothingLost },
  { number: 3, name: "one assistant message for each step, in order", check: checkOneMessageEach },
  { number: 4, name: "one result for each call", check: checkOneResultEach },
  { number: 11, name: "the log up to a commit folds to its state", check: checkLogFolds },
  { number: 12, name: "a run ends within a bounded number of restarts", check: checkRestarts },
];

function checkNothingLost({ log, rows, facts }: History): Breach | undefined {
  const gap = log.findIndex((entry, index) => entry.seq !== index + 1);
  if (gap !== -1) return `entry ${gap + 1} is numbered ${log[gap]?.seq}`;
  const written = rows.flatMap((row) => row.commit.events);
  if (written.length !== log.length) return `${written.length} events were written, the log has ${log.length}`;
  const mismatch = log.findIndex((entry, index) => !isDeepStrictEqual(entry.event, written[index]));
  if (mismatch !== -1) return `entry ${mismatch + 1} is not what was written`;
  const ahead = facts.find((fact) => fact.type === "confirmed" && fact.seq !== null && fact.seq > log.length);
  return ahead === undefined ? undefined : "an entry was acknowledged that is not there";
}

function checkOneWriter({ facts }: History): Breach | undefined {
  let epoch = 0;
  for (const fact of facts) {
    if (fact.type === "claimed") {
      if (fact.epoch <= epoch) return { what: `epoch ${fact.epoch} follows ${epoch}`, fact };
      epoch = fact.epoch;
    }
    if (fact.type === "written" && fact.epoch !== epoch)
      return { what: `${fact.process} writes with epoch ${fact.epoch} while epoch ${epoch} is current`, fact };
  }
  return undefined;
}

function checkOneMessageEach({ log, rows }: History): Breach | undefined {
  const last = new Map<string, number>();
  for (const { seq, event } of log) {
    if (event.type !== "model_finished") continue;
    const { runId, modelCallIndex } = event;
    const expected = (last.get(runId) ?? 0) + 1;
    if (modelCallIndex !== expected)
      return createBreach(seq, `entry ${seq} is message ${modelCallIndex} of ${runId}, not ${expected}`, rows);
    last.set(runId, modelCallIndex);
  }
  return undefined;
}

function checkOneResultEach({ log, rows, facts }: History): Breach | undefined {
  const openCalls = new Map<string, Set<string>>();
  for (const { seq, event } of log) {
    if (event.type === "model_finished") {
      const { runId, modelCallIndex } = event;
      if ((openCalls.get(runId)?.size ?? 0) > 0)
        return createBreach(seq, `entry ${seq} follows calls without a result`, rows);
      const keys = toolCallsOf(event.message).map((_, index) => callKeyOf(runId, modelCallIndex, index + 1));
      openCalls.set(runId, new Set(keys));
    }
    if (event.type === "tool_finished" && openCalls.get(event.runId)?.delete(event.callKey) !== true)
      return createBreach(
        seq,
        `entry ${seq} is a result of ${event.callKey}, which already has a result or was never requested`,
        rows,
      );
    if (event.type === "run_finished" && (openCalls.get(event.runId)?.size ?? 0) > 0 && !isSummaryRun(log, event))
      return createBreach(seq, `entry ${seq} ends ${event.runId} with calls open`, rows);
  }
  if (rows.some(({ commit }) => isTerminal(commit.state) && "calls" in commit.state)) return "an ended run has calls";
  for (const fact of facts)
    if (fact.type === "model_called") {
      const problem = findMessageProblem(fact.request.messages);
      const { runId, modelCallIndex } = fact.request;
      if (problem !== undefined) return { what: `${runId}/${modelCallIndex} is sent ${problem}`, fact };
    }
  return undefined;
}

/** The calls that a model requests in its summary are not run. */
function isSummaryRun(log: History["log"], { runId }: EventOf<"run_finished">): boolean {
  const prepared = log.findLast(({ event }) => event.type === "prepared" && event.runId === runId)?.event;
  return prepared?.type === "prepared" && prepared.purpose === "summary";
}

function findMessageProblem(messages: readonly Message[]): string | undefined {
  const ids = new Set<string>();
  for (const [index, message] of messages.entries()) {
    if (message.role === "tool" && messages[index - 1]?.role !== "assistant") return "results that follow no calls";
    if (message.role !== "assistant") continue;
    const calls = toolCallsOf(message).map((call) => call.toolCallId);
    for (const id of calls) {
      if (ids.has(id)) return `two calls with the id '${id}'`;
      ids.add(id);
    }
    const next = messages[index + 1];
    const results = next?.role === "tool" ? next.parts.map((part) => part.toolCallId) : [];
    if (!isDeepStrictEqual(results, calls)) return `results [${results}] of calls [${calls}]`;
  }
  const last = messages.at(-1)?.role;
  return last === "user" || last === "tool" ? undefined : `a conversation that ends with '${last}'`;
}

/** Observers get deltas with a delay, possibly after the commit of their message. */
function checkDeltasMatchMessage({ facts }: History): Breach | undefined {
  const streams = new Map<string, MessageDelta[]>();
  for (const fact of facts) {
    if (fact.type !== "delta") continue;
    const key = `${fact.process} ${formatAttempt(fact.delta)}`;
    const stream = streams.get(key) ?? [];
    const previous = stream.at(-1);
    if (fact.delta.seq !== (previous?.seq ?? 0) + 1)
      return { what: `delta ${fact.delta.seq} of ${key} is out of order`, fact };
    if ((previous === undefined) !== (fact.delta.kind === "start"))
      return { what: `${key} does not begin with one start`, fact };
    if (previous?.kind === "done" || previous?.kind === "error")
      return { what: `${key} continues after its end`, fact };
    streams.set(key, [...stream, fact.delta]);
  }
  for (const fact of facts) {
    if (fact.type !== "written") continue;
    for (const event of fact.commit.events) {
      if (event.type !== "model_finished") continue;
      const key = `${fact.process} ${formatAttempt(event)}`;
      const streamed = assembleParts(streams.get(key) ?? []);
      if (!isDeepStrictEqual(streamed, event.message.parts.map(formatPart)))
        return { what: `${key} streamed ${JSON.stringify(streamed)}`, fact };
    }
  }
  return undefined;
}

function checkLogFolds({ log, rows }: History): Breach | undefined {
  let state: State = initialState;
  let folded = 0;
  for (const fact of rows) {
    const { commit } = fact;
    const end = commit.expectedSeq + commit.events.length;
    for (const entry of log.slice(folded, end)) state = transition(state, entry.event);
    folded = end;
    if (state.seq !== end) return { what: `the entries up to ${end} do not all apply`, fact };
    if (!isDeepStrictEqual(state, commit.state))
      return {
        what: `up to ${end} the log gives ${JSON.stringify(state)}, the row has ${JSON.stringify(commit.state)}`,
        fact,
      };
  }
  return undefined;
}

function checkRestarts({ log, rows }: History): Breach | undefined {
  let restarts = 0;
  for (const { seq, event } of log) {
    if (event.type === "restarted") restarts += 1;
    if (restarts > maxRestarts)
      return createBreach(
        seq,
        `at entry ${seq} the run is restarted for the ${restarts}th time without progress`,
        rows,
      );
    if (isProgress(event) || event.type === "run_finished") restarts = 0;
  }
  return undefined;
}

/** Whether the event is progress that the next restart does not repeat. */
function isProgress(event: Event): boolean {
  switch (event.type) {
    case "run_started":
    case "compaction_requested":
    case "model_finished":
    case "tool_asked":
    case "tool_failed":
    case "tool_step_finished":
      return true;
    case "tool_finished":
      return event.causeSeq === undefined;
    case "compacted":
      return event.summary !== undefined;
    default:
      return false;
  }
}

function checkClaimable({ rows }: History): Breach | undefined {
  for (const fact of rows) {
    const { state, dueAt, release, activity } = fact.commit;
    const where = `after entry ${state.seq} ('${state.status}')`;
    if (isResting(state) || isWaiting(state)) continue;
    if (dueAt === null || activity !== "active") return { what: `${where} the session is not due`, fact };
    if (release === true) return { what: `${where} the lease was released`, fact };
  }
  return undefined;
}

function checkCountersGrow({ rows }: History): Breach | undefined {
  let previous: FactOf<"written">["commit"]["state"] = initialState;
  for (const fact of rows) {
    const now = fact.commit.state;
    if (previous.status !== "idle" && now.status !== "idle" && previous.runId === now.runId) {
      const counts = { ...previous.counters, ...pickTokens(previous), modelCallIndex: previous.modelCallIndex };
      const currentCounts: { readonly [name: string]: number } = {
        ...now.counters,
        ...pickTokens(now),
        modelCallIndex: now.modelCallIndex,
      };
      for (const [name, count] of Object.entries(counts))
        if ((currentCounts[name] ?? 0) < count)
          return { what: `${name} went from ${count} to ${currentCounts[name]} at entry ${now.seq}`, fact };
    }
    previous = now;
  }
  return undefined;
}

function pickTokens({ usage }: { readonly usage: { readonly inputTokens?: number; readonly outputTokens?: number } }) {
  return { inputTokens: usage.inputTokens ?? 0, outputTokens: usage.outputTokens ?? 0 };
}
