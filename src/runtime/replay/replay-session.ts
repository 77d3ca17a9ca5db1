/**
 * Replay: runs the log of a session again with the current code and agent (REC-6).
 *
 * 1. Nothing is written and nothing outside is called: no model is called, no tool runs, and the store is only read.
 * 2. Every entry must be possible in the state before it, and must be the entry that the current code would write there.
 * 3. An immediate consequence must be the next entry, and no consequence may be missing at the end of the log.
 * 4. What the current code would do with redacted content cannot be known: from the first redacted entry on, the replay only checks that
 *    entries are possible.
 * 5. The first difference ends the replay: the entries after it would be different anyway.
 */

import { differenceText, firstDifference } from "../../core/data/difference.js";
import type { Json, Usage } from "../../core/data/message.js";
import { consequences } from "../../core/machine/consequences.js";
import { effects } from "../../core/machine/effects.js";
import type { Entry, Event, EventBody } from "../../core/machine/event.js";
import { initialState, type State } from "../../core/machine/state.js";
import { refusal, transition } from "../../core/machine/transition.js";
import { createTranscript } from "../../core/transcript/transcript.js";
import type { Store } from "../../ports/store.js";
import { type ChildAgent, findChildAgent } from "../agent/agent-family.js";
import { type CompiledAgent, checkAgent, getSessionFamily } from "../agent/compiled-agent.js";
import type { Replay, ReplayDifference, ReplayOptions } from "../agent/replay-types.js";
import { throwNoSession } from "../log/driver-errors.js";
import { appendFrozen } from "../log/frozen-transcript.js";
import { readEntries } from "../log/read-entries.js";
import { createEventReplay, type EventReplay } from "./replay-events.js";

/** @throws PawlError `no_session`, `agent_mismatch`, `root_mismatch` */
export async function replaySession(
  sessionId: string,
  agent: CompiledAgent,
  scratch: Store,
  options: ReplayOptions = {},
): Promise<Replay> {
  const loaded = await agent.store.load(sessionId);
  if (loaded === null) return throwNoSession(sessionId);
  checkAgent(sessionId, loaded.state, agent);
  const { policy = "present", prompt = "present", durable = "recorded", model } = options;
  const own = model === undefined ? {} : { model };
  const recall = createEventReplay({ sessionId, agent, store: scratch, policy, durable, ...own });
  const children: Children = new Map();
  const transcript = createTranscript();
  let state: State = initialState;
  let entries = 0;
  let redactedFrom: number | undefined;
  const replayWith = (difference: Finding | undefined): Replay => ({
    sessionId,
    entries,
    sessions: 1,
    difference: difference === undefined ? null : { sessionId, ...difference },
    ...(redactedFrom === undefined ? {} : { redactedFrom }),
  });

  for await (const entry of readEntries(agent.store, sessionId, 0)) {
    if (entry.event.redacted !== undefined) redactedFrom ??= entry.seq;
    const activeReplay = redactedFrom === undefined ? recall : recorded;
    const difference = await compareEntry(entry, state, transcript, activeReplay, prompt);
    if (difference !== undefined) return replayWith(difference);
    recordChild(entry, state, agent, children);
    state = transition(state, entry.event);
    appendFrozen(transcript, entry);
    entries += 1;
  }
  const difference = compareEnd(state, loaded.state);
  if (difference !== undefined) return replayWith(difference);
  return replayChildren(replayWith(undefined), children, agent, options);
}

/** Accepts every entry as recorded. */
const recorded: EventReplay = { recomputeEvent: async () => undefined };

type Prompt = Required<ReplayOptions>["prompt"];
type Finding = Omit<ReplayDifference, "sessionId">;

async function compareEntry(
  { seq, event }: Entry,
  state: State,
  transcript: Parameters<EventReplay["recomputeEvent"]>[2],
  { recomputeEvent }: EventReplay,
  prompt: Prompt,
): Promise<Finding | undefined> {
  const [following] = consequences(state);
  if (following !== undefined) return compareEvents(seq, event, following, prompt);
  if (transition(state, event) === state) return createNotApplicable(seq, event, state);
  const present = await recomputeEvent(event, state, transcript);
  return present === undefined ? undefined : compareEvents(seq, event, present, prompt);
}

function compareEvents(seq: number, recorded: Event, present: EventBody, prompt: Prompt): Finding | undefined {
  const difference = firstDifference(toComparable(recorded, prompt), toComparable(present, prompt));
  if (difference === undefined) return undefined;
  const message = `Entry ${seq} (${recorded.type}) would be different: ${differenceText(difference)}.`;
  return { seq, event: recorded.type, ...difference, message };
}

/** The part of an event that follows from the log and the code, without times, random values and records of hooks. */
function toComparable(event: Event | EventBody, prompt: Prompt): object {
  const { at: _, timing: __, hooks: ___, redacted: ____, ...rest } = { at: 0, timing: undefined, ...event };
  switch (rest.type) {
    case "prepared": {
      // A replay reads the texts of context sources from the recording.
      const { sources: _sources, changedSources: _changes, ...made } = rest;
      const { promptHash: _prompt, toolsHash: _tools, ...prepared } = made;
      return prompt === "recorded" ? prepared : made;
    }
    case "model_finished":
      return { ...rest, usage: withoutCost(rest.usage) };
    case "model_failed": {
      const { next, usage = {} } = rest;
      return { ...rest, next: next.type === "retry" ? { type: "retry" } : next, usage: withoutCost(usage) };
    }
    case "run_finished": {
      const { afterRunHooksPending: _leaving, ...finished } = rest;
      return finished;
    }
    case "tool_decided": {
      const { decision } = rest;
      if (decision.verdict === "reject")
        return { ...rest, decision: { ...decision, message: withoutTools(decision.message) } };
      const expires = decision.verdict === "ask" && decision.expiresAt !== undefined;
      return expires ? { ...rest, decision: { ...decision, expiresAt: "some time" } } : rest;
    }
    case "tool_waiting": {
      // A fork keeps the children of its source, whose ids derive from the source's id.
      const { childId: _child, ...waiting } = rest;
      return waiting;
    }
    default:
      return rest;
  }
}

/** Drops the list of tools from the error of an unknown tool: logs of 0.1.0 do not have it, and the tools may have changed. */
function withoutTools(message: string): string {
  return message.replace(/^(Unknown tool '[^']*')\. The(?:re are no)? tools .*$/s, "$1");
}

/** Drops the cost: prices change, and the recorded cost does not. */
function withoutCost({ costUsd: _, partial: __, ...counts }: Usage): Usage {
  return counts;
}

function createNotApplicable(seq: number, event: Event, state: State): Finding {
  const wanted = [...new Set(effects(state).map(({ type }) => type))];
  const why = refusal(state, event)?.message ?? "it does not apply";
  const instead = wanted.length === 0 ? "The current code expects nothing there" : `Wanted there: ${wanted.join(", ")}`;
  return {
    seq,
    event: event.type,
    path: "",
    recorded: { type: event.type },
    present: { status: state.status, effects: wanted },
    message: `Entry ${seq} (${event.type}) can no longer happen: ${why}. ${instead}.`,
  };
}

function compareEnd(state: State, stored: State): Finding | undefined {
  const [following] = consequences(state);
  if (following !== undefined)
    return {
      seq: state.seq + 1,
      event: null,
      path: "",
      present: following as Json,
      message: `The log ends with entry ${state.seq}, and the current code would continue with ${following.type}.`,
    };
  // If a process drives the session, the stored state may be newer than the entries that were read.
  const difference = stored.seq === state.seq ? firstDifference(stored, state) : undefined;
  if (difference === undefined) return undefined;
  const message = `The state after entry ${state.seq} would be different: ${differenceText(difference)}.`;
  return { seq: state.seq, event: null, ...difference, message };
}

type Children = Map<string, ChildAgent | undefined>;

/** Records the agent of the tool that started a child session. */
function recordChild({ event }: Entry, state: State, agent: CompiledAgent, children: Children): void {
  if (event.type !== "tool_waiting" || event.childId === undefined || !("calls" in state)) return;
  const call = state.calls.find(({ callKey }) => callKey === event.callKey);
  if (call !== undefined) children.set(event.childId, findChildAgent(call.name, getSessionFamily(agent, state)));
}

async function replayChildren(
  replay: Replay,
  children: Children,
  { store }: CompiledAgent,
  options: ReplayOptions,
): Promise<Replay> {
  let { entries, sessions } = replay;
  for (const [childId, agent] of children) {
    const child = await store.load(childId);
    // A fork contains the calls of its source, but their children belong to the source.
    if (child?.state.session?.parent?.sessionId !== replay.sessionId) continue;
    const replayed = await agent?.replay(childId, options);
    if (replayed === undefined) continue;
    entries += replayed.entries;
    sessions += replayed.sessions;
    if (replayed.difference !== null) return { ...replay, entries, sessions, difference: replayed.difference };
  }
  return { ...replay, entries, sessions };
}
