/**
 * The trace of a run: what it did, step by step, and how long each part took (TRC-1).
 *
 * 1. It is a view of the log: whoever makes it, live or years later, gets the same one.
 * 2. Texts in it went through a redaction. What was said and done is left out unless it is asked for (SEC-14).
 */

import type { FinishReason, ModelFailure, Usage } from "../core/data/message.js";
import type { Reason } from "../core/data/reasons.js";
import type { AfterFailure, HookRecord } from "../core/machine/event.js";
import type { CallOutcome, Purpose, Status } from "../core/machine/state.js";

/** When it began, in milliseconds since the epoch, and how long it took, in milliseconds. */
export type TraceSpan = { readonly startedAt: number; readonly durationMs: number };

/** A hook that was called. When it began is reckoned from the event that it had a part in. */
export type TracedHook = TraceSpan &
  Pick<HookRecord, "name" | "hook" | "outcome" | "message"> & {
    /** The call that it was called for. */
    readonly callKey?: string;
  };

export type TracedAttempt = TraceSpan & {
  readonly attempt: number;
  readonly model: string;
  /** Until the first delta. */
  readonly firstDeltaMs?: number;
  readonly finishReason?: FinishReason;
  readonly failure?: ModelFailure;
  /** What followed a failure, and after how long another attempt was to be made. */
  readonly next?: AfterFailure["type"];
  readonly retryInMs?: number;
  readonly usage?: Usage;
  /** What the model said, the first 16,000 characters: only where content is asked for. */
  readonly text?: string;
};

/** A wait for somebody outside: for a person's answer, for a result from elsewhere, for another agent. */
export type TracedWait = TraceSpan & {
  readonly for: "person" | "external" | "child";
  /** Who answered, as the caller named them. */
  readonly by?: string;
  /** The session of the other agent. */
  readonly childId?: string;
};

export type TracedCall = {
  readonly callKey: string;
  readonly toolCallId: string;
  readonly name: string;
  /** Absent where the run ended before the call did. */
  readonly outcome?: CallOutcome;
  /** When it ran; absent where it did not, or not here. */
  readonly ran?: TraceSpan & { readonly attempt: number };
  readonly waits: readonly TracedWait[];
  /** The input as JSON and the output as text, the first 16,000 characters: only where content is asked for. */
  readonly input?: string;
  readonly output?: string;
};

type OfTrace = {
  readonly sessionId: string;
  readonly runId: string;
  /** 32 hexadecimal digits: the same in every process and life of the run. */
  readonly traceId: string;
};

export type TraceRecord =
  | (OfTrace & {
      readonly type: "run_started";
      readonly at: number;
      readonly agent: string;
      /** The beginning of what was asked for. */
      readonly input: string;
      /** The call of another session that asked for it, and the trace of that call's run. */
      readonly parent?: { readonly sessionId: string; readonly callKey: string; readonly traceId: string };
    })
  | (OfTrace &
      TraceSpan & {
        readonly type: "step";
        /** It is not over: this is what was known of it when it was asked for. */
        readonly underWay?: true;
        readonly modelCallIndex: number;
        readonly purpose: Purpose;
        /** How many messages the model was sent. */
        readonly messages: number;
        /** The last entry of the log that they show. */
        readonly contextSeq: number;
        readonly attempts: readonly TracedAttempt[];
        readonly calls: readonly TracedCall[];
        readonly hooks: readonly TracedHook[];
        readonly states: readonly { readonly at: number; readonly from: Status; readonly to: Status }[];
      })
  | (OfTrace & {
      readonly type: "compaction";
      readonly at: number;
      readonly tokensBefore?: number;
      readonly tokensAfter?: number;
      readonly usage?: Usage;
      /** Why it came to nothing: a code. */
      readonly fault?: string;
      readonly hooks: readonly TracedHook[];
    })
  | (OfTrace &
      TraceSpan & {
        readonly type: "run_finished";
        readonly status: Status;
        readonly reason: Reason;
        /** The code of the fault that ended it. */
        readonly fault?: string;
        readonly usage: Usage;
        readonly steps: number;
        /** How often a process took the run up that another had left in the middle. */
        readonly restarts: number;
        /** Those that were called after the last step. */
        readonly hooks: readonly TracedHook[];
      });

export type TraceRecordOf<Type extends TraceRecord["type"]> = Extract<TraceRecord, { readonly type: Type }>;

/** The records of a run, or of all runs of a session, in order. */
export type LoopTrace = readonly TraceRecord[];
