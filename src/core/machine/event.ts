/**
 * Events: what happened. The log of a session is a sequence of them. Each is an entry with a gap-free number.
 *
 * 1. An event carries every time, id, limit and option that the machine needs. Folding a log needs the log alone.
 * 2. docs/log-format.md describes the format. New fields are optional. An unknown event is refused as a later version's.
 */
import type {
  AssistantMessage,
  Fault,
  FileChange,
  FinishReason,
  Json,
  ModelFailure,
  ToolOutput,
  Usage,
  UserMessage,
} from "../data/message.js";
import type { ModelSettings } from "../data/model-settings.js";
import type { Reason } from "../data/reasons.js";
import type { DataPatch } from "../data/session-data.js";
import type { Answer } from "./answer.js";
import type { FamilyEventBody } from "./family-events.js";
import type { HandoffEventBody } from "./handoff-event.js";
import type { HistoryEventBody } from "./history.js";
import type { HookRecord } from "./hook-record.js";
import type { MessageRef } from "./message-ref.js";
import type { PermissionRule, ReservedEventBody } from "./reserved-events.js";
import type { RunLimits } from "./run-limits.js";
import type { SourceChange, SourceReference, SourcesOfRun } from "./sources.js";
import type { CallOutcome, CallPolicy, Purpose, SessionInfo, State } from "./state.js";
import type { RecordedCondition } from "./stop-condition.js";
import type { ToolStepEventBody } from "./tool-step-events.js";

export type { Answer } from "./answer.js";
export type { HookPoint, HookRecord } from "./hook-record.js";

/** Options of a run that override its agent's. Plain data: the log keeps it. */
export type RunOptions = {
  readonly systemPrompt?: string;
  readonly activeTools?: readonly string[];
  readonly toolChoice?: RunToolChoice;
  /** False if nobody can be asked: a call that would ask is then denied. */
  readonly interactive?: boolean;
  readonly providerOptions?: { readonly [provider: string]: { readonly [key: string]: Json } };
  /** The JSON Schema that the answer must fit. */
  readonly output?: { readonly [key: string]: Json };
  /** The conditions on which the run stops between two steps. */
  readonly stopWhen?: readonly RecordedCondition[];
  /** The name of one of the agent's `models`, which takes the place of its `model`. */
  readonly model?: string;
  readonly settings?: ModelSettings;
  /** The agent that the run begins with, if it is not the one that has the session. */
  readonly agent?: string;
};

/** Whether a model may, must or must not call tools, or which tool it must call. */
export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

/**
 * The same as the log keeps it. A forced choice holds for every model call of the run if `everyStep` is true, and
 * otherwise for the first one.
 */
export type RunToolChoice =
  | ToolChoice
  | { readonly tool: string; readonly everyStep?: boolean }
  | { readonly required: true; readonly everyStep?: boolean };

/** When an attempt or a call ran: epoch milliseconds and milliseconds. */
export type Timing = { readonly startedAt: number; readonly durationMs: number; readonly firstDeltaMs?: number };

/** How a call that could not be used was mended: what was wrong with it, and the tool that is called instead. */
export type Repair = {
  readonly by: "near_name" | "json" | "custom";
  readonly problem: string;
  readonly name?: string;
};

/**
 * What the policy says of a call, after parsing and validation. `input` is there only if a hook or a person changed it.
 */
export type PolicyDecision = (
  | { readonly verdict: "allow"; readonly policy: CallPolicy; readonly input?: Json; readonly inputHash?: string }
  | {
      readonly verdict: "ask";
      readonly policy: CallPolicy;
      readonly input?: Json;
      readonly inputHash: string;
      readonly question?: string;
      readonly expiresAt?: number;
    }
  | { readonly verdict: "deny"; readonly reason: string; readonly stopRun?: boolean }
  /** `repeated`: the model asks for the same call again and again. */
  | { readonly verdict: "block"; readonly reason: string; readonly stopRun?: boolean; readonly repeated?: boolean }
  /** The call cannot run: the tool is unknown, or the arguments do not parse or do not fit. */
  | { readonly verdict: "reject"; readonly message: string }
) & {
  /** How the call was mended. Its `input` is then the mended one. */
  readonly repair?: Repair;
  /** Reserved: the rule that decided. */
  readonly rule?: PermissionRule;
};

/** What follows a failed attempt. */
export type AfterFailure =
  | { readonly type: "retry"; readonly inMs: number }
  | { readonly type: "fallback"; readonly index: number }
  | { readonly type: "compact" }
  | { readonly type: "give_up"; readonly reason: Reason };

export type Timer = "backoff" | "grace" | "approval" | "wall_clock" | "tool_retry";

/** A request for a summary, as the log names it. */
export type SummaryRequest = { readonly prompt: string; readonly text: string; readonly attempts: number };

type OfRun = { readonly runId: string };
type OfStep = OfRun & { readonly modelCallIndex: number };
type OfCall = OfRun & { readonly callKey: string };

/** The person or account that sent an input. */
type ByPrincipal = { readonly by?: string };

type Body =
  | ({ readonly type: "session_created"; readonly v: number } & SessionInfo)
  | (OfRun &
      ByPrincipal & {
        readonly type: "run_started";
        readonly limits: RunLimits;
        /** The request itself; or, if it was queued, the entry that holds it. */
        readonly input?: readonly UserMessage[];
        readonly queuedSeq?: number;
        readonly options?: RunOptions;
      })
  | (OfRun &
      ByPrincipal & {
        readonly type: "run_queued";
        readonly limits: RunLimits;
        readonly input: readonly UserMessage[];
        readonly options?: RunOptions;
      })
  | (ByPrincipal & {
      readonly type: "steered";
      readonly input: readonly UserMessage[];
      /** Who steers: a user, a `beforeStop` hook, or the check of the answer's shape. */
      readonly source: "user" | "before_stop" | "output";
      /** Calls that have not started are skipped. */
      readonly skip?: "unstarted";
    })
  | (OfStep & {
      readonly type: "prepared";
      /** The model sees the log up to this entry. */
      readonly contextSeq: number;
      readonly purpose: Purpose;
      /** The run's input, if a hook changed it. */
      readonly input?: readonly UserMessage[];
      /** What hooks chose instead of the run's options. */
      readonly activeTools?: readonly string[];
      readonly toolChoice?: ToolChoice;
      /** Messages that the model is shown after everything else. From then on they belong to the conversation. */
      readonly append?: readonly UserMessage[];
      /**
       * The blobs of the system prompt and the tool specifications (null: none), if they differ from those of the call
       * before.
       */
      readonly promptHash?: string | null;
      readonly toolsHash?: string | null;
      readonly providerOptions?: { readonly [provider: string]: { readonly [key: string]: Json } };
      /** Bytes of tool results that the model is shown in all, if the agent bounds them: older results are left out. */
      readonly resultBytes?: number;
      /** What this call is sent instead of the conversation, which stays as it is. */
      readonly messages?: readonly MessageRef[];
      /** The model of this call, by its name among the agent's `models`. */
      readonly model?: string;
      /** The settings of the call, if they differ from those of the call before (null: none). None after a compaction. */
      readonly settings?: ModelSettings | null;
      /** In a run's first call, if its agent has context sources: the texts that the whole run goes by. */
      readonly sources?: readonly SourceReference[];
      /** How these differ from those of the run before. */
      readonly changedSources?: readonly SourceChange[];
    })
  /** The conversation is to be made smaller before the step's model is called. Without a run: a person asked for it. */
  | (Partial<OfStep> & { readonly type: "compaction_started" })
  | (Partial<OfRun> & {
      readonly type: "compacted";
      /**
       * The first entry that is still shown as it is, and the summary that stands for the rest. Both, or nothing
       * changes.
       */
      readonly keptFrom?: number;
      readonly summary?: string;
      /** The first entry that a reader of the log needs, if it comes before `keptFrom`. */
      readonly readFrom?: number;
      /** The entry that started the run to which `readFrom` belongs. */
      readonly runStartSeq?: number;
      /** Texts that stand word for word before the summary, those of earlier compactions included. */
      readonly retained?: readonly string[];
      /** How many messages the summary stands for, and the first entry that they come from. */
      readonly replaced?: { readonly from: number; readonly messages: number };
      /** Estimates of what a model is sent, before and after. */
      readonly tokensBefore?: number;
      readonly tokensAfter?: number;
      /** The model that wrote the summary. */
      readonly model?: string;
      /** What that model was asked: the blobs of the system prompt and of the text, and how often each was sent. */
      readonly requests?: readonly SummaryRequest[];
      readonly timing?: Timing;
      readonly usage?: Usage;
      /** Why nothing changes. */
      readonly fault?: Fault;
      /** The blob with the session's data as it stands, if there is any. */
      readonly dataBlob?: string;
      /** The texts of context sources that the last run went by, for whoever reads the log from here. */
      readonly sources?: SourcesOfRun;
    })
  | (OfStep & {
      readonly type: "model_finished";
      readonly attempt: number;
      readonly model: string;
      /** How often the request was sent again within this attempt, because the connection closed before any answer. */
      readonly resends?: number;
      readonly message: AssistantMessage;
      readonly finishReason: FinishReason;
      readonly usage: Usage;
      readonly timing: Timing;
      readonly providerMetadata?: { readonly [provider: string]: { readonly [key: string]: Json } };
      /** The context window ended the message, and nothing can be done about it. */
      readonly cut?: "context";
      /** What the provider could not do of what was asked. */
      readonly warnings?: readonly string[];
    })
  | (OfStep & {
      readonly type: "model_failed";
      readonly attempt: number;
      readonly model: string;
      readonly resends?: number;
      readonly failure: ModelFailure;
      readonly next: AfterFailure;
      readonly usage?: Usage;
      readonly timing: Timing;
      /** The text that came before a stop cut the attempt off; absent if there was none. */
      readonly partial?: { readonly text: string };
    })
  | (OfRun & {
      readonly type: "timer_fired";
      readonly timer: Timer;
      readonly callKey?: string;
      readonly attempt?: number;
      /** The question of a tool that expired. */
      readonly questionId?: string;
    })
  | (OfCall & { readonly type: "tool_decided"; readonly decision: PolicyDecision })
  | (OfCall & {
      readonly type: "tool_waiting";
      readonly on: "child" | "external";
      readonly childId?: string;
      /** The parts of the run's budgets that are kept for a child. */
      readonly reservedTokens?: number;
      readonly reservedCostUsd?: number;
    })
  | (OfCall & {
      readonly type: "tool_finished";
      readonly outcome: CallOutcome;
      /** What the tool gave. Absent if the machine made the result: its text then follows from the entry `causeSeq`. */
      readonly output?: ToolOutput;
      readonly causeSeq?: number;
      readonly attempt?: number;
      readonly timing?: Timing;
      /** What a child session used. */
      readonly usage?: Usage;
      /** The tool said that the run is done. */
      readonly done?: { readonly message?: string };
      /** The limit that ended the child session: the output is what it had found by then. */
      readonly cut?: Reason;
      /** How the tool changed the session's data. */
      readonly data?: DataPatch;
      /** Reserved: the files that the tool wrote. */
      readonly files?: readonly FileChange[];
    })
  /** An attempt of a call failed, and the call is tried again after `retryInMs`. */
  | (OfCall & {
      readonly type: "tool_failed";
      readonly attempt: number;
      readonly fault: Fault;
      readonly retryInMs: number;
      readonly timing: Timing;
    })
  | (OfCall & {
      readonly type: "answered";
      readonly answerId: string;
      readonly answer: Answer;
      /** Who decided, as the caller names them. */
      readonly by?: string;
      /** The hash of the input that was shown. An answer to another input does not count. */
      readonly inputHash?: string;
      /** The question of a tool that is answered: the name of its tool step. */
      readonly questionId?: string;
    })
  /** Somebody outside a run changed the session's data. */
  | { readonly type: "data_changed"; readonly patch: DataPatch; readonly by?: string }
  | (OfRun & { readonly type: "abort_requested"; readonly note?: string; readonly by?: string })
  /**
   * Work that was in flight is in doubt. With `fault`, no process died: the fault kept the prepared step from going on.
   */
  | (OfRun & { readonly type: "restarted"; readonly holder: string; readonly fault?: Fault })
  | {
      readonly type: "late_result";
      readonly callKey: string;
      readonly outcome: CallOutcome;
      readonly output?: ToolOutput;
      /** The limit that ended the child session. */
      readonly cut?: Reason;
      /** Reserved. */
      readonly files?: readonly FileChange[];
    }
  | (OfRun & {
      readonly type: "run_finished";
      readonly reason: Reason;
      readonly fault?: Fault;
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
  | (OfRun & { readonly type: "after_run_hooks_called" })
  | { readonly type: "migrated"; readonly from: number; readonly state: State }
  | FamilyEventBody
  | HandoffEventBody
  | HistoryEventBody
  | ToolStepEventBody
  | ReservedEventBody;

/** An event without its time. `hooks`: the hooks that contributed to the event, in the order of their calls. */
export type EventBody = Body & { readonly hooks?: readonly HookRecord[] };

/** An event, and when it happened (epoch milliseconds). */
export type Event = EventBody & { readonly at: number };
export type EventType = Event["type"];
export type EventOf<Type extends EventType> = Extract<Event, { readonly type: Type }>;

/** One line of the log. Numbers start at 1 and have no gaps. */
export type Entry = { readonly seq: number; readonly event: Event };
