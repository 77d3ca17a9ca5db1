/**
 * Events: what happened. The log of a session is a sequence of them. Each is an entry with a gap-free number.
 *
 * 1. An event carries every time, id, limit and option that the machine needs. Folding a log needs the log alone.
 * 2. docs/log-format.md describes the format. New fields are optional. An unknown event is refused as a later version's.
 */
import type { Fault, FileChange, Json, ToolOutput, Usage, UserMessage } from "../data/message.js";
import type { ModelSettings } from "../data/model-settings.js";
import type { Reason } from "../data/reasons.js";
import type { DataPatch } from "../data/session-data.js";
import type { Answer, Overruled } from "./answer.js";
import type { CompactionRequest } from "./compaction-request.js";
import type { FamilyEventBody } from "./family-events.js";
import type { HandoffEventBody } from "./handoff-event.js";
import type { HistoryEventBody } from "./history.js";
import type { HookRecord } from "./hook-record.js";
import type { ModelEventBody, Timing } from "./model-events.js";
import type { PolicyDecision } from "./policy-decision.js";
import type { RedactionEventBody } from "./redaction-event.js";
import type { ReservedEventBody } from "./reserved-events.js";
import type { RunLimits } from "./run-limits.js";
import type { RunOptions } from "./run-options.js";
import type { CallOutcome, SessionInfo, State } from "./state.js";
import type { ToolStepEventBody } from "./tool-step-events.js";

export type { Answer, Overruled } from "./answer.js";
export type { HookPoint, HookRecord } from "./hook-record.js";
export type { AfterFailure, Timing } from "./model-events.js";
export type { PolicyDecision, Repair } from "./policy-decision.js";
export type { RunOptions, RunToolChoice, ToolChoice } from "./run-options.js";

/** The name of a timer of a run. */
export type Timer = "backoff" | "grace" | "approval" | "wall_clock" | "tool_retry" | "wait";

/** What a child session that worked in the background reports at its end. */
export type FinishedChild = {
  /** The call that started it. */
  readonly callKey: string;
  readonly childId: string;
  /** What it used. It counts for the run that gets the message. */
  readonly usage: Usage;
};

type WithFinishedChild = {
  /** The input is the message that this child session in the background has ended. */
  readonly finishedChild?: FinishedChild;
};

type WithRunId = { readonly runId: string };
type WithCallKey = WithRunId & { readonly callKey: string };

/** The person or account that sent an input. */
type WithPrincipal = { readonly by?: string };

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
      WithFinishedChild & {
        readonly type: "run_started";
        readonly limits: RunLimits;
        /** The request itself; or, if it was queued, the entry that holds it. */
        readonly input?: readonly UserMessage[];
        /** The entry that holds the request, if it was queued. */
        readonly queuedSeq?: number;
        /** The options of the run that override its agent's. */
        readonly options?: RunOptions;
        /** The span that the request was made in, as W3C's `traceparent`. The run's spans are its children. */
        readonly traceparent?: string;
      })
  /** A request waits for its turn. */
  | (WithRunId &
      WithPrincipal &
      WithFinishedChild & {
        readonly type: "run_queued";
        readonly limits: RunLimits;
        /** The request. */
        readonly input: readonly UserMessage[];
        /** It takes the place of the run under way, which is aborted with it. */
        readonly interrupts?: true;
        /** The options of the run that override its agent's. */
        readonly options?: RunOptions;
        /** As in `run_started`. */
        readonly traceparent?: string;
      })
  /** Something was said to the run under way. */
  | (WithPrincipal &
      WithFinishedChild & {
        readonly type: "steered";
        /** What is said. */
        readonly input: readonly UserMessage[];
        /** Who steers: a user, a `beforeStop` hook, or the check of the answer's shape. */
        readonly source: "user" | "before_stop" | "output";
        /** Calls that have not started are skipped. */
        readonly skip?: "unstarted";
      })
  /** A wait is over. */
  | (WithRunId & {
      readonly type: "timer_fired";
      /** Which timer fired. */
      readonly timer: Timer;
      readonly callKey?: string;
      readonly attempt?: number;
      /** The question of a tool that expired. */
      readonly questionId?: string;
    })
  /** A call was checked. */
  | (WithCallKey & {
      readonly type: "tool_decided";
      /** What the policy says. */
      readonly decision: PolicyDecision;
    })
  /** A call began to wait for a child session or for a result from outside. */
  | (WithCallKey & {
      readonly type: "tool_waiting";
      /** What the call waits for: a child session, or a result from outside. */
      readonly on: "child" | "external";
      readonly childId?: string;
      /** The parts of the run's budgets that are kept for a child. */
      readonly reservedTokens?: number;
      /** The same for US dollars. */
      readonly reservedCostUsd?: number;
    })
  /** A call has its result. */
  | (WithCallKey & {
      readonly type: "tool_finished";
      readonly outcome: CallOutcome;
      /** What the tool gave. Absent if the machine made the result: its text then follows from the entry `causeSeq`. */
      readonly output?: ToolOutput;
      /** What the tool returned, if its `toModelOutput` made `output` of it. Models never see it. */
      readonly returned?: ToolOutput;
      /** The entry from which the text of the result follows. */
      readonly causeSeq?: number;
      readonly attempt?: number;
      readonly timing?: Timing;
      /** What a child session used. */
      readonly usage?: Usage;
      /** The tool said that the run is done. */
      readonly done?: {
        /** What the tool said. */
        readonly message?: string;
      };
      /** The limit that ended the child session: the output is what it had found by then. */
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
  /** An attempt of a call failed, and the call is tried again after `retryInMs`. */
  | (WithCallKey & {
      readonly type: "tool_failed";
      readonly attempt: number;
      readonly fault: Fault;
      readonly retryInMs: number;
      readonly timing: Timing;
    })
  /** Somebody answered a call. */
  | (WithCallKey & {
      readonly type: "answered";
      /** The id of the answer. It is taken once. */
      readonly answerId: string;
      /** The answer. */
      readonly answer: Answer;
      /** Who decided, as the caller names them. */
      readonly by?: string;
      /** The hash of the input that was shown. An answer to another input does not count. */
      readonly inputHash?: string;
      /** The question of a tool that is answered: the name of its tool step. */
      readonly questionId?: string;
      /** The person approved, but the permission check denied the call by then. `answer` is that denial. */
      readonly overruled?: Overruled;
    })
  /** Somebody outside a run changed the session's data. */
  | { readonly type: "data_changed"; readonly patch: DataPatch; readonly by?: string }
  /**
   * Somebody changed what the session is beside its runs. The fields `model`, `settings` and `limits` are reserved: nothing
   * fills them yet, and this version does nothing with them.
   */
  | {
      readonly type: "session_changed";
      /** The new title. */
      readonly title?: string;
      readonly model?: string;
      /** The new settings; null: those of the agent again. */
      readonly settings?: ModelSettings | null;
      readonly limits?: Partial<RunLimits>;
      readonly by?: string;
    }
  /** Somebody wants the run to end. */
  | (WithRunId & { readonly type: "abort_requested"; readonly note?: string; readonly by?: string })
  /**
   * Work that was in flight is in doubt. With `fault`, no process died: the fault kept the prepared step from going on.
   */
  | (WithRunId & {
      readonly type: "restarted";
      /** The id of the process that carries the session on. */
      readonly holder: string;
      readonly fault?: Fault;
    })
  /** The result of a call that was given up came after all. */
  | {
      readonly type: "late_result";
      readonly callKey: string;
      readonly outcome: CallOutcome;
      /** What the tool gave. */
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
      /** The answer as data, if the run asked for a shape. */
      readonly output?: Json;
      /** The step whose preparation ended the run: a hook refused or failed, or a budget was used up. */
      readonly modelCallIndex?: number;
      /** Hooks are still to be called: `after_run_hooks_called` follows. */
      readonly afterRunHooksPending?: true;
      /** The stop condition that held. */
      readonly condition?: string;
      /** The first entry of the answer that was refused. It leaves the conversation. */
      readonly refusedSeq?: number;
    })
  /** The hooks that come after a run were called. */
  | (WithRunId & { readonly type: "after_run_hooks_called" })
  /** A later version of Pawl brought the session to its format. */
  | {
      readonly type: "migrated";
      /** The format that the session had before. */
      readonly from: number;
      /** The state that it has now. Folding starts again here. */
      readonly state: State;
    }
  | ModelEventBody
  | CompactionRequest
  | FamilyEventBody
  | HandoffEventBody
  | HistoryEventBody
  | RedactionEventBody
  | ToolStepEventBody
  | ReservedEventBody;

/** An event without its time. */
export type EventBody = Body & {
  /** The hooks that contributed to the event, in the order of their calls. */
  readonly hooks?: readonly HookRecord[];
  /** The entry `content_redacted` that replaced content of this event; the last one, if there were several. */
  readonly redacted?: number;
};

/** An event, and when it happened (epoch milliseconds). */
export type Event = EventBody & { readonly at: number };
/** The name of an event. */
export type EventType = Event["type"];
/** The event of one name. */
export type EventOf<Type extends EventType> = Extract<Event, { readonly type: Type }>;

/** One line of the log. Numbers start at 1 and have no gaps. */
export type Entry = {
  readonly seq: number;
  /** What happened, and when. */
  readonly event: Event;
};
