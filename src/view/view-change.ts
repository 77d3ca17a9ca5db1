/**
 * The changes that an item of a session's stream makes for a front end that shows the session.
 */
import type { FilePart, PublicEvent, SourcePart, StreamItem, ToolCallPart, ToolResultPart } from "../index.js";

/** One attempt of a model call. */
export type Attempt = { readonly runId: string; readonly modelCallIndex: number; readonly attempt: number };

export type TextKind = "text" | "reasoning";

type EventOf<Type extends PublicEvent["type"]> = Extract<PublicEvent, { readonly type: Type }>;

/** Each event of the log is in exactly one change, the last one that it causes. */
export type ViewChange =
  | ({ readonly type: "step_started" } & Attempt)
  | ({ readonly type: "step_ended" } & Attempt)
  /** `part` names the part within its run: model call, attempt and position. */
  | { readonly type: "part_started"; readonly kind: TextKind; readonly part: string }
  | { readonly type: "part_grew"; readonly kind: TextKind; readonly part: string; readonly text: string }
  | { readonly type: "part_ended"; readonly kind: TextKind; readonly part: string }
  /** A part that never grows. */
  | { readonly type: "part_whole"; readonly content: FilePart | SourcePart }
  /**
   * The model writes a call, or has written it. `by` is the event of a call whose message the view has not seen. A call
   * that the provider runs itself has no events: `by` is its part of the message, and its key is the provider's id.
   */
  | {
      readonly type: "call_opened";
      readonly callKey: string;
      readonly name: string;
      readonly by: EventOf<"call_start"> | ToolCallPart | null;
    }
  | { readonly type: "call_changed"; readonly callKey: string; readonly by: CallChange }
  /** `by` is the call's result; null for a call that the model did not finish. */
  | {
      readonly type: "call_ended";
      readonly callKey: string;
      readonly name: string;
      readonly by: EventOf<"tool_result"> | ToolResultPart | null;
    }
  | { readonly type: "question_opened"; readonly question: Question }
  /** `by` is the answer; null for a question that can no longer be answered, because its call or its run has ended. */
  | {
      readonly type: "question_closed";
      readonly callKey: string;
      readonly questionId: string | undefined;
      readonly by: EventOf<"approval_answered"> | null;
    }
  | { readonly type: "run_started"; readonly by: EventOf<"run_started"> }
  /** A queued run that is aborted ends without having started, while another run may be in progress. */
  | { readonly type: "run_ended"; readonly by: EventOf<"final"> }
  /** Deltas are missing. The message that is being streamed is unknown until a snapshot, or its event, supplies it. */
  | { readonly type: "gap" }
  /** Everything else: the front end decides whether to show it. */
  | { readonly type: "note"; readonly item: NotedItem };

/** `input_grew`: the model has written more of the call's arguments. */
export type CallChange = { readonly type: "input_grew"; readonly text: string } | Extract<StreamItem, CallChangeItem>;

type CallChangeItem = {
  readonly type:
    | "call_start"
    | "tool_call"
    | "child_started"
    | "tool_step"
    | "tool_failed"
    | "progress"
    | "preliminary";
};

export type Question = EventOf<"approval_requested">;

export type NotedItem = Exclude<
  StreamItem,
  | CallChangeItem
  | {
      readonly type: "tool_result" | "approval_requested" | "approval_answered" | "run_started" | "final";
    }
>;

/** The log event that caused a change; null for a change that only live items cause. */
export function findLogEvent(change: ViewChange): PublicEvent | null {
  if (change.type === "question_opened") return change.question;
  const cause = change.type === "note" ? change.item : "by" in change ? change.by : null;
  return cause !== null && "seq" in cause ? cause : null;
}

export function isSameAttempt(a: Attempt, b: Attempt): boolean {
  return a.runId === b.runId && a.modelCallIndex === b.modelCallIndex && a.attempt === b.attempt;
}

/** Whether `a` is an earlier attempt than `b` in the same run. */
export function isEarlierAttempt(a: Attempt, b: Attempt): boolean {
  if (a.runId !== b.runId) return false;
  return a.modelCallIndex < b.modelCallIndex || (a.modelCallIndex === b.modelCallIndex && a.attempt < b.attempt);
}
