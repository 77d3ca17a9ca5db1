/**
 * Invariants of which agent does what, of what a session begins with, and of answers that nobody may have.
 *
 * 1. Models and tools are those of the agent that has the session in the committed state.
 * 2. A handoff that was granted takes place before anything else of its run, unless the run ends first.
 * 3. A conversation from elsewhere stands once, at the very beginning.
 * 4. Texts from outside stay the same in all calls of a run. An agent that takes over loads its own.
 * 5. An answer that a hook refused is never sent to a model again, and no result has it.
 * 6. No message is committed before the guard of its process has let it pass.
 * 7. A name that is only nearly right leads to the same name in another spelling, or to a tool that changes nothing.
 * 8. A call that was skipped, denied, blocked or not run never started.
 */
import { callKeyOf } from "../../../src/core/data/call-key.js";
import { textOf, toolCallsOf } from "../../../src/core/data/message.js";
import type { Event } from "../../../src/core/machine/event.js";
import type { ModelRequest } from "../../../src/ports/model.js";
import type { Breach, History, Invariant } from "../../../src/testing/world/history.js";
import { describeStart, trackHolders } from "../../../src/testing/world/invariants-effects.js";
import { formatAttempt } from "../../../src/testing/world/message-parts.js";
import { maxHandoffs } from "./family.js";
import type { SimulationHistory } from "./history.js";

export const agentInvariants: readonly Invariant<SimulationHistory>[] = [
  { number: 16, name: "what is started is the agent's that has the session", check: agentsAreThoseOfTheState },
  { number: 16, name: "a handoff takes place before anything else", check: handoffsTakePlace },
  { number: 1, name: "a conversation from elsewhere stands once, at the beginning", check: historyComesFirst },
  { number: 14, name: "texts from outside stay the same in a run", check: sourcesStay },
  { number: 6, name: "a refused answer is gone", check: refusedIsGone },
  { number: 6, name: "no message counts before the guard has let it pass", check: guardsAreHeard },
  { number: 6, name: "a slip in a name leads to nothing that changes something", check: slipsAreHarmless },
  { number: 6, name: "what did not run has not started", check: unstartedNeverStarted },
];

function agentsAreThoseOfTheState({ facts }: History): Breach | undefined {
  let agent: string | undefined;
  const holders = trackHolders();
  for (const fact of facts) {
    holders.observe(fact);
    if (fact.type === "written") for (const event of fact.commit.events) agent = agentAfter(event, agent);
    if (fact.type !== "model_called" && fact.type !== "tool_started") continue;
    if (fact.agent === undefined || holders.isUnaware(fact) || agent === fact.agent) continue;
    return { what: `${describeStart(fact)} as '${fact.agent}', and '${agent}' has the session`, fact };
  }
  return undefined;
}

/** The agent that has the session, by the log alone. */
function agentAfter(event: Event, before: string | undefined): string | undefined {
  if (event.type === "session_created") return event.agent;
  if (event.type === "run_started") return event.options?.agent ?? before;
  return event.type === "handed_off" ? event.to : before;
}

function handoffsTakePlace({ log }: History): string | undefined {
  const transfers = new Set<string>();
  const counts = new Map<string, number>();
  let granted: string | undefined;
  let agent: string | undefined;
  for (const { seq, event } of log) {
    if (event.type === "tool_decided" && "policy" in event.decision && event.decision.policy.handoff !== undefined)
      transfers.add(event.callKey);
    if (event.type === "tool_finished" && event.outcome === "not_run" && transfers.has(event.callKey))
      if (granted === undefined || positionOf(granted) > positionOf(event.callKey))
        return `entry ${seq} passes over ${event.callKey}, which came first`;
    if (event.type === "tool_finished" && event.outcome === "ok" && transfers.has(event.callKey)) {
      if (granted !== undefined) return `entry ${seq} grants a second handoff of one step`;
      granted = event.callKey;
    }
    if ((event.type === "prepared" || event.type === "model_finished") && granted !== undefined)
      return `entry ${seq} (${event.type}) comes before the handoff of ${granted}`;
    if (event.type === "run_finished") granted = undefined;
    const from = agent;
    agent = agentAfter(event, agent);
    if (event.type !== "handed_off") continue;
    if (event.callKey !== granted || event.from !== from) return `entry ${seq} hands over what was not granted`;
    granted = undefined;
    const count = (counts.get(event.runId) ?? 0) + 1;
    if (count > maxHandoffs) return `${event.runId} is handed over ${count} times`;
    counts.set(event.runId, count);
  }
  return undefined;
}

function positionOf(callKey: string): number {
  return Number(callKey.split("/").at(-1));
}

function historyComesFirst({ log }: History): string | undefined {
  let isBegun = false;
  const texts = new Set<string>();
  for (const { seq, event } of log) {
    if (event.type !== "session_created" && event.type !== "history_added") isBegun = true;
    if (event.type !== "history_added") continue;
    if (isBegun) return `entry ${seq} adds a conversation to one that has begun`;
    for (const message of event.messages) {
      const text = textOf(message);
      if (texts.has(text)) return `entry ${seq} adds '${text}' again`;
      texts.add(text);
    }
  }
  return undefined;
}

function sourcesStay({ facts }: History): Breach | undefined {
  const texts = new Map<string, string>();
  for (const fact of facts) {
    if (fact.type === "written")
      for (const event of fact.commit.events) if (event.type === "handed_off") texts.delete(event.runId);
    if (fact.type !== "model_called") continue;
    const text = notesIn(fact.request);
    if (text === undefined) continue;
    const { runId } = fact.request;
    const before = texts.get(runId);
    if (before !== undefined && before !== text)
      return { what: `${describeStart(fact)} by '${text}' after '${before}'`, fact };
    texts.set(runId, text);
  }
  return undefined;
}

/** The notes that the model goes by: those of the system prompt, unless a later message has changed ones. */
function notesIn({ systemPrompt, messages }: ModelRequest): string | undefined {
  const [inPrompt] = systemPrompt?.match(/notes \d+/) ?? [];
  return messages.reduce((notes, message) => {
    const text = message.role === "user" ? textOf(message) : "";
    if (text.includes("texts from outside in the system prompt are up to date")) return inPrompt;
    return text.match(/^\[begin \w+: notes.*\n(notes \d+)/m)?.[1] ?? notes;
  }, inPrompt);
}

function refusedIsGone({ log, facts, clients }: SimulationHistory): Breach | undefined {
  const refused = new Map<string, number>();
  for (const { seq, event } of log) {
    if (event.type !== "run_finished" || event.refusedSeq === undefined) continue;
    for (const entry of log.slice(event.refusedSeq - 1, seq))
      if (entry.event.type === "model_finished" && textOf(entry.event.message) !== "")
        refused.set(textOf(entry.event.message), seq);
  }
  if (refused.size === 0) return undefined;
  let written = 0;
  for (const fact of facts) {
    if (fact.type === "written") written = fact.commit.state.seq;
    if (fact.type !== "model_called") continue;
    for (const message of fact.request.messages)
      if (written >= (refused.get(textOf(message)) ?? Number.POSITIVE_INFINITY))
        return { what: `${describeStart(fact)} with '${textOf(message)}', which was refused`, fact };
  }
  for (const { what, answer } of clients.questions)
    if (answer?.type === "result" && "reason" in answer.result && answer.result.reason === "output_refused")
      if (refused.has(answer.result.text)) return `'${what}' got '${answer.result.text}', which was refused`;
  return undefined;
}

function guardsAreHeard({ facts, hasGuard }: SimulationHistory): Breach | undefined {
  if (!hasGuard) return undefined;
  const passed = new Set<string>();
  for (const fact of facts) {
    if (fact.type === "guard_said" && fact.passes) passed.add(`${fact.process} ${fact.attempt}`);
    if (fact.type !== "written") continue;
    for (const event of fact.commit.events)
      if (event.type === "model_finished" && !passed.has(`${fact.process} ${formatAttempt(event)}`))
        return { what: `the message of ${formatAttempt(event)} counts, and no guard let it pass`, fact };
  }
  return undefined;
}

function slipsAreHarmless({ log }: History): string | undefined {
  const said = new Map<string, string>();
  for (const { seq, event } of log) {
    if (event.type === "model_finished")
      for (const [index, { name }] of toolCallsOf(event.message).entries())
        said.set(callKeyOf(event.runId, event.modelCallIndex, index + 1), name);
    if (event.type !== "tool_decided" || event.decision.repair?.by !== "near_name") continue;
    const { name = "" } = event.decision.repair;
    if (name !== "look" && name !== said.get(event.callKey)?.toLowerCase())
      return `entry ${seq} takes '${said.get(event.callKey)}' for '${name}'`;
  }
  return undefined;
}

const neverStarted: ReadonlySet<string> = new Set(["skipped", "denied", "blocked", "not_run"]);

function unstartedNeverStarted({ facts, log }: History): Breach | undefined {
  const ended = new Map<string, string>();
  for (const { event } of log)
    if (event.type === "tool_finished" && neverStarted.has(event.outcome)) ended.set(event.callKey, event.outcome);
  for (const fact of facts)
    if (fact.type === "tool_started" && ended.has(fact.callKey))
      return { what: `${describeStart(fact)}, whose result is '${ended.get(fact.callKey)}'`, fact };
  return undefined;
}
