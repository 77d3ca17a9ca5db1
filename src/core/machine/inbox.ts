/**
 * The inbox: messages that any process may send to a session without holding its lease.
 *
 * The holder turns messages into events when it consumes them. The events follow from the message and the state alone.
 */

import { defined } from "../data/defined.js";
import type { ToolOutput, Usage, UserMessage } from "../data/message.js";
import type { Reason } from "../data/reasons.js";
import type { DataPatch } from "../data/session-data.js";
import type { ChildSleep } from "./call-state.js";
import type { Answer, CompactionRequest, EventBody, EventOf, FinishedChild, RunOptions } from "./event.js";
import { lateHistoryNote, type SeededHistory } from "./history.js";
import { hasPendingNotice } from "./pending-notice.js";
import type { ReservedEventBody, ReservedEventType } from "./reserved-events.js";
import type { RunLimits } from "./run-limits.js";
import {
  type ActiveState,
  type Call,
  formatVersion,
  hasCalls,
  isResting,
  questionOf,
  type SessionBinding,
  type State,
} from "./state.js";
import { transition } from "./transition.js";

/** A request to a session. */
export type InboxBody =
  /** An input for the session. */
  | {
      readonly type: "input";
      /** Whether the input starts its own run or joins the run under way. */
      readonly mode: "queue" | "steer";
      readonly runId: string;
      /** As in `run_started`: the sender chose `runId`. */
      readonly sessionInKeys?: true;
      /** The messages. */
      readonly input: readonly UserMessage[];
      /** The limits of the run. A sender without an agent omits them, and the holder uses its own. */
      readonly limits?: RunLimits;
      /** The options of the run that override its agent's. */
      readonly options?: RunOptions;
      /** What the session is bound to if it does not exist yet. The holder sets the model if it is omitted. */
      readonly session: SessionBinding;
      /** The person or account that sent it. */
      readonly by?: string;
      /** The span in which the request was made, as a W3C `traceparent`. */
      readonly traceparent?: string;
      /** Which calls a steer skips. */
      readonly skip?: "unstarted";
      /** With `queue`: the run under way is aborted, and this run is the next. */
      readonly interrupts?: true;
      /** An imported conversation that the session begins with. */
      readonly history?: SeededHistory;
      /** The message reports the end of a child session in the background. */
      readonly finishedChild?: FinishedChild;
    }
  /** A call is answered. */
  | {
      readonly type: "answer";
      readonly callKey: string;
      /** The answer. */
      readonly answer: Answer;
      readonly by?: string;
      readonly inputHash?: string;
      /** The tool's question that is answered. */
      readonly questionId?: string;
      /** The id of the request that carries the answer. */
      readonly requestId?: string;
    }
  /** The result of a call from outside. */
  | {
      readonly type: "result";
      readonly callKey: string;
      readonly output: ToolOutput;
      /** The tool's return value, if `toModelOutput` created `output` from it. */
      readonly returned?: ToolOutput;
      readonly isError?: boolean;
      /**
       * Set if a child session reports: its usage, and the limit that ended it, if any. The report may arrive before the parent's entry
       * that the call waits.
       */
      readonly child?: {
        readonly usage: Usage;
        /** The limit that ended the child. */
        readonly cut?: Reason;
      };
    }
  /** Begins a session with an imported conversation, without a run. Has no effect on an existing session. */
  | {
      readonly type: "history";
      /** The conversation that the session begins with. */
      readonly history: SeededHistory;
      /** Facts of the session, if it does not exist yet. */
      readonly session: SessionBinding;
    }
  /** Aborts the run under way, or the named run, which may still be queued. */
  | { readonly type: "abort"; readonly runId?: string; readonly note?: string; readonly by?: string }
  /** A child session has been waiting for a person since `askedAt`, or is no longer waiting (null), as of its entry `seq`. */
  | {
      readonly type: "child";
      readonly callKey: string;
      readonly childId: string;
      readonly askedAt: number | null;
      /** Present if the child sleeps or waits for a signal. */
      readonly asleep?: ChildSleep;
      /** The child's entry that the report is about. */
      readonly seq: number;
    }
  /** Requests a compaction of a session that has had a run. */
  | ({ readonly type: "compaction_request" } & Omit<CompactionRequest, "type">)
  /** Changes the data of an existing session. */
  | { readonly type: "data"; readonly patch: DataPatch; readonly by?: string }
  /** Changes the title of an existing session. */
  | {
      readonly type: "session_change";
      /** One line, of 1 to 200 characters. */
      readonly title: string;
      readonly by?: string;
    }
  | ReservedMessage;

/** Messages that the format reserves. This version consumes them without effect, and no code posts them. */
type ReservedMessage =
  /** Posts a `rules_changed`. */
  { readonly type: "rules_change" } & ReservedFields<"rules_changed">;

type ReservedFields<Type extends ReservedEventType> = Omit<Extract<ReservedEventBody, { readonly type: Type }>, "type">;

/** Defaults that the holder supplies for a sender without an agent. */
export type HolderDefaults = {
  readonly limits: RunLimits;
  /** The model of the agent that handles the message. */
  readonly model: string;
};

/** A message to a session. It is consumed once per `id`, however often it is sent. */
export type InboxMessage = {
  /** The id of the message. A store accepts it once. */
  readonly id: string;
  readonly at: number;
  /** The request. */
  readonly body: InboxBody;
};

/** The events that a message leads to in this state. None if the message is too late or repeated. */
export function eventsOf(message: InboxMessage, state: State, defaults: HolderDefaults): readonly EventBody[] {
  let current = state;
  return toCandidateEvents(message, state, defaults).filter((body) => {
    const before = current;
    current = transition(before, { ...body, at: message.at });
    return current !== before;
  });
}

function toCandidateEvents(message: InboxMessage, state: State, defaults: HolderDefaults): readonly EventBody[] {
  const { body } = message;
  switch (body.type) {
    case "input":
      return inputEvents(body, state, defaults);
    case "history":
      if (state.session !== null) return [];
      return [sessionCreated(body.session, state, defaults), ...historyEvents(body.history)];
    case "answer":
      if (!hasCalls(state) || isExpired(message, body, state.calls)) return [];
      return [
        {
          type: "answered",
          runId: state.runId,
          callKey: body.callKey,
          answerId: message.id,
          answer: body.answer,
          ...(body.by === undefined ? {} : { by: body.by }),
          ...(body.inputHash === undefined ? {} : { inputHash: body.inputHash }),
          ...(body.questionId === undefined ? {} : { questionId: body.questionId }),
          ...(body.requestId === undefined ? {} : { requestId: body.requestId }),
        },
      ];
    case "result":
      return resultEvents(body, state);
    case "abort":
      if (state.status === "idle") return [];
      return [
        {
          type: "abort_requested",
          runId: body.runId ?? state.runId,
          ...(body.note === undefined ? {} : { note: body.note }),
          ...(body.by === undefined ? {} : { by: body.by }),
        },
      ];
    case "child": {
      if (!hasCalls(state)) return [];
      const { callKey, childId, askedAt, asleep, seq: childSeq } = body;
      const report = { callKey, childId, askedAt, ...defined({ asleep }), childSeq };
      return [{ type: "child_waiting", runId: state.runId, ...report }];
    }
    case "compaction_request": {
      const { type: _, ...asked } = body;
      return [{ type: "compaction_requested", ...asked }];
    }
    case "data":
      return [{ type: "data_changed", patch: body.patch, ...(body.by === undefined ? {} : { by: body.by }) }];
    case "session_change":
      return [{ type: "session_changed", title: body.title, ...(body.by === undefined ? {} : { by: body.by }) }];
    default:
      body satisfies ReservedMessage;
      return [];
  }
}

/** An answer sent after the question expired does not count, even if the expiry is not recorded yet. */
function isExpired(
  { at }: InboxMessage,
  { callKey, questionId }: Extract<InboxBody, { type: "answer" }>,
  calls: readonly Call[],
): boolean {
  const call = calls.find((one) => one.callKey === callKey);
  if (call === undefined) return false;
  const expiresAt =
    questionId === undefined ? call.status === "asking" && call.expiresAt : questionOf(call, questionId)?.expiresAt;
  return typeof expiresAt === "number" && at >= expiresAt;
}

/** A result counts for a call that waits for it. For an interrupted call, it becomes a note to the model. */
function resultEvents(body: Extract<InboxBody, { type: "result" }>, state: State): readonly EventBody[] {
  const { callKey, output } = body;
  const outcome = body.isError === true ? "error" : "ok";
  const extra = defined({ returned: body.returned, cut: body.child?.cut });
  if (state.interrupted.includes(callKey)) return [{ type: "late_result", callKey, outcome, output, ...extra }];
  if (!hasCalls(state)) return [];
  const awaited = state.calls.some(
    ({ callKey: key, status }) =>
      key === callKey && (status === "waiting" || (status === "running" && body.child !== undefined)),
  );
  if (!awaited) return [];
  const used = body.child === undefined ? {} : { usage: body.child.usage };
  return [{ type: "tool_finished", runId: state.runId, callKey, outcome, output, ...used, ...extra }];
}

function inputEvents(
  body: Extract<InboxBody, { type: "input" }>,
  state: State,
  defaults: HolderDefaults,
): readonly EventBody[] {
  const { history } = body;
  const creation = state.session === null ? [sessionCreated(body.session, state, defaults)] : [];
  const by = body.by === undefined ? {} : { by: body.by };
  const finished = body.finishedChild === undefined ? {} : { finishedChild: body.finishedChild };
  const run = {
    runId: body.runId,
    limits: body.limits ?? defaults.limits,
    input: body.input,
    ...(body.options === undefined ? {} : { options: body.options }),
    ...(body.traceparent === undefined ? {} : { traceparent: body.traceparent }),
    ...by,
    ...finished,
    ...(body.sessionInKeys === true ? { sessionInKeys: true as const } : {}),
  };
  if (history !== undefined && state.session !== null) return rejectRun(run, state);
  const interrupts = body.interrupts === true ? { interrupts: true as const } : {};
  if (hasPendingNotice(state)) return [{ type: "run_queued", ...run, ...interrupts }];
  if (isResting(state)) {
    const earlier = history === undefined ? [] : historyEvents(history);
    return [...creation, ...earlier, { type: "run_started", ...run }];
  }
  if (body.mode === "steer" && state.stopping === null) {
    const skip = body.skip === undefined ? {} : { skip: body.skip };
    return [{ type: "steered", input: body.input, source: "user", ...skip, ...by, ...finished }];
  }
  return body.interrupts === true ? interruptRun(run, state) : [{ type: "run_queued", ...run }];
}

/**
 * Queues the run first, because the abort may end the run under way at once, and the queued run then starts in the same commit. An earlier
 * interrupting run that has not begun is also aborted.
 */
function interruptRun(run: Omit<EventOf<"run_queued">, "type" | "at">, state: ActiveState): readonly EventBody[] {
  const { by } = run;
  const aborted = state.queue.flatMap((one) => (one.kind === "run" && one.interrupts === true ? one.runId : []));
  return [
    { type: "run_queued", ...run, interrupts: true },
    ...[...aborted, state.runId].map(
      (runId): EventBody => ({
        type: "abort_requested",
        runId,
        note: interruptedNote,
        ...(by === undefined ? {} : { by }),
      }),
    ),
  ];
}

const interruptedNote = "replaced by another request";

/** Whether the message aborts the run under way in this state. */
export function abortsRun({ body }: InboxMessage, state: State): boolean {
  if (state.status === "idle" || isResting(state)) return false;
  if (body.type === "input") return body.interrupts === true;
  return body.type === "abort" && (body.runId ?? state.runId) === state.runId;
}

/** Aborts of the run under way, and the answers sent before them. After the aborts, these answers would be too late. */
export function messagesBeforeRestart(messages: readonly InboxMessage[], state: State): readonly InboxMessage[] {
  const lastAbort = messages.findLastIndex((message) => abortsRun(message, state));
  return messages.filter(
    (message, index) => abortsRun(message, state) || (index < lastAbort && message.body.type === "answer"),
  );
}

function sessionCreated(session: SessionBinding, state: State, { model }: HolderDefaults): EventBody {
  const v = session.parent?.background === true ? formatVersion : state.v;
  return { type: "session_created", v, ...session, model: session.model ?? model };
}

/** Aborts the run before it begins, because it would continue a different conversation than its sender expects. */
function rejectRun(run: Omit<EventOf<"run_queued">, "type" | "at">, state: State): readonly EventBody[] {
  const type = isResting(state) && !hasPendingNotice(state) ? "run_started" : "run_queued";
  return [
    { type, ...run },
    { type: "abort_requested", runId: run.runId, note: lateHistoryNote },
  ];
}

/** @throws Error if a part was not read from its blob, which is a bug in the holder */
function historyEvents({ source, parts }: SeededHistory): readonly EventBody[] {
  return parts.map((messages) => {
    if (typeof messages === "string") throw new Error(`The blob ${messages} of a history was not read.`);
    return { type: "history_added", messages, source };
  });
}
