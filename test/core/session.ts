/**
 * A session in memory, for tests of the machine: its log, its state, what the model sees and what the world sees.
 */

import { emptyResponse } from "../../src/core/data/message.js";
import {
  type AssistantPart,
  advance,
  appendEntry,
  type CallPolicy,
  createTranscript,
  type Entry,
  type Event,
  type EventBody,
  type EventOf,
  type FinishReason,
  formatVersion,
  initialState,
  type PolicyDecision,
  type PublicEvent,
  publicEvents,
  type RunLimits,
  type SessionInfo,
  type State,
  type Transcript,
  transition,
  type Usage,
  type UserMessage,
} from "../../src/core/index.js";

export const limits: RunLimits = {
  maxSteps: 200,
  maxErrors: 20,
  onMaxSteps: "summary",
  toolConcurrency: 8,
  abortGraceMs: 5_000,
  maxContinuations: 2,
  maxStopPreventions: 3,
  maxCompactions: 20,
};

export const sessionId = "s";

export type Session = {
  state: State;
  readonly log: Entry[];
  readonly transcript: Transcript;
  readonly events: PublicEvent[];
  /** The session's data in blobs, by hash: what compactions name. */
  readonly blobs: Map<string, Uint8Array>;
  /** The time of the next event. */
  at: number;
};

export function createSession(): Session {
  return { state: initialState, log: [], transcript: createTranscript(), events: [], blobs: new Map(), at: 1_000 };
}

/** Adds an event and its consequences to the log; nothing where it does not apply. */
export function happen(session: Session, body: EventBody): readonly Event[] {
  const { state, events } = advance(session.state, { ...body, at: session.at });
  for (const event of events) record(session, event);
  session.state = state;
  return events;
}

function record(session: Session, event: Event): void {
  const before = session.state;
  const after = transition(before, event);
  const entry = { seq: after.seq, event };
  session.log.push(entry);
  appendEntry(session.transcript, entry);
  session.events.push(...publicEvents(sessionId, entry, session.transcript, before, after));
  session.state = after;
}

export function userMessage(text: string): UserMessage {
  return { role: "user", parts: [{ type: "text", text }] };
}

/** A session with a run under way, about to prepare its first step. */
export function startedSession(given: Partial<RunLimits> = {}, info: Partial<SessionInfo> = {}, runId = "r1"): Session {
  const session = createSession();
  happen(session, { type: "session_created", v: formatVersion, agent: "a", model: "m", ...info });
  start(session, runId, given);
  return session;
}

export function start(session: Session, runId: string, given: Partial<RunLimits> = {}): void {
  happen(session, {
    type: "run_started",
    runId,
    limits: { ...limits, ...given },
    input: [userMessage(`do ${runId}`)],
  });
}

export function queue(session: Session, runId: string, given: Partial<RunLimits> = {}): void {
  happen(session, {
    type: "run_queued",
    runId,
    limits: { ...limits, ...given },
    input: [userMessage(`then ${runId}`)],
  });
}

export function steer(session: Session, text: string, source: "user" | "before_stop" | "output" = "user"): void {
  happen(session, { type: "steered", input: [userMessage(text)], source });
}

/** The run under way; an error where there is none. */
export function runOf(state: State): Exclude<State, { status: "idle" }> {
  if (state.status === "idle") throw new Error("No run is under way.");
  return state;
}

export function callsOf(state: State): readonly string[] {
  return "calls" in state ? state.calls.map((call) => call.status) : [];
}

export function outcomesOf(state: State): readonly string[] {
  return "calls" in state ? state.calls.map((call) => (call.status === "done" ? call.outcome : call.status)) : [];
}

/** The key of the n-th call of the present step, from 1. */
export function keyOf(session: Session, position: number): string {
  const { runId, modelCallIndex } = runOf(session.state);
  return `${runId}/${modelCallIndex}/${position}`;
}

export function prepared(session: Session): void {
  const state = runOf(session.state);
  happen(session, {
    type: "prepared",
    runId: state.runId,
    modelCallIndex: state.modelCallIndex,
    contextSeq: state.seq,
    purpose: state.status === "preparing" && state.for !== "finish" ? state.purpose : "step",
  });
}

export type Said = {
  readonly text?: string;
  readonly reasoning?: string;
  /** Names of the tools that it asks for. */
  readonly calls?: readonly string[];
  readonly parts?: readonly AssistantPart[];
  readonly finish?: FinishReason["unified"];
  readonly usage?: Usage;
  readonly cut?: "context";
};

export function answerOf(state: State, said: Said): EventOf<"model_finished"> {
  const { runId, modelCallIndex, attempt } = runOf(state);
  const { text, reasoning, calls = [], parts = [], finish = calls.length > 0 ? "tool-calls" : "stop", cut } = said;
  return {
    type: "model_finished",
    runId,
    modelCallIndex,
    attempt,
    model: "m",
    message: {
      role: "assistant",
      parts: [
        ...(reasoning === undefined ? [] : [{ type: "reasoning", text: reasoning } as const]),
        ...(text === undefined ? [] : [{ type: "text", text } as const]),
        ...calls.map(
          (name, index) => ({ type: "tool_call", toolCallId: `t${index}`, name, input: { n: index } }) as const,
        ),
        ...parts,
      ],
    },
    finishReason: { unified: finish },
    ...(cut === undefined ? {} : { cut }),
    usage: said.usage ?? { inputTokens: 10, outputTokens: 5 },
    timing: { startedAt: 1_000, durationMs: 7 },
    at: 1_000,
  };
}

/** The model answers the call under way. */
export function answers(session: Session, said: Said): void {
  happen(session, answerOf(session.state, said));
}

/** Prepares the step and has the model answer. */
export function step(session: Session, said: Said): void {
  prepared(session);
  answers(session, said);
}

export function fails(
  session: Session,
  next: EventOf<"model_failed">["next"],
  kind: EventOf<"model_failed">["failure"]["kind"] = "overloaded",
  usage?: Usage,
): void {
  failsWith(session, next, { kind, message: "it failed" }, usage);
}

/** The model gives an answer with nothing in it, and is asked again. */
export function failsEmpty(session: Session): void {
  failsWith(session, { type: "retry", inMs: 0 }, { kind: "provider", code: emptyResponse, message: "nothing" });
}

function failsWith(
  session: Session,
  next: EventOf<"model_failed">["next"],
  failure: EventOf<"model_failed">["failure"],
  usage?: Usage,
): void {
  const { runId, modelCallIndex, attempt } = runOf(session.state);
  happen(session, {
    type: "model_failed",
    runId,
    modelCallIndex,
    attempt,
    model: "m",
    failure,
    next,
    timing: { startedAt: 1_000, durationMs: 3 },
    ...(usage === undefined ? {} : { usage }),
  });
}

/** A compaction, which goes before a step, or comes of a context that was too long. */
export function compacts(session: Session, result: Partial<EventOf<"compacted">> = {}): void {
  const { runId, modelCallIndex } = runOf(session.state);
  happen(session, { type: "compaction_started", runId, modelCallIndex });
  const summary = result.keptFrom === undefined ? {} : { summary: "so far" };
  happen(session, { ...summary, ...result, type: "compacted", runId });
}

export const fail: CallPolicy = { recover: "fail" };

export function decides(session: Session, position: number, decision: PolicyDecision): void {
  happen(session, {
    type: "tool_decided",
    runId: runOf(session.state).runId,
    callKey: keyOf(session, position),
    decision,
  });
}

export function allows(session: Session, position: number, policy: CallPolicy = fail): void {
  decides(session, position, { verdict: "allow", policy });
}

export function asks(session: Session, position: number, given: { readonly expiresAt?: number } = {}): void {
  decides(session, position, {
    verdict: "ask",
    policy: fail,
    inputHash: `hash ${position}`,
    question: "ok?",
    ...given,
  });
}

export type Result = Partial<Omit<EventOf<"tool_finished">, "type" | "runId" | "callKey">>;

export function finishes(session: Session, position: number, result: Result = {}): void {
  happen(session, {
    type: "tool_finished",
    runId: runOf(session.state).runId,
    callKey: keyOf(session, position),
    outcome: "ok",
    output: { type: "text", text: `result ${position}` },
    ...result,
  });
}

export function answered(
  session: Session,
  position: number,
  answer: EventOf<"answered">["answer"],
  inputHash?: string,
): readonly Event[] {
  return happen(session, {
    type: "answered",
    runId: runOf(session.state).runId,
    callKey: keyOf(session, position),
    answerId: `answer ${session.log.length}`,
    answer,
    ...(inputHash === undefined ? {} : { inputHash }),
  });
}

export function aborts(session: Session): void {
  happen(session, { type: "abort_requested", runId: runOf(session.state).runId });
}

export function restarts(session: Session): readonly Event[] {
  return happen(session, { type: "restarted", runId: runOf(session.state).runId, holder: "o" });
}

export function wakes(session: Session, body: Omit<EventOf<"timer_fired">, "type" | "runId" | "at">): readonly Event[] {
  return happen(session, { type: "timer_fired", runId: runOf(session.state).runId, ...body });
}

/** The run ends as it was about to. */
export function ends(session: Session): void {
  const state = runOf(session.state);
  if (state.status !== "preparing" || state.for !== "finish") throw new Error(`The run does not end: ${state.status}`);
  happen(session, { type: "run_finished", runId: state.runId, reason: state.reason });
}
