/**
 * Events: what happened in a session. The log of a session is a sequence of events. Each is an entry with a gap-free number.
 *
 * 1. An event carries every time, id, limit and option that the machine needs. Folding a log requires only the log.
 * 2. docs/log-format.md describes the format. New fields are optional. An unknown event is refused as one of a later version.
 */
import type { Fault, FileChange, Json, ToolOutput, Usage, UserMessage } from "../data/message.js";
import type { ModelSettings } from "../data/model-settings.js";
import type { Reason } from "../data/reasons.js";
import type { DataPatch } from "../data/session-data.js";
import type { Answer, Overruled } from "./answer.js";
import type { ChildSleep } from "./call-state.js";
import type { HistoryEventBody } from "./history.js";
import type { MessageRef } from "./message-ref.js";
import type { ModelEventBody, Timing } from "./model-events.js";
import type { PolicyDecision } from "./policy-decision.js";
import type { ReservedEventBody } from "./reserved-events.js";
import type { RunLimits } from "./run-limits.js";
import type { RunOptions } from "./run-options.js";
import type { CallOutcome, SessionInfo, State } from "./state.js";
import type { ToolStepEventBody } from "./tool-step-events.js";

export type { Answer, Overruled } from "./answer.js";
export type { AfterFailure, Timing } from "./model-events.js";
export type { PolicyDecision, Repair } from "./policy-decision.js";
export type { RunOptions, RunToolChoice, ToolChoice } from "./run-options.js";

/** The name of a timer of a run. */
export type Timer = "backoff" | "grace" | "approval" | "wall_clock" | "tool_retry" | "wait";

/** The report of a background child session at its end. */
export type FinishedChild = {
  /** The call that started it. */
  readonly callKey: string;
  readonly childId: string;
  /** Its usage, which counts for the run that gets the message. */
  readonly usage: Usage;
  /** Why its run ended. Absent: the session was deleted before that, or an earlier version wrote the entry. */
  readonly reason?: Reason;
};

type WithFinishedChild = {
  /** The input is the message that this child session in the background has ended. */
  readonly finishedChild?: FinishedChild;
};

type WithRunId = { readonly runId: string };
type WithCallKey = WithRunId & { readonly callKey: string };

/** The person or account that sent an input. */
type WithPrincipal = { readonly by?: string };

type WithKeyForm = {
  /**
   * The idempotency keys of the run's calls begin with the session's id, because the sender chose the run's id, and another session may
   * have a run with the same id. Format 3: an older reader would use other keys.
   */
  readonly sessionInKeys?: true;
};

/**
 * A person's request for a compaction. In a run, the compaction precedes the next model call; in a session at rest, it starts at once.
 */
export type CompactionRequest = {
  readonly type: "compaction_requested";
  /** What the summary should keep, in the person's words. */
  readonly keep?: string;
  readonly by?: string;
};

type Body =
  /** The session begins. */
  | ({
      readonly type: "session_created";
      /** The number of the format of the log. */
      readonly v: number;
    } & SessionInfo)
  /** A run begins. */
  | (WithRunId &
      WithPrincipal &
      WithFinishedChild &
      WithKeyForm & {
        readonly type: "run_started";
        readonly limits: RunLimits;
        /** The request itself, unless it was queued. */
        readonly input?: readonly UserMessage[];
        /** The entry that holds the request, if it was queued. */
        readonly queuedSeq?: number;
        /** The options of the run that override its agent's. */
        readonly options?: RunOptions;
        /** The span in which the request was made, as a W3C `traceparent`. The run's spans are its children. */
        readonly traceparent?: string;
      })
  /** A request waits for its turn. */
  | (WithRunId &
      WithPrincipal &
      WithFinishedChild &
      WithKeyForm & {
        readonly type: "run_queued";
        readonly limits: RunLimits;
        /** The request. */
        readonly input: readonly UserMessage[];
        /** The run replaces the run under way, which is aborted. */
        readonly interrupts?: true;
        /** The options of the run that override its agent's. */
        readonly options?: RunOptions;
        /** As in `run_started`. */
        readonly traceparent?: string;
      })
  /** A message was added to the run under way. */
  | (WithPrincipal &
      WithFinishedChild & {
        readonly type: "steered";
        /** The messages. */
        readonly input: readonly UserMessage[];
        /** Where the message came from: a user, a `beforeStop` hook, or the check of the answer's schema. */
        readonly source: "user" | "before_stop" | "output";
        /** Skips the calls that have not started. */
        readonly skip?: "unstarted";
      })
  /** A wait is over. */
  | (WithRunId & {
      readonly type: "timer_fired";
      /** The timer that fired. */
      readonly timer: Timer;
      readonly callKey?: string;
      readonly attempt?: number;
      /** The tool's question that expired. */
      readonly questionId?: string;
    })
  /** A call was checked. */
  | (WithCallKey & {
      readonly type: "tool_decided";
      /** The decision of the policy. */
      readonly decision: PolicyDecision;
    })
  /** A call began to wait for a child session or for a result from outside. */
  | (WithCallKey & {
      readonly type: "tool_waiting";
      /** What the call waits for: a child session, or a result from outside. */
      readonly on: "child" | "external";
      readonly childId?: string;
      /** The part of the run's token budget that is reserved for the child. */
      readonly reservedTokens?: number;
      /** The same for US dollars. */
      readonly reservedCostUsd?: number;
    })
  /** A call has its result. */
  | (WithCallKey & {
      readonly type: "tool_finished";
      readonly outcome: CallOutcome;
      /** The output of the tool. Absent if the machine created the result: its text then follows from the entry `causeSeq`. */
      readonly output?: ToolOutput;
      /** The tool's return value, if `toModelOutput` created `output` from it. Models never see it. */
      readonly returned?: ToolOutput;
      /** The entry from which the text of the result follows. */
      readonly causeSeq?: number;
      readonly attempt?: number;
      readonly timing?: Timing;
      /** The usage of a child session. */
      readonly usage?: Usage;
      /** Set if the tool signalled that the run is done. */
      readonly done?: {
        /** The tool's message. */
        readonly message?: string;
      };
      /** The limit that ended the child session: the output is what it had found until then. */
      readonly cut?: Reason;
      /** The call has started a child session in the background. */
      readonly startedChild?: {
        readonly childId: string;
        /** The parts of the run's budgets that are kept for the child. */
        readonly reservedTokens?: number;
        /** The same for US dollars. */
        readonly reservedCostUsd?: number;
      };
      /** How the tool changed the session's data. */
      readonly data?: DataPatch;
      /** Reserved: the files that the tool wrote. */
      readonly files?: readonly FileChange[];
    })
  /** An attempt of a call failed. The call is retried after `retryInMs`. */
  | (WithCallKey & {
      readonly type: "tool_failed";
      readonly attempt: number;
      readonly fault: Fault;
      readonly retryInMs: number;
      readonly timing: Timing;
    })
  /** A call was answered. */
  | (WithCallKey & {
      readonly type: "answered";
      /** The id of the answer. It is accepted once. */
      readonly answerId: string;
      /** The answer. */
      readonly answer: Answer;
      /** Who decided, according to the caller. */
      readonly by?: string;
      /** The hash of the input that the person was shown. An answer about another input does not count. */
      readonly inputHash?: string;
      /** The tool's question that is answered: the name of its tool step. */
      readonly questionId?: string;
      /** The id of the request that carried the answer. */
      readonly requestId?: string;
      /** Set if the person approved but the permission check has denied the call since. `answer` is then that denial. */
      readonly overruled?: Overruled;
    })
  /** The session's data was changed from outside a run. */
  | { readonly type: "data_changed"; readonly patch: DataPatch; readonly by?: string }
  /**
   * The session's properties apart from its runs were changed. The fields `model`, `settings` and `limits` are reserved: no code sets them
   * yet, and this version ignores them.
   */
  | {
      readonly type: "session_changed";
      /** The new title. */
      readonly title?: string;
      readonly model?: string;
      /** The new settings; null returns to the agent's settings. */
      readonly settings?: ModelSettings | null;
      readonly limits?: Partial<RunLimits>;
      readonly by?: string;
    }
  /** An abort of the run was requested. */
  | (WithRunId & { readonly type: "abort_requested"; readonly note?: string; readonly by?: string })
  /** Work that was in flight is in doubt. With `fault`, no process died: the fault kept the prepared step from continuing. */
  | (WithRunId & {
      readonly type: "restarted";
      /** The id of the process that continues the session. */
      readonly holder: string;
      readonly fault?: Fault;
    })
  /** The result of an abandoned call arrived after all. */
  | {
      readonly type: "late_result";
      readonly callKey: string;
      readonly outcome: CallOutcome;
      /** The output of the tool. */
      readonly output?: ToolOutput;
      /** As in `tool_finished`. */
      readonly returned?: ToolOutput;
      /** The limit that ended the child session. */
      readonly cut?: Reason;
      /** Reserved. */
      readonly files?: readonly FileChange[];
    }
  /** The run ended. */
  | (WithRunId & {
      readonly type: "run_finished";
      readonly reason: Reason;
      readonly fault?: Fault;
      /** The answer as data, if the run requested a schema. */
      readonly output?: Json;
      /** The step whose preparation ended the run, because a hook refused or failed or a budget was used up. */
      readonly modelCallIndex?: number;
      /** Set if hooks are still to be called: `after_run_hooks_called` follows. */
      readonly afterRunHooksPending?: true;
      /** The stop condition that held. */
      readonly condition?: string;
      /** The first entry of the refused answer, which leaves the conversation. */
      readonly refusedSeq?: number;
    })
  /** The hooks that run after the end of a run were called. */
  | (WithRunId & { readonly type: "after_run_hooks_called" })
  /**
   * The child session of a call has been waiting for a person since `askedAt` (epoch milliseconds), or does not wait (null): it no longer
   * does, or its tool asks and keeps running. The report is about the child's entry `childSeq`; a report about an earlier entry than the
   * last report is stale.
   */
  | (WithRunId & {
      readonly type: "child_waiting";
      readonly callKey: string;
      readonly childId: string;
      readonly askedAt: number | null;
      /** Set if the child sleeps or waits for a signal, and no person is asked. From format 3 on. */
      readonly asleep?: ChildSleep;
      /** The child's entry that this report is about. */
      readonly childSeq: number;
    })
  /** This child session reported to its parent whether it waited for a person after its entry `toldSeq`, and since when. */
  | (WithRunId & {
      readonly type: "parent_told";
      readonly askedAt: number | null;
      /** The entry that the report to the parent was about. */
      readonly toldSeq: number;
    })
  /** This child session sent the result of its run to its parent. */
  | (WithRunId & { readonly type: "parent_notified" })
  /** Another agent took over the session. */
  | (WithCallKey & {
      readonly type: "handed_off";
      /** The agent that had the session. */
      readonly from: string;
      /** The agent that has the session from now on. */
      readonly to: string;
      /** The messages that the next agent sees, if it does not see the whole conversation. */
      readonly messages?: readonly MessageRef[];
    })
  /**
   * Content was removed from the log. The same commit replaces it in the earlier entries, so a log never claims that content is gone while
   * it is still there.
   */
  | {
      readonly type: "content_redacted";
      /** The entries whose content was replaced, in ascending order; at most 10,000. A larger redaction has several events. */
      readonly entries: readonly number[];
      /** The person or account that requested it. */
      readonly by?: string;
      /** The reason, as text. */
      readonly note?: string;
    }
  /** A later version of Pawl converted the session to its format. */
  | {
      readonly type: "migrated";
      /** The previous format of the session. */
      readonly from: number;
      /** The new state. Folding starts again here. */
      readonly state: State;
    }
  | ModelEventBody
  | CompactionRequest
  | HistoryEventBody
  | ToolStepEventBody
  | ReservedEventBody;

/** An event without its time. */
export type EventBody = Body & {
  /** The hooks that contributed to the event, in the order of their calls. */
  readonly hooks?: readonly HookRecord[];
  /** The `content_redacted` entry that replaced content of this event; the last one, if there were several. */
  readonly redacted?: number;
};

/** An event with its time (epoch milliseconds). */
export type Event = EventBody & { readonly at: number };
/** The name of an event. */
export type EventType = Event["type"];
/** The event with this name. */
export type EventOf<Type extends EventType> = Extract<Event, { readonly type: Type }>;

/** One line of the log. Numbers start at 1 and have no gaps. */
export type Entry = {
  readonly seq: number;
  /** The event and its time. */
  readonly event: Event;
};

/** When a hook is called. */
export type HookPoint =
  | "beforeRun"
  | "beforeStep"
  | "beforeLLMCall"
  | "besideLLMCall"
  | "afterLLMCall"
  | "beforeToolCall"
  | "afterToolCall"
  | "afterStep"
  | "beforeStop"
  | "onError"
  | "beforeCompaction"
  | "onCompacted"
  | "afterRun";

/** The outcome of a hook. It is part of the event to which the hook contributed. */
export type HookRecord = {
  /** The name of the hook. */
  readonly name: string;
  /** The point of the run at which it was called. */
  readonly hook: HookPoint;
  /** How long the hook took, in milliseconds. */
  readonly ms: number;
  /**
   * `changed`: the loop used the hook's return value. `tripped`: the hook ended the model call. `refused`: the hook returned something that
   * is not allowed at this point.
   */
  readonly outcome: "ok" | "changed" | "tripped" | "threw" | "timed_out" | "refused";
  /** The error message. */
  readonly message?: string;
};
