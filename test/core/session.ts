/**
 * A session in memory, for tests of the machine: its log, its state, what the model sees and what the world sees.
 */

import { emptyResponseCode } from "../../src/core/data/message.js";
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

export const testLimits: RunLimits = {
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
export function appendEvent(session: Session, body: EventBody): readonly Event[] {
  const { state, events } = advance(session.state, { ...body, at: session.at });
  for (const event of events) recordEvent(session, event);
  session.state = state;
  return events;
}

function recordEvent(session: Session, event: Event): void {
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
export function createStartedSession(
  overrides: Partial<RunLimits> = {},
  info: Partial<SessionInfo> = {},
  runId = "r1",
): Session {
  const session = createSession();
  appendEvent(session, { type: "session_created", v: formatVersion, agent: "a", model: "m", ...info });
  startRun(session, runId, overrides);
  return session;
}

export function startRun(session: Session, runId: string, overrides: Partial<RunLimits> = {}): void {
  appendEvent(session, {
    type: "run_started",
    runId,
    limits: { ...testLimits, ...overrides },
    input: [userMessage(`do ${runId}`)],
  });
}

export function queueRun(session: Session, runId: string, overrides: Partial<RunLimits> = {}): void {
  appendEvent(session, {
    type: "run_queued",
    runId,
    limits: { ...testLimits, ...overrides },
    input: [userMessage(`then ${runId}`)],
  });
}

export function steerRun(session: Session, text: string, source: "user" | "before_stop" | "output" = "user"): void {
  appendEvent(session, { type: "steered", input: [userMessage(text)], source });
}

/** The run under way; an error where there is none. */
export function requireRun(state: State): Exclude<State, { status: "idle" }> {
  if (state.status === "idle") throw new Error("No run is under way.");
  return state;
}

export function listCallStatuses(state: State): readonly string[] {
  return "calls" in state ? state.calls.map((call) => call.status) : [];
}

export function listOutcomes(state: State): readonly string[] {
  return "calls" in state ? state.calls.map((call) => (call.status === "done" ? call.outcome : call.status)) : [];
}

/** The key of the n-th call of the present step, from 1. */
export function keyOf(session: Session, position: number): string {
  const { runId, modelCallIndex } = requireRun(session.state);
  return `${runId}/${modelCallIndex}/${position}`;
}

export function prepareStep(session: Session): void {
  const state = requireRun(session.state);
  appendEvent(session, {
    type: "prepared",
    runId: state.runId,
    modelCallIndex: state.modelCallIndex,
    contextSeq: state.seq,
    purpose: state.status === "preparing" && state.for !== "finish" ? state.purpose : "step",
  });
}

export type ModelReply = {
  readonly text?: string;
  readonly reasoning?: string;
  /** Names of the tools that it asks for. */
  readonly calls?: readonly string[];
  readonly parts?: readonly AssistantPart[];
  readonly finish?: FinishReason["unified"];
  readonly usage?: Usage;
  readonly cut?: "context";
};

export function createModelFinished(state: State, reply: ModelReply): EventOf<"model_finished"> {
  const { runId, modelCallIndex, attempt } = requireRun(state);
  const { text, reasoning, calls = [], parts = [], finish = calls.length > 0 ? "tool-calls" : "stop", cut } = reply;
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
    usage: reply.usage ?? { inputTokens: 10, outputTokens: 5 },
    timing: { startedAt: 1_000, durationMs: 7 },
    at: 1_000,
  };
}

/** The model answers the call under way. */
export function finishModelCall(session: Session, reply: ModelReply): void {
  appendEvent(session, createModelFinished(session.state, reply));
}

/** Prepares the step and has the model answer. */
export function runStep(session: Session, reply: ModelReply): void {
  prepareStep(session);
  finishModelCall(session, reply);
}

export function failModelCall(
  session: Session,
  next: EventOf<"model_failed">["next"],
  kind: EventOf<"model_failed">["failure"]["kind"] = "overloaded",
  usage?: Usage,
): void {
  failAttempt(session, next, { kind, message: "it failed" }, usage);
}

/** The model gives an answer with nothing in it, and is asked again. */
export function failWithEmptyMessage(session: Session): void {
  failAttempt(session, { type: "retry", inMs: 0 }, { kind: "provider", code: emptyResponseCode, message: "nothing" });
}

function failAttempt(
  session: Session,
  next: EventOf<"model_failed">["next"],
  failure: EventOf<"model_failed">["failure"],
  usage?: Usage,
): void {
  const { runId, modelCallIndex, attempt } = requireRun(session.state);
  appendEvent(session, {
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
export function compactConversation(session: Session, result: Partial<EventOf<"compacted">> = {}): void {
  const { runId, modelCallIndex } = requireRun(session.state);
  appendEvent(session, { type: "compaction_started", runId, modelCallIndex });
  const summary = result.keptFrom === undefined ? {} : { summary: "so far" };
  appendEvent(session, { ...summary, ...result, type: "compacted", runId });
}

export const failPolicy: CallPolicy = { recover: "fail" };

export function decideCall(session: Session, position: number, decision: PolicyDecision): void {
  appendEvent(session, {
    type: "tool_decided",
    runId: requireRun(session.state).runId,
    callKey: keyOf(session, position),
    decision,
  });
}

export function allowCall(session: Session, position: number, policy: CallPolicy = failPolicy): void {
  decideCall(session, position, { verdict: "allow", policy });
}

export function askAboutCall(
  session: Session,
  position: number,
  overrides: { readonly expiresAt?: number } = {},
): void {
  decideCall(session, position, {
    verdict: "ask",
    policy: failPolicy,
    inputHash: `hash ${position}`,
    question: "ok?",
    ...overrides,
  });
}

export type Result = Partial<Omit<EventOf<"tool_finished">, "type" | "runId" | "callKey">>;

export function finishCall(session: Session, position: number, result: Result = {}): void {
  appendEvent(session, {
    type: "tool_finished",
    runId: requireRun(session.state).runId,
    callKey: keyOf(session, position),
    outcome: "ok",
    output: { type: "text", text: `result ${position}` },
    ...result,
  });
}

export function answerCall(
  session: Session,
  position: number,
  answer: EventOf<"answered">["answer"],
  inputHash?: string,
): readonly Event[] {
  return appendEvent(session, {
    type: "answered",
    runId: requireRun(session.state).runId,
    callKey: keyOf(session, position),
    answerId: `answer ${session.log.length}`,
    answer,
    ...(inputHash === undefined ? {} : { inputHash }),
  });
}

export function requestAbort(session: Session): void {
  appendEvent(session, { type: "abort_requested", runId: requireRun(session.state).runId });
}

export function restartRun(session: Session): readonly Event[] {
  return appendEvent(session, { type: "restarted", runId: requireRun(session.state).runId, holder: "o" });
}

export function fireTimer(
  session: Session,
  body: Omit<EventOf<"timer_fired">, "type" | "runId" | "at">,
): readonly Event[] {
  return appendEvent(session, { type: "timer_fired", runId: requireRun(session.state).runId, ...body });
}

/** The run ends as it was about to. */
export function endRun(session: Session): void {
  const state = requireRun(session.state);
  if (state.status !== "preparing" || state.for !== "finish") throw new Error(`The run does not end: ${state.status}`);
  appendEvent(session, { type: "run_finished", runId: state.runId, reason: state.reason });
}
