/**
 * Public events: their names and shapes.
 */

import type { CacheUsage } from "../data/cache-break.js";
import type {
  AssistantMessage,
  Fault,
  FinishReason,
  Json,
  Message,
  ModelFailure,
  ProviderMetadata,
  ToolOutput,
  Usage,
  UserMessage,
} from "../data/message.js";
import type { Reason } from "../data/reasons.js";
import type { AfterFailure, HookPoint, Overruled, Repair } from "../machine/event.js";
import type { HistorySource } from "../machine/history.js";
import type { SourceChange } from "../machine/sources.js";
import type { CallOutcome, SessionInfo, WaitKind } from "../machine/state.js";
import type { CallFields, FailedAttemptOf } from "./event-shapes.js";
import type { PendingApproval, RunResult, RunWait } from "./outcome.js";

export type { CallFields, FailedAttemptOf } from "./event-shapes.js";

/** A public event without its position and time. */
export type PublicEventBody =
  /** The session begins: the first event of every session. */
  | ({ readonly type: "session_created" } & SessionInfo)
  /** Messages of an imported conversation that the session begins with. Several of these events may follow each other. */
  | {
      readonly type: "history_added";
      /** The form in which the conversation was given. */
      readonly source: HistorySource;
      /** The messages. Large files are replaced by references to their blobs. */
      readonly messages: readonly Message[];
    }
  /** A run begins. For a queued run, `run_queued` says who sent it. */
  | {
      readonly type: "run_started";
      readonly runId: string;
      /** The request. */
      readonly input: readonly UserMessage[];
      readonly by?: string;
      /** The request is the message that this child session in the background has ended. */
      readonly finishedChild?: string;
      /** Why the child's run ended. Absent: its session was deleted, or an earlier version wrote the entry. */
      readonly childReason?: Reason;
    }
  /** A request arrived during another run. It waits for its turn; `run_started` follows later. */
  | {
      readonly type: "run_queued";
      readonly runId: string;
      /** The request. */
      readonly input: readonly UserMessage[];
      readonly by?: string;
      /** Set if the run replaces the run under way, which is aborted. */
      readonly interrupts?: true;
      /** As in `run_started`. */
      readonly finishedChild?: string;
      /** As in `run_started`. */
      readonly childReason?: Reason;
    }
  /** A message was added to the run under way. The model sees it in its next call. */
  | {
      readonly type: "steered";
      /** The messages. */
      readonly input: readonly UserMessage[];
      /** Where the message came from: a user, a `beforeStop` hook, or the check of the answer's schema. */
      readonly source: "user" | "before_stop" | "output";
      /** Set if calls that had not started are skipped. */
      readonly skip?: "unstarted";
      readonly by?: string;
      /** As in `run_started`. */
      readonly finishedChild?: string;
      /** As in `run_started`. */
      readonly childReason?: Reason;
    }
  /** The run uses different context source texts than the previous run. Comes before its first model call. */
  | {
      readonly type: "sources_changed";
      readonly runId: string;
      readonly modelCallIndex: number;
      /** The texts that differ. */
      readonly changes: readonly SourceChange[];
    }
  /** One part of the model's reasoning in a step. The events of a message's parts come together, in their order. */
  | {
      readonly type: "reasoning";
      readonly runId: string;
      readonly modelCallIndex: number;
      /** The text of the part. */
      readonly text: string;
    }
  /** One part of the text of a step's message. A step that may be the last one has none: its text is in its `message`. */
  | {
      readonly type: "text";
      readonly runId: string;
      readonly modelCallIndex: number;
      /** The text of the part. */
      readonly text: string;
    }
  /**
   * The complete message of a model call, with everything that the provider sent: text, reasoning, calls, files, sources, and the metadata
   * of each part. It comes once per step. The message of the last step comes right before `final`; a refused answer has none.
   */
  | {
      readonly type: "message";
      readonly runId: string;
      readonly modelCallIndex: number;
      readonly attempt: number;
      /** The message as the model sent it. */
      readonly message: AssistantMessage;
      /** Set if an abort or a limit cut the message off. It contains only the text that had arrived. */
      readonly cut?: true;
    }
  /** The answer of this attempt was refused. A consumer that has shown its deltas or its text must remove them. */
  | {
      readonly type: "attempt_withdrawn";
      readonly runId: string;
      readonly modelCallIndex: number;
      readonly attempt: number;
    }
  /** The model asks for a tool call. Its arguments are not validated yet: `tool_call` follows. */
  | ({ readonly type: "call_start" } & CallFields)
  /** A call is decided: its arguments are valid, or it gets an error. With `repair`, `input` and `name` are the repaired values. */
  | ({
      readonly type: "tool_call";
      /** The arguments. */
      readonly input: Json;
      /** How the call was repaired. */
      readonly repair?: Repair;
      /** The input does not fit the tool's schema, or the call ended before its input was validated. The call does not run. */
      readonly invalid?: true;
    } & CallFields)
  /** The call started a child session, and waits for it. */
  | ({ readonly type: "child_started"; readonly childId: string } & CallFields)
  /** The call waits for an answer or a result from outside. This event comes once, and again if the call changes. */
  | ({
      readonly type: "approval_requested";
      /** The input that the call would run with. */
      readonly input: Json;
      /** Who asks: the policy, a recovery after a crash, the provider, an external tool, or a tool step. */
      readonly why: "policy" | "recovery" | "provider" | "external" | "tool";
      readonly inputHash?: string;
      /** The text of the question. */
      readonly question?: string;
      /** Identifies the question among those of the tool. */
      readonly questionId?: string;
      /** The JSON Schema that the answer must fit. */
      readonly schema?: { readonly [key: string]: Json };
      /** A page where the question can be settled. */
      readonly url?: string;
      /** Epoch milliseconds. */
      readonly expiresAt?: number;
      /** The child session that asks, at any depth; absent if this session asks. */
      readonly childId?: string;
    } & CallFields)
  /** The call was answered, or its question expired. */
  | ({
      readonly type: "approval_answered";
      /** The type of the decision, for example `approve` or `deny`. */
      readonly answer: string;
      /** The new input, if the person changed it. */
      readonly input?: Json;
      /** The tool's question that was answered. It may also have expired: `answer` is then `expired`. */
      readonly questionId?: string;
      /** The person's answer. */
      readonly value?: Json;
      readonly note?: string;
      readonly by?: string;
      /** Set if the person approved but `canExecuteTool` has denied the call since. `answer` and `note` are then that denial. */
      readonly overruled?: Overruled;
    } & CallFields)
  /** A tool sleeps, or waits for a signal. No process holds it meanwhile. */
  | ({
      readonly type: "wait_started";
      /** The name of the sleep or wait among the steps of the call. */
      readonly step: string;
      /** `time`: the tool sleeps. `signal`: it waits for a signal. */
      readonly on: WaitKind;
      /** When the wait ends at the latest, in epoch milliseconds. */
      readonly until?: number;
      /** The key of the signal. */
      readonly key?: string;
      /** How many signals this wait has skipped because their values did not fit its schema. */
      readonly passedOver?: number;
    } & CallFields)
  /** The sleep or wait of a tool is over. The tool continues once all of its other waits and questions are over. */
  | ({
      readonly type: "wait_over";
      /** The name of the sleep or wait among the steps of the call. */
      readonly step: string;
      /** `time`: the tool slept. `signal`: it waited for a signal. */
      readonly on: WaitKind;
      /** What ended it: its time, or the signal. */
      readonly by: WaitKind;
    } & CallFields)
  /** A tool step is over. If the tool runs again, it gets this result, and no event follows. */
  | ({
      readonly type: "tool_step";
      readonly step: string;
      /** Whether the step's function returned a value or threw. */
      readonly outcome: "ok" | "error";
      readonly durationMs: number;
      /** How often it was tried; absent if only once. */
      readonly tries?: number;
      /** Its value, if that is at most 4 KiB of JSON. */
      readonly output?: Json;
      readonly fault?: Fault;
    } & CallFields)
  /** The result of the call as the model sees it. Each call gets exactly one. */
  | ({
      readonly type: "tool_result";
      readonly outcome: CallOutcome;
      readonly output: ToolOutput;
      /** The tool's return value, if `toModelOutput` created `output` from it. Cut above 50 KiB, like other outputs. */
      readonly returned?: ToolOutput;
      readonly isError: boolean;
      /** The limit that ended the child session: the output is what it had found until then. */
      readonly cut?: Reason;
      /** The child session that the call has started in the background. */
      readonly startedChild?: string;
    } & CallFields)
  /** The session's data changed: the keys that were set or unset. With `callKey`, a tool changed them. */
  | {
      readonly type: "data_changed";
      /** The keys that changed. */
      readonly keys: readonly string[];
      readonly callKey?: string;
      readonly by?: string;
    }
  /**
   * Content was redacted. The events of these entries keep their cursors but have new content. A consumer that stores events or messages of
   * this session must read them again.
   */
  | {
      readonly type: "content_redacted";
      /** The entries whose content was replaced, in ascending order. */
      readonly entries: readonly number[];
      readonly by?: string;
      /** The reason. */
      readonly note?: string;
    }
  /** The session's title was changed. */
  | {
      readonly type: "session_changed";
      /** The new title, in one line. Absent: unchanged. */
      readonly title?: string;
      readonly by?: string;
    }
  /** The session continues with another agent. */
  | {
      readonly type: "handed_off";
      readonly runId: string;
      /** The call that asked for it. */
      readonly callKey: string;
      /** The agent that had the session. */
      readonly from: string;
      /** The agent that has the session from now on. */
      readonly to: string;
    }
  /** An attempt of the call failed. The call is retried after `retryInMs`. */
  | ({
      readonly type: "tool_failed";
      readonly attempt: number;
      readonly fault: Fault;
      readonly durationMs: number;
      readonly retryInMs: number;
    } & CallFields)
  /** The call is over. Comes right after its `tool_result`. */
  | ({
      readonly type: "call_complete";
      /** Whether the call succeeded. */
      readonly status: "ok" | "error";
      readonly durationMs: number;
      /** The attempts that failed before, beginning with those of the model call that requested this call. Absent: none. */
      readonly attempts?: readonly FailedAttemptOf[];
    } & CallFields)
  /** A model call ended with a message. Its tool calls are decided next, or the run ends. */
  | {
      readonly type: "step_finished";
      readonly runId: string;
      readonly modelCallIndex: number;
      readonly attempt: number;
      /** The agent whose step it was. */
      readonly agent: string;
      readonly model: string;
      readonly finishReason: FinishReason;
      /** What the provider reports about the whole message, for example the id of a container. */
      readonly providerMetadata?: ProviderMetadata;
      /** Requested features that the provider did not support, for example an unknown setting. */
      readonly warnings?: readonly string[];
      /** How the call used the provider's prompt cache. Absent if the provider does not report this. */
      readonly cache?: CacheUsage;
      /** The usage of the whole step, including its failed attempts. */
      readonly usage: Usage;
      readonly durationMs: number;
    }
  /** An attempt of a model call failed. A consumer that has shown its deltas must remove them. */
  | {
      readonly type: "attempt_failed";
      readonly runId: string;
      readonly modelCallIndex: number;
      readonly attempt: number;
      readonly model: string;
      readonly failure: ModelFailure;
      /** What happens next: another attempt, the next model, a compaction, or the end of this step. */
      readonly next: AfterFailure["type"];
      readonly retryInMs?: number;
      /** The usage of the attempt. Present if part of it is known, or if the attempt may have used something. */
      readonly usage?: Usage;
    }
  /** The earlier part of the conversation was replaced by a summary, or could not be replaced. */
  | {
      readonly type: "compacted";
      /** Absent if a person requested the compaction in a session at rest. */
      readonly runId?: string;
      /** The text that replaces messages; absent if nothing changes. */
      readonly summary?: string;
      /** Texts that are kept word for word before the summary. */
      readonly retained?: readonly string[];
      /** The messages that were replaced: how many, and the first log entry that they come from. */
      readonly replaced?: {
        /** The first log entry that they come from. */
        readonly from: number;
        readonly messages: number;
      };
      readonly model?: string;
      readonly usage?: Usage;
      /** Why nothing changes. */
      readonly fault?: Fault;
      readonly tokensBefore?: number;
      readonly tokensAfter?: number;
    }
  /** An abort was requested. The run ends when its running calls have settled, at the latest after the grace period. */
  | { readonly type: "abort_requested"; readonly runId: string; readonly note?: string; readonly by?: string }
  /** A process took the run over after another had died or left it. With `fault`, no process died: the fault stopped the step. */
  | { readonly type: "restarted"; readonly runId: string; readonly fault?: Fault }
  /** The result of a call that was abandoned as `interrupted` arrived after all. The model sees it as a note. */
  | {
      readonly type: "late_result";
      readonly callKey: string;
      readonly outcome: CallOutcome;
      readonly output?: ToolOutput;
      /** As in `tool_result`. */
      readonly returned?: ToolOutput;
      /** The limit that ended the child session. */
      readonly cut?: Reason;
    }
  /** A hook threw, took too long, or returned an invalid value. The hook's `onFailure` decides what follows. */
  | {
      readonly type: "hook_failed";
      readonly runId: string;
      /** The name of the hook. */
      readonly name: string;
      /** The point of the run at which it was called. */
      readonly hook: HookPoint;
      /** What the hook did. */
      readonly outcome: "threw" | "timed_out" | "refused";
      /** The error that it threw, or what is wrong with its value. */
      readonly message: string;
    }
  /** The run waits for a person, or its tools sleep or wait for signals for more than five seconds. */
  | {
      readonly type: "suspended";
      readonly runId: string;
      /** All open questions, including those of child sessions. Empty if no person is asked. */
      readonly approvals: readonly PendingApproval[];
      /** The sleeps and waits for signals, if there are any. */
      readonly waits?: readonly RunWait[];
    }
  /** The run has ended. This is the last event of every run, with the same result as `run()`. */
  | {
      readonly type: "final";
      readonly runId: string;
      /** The result of the run. */
      readonly result: RunResult;
    };

/**
 * A public event: its entry (`seq`), its position among the events of that entry (`index`, from 1), and its time (`at`,
 * epoch milliseconds). `seq.index` is its position in the session: `events({ after: "57.2" })` continues after it.
 */
export type PublicEvent = PublicEventBody & {
  readonly sessionId: string;
  readonly seq: number;
  /** Its position among the public events of the entry, from 1. */
  readonly index: number;
  readonly at: number;
};
/** The name of a public event. */
export type PublicEventType = PublicEvent["type"];
/** The public event with a name: `PublicEventOf<"tool_result">`. */
export type PublicEventOf<Type extends PublicEventType> = Extract<PublicEvent, { readonly type: Type }>;
