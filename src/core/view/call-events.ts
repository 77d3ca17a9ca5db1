/**
 * The public events of a tool call.
 */

import { isCallOfStep } from "../data/call-key.js";
import { defined } from "../data/defined.js";
import type { EventOf, Repair } from "../machine/event.js";
import { hasCalls, type State } from "../machine/state.js";
import { type CallRecord, toolNameOf } from "../transcript/results.js";
import type { Transcript } from "../transcript/transcript.js";
import { type ChildQuestions, findNewQuestions } from "./child-questions.js";
import type { PendingApproval } from "./outcome.js";
import type { CallFields, FailedAttemptOf, PublicEventBody } from "./public-event.js";
import { dataChangedEvents } from "./session-events.js";
import { formatQuestion } from "./tool-questions.js";
import { findWait, questionAskedEvents, questionExpiredEvents, toolStepEvent } from "./tool-step-events.js";

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

export function createCallEvents(
  event: CallEvent,
  transcript: Transcript,
  before: State,
  after: State,
  questions: ChildQuestions,
): readonly PublicEventBody[] {
  switch (event.type) {
    case "tool_decided":
      return toolDecidedEvents(event, transcript, before, after);
    case "answered":
      return answeredEvents(event, transcript, after);
    case "tool_waiting":
      return toolWaitingEvents(event, transcript, after);
    case "child_waiting":
      return findNewQuestions(before, event, questions).map((asked) => childQuestionEvent(event.runId, asked));
    case "tool_failed":
      return eventsForCall(transcript, event, (call) => [toolFailedEvent(event, call)]);
    case "tool_finished":
      return toolFinishedEvents(event, transcript);
    case "tool_step_finished":
      return eventsForCall(transcript, event, (call) => [toolStepEvent(event, call), ...dataChangedEvents(event)]);
    case "tool_asked":
      return eventsForCall(transcript, event, (call, record) => [
        ...questionAskedEvents(event, call, record),
        ...dataChangedEvents(event),
      ]);
    case "late_result":
      return [lateResultEvent(event)];
    case "timer_fired":
      return timerFiredEvents(event, transcript);
  }
}

type CallReference = { readonly runId: string; readonly callKey: string };
type CallRecordOf = NonNullable<ReturnType<Transcript["calls"]["get"]>>;

function eventsForCall(
  transcript: Transcript,
  { runId, callKey }: CallReference,
  createEvents: (call: CallFields, record: CallRecordOf) => readonly PublicEventBody[],
): readonly PublicEventBody[] {
  const record = transcript.calls.get(callKey);
  if (record === undefined) return [];
  return createEvents({ runId, callKey, toolCallId: record.part.toolCallId, name: toolNameOf(record) }, record);
}

function findCall(state: State, callKey: string) {
  return hasCalls(state) ? state.calls.find((call) => call.callKey === callKey) : undefined;
}

function toolDecidedEvents(
  event: EventOf<"tool_decided">,
  transcript: Transcript,
  before: State,
  after: State,
): readonly PublicEventBody[] {
  return eventsForCall(transcript, event, (call, record) => {
    const callBefore = findCall(before, event.callKey);
    const isFirst = callBefore?.status === "deciding" && callBefore.edited === undefined;
    const bodies: PublicEventBody[] = isFirst
      ? [{ type: "tool_call", input: record.input, ...pickRepair(event), ...pickInvalid(event), ...call }]
      : [];
    const callAfter = findCall(after, event.callKey);
    bodies.push(...externalRequestEvents(callAfter, call, record));
    if (callAfter?.status === "asking") bodies.push({ ...toApprovalRequest(callAfter, record), ...call });
    return bodies;
  });
}

/** A call can be blocked before its input is validated, so its input may be invalid as well. */
function pickInvalid({ decision: { verdict } }: EventOf<"tool_decided">): { readonly invalid?: true } {
  return verdict === "reject" || verdict === "block" ? { invalid: true } : {};
}

function toolWaitingEvents(
  event: EventOf<"tool_waiting">,
  transcript: Transcript,
  after: State,
): readonly PublicEventBody[] {
  return eventsForCall(transcript, event, (call, record) =>
    event.childId === undefined
      ? externalRequestEvents(findCall(after, event.callKey), call, record)
      : [{ type: "child_started", childId: event.childId, ...call }],
  );
}

function timerFiredEvents(event: EventOf<"timer_fired">, transcript: Transcript): readonly PublicEventBody[] {
  const { runId, callKey } = event;
  return callKey === undefined
    ? []
    : eventsForCall(transcript, { runId, callKey }, (call, record) => questionExpiredEvents(event, call, record));
}

/** The request for a result from outside, if the call waits for one. */
function externalRequestEvents(
  callAfter: ReturnType<typeof findCall>,
  call: CallFields,
  { input }: CallRecordOf,
): readonly PublicEventBody[] {
  return callAfter?.status === "waiting" && callAfter.on === "external"
    ? [{ type: "approval_requested", why: "external", input, ...call }]
    : [];
}

function toApprovalRequest(
  call: Extract<NonNullable<ReturnType<typeof findCall>>, { status: "asking" }>,
  record: CallRecordOf,
) {
  const text = formatQuestion(call, record);
  return {
    type: "approval_requested",
    why: call.why,
    input: record.input,
    ...(call.inputHash === undefined ? {} : { inputHash: call.inputHash }),
    ...(text === undefined ? {} : { question: text }),
    ...(call.expiresAt === undefined ? {} : { expiresAt: call.expiresAt }),
  } as const;
}

/** A question of a child session also belongs to the run of the parent. */
function childQuestionEvent(runId: string, asked: PendingApproval): PublicEventBody {
  const { sessionId, runId: _run, askedAt: _at, ...call } = asked;
  return { type: "approval_requested", ...call, runId, childId: sessionId };
}

function lateResultEvent({ callKey, outcome, output, returned, cut }: EventOf<"late_result">): PublicEventBody {
  return { type: "late_result", callKey, outcome, ...defined({ output, returned, cut }) };
}

/** A restart may turn running calls into questions. */
export function recoveryQuestionEvents(
  transcript: Transcript,
  before: State,
  after: State,
): readonly PublicEventBody[] {
  if (!hasCalls(after)) return [];
  return after.calls.flatMap((callAfter) => {
    if (callAfter.status !== "asking" || findCall(before, callAfter.callKey)?.status === "asking") return [];
    return eventsForCall(transcript, { runId: after.runId, callKey: callAfter.callKey }, (call, record) => [
      { ...toApprovalRequest(callAfter, record), ...call },
    ]);
  });
}

function answeredEvents(event: EventOf<"answered">, transcript: Transcript, after: State): readonly PublicEventBody[] {
  const { answer, by, questionId, overruled } = event;
  const note = "note" in answer ? answer.note : undefined;
  return eventsForCall(transcript, event, (call, record) => {
    const wait = findWait(record, questionId);
    if (wait !== undefined) return [{ type: "wait_over", ...wait, by: "signal", ...call }];
    return [
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
      ...externalRequestEvents(findCall(after, event.callKey), call, record),
    ];
  });
}

function toolFinishedEvents(event: EventOf<"tool_finished">, transcript: Transcript): readonly PublicEventBody[] {
  return eventsForCall(transcript, event, (call, record) => {
    const { result } = record;
    if (result === undefined) return [];
    const isError = result.outcome !== "ok";
    const returned = event.returned === undefined ? {} : { returned: event.returned };
    const cut = result.cut === undefined ? {} : { cut: result.cut };
    return [
      ...(record.decided ? [] : [{ type: "tool_call", input: record.input, invalid: true, ...call } as const]),
      {
        type: "tool_result",
        outcome: result.outcome,
        output: result.output,
        isError,
        ...returned,
        ...cut,
        ...defined({ startedChild: event.startedChild?.childId }),
        ...call,
      },
      {
        type: "call_complete",
        status: isError ? "error" : "ok",
        durationMs: result.durationMs ?? 0,
        ...collectFailedAttempts(record, transcript),
        ...call,
      },
      ...dataChangedEvents(event),
    ];
  });
}

function toolFailedEvent(
  { attempt, fault, timing, retryInMs }: EventOf<"tool_failed">,
  call: CallFields,
): PublicEventBody {
  return { type: "tool_failed", attempt, fault, durationMs: timing.durationMs, retryInMs, ...call };
}

/** The attempts that failed before the call got its result. */
function collectFailedAttempts(
  { callKey, failed }: CallRecord,
  { run }: Transcript,
): { readonly attempts?: readonly FailedAttemptOf[] } {
  const modelFailures = run?.failedAttempts ?? null;
  const isSameStep =
    run !== null && modelFailures !== null && isCallOfStep(callKey, run.runId, modelFailures.modelCallIndex);
  if (!isSameStep && failed === undefined) return noFields;
  const modelAttempts = isSameStep ? modelFailures.attempts.map((one) => ({ of: "model", ...one }) as const) : [];
  const toolAttempts = (failed ?? []).map(
    ({ fault, ...one }) => ({ of: "tool", message: fault.message, ...one }) as const,
  );
  return { attempts: [...modelAttempts, ...toolAttempts] };
}

const noFields = {};

/** How the call was repaired before it was decided. */
function pickRepair({ decision: { repair } }: EventOf<"tool_decided">): { readonly repair?: Repair } {
  return repair === undefined ? noFields : { repair };
}
