/**
 * The trace of a run: what the run did, step by step, and how long each part took (TRC-1).
 *
 * 1. A trace is a view of the log. It is the same whether it is made live or years later.
 * 2. All texts in a trace are redacted. It has texts of models, and inputs and outputs of tools, only on request
 *    (SEC-14).
 */

import type { CacheBreak } from "../core/data/cache-break.js";
import type { FinishReason, ModelFailure, Usage } from "../core/data/message.js";
import type { ModelSettings } from "../core/data/model-settings.js";
import type { Reason } from "../core/data/reasons.js";
import type { AfterFailure, HookRecord, Repair } from "../core/machine/event.js";
import type { SourceReference } from "../core/machine/sources.js";
import type { CallOutcome, Purpose, Status } from "../core/machine/state.js";

/** `startedAt` is in epoch milliseconds, `durationMs` in milliseconds. */
export type TraceSpan = {
  /** When it started, in epoch milliseconds. */
  readonly startedAt: number;
  readonly durationMs: number;
};

/** A call of a hook. Its start is computed from the event that it took part in. */
export type TracedHook = TraceSpan &
  Pick<HookRecord, "name" | "hook" | "outcome" | "message"> & {
    /** The tool call that the hook was called for. */
    readonly callKey?: string;
  };

/** One attempt of a model call. */
export type TracedAttempt = TraceSpan & {
  readonly attempt: number;
  readonly model: string;
  /** How often the request was sent again at once, because the connection closed before anything of an answer came. */
  readonly resends?: number;
  /** Milliseconds from the start to the first delta. */
  readonly firstDeltaMs?: number;
  readonly finishReason?: FinishReason;
  /** What the provider could not do of what was asked. */
  readonly warnings?: readonly string[];
  readonly failure?: ModelFailure;
  /** What followed a failure. */
  readonly next?: AfterFailure["type"];
  /** The delay before the next attempt. */
  readonly retryInMs?: number;
  readonly usage?: Usage;
  /** The first 16,000 characters of the model's text. Present only if content was requested. */
  readonly text?: string;
};

/** A wait for a person's answer, for an external result, for another agent, for a time or for a signal. */
export type TracedWait = TraceSpan & {
  /** What was waited for. */
  readonly for: "person" | "external" | "child" | "time" | "signal";
  /** Who answered, in the words of the program that passed the answer on. */
  readonly by?: string;
  /** The other agent's session. */
  readonly childId?: string;
  /** The name of the sleep, or of the wait for a signal, among the steps of the call. */
  readonly step?: string;
};

/** A tool step, with all its tries. */
export type TracedToolStep = TraceSpan & {
  readonly step: string;
  /** Whether it gave a value or failed. */
  readonly outcome: "ok" | "error";
  /** Absent if it was tried once. */
  readonly tries?: number;
  /** What went wrong. */
  readonly message?: string;
  /** The first 16,000 characters of what it gave, as JSON. Present only if content was requested. */
  readonly output?: string;
};

/** An attempt of a tool call that failed. */
export type TracedTry = TraceSpan & {
  readonly attempt: number;
  /** What happened. */
  readonly message: string;
  readonly retryInMs: number;
};

/** One tool call. */
export type TracedCall = {
  readonly callKey: string;
  readonly toolCallId: string;
  readonly name: string;
  /** How the call was repaired that the model wrote badly, without what was wrong with it; absent if it was not. */
  readonly repair?: Pick<Repair, "by" | "name" | "changes">;
  /** Absent if the run ended before the call did. */
  readonly outcome?: CallOutcome;
  /** The limit that ended the child session: the output is what it had found by then. */
  readonly cut?: Reason;
  /** Absent if no process of the agent executed the call. */
  readonly ran?: TraceSpan & { readonly attempt: number };
  /** The attempts that failed and were tried again. Absent: none. */
  readonly failed?: readonly TracedTry[];
  /** The times in which the call waited, in order. */
  readonly waits: readonly TracedWait[];
  /** The tool steps of the call, in the order of the log; absent if there were none. */
  readonly steps?: readonly TracedToolStep[];
  /** The keys of the session's data that the call changed; absent if there were none. */
  readonly changed?: readonly string[];
  /** The first 16,000 characters of the input, as JSON. Present only if content was requested. */
  readonly input?: string;
  /** The first 16,000 characters of the output, as text. Present only if content was requested. */
  readonly output?: string;
  /** The same of what the tool returned, if its `toModelOutput` made the output of it. Present only if content was requested. */
  readonly returned?: string;
};

/** A text of a context source, without its words. */
export type TracedSource = Pick<SourceReference, "name" | "path" | "bytes" | "trust">;

type TraceIdentity = {
  readonly sessionId: string;
  readonly runId: string;
  /** 32 hexadecimal digits, the same in every process that drives the run. */
  readonly traceId: string;
};

/** One part of a trace: the start of the run, a step, a compaction, a handoff, or the end. */
export type TraceRecord =
  /** A run began. */
  | (TraceIdentity & {
      readonly type: "run_started";
      readonly at: number;
      readonly agent: string;
      /** The beginning of the run's input. */
      readonly input: string;
      /** The person or account that sent the request, or else the one that began the session. */
      readonly principal?: string;
      /** The span that the request was made in, as W3C's `traceparent`. The trace is its trace. */
      readonly traceparent?: string;
      /** The call of another session that started this run, and the trace of that call's run. */
      readonly parent?: {
        readonly sessionId: string;
        readonly callKey: string;
        /** The trace of the parent's run. */
        readonly traceId: string;
      };
    })
  /** A model call and the tool calls that it asked for. */
  | (TraceIdentity &
      TraceSpan & {
        readonly type: "step";
        /** Present if the step was not over when the trace was made. */
        readonly underWay?: true;
        readonly modelCallIndex: number;
        readonly purpose: Purpose;
        /** The number of messages that the model was sent. */
        readonly messages: number;
        /**
         * What is the same as in the call before, and may come from a provider's cache: how many leading messages; the
         * system prompt; the tools, and which of them may be used.
         */
        readonly reused: {
          readonly messages: number;
          /** Whether the system prompt is the same. */
          readonly prompt: boolean;
          /** Whether the tools are the same. */
          readonly tools: boolean;
          /** How many tokens of the call before its provider could have read; absent if that is unknown. */
          readonly expected?: number;
          /** Why it could not; absent if the request only added messages, or nothing is known of the call before. */
          readonly broke?: CacheBreak;
        };
        /** How the model call asked for the provider's prompt cache: absent if for its usual time. */
        readonly promptCache?: "1h" | "off";
        /** The settings of the model call; absent if there were none. Stop sequences are redacted. */
        readonly settings?: ModelSettings;
        /** The texts of context sources that the run goes by: on its first step. */
        readonly sources?: readonly TracedSource[];
        /** The number of the last entry of the log that these messages show. */
        readonly contextSeq: number;
        /** The attempts of the model call. */
        readonly attempts: readonly TracedAttempt[];
        /** The tool calls of the step. */
        readonly calls: readonly TracedCall[];
        /** The hooks that were called. */
        readonly hooks: readonly TracedHook[];
        /** How the state of the session changed, in order. */
        readonly states: readonly {
          readonly at: number;
          /** The state before. */
          readonly from: Status;
          /** The state after. */
          readonly to: Status;
        }[];
      })
  /** A compaction of the conversation. */
  | (TraceIdentity & {
      readonly type: "compaction";
      readonly at: number;
      readonly tokensBefore?: number;
      readonly tokensAfter?: number;
      readonly usage?: Usage;
      /** The code of the fault, if the compaction failed. */
      readonly fault?: string;
      /** The hooks that were called. */
      readonly hooks: readonly TracedHook[];
    })
  /** A handoff to another agent. */
  | (TraceIdentity & {
      readonly type: "handoff";
      readonly at: number;
      /** The call that asked for it. */
      readonly callKey: string;
      /** The agent that had the session. */
      readonly from: string;
      /** The agent that has it from now on. */
      readonly to: string;
      /** How many messages a filter left of the conversation. Absent: the next agent is shown all of it. */
      readonly messages?: number;
    })
  /** A run ended. */
  | (TraceIdentity &
      TraceSpan & {
        readonly type: "run_finished";
        readonly status: Status;
        readonly reason: Reason;
        /** The stop condition that ended the run. */
        readonly condition?: string;
        /** The code of the fault that ended the run. */
        readonly fault?: string;
        readonly usage: Usage;
        /** Model calls that were committed. */
        readonly steps: number;
        /** How often a process continued the run after another process had died or left it. */
        readonly restarts: number;
        /** The hooks that were called after the last step. */
        readonly hooks: readonly TracedHook[];
      });

/** The record of one type. */
export type TraceRecordOf<Type extends TraceRecord["type"]> = Extract<TraceRecord, { readonly type: Type }>;

/** The records of a run, or of all runs of a session, in order. */
export type LoopTrace = readonly TraceRecord[];
