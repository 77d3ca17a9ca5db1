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
  /** Messages of a conversation from elsewhere, with which the session begins. Several events may follow each other. */
  | {
      readonly type: "history_added";
      /** Where the conversation comes from. */
      readonly source: HistorySource;
      /** Large files in them are named by their blobs. */
      readonly messages: readonly Message[];
    }
  /** A run begins. A run that was queued says in `run_queued` who sent it. */
  | {
      readonly type: "run_started";
      readonly runId: string;
      /** The request. */
      readonly input: readonly UserMessage[];
      readonly by?: string;
      /** The request is the message that this child session in the background has ended. */
      readonly finishedChild?: string;
    }
  /** A request came while another run was under way. It waits for its turn; `run_started` follows then. */
  | {
      readonly type: "run_queued";
      readonly runId: string;
      /** The request. */
      readonly input: readonly UserMessage[];
      readonly by?: string;
      /** It takes the place of the run under way, which is aborted. */
      readonly interrupts?: true;
      /** As in `run_started`. */
      readonly finishedChild?: string;
    }
  /** Something was said to the run under way. The model is shown it in its next call. */
  | {
      readonly type: "steered";
      /** What is said. */
      readonly input: readonly UserMessage[];
      /** Who steers: a user, a `beforeStop` hook, or the check of the answer's shape. */
      readonly source: "user" | "before_stop" | "output";
      /** Calls that had not started are skipped. */
      readonly skip?: "unstarted";
      readonly by?: string;
      /** As in `run_started`. */
      readonly finishedChild?: string;
    }
  /** The run goes by other texts of context sources than the run before: it comes before the first call of its model. */
  | {
      readonly type: "sources_changed";
      readonly runId: string;
      readonly modelCallIndex: number;
      /** The texts that differ. */
      readonly changes: readonly SourceChange[];
    }
  /** One part of what the model thought in a step. The events of a message's parts come together, in their order. */
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
   * The whole message of a model call, with everything that the provider sent: text, reasoning, calls, files, sources,
   * and its metadata for each part. It comes once for each step. That of the last step comes right before `final`, and
   * an answer that was refused has none.
   */
  | {
      readonly type: "message";
      readonly runId: string;
      readonly modelCallIndex: number;
      readonly attempt: number;
      /** The message as the model gave it. */
      readonly message: AssistantMessage;
      /** An abort or a limit cut the message off. It has the text that had come until then, and nothing else. */
      readonly cut?: true;
    }
  /** The answer of this attempt was refused: a consumer that shows its deltas or its text takes them back. */
  | {
      readonly type: "attempt_withdrawn";
      readonly runId: string;
      readonly modelCallIndex: number;
      readonly attempt: number;
    }
  /** The model asks for a tool call. Its arguments are not checked yet: `tool_call` follows. */
  | ({ readonly type: "call_start" } & CallFields)
  /** A call is decided: its arguments fit, or it gets an error. With `repair`, the model wrote something that could not be used: `input` and `name` are what was made of it. */
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
  /** The call waits for an answer or a result from outside. It is asked once, and again if the call changes. */
  | ({
      readonly type: "approval_requested";
      /** The input of the call, with which it would run. */
      readonly input: Json;
      /** Who asks: the policy, a recovery after a crash, the provider, an external tool, or a tool step. */
      readonly why: "policy" | "recovery" | "provider" | "external" | "tool";
      readonly inputHash?: string;
      /** What the person is asked, in words. */
      readonly question?: string;
      /** Which question of the tool this is, the JSON Schema of the answer, and a page where it is settled. */
      readonly questionId?: string;
      /** The JSON Schema that the answer must fit. */
      readonly schema?: { readonly [key: string]: Json };
      /** A page where the question is settled. */
      readonly url?: string;
      /** Epoch milliseconds. */
      readonly expiresAt?: number;
      /** The child session that asks, at any depth; absent if this session asks. */
      readonly childId?: string;
    } & CallFields)
  /** Somebody answered the call, or its question expired. */
  | ({
      readonly type: "approval_answered";
      /** The type of the decision, for example `approve` or `deny`. */
      readonly answer: string;
      /** The input that the person gave the call. */
      readonly input?: Json;
      /** Which question of the tool was answered, and with what. `expired` is an answer of a question, too. */
      readonly questionId?: string;
      /** What the person answered. */
      readonly value?: Json;
      readonly note?: string;
      readonly by?: string;
      /** The person approved, but `canExecuteTool` denied the call by then. `answer` and `note` are that denial. */
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
      /** How many signals this wait has passed over, because their values did not fit its schema. */
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
  /** A tool step is over. A tool that runs again is given it, and no event follows. */
  | ({
      readonly type: "tool_step";
      readonly step: string;
      /** Whether the function of the step gave a value or threw. */
      readonly outcome: "ok" | "error";
      readonly durationMs: number;
      /** How often it was tried; absent if once. */
      readonly tries?: number;
      /** What it gave, if that is at most 4 KiB of JSON. */
      readonly output?: Json;
      readonly fault?: Fault;
    } & CallFields)
  /** The result that the model is shown for the call: each call gets exactly one. */
  | ({
      readonly type: "tool_result";
      readonly outcome: CallOutcome;
      readonly output: ToolOutput;
      /** What the tool returned, if its `toModelOutput` made `output` of it. Cut above 50 KiB, as other outputs are. */
      readonly returned?: ToolOutput;
      readonly isError: boolean;
      /** The limit that ended the child session: the output is what it had found by then. */
      readonly cut?: Reason;
      /** The child session that the call has started in the background. */
      readonly startedChild?: string;
    } & CallFields)
  /** The session's data changed: the keys that were set or unset. With `callKey`, a tool changed it. */
  | {
      readonly type: "data_changed";
      /** The keys of the data that changed. */
      readonly keys: readonly string[];
      readonly callKey?: string;
      readonly by?: string;
    }
  /**
   * Content was redacted. The events of these entries have other words now, at the cursors that they had: who keeps events or
   * messages of this session reads it again.
   */
  | {
      readonly type: "content_redacted";
      /** The entries whose content was replaced, in ascending order. */
      readonly entries: readonly number[];
      readonly by?: string;
      /** Why. */
      readonly note?: string;
    }
  /** Somebody gave the session another title. */
  | {
      readonly type: "session_changed";
      /** The title from now on, in one line. Absent: it stays as it is. */
      readonly title?: string;
      readonly by?: string;
    }
  /** The session goes on with another agent. */
  | {
      readonly type: "handed_off";
      readonly runId: string;
      /** The call that asked for it. */
      readonly callKey: string;
      /** The agent that had the session. */
      readonly from: string;
      /** The agent that has it from now on. */
      readonly to: string;
    }
  /** An attempt of the call failed, and the call is tried again after `retryInMs`. */
  | ({
      readonly type: "tool_failed";
      readonly attempt: number;
      readonly fault: Fault;
      readonly durationMs: number;
      readonly retryInMs: number;
    } & CallFields)
  /** The call is over: right after its `tool_result`. */
  | ({
      readonly type: "call_complete";
      /** Whether the call succeeded. */
      readonly status: "ok" | "error";
      readonly durationMs: number;
      /** The attempts that failed before, first those of the model call that asked for this call. Absent: none. */
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
      /** What the provider says about the whole message, for example the id of a container. */
      readonly providerMetadata?: ProviderMetadata;
      /** What the provider could not do of what was asked, for example a setting that it does not know. */
      readonly warnings?: readonly string[];
      /** How the call used the provider's prompt cache. Absent if the provider reports nothing of it. */
      readonly cache?: CacheUsage;
      /** The usage of the whole step, with its failed attempts. */
      readonly usage: Usage;
      readonly durationMs: number;
    }
  /** An attempt of a model call failed. A consumer that shows its deltas takes them back. */
  | {
      readonly type: "attempt_failed";
      readonly runId: string;
      readonly modelCallIndex: number;
      readonly attempt: number;
      readonly model: string;
      readonly failure: ModelFailure;
      /** What follows: another attempt, the next model, a compaction, or the end of this step. */
      readonly next: AfterFailure["type"];
      readonly retryInMs?: number;
      /** What the attempt used. Present if part of it is known, or if the attempt may have used something. */
      readonly usage?: Usage;
    }
  /** The earlier part of the conversation was replaced by a summary, or could not be. */
  | {
      readonly type: "compacted";
      /** Absent if a person asked for it in a session at rest. */
      readonly runId?: string;
      /** The text that replaces messages; absent if nothing changes. */
      readonly summary?: string;
      /** Texts that stay word for word before the summary. */
      readonly retained?: readonly string[];
      /** How many messages were replaced, and the first entry of the log from which they come. */
      readonly replaced?: {
        /** The first entry of the log that they come from. */
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
  /** Somebody wants the run to end. It ends when its running calls have settled, at the latest after the grace. */
  | { readonly type: "abort_requested"; readonly runId: string; readonly note?: string; readonly by?: string }
  /** A process took the run up after another one had died or left it. With `fault`, no process died: the fault kept the step from going on. */
  | { readonly type: "restarted"; readonly runId: string; readonly fault?: Fault }
  /** The result of a call that was given up as `interrupted` came after all. The model sees it as a note. */
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
  /** A hook threw, took too long, or returned what it may not return. The hook's `onFailure` decides what follows. */
  | {
      readonly type: "hook_failed";
      readonly runId: string;
      /** The name of the hook. */
      readonly name: string;
      /** The point of the run at which it was called. */
      readonly hook: HookPoint;
      /** What the hook did. */
      readonly outcome: "threw" | "timed_out" | "refused";
      /** What it threw, or what is wrong with its value. */
      readonly message: string;
    }
  /** The run waits for a person, or its tools sleep or wait for signals for more than five seconds. */
  | {
      readonly type: "suspended";
      readonly runId: string;
      /** All open questions, those of child sessions included. Empty if no person is asked. */
      readonly approvals: readonly PendingApproval[];
      /** The sleeps and waits for signals, if there are any. */
      readonly waits?: readonly RunWait[];
    }
  /** The run has ended: the last event of every run. It has the same result as `run()`. */
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
/** The public event of a name: `PublicEventOf<"tool_result">`. */
export type PublicEventOf<Type extends PublicEventType> = Extract<PublicEvent, { readonly type: Type }>;
