/**
 * The public events of what happens to a tool call.
 */
import { defined } from "../data/defined.js";
import type { EventOf } from "../machine/event.js";
import { hasCalls, type State } from "../machine/state.js";
import { toolOf } from "../transcript/results.js";
import type { Transcript } from "../transcript/transcript.js";
import { type ChildQuestions, newQuestions } from "./child-questions.js";
import { changedByCall } from "./data-events.js";
import { attemptsOf, failedTry, repairIn } from "./failed-tries.js";
import type { PendingApproval } from "./outcome.js";
import type { OfCall, PublicEventBody } from "./public-event.js";
import { questionText } from "./tool-questions.js";
import { askedEvents, expiredEvents, stepEvent } from "./tool-step-view.js";

type CallEvent = EventOf<
  | "tool_decided"
  | "answered"
  | "tool_waiting"
  | "child_waiting"
  | "tool_failed"
  | "tool_finished"
  | "tool_step_finished"
  | "tool_asked"
  | "late_result"
  | "timer_fired"
>;

export function callBodies(
  event: CallEvent,
  transcript: Transcript,
  before: State,
  after: State,
  questions: ChildQuestions,
): readonly PublicEventBody[] {
  switch (event.type) {
    case "tool_decided":
      return decidedEvents(event, transcript, before, after);
    case "answered":
      return answeredEvents(event, transcript, after);
    case "tool_waiting":
      return waitingEvents(event, transcript, after);
    case "child_waiting":
      return newQuestions(before, event, questions).map((asked) => childQuestion(event.runId, asked));
    case "tool_failed":
      return callEvent(transcript, event, (call) => [failedTry(event, call)]);
    case "tool_finished":
      return finishedEvents(event, transcript);
    case "tool_step_finished":
      return callEvent(transcript, event, (call) => [stepEvent(event, call), ...changedByCall(event)]);
    case "tool_asked":
      return callEvent(transcript, event, (call, record) => [
        ...askedEvents(event, call, record),
        ...changedByCall(event),
      ]);
    case "late_result":
      return [lateResult(event)];
    case "timer_fired":
      return expiredQuestion(event, transcript);
  }
}

type Named = { readonly runId: string; readonly callKey: string };
type CallRecordOf = NonNullable<ReturnType<Transcript["calls"]["get"]>>;

function callEvent(
  transcript: Transcript,
  { runId, callKey }: Named,
  make: (call: OfCall, record: CallRecordOf) => readonly PublicEventBody[],
): readonly PublicEventBody[] {
  const record = transcript.calls.get(callKey);
  if (record === undefined) return [];
  return make({ runId, callKey, toolCallId: record.part.toolCallId, name: toolOf(record) }, record);
}

function positionOf(state: State, callKey: string) {
  return hasCalls(state) ? state.calls.find((call) => call.callKey === callKey) : undefined;
}

function decidedEvents(
  event: EventOf<"tool_decided">,
  transcript: Transcript,
  before: State,
  after: State,
): readonly PublicEventBody[] {
  return callEvent(transcript, event, (call, record) => {
    const was = positionOf(before, event.callKey);
    const first = was?.status === "deciding" && was.edited === undefined;
    const bodies: PublicEventBody[] = first
      ? [{ type: "tool_call", input: record.input, ...repairIn(event), ...call }]
      : [];
    const now = positionOf(after, event.callKey);
    bodies.push(...externalRequest(now, call, record));
    if (now?.status === "asking") bodies.push({ ...question(now, record), ...call });
    return bodies;
  });
}

function waitingEvents(
  event: EventOf<"tool_waiting">,
  transcript: Transcript,
  after: State,
): readonly PublicEventBody[] {
  return callEvent(transcript, event, (call, record) =>
    event.childId === undefined
      ? externalRequest(positionOf(after, event.callKey), call, record)
      : [{ type: "child_started", childId: event.childId, ...call }],
  );
}

function expiredQuestion(event: EventOf<"timer_fired">, transcript: Transcript): readonly PublicEventBody[] {
  const { runId, callKey } = event;
  return callKey === undefined ? [] : callEvent(transcript, { runId, callKey }, (call) => expiredEvents(event, call));
}

/** The request for a result from outside, if the call waits for one. */
function externalRequest(
  now: ReturnType<typeof positionOf>,
  call: OfCall,
  { input }: CallRecordOf,
): readonly PublicEventBody[] {
  return now?.status === "waiting" && now.on === "external"
    ? [{ type: "approval_requested", why: "external", input, ...call }]
    : [];
}

function question(
  call: Extract<NonNullable<ReturnType<typeof positionOf>>, { status: "asking" }>,
  record: CallRecordOf,
) {
  const text = questionText(call, record);
  return {
    type: "approval_requested",
    why: call.why,
    input: record.input,
    ...(call.inputHash === undefined ? {} : { inputHash: call.inputHash }),
    ...(text === undefined ? {} : { question: text }),
    ...(call.expiresAt === undefined ? {} : { expiresAt: call.expiresAt }),
  } as const;
}

/** A question of a child session belongs to the run of the parent, too. */
function childQuestion(runId: string, asked: PendingApproval): PublicEventBody {
  const { sessionId, runId: _run, askedAt: _at, ...call } = asked;
  return { type: "approval_requested", ...call, runId, childId: sessionId };
}

function lateResult({ callKey, outcome, output, returned, cut }: EventOf<"late_result">): PublicEventBody {
  return { type: "late_result", callKey, outcome, ...defined({ output, returned, cut }) };
}

/** A restart may turn calls that were running into questions. */
export function recoveryQuestions(transcript: Transcript, before: State, after: State): readonly PublicEventBody[] {
  if (!hasCalls(after)) return [];
  return after.calls.flatMap((now) => {
    if (now.status !== "asking" || positionOf(before, now.callKey)?.status === "asking") return [];
    return callEvent(transcript, { runId: after.runId, callKey: now.callKey }, (call, record) => [
      { ...question(now, record), ...call },
    ]);
  });
}

function answeredEvents(event: EventOf<"answered">, transcript: Transcript, after: State): readonly PublicEventBody[] {
  const { answer, by, questionId, overruled } = event;
  const note = "note" in answer ? answer.note : undefined;
  return callEvent(transcript, event, (call, record) => [
    {
      type: "approval_answered",
      answer: answer.type,
      ...(answer.type === "modify" ? { input: answer.input } : {}),
      ...(questionId === undefined ? {} : { questionId }),
      ...(answer.type === "reply" ? { value: answer.value } : {}),
      ...(note === undefined ? {} : { note }),
      ...(by === undefined ? {} : { by }),
      ...(overruled === undefined ? {} : { overruled }),
      ...call,
    },
    ...externalRequest(positionOf(after, event.callKey), call, record),
  ]);
}

function finishedEvents(event: EventOf<"tool_finished">, transcript: Transcript): readonly PublicEventBody[] {
  return callEvent(transcript, event, (call, record) => {
    const { result } = record;
    if (result === undefined) return [];
    const isError = result.outcome !== "ok";
    const returned = event.returned === undefined ? {} : { returned: event.returned };
    const cut = result.cut === undefined ? {} : { cut: result.cut };
    return [
      ...(record.decided ? [] : [{ type: "tool_call", input: record.input, ...call } as const]),
      { type: "tool_result", outcome: result.outcome, output: result.output, isError, ...returned, ...cut, ...call },
      {
        type: "call_complete",
        status: isError ? "error" : "ok",
        durationMs: result.durationMs ?? 0,
        ...attemptsOf(record, transcript),
        ...call,
      },
      ...changedByCall(event),
    ];
  });
}
