/**
 * Public events: their names and shapes.
 */

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
import type { AfterFailure, HookPoint, Repair } from "../machine/event.js";
import type { HistorySource } from "../machine/history.js";
import type { SourceChange } from "../machine/sources.js";
import type { CallOutcome, SessionInfo } from "../machine/state.js";
import type { PendingApproval, RunResult } from "./outcome.js";

/** An attempt that failed, of the model call or of the tool call. Times are in milliseconds. */
export type FailedTryOf = {
  readonly of: "model" | "tool";
  readonly attempt: number;
  readonly message: string;
  readonly durationMs: number;
  /** Absent if something else than another attempt followed. */
  readonly retryInMs?: number;
};

export type OfCall = {
  readonly runId: string;
  readonly callKey: string;
  readonly toolCallId: string;
  readonly name: string;
};

/** A public event without its position and time. */
export type PublicEventBody =
  | ({ readonly type: "session_created" } & SessionInfo)
  /** Messages of a conversation from elsewhere, with which the session begins. Several events may follow each other. */
  | {
      readonly type: "history_added";
      readonly source: HistorySource;
      /** Large files in them are named by their blobs. */
      readonly messages: readonly Message[];
    }
  /** `by`: the person or account that sent the request. A run that was queued names it when it is queued. */
  | {
      readonly type: "run_started";
      readonly runId: string;
      readonly input: readonly UserMessage[];
      readonly by?: string;
    }
  | {
      readonly type: "run_queued";
      readonly runId: string;
      readonly input: readonly UserMessage[];
      readonly by?: string;
    }
  | {
      readonly type: "steered";
      readonly input: readonly UserMessage[];
      readonly source: "user" | "before_stop" | "output";
      /** Calls that had not started are skipped. */
      readonly skip?: "unstarted";
      readonly by?: string;
    }
  /** The run goes by other texts of context sources than the run before: it comes before the first call of its model. */
  | {
      readonly type: "sources_changed";
      readonly runId: string;
      readonly modelCallIndex: number;
      readonly changes: readonly SourceChange[];
    }
  | { readonly type: "reasoning"; readonly runId: string; readonly modelCallIndex: number; readonly text: string }
  | { readonly type: "text"; readonly runId: string; readonly modelCallIndex: number; readonly text: string }
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
      readonly message: AssistantMessage;
      /** An abort or a limit cut the message off. It has the text that had come until then, and nothing else. */
      readonly cut?: true;
    }
  /** The answer of this attempt was refused: whoever shows its deltas or its text takes them back. */
  | {
      readonly type: "attempt_withdrawn";
      readonly runId: string;
      readonly modelCallIndex: number;
      readonly attempt: number;
    }
  | ({ readonly type: "call_start" } & OfCall)
  /** With `repair`, the model wrote something that could not be used: `input` and `name` are what was made of it. */
  | ({ readonly type: "tool_call"; readonly input: Json; readonly repair?: Repair } & OfCall)
  /** The call started a child session, and waits for it. */
  | ({ readonly type: "child_started"; readonly childId: string } & OfCall)
  | ({
      readonly type: "approval_requested";
      readonly input: Json;
      readonly why: "policy" | "recovery" | "provider" | "external" | "tool";
      readonly inputHash?: string;
      readonly question?: string;
      /** Which question of the tool this is, the JSON Schema of the answer, and a page where it is settled. */
      readonly questionId?: string;
      readonly schema?: { readonly [key: string]: Json };
      readonly url?: string;
      /** Epoch milliseconds. */
      readonly expiresAt?: number;
      /** The child session that asks, at any depth; absent if this session asks. */
      readonly childId?: string;
    } & OfCall)
  | ({
      readonly type: "approval_answered";
      readonly answer: string;
      readonly input?: Json;
      /** Which question of the tool was answered, and with what. `expired` is an answer of a question, too. */
      readonly questionId?: string;
      readonly value?: Json;
      readonly note?: string;
      readonly by?: string;
    } & OfCall)
  /** A tool step is over. A tool that runs again is given it, and no event follows. */
  | ({
      readonly type: "tool_step";
      readonly step: string;
      readonly outcome: "ok" | "error";
      readonly durationMs: number;
      /** How often it was tried; absent if once. */
      readonly tries?: number;
      /** What it gave, if that is at most 4 KiB of JSON. */
      readonly output?: Json;
      readonly fault?: Fault;
    } & OfCall)
  | ({
      readonly type: "tool_result";
      readonly outcome: CallOutcome;
      readonly output: ToolOutput;
      readonly isError: boolean;
      /** The limit that ended the child session: the output is what it had found by then. */
      readonly cut?: Reason;
    } & OfCall)
  /** The session's data changed: the keys that were set or unset. With `callKey`, a tool changed it. */
  | { readonly type: "data_changed"; readonly keys: readonly string[]; readonly callKey?: string; readonly by?: string }
  /** The session goes on with another agent. */
  | {
      readonly type: "handed_off";
      readonly runId: string;
      /** The call that asked for it. */
      readonly callKey: string;
      readonly from: string;
      readonly to: string;
    }
  /** An attempt of the call failed, and the call is tried again after `retryInMs`. */
  | ({
      readonly type: "tool_failed";
      readonly attempt: number;
      readonly fault: Fault;
      readonly durationMs: number;
      readonly retryInMs: number;
    } & OfCall)
  | ({
      readonly type: "call_complete";
      readonly status: "ok" | "error";
      readonly durationMs: number;
      /** The attempts that failed before, first those of the model call that asked for this call. Absent: none. */
      readonly attempts?: readonly FailedTryOf[];
    } & OfCall)
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
      /** The usage of the whole step, with its failed attempts. */
      readonly usage: Usage;
      readonly durationMs: number;
    }
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
  | {
      readonly type: "compacted";
      /** Absent if a person asked for it in a session at rest. */
      readonly runId?: string;
      /** The text that replaces messages; absent if nothing changes. */
      readonly summary?: string;
      readonly retained?: readonly string[];
      /** How many messages were replaced, and the first entry of the log from which they come. */
      readonly replaced?: { readonly from: number; readonly messages: number };
      readonly model?: string;
      readonly usage?: Usage;
      /** Why nothing changes. */
      readonly fault?: Fault;
      readonly tokensBefore?: number;
      readonly tokensAfter?: number;
    }
  | { readonly type: "abort_requested"; readonly runId: string; readonly note?: string; readonly by?: string }
  /** With `fault`, no process died: the fault kept the step from going on. */
  | { readonly type: "restarted"; readonly runId: string; readonly fault?: Fault }
  | {
      readonly type: "late_result";
      readonly callKey: string;
      readonly outcome: CallOutcome;
      readonly output?: ToolOutput;
      /** The limit that ended the child session. */
      readonly cut?: Reason;
    }
  /**
   * A hook threw, took too long, or returned a value that it may not return. The hook's `onFailure` decides what
   * follows.
   */
  | {
      readonly type: "hook_failed";
      readonly runId: string;
      readonly name: string;
      readonly hook: HookPoint;
      readonly outcome: "threw" | "timed_out" | "refused";
      readonly message: string;
    }
  /** The run waits for a person. The approvals are all open ones, those of child sessions included. */
  | { readonly type: "suspended"; readonly runId: string; readonly approvals: readonly PendingApproval[] }
  | { readonly type: "final"; readonly runId: string; readonly result: RunResult };

/**
 * A public event: its entry (`seq`), its position among the events of that entry (`index`, from 1), and its time (`at`,
 * epoch milliseconds). `seq.index` is its position in the session: `events({ after: "57.2" })` continues after it.
 */
export type PublicEvent = PublicEventBody & {
  readonly sessionId: string;
  readonly seq: number;
  readonly index: number;
  readonly at: number;
};
export type PublicEventType = PublicEvent["type"];
