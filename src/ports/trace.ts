/**
 * The trace of a run: what the run did, step by step, and how long each part took (TRC-1).
 *
 * 1. A trace is a view of the log. It is the same whether it is made live or years later.
 * 2. All strings in a trace are redacted. A trace includes model texts, and inputs and outputs of tools, only on request (SEC-14).
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

/** A hook call. Its start is computed from the event that it took part in. */
export type TracedHook = TraceSpan &
  Pick<HookRecord, "name" | "hook" | "outcome" | "message"> & {
    /** The tool call that the hook was called for. */
    readonly callKey?: string;
  };

/** One attempt of a model call. */
export type TracedAttempt = TraceSpan & {
  readonly attempt: number;
  readonly model: string;
  /** How many times the request was resent at once, because the connection closed before any part of an answer arrived. */
  readonly resends?: number;
  /** Milliseconds from the start to the first delta. */
  readonly firstDeltaMs?: number;
  readonly finishReason?: FinishReason;
  /** Requested features that the provider did not support. */
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

/** A wait for a person's answer, an external result, another agent, a time or a signal. */
export type TracedWait = TraceSpan & {
  /** What the call waited for. */
  readonly for: "person" | "external" | "child" | "time" | "signal";
  /** Who answered, according to the program that passed the answer on. */
  readonly by?: string;
  /** The other agent's session. */
  readonly childId?: string;
  /** The name of the sleep, or of the wait for a signal, among the call's steps. */
  readonly step?: string;
};

/** A tool step with all its tries. */
export type TracedToolStep = TraceSpan & {
  readonly step: string;
  /** Whether it returned a value or failed. */
  readonly outcome: "ok" | "error";
  /** Absent if there was only one try. */
  readonly tries?: number;
  /** The error message. */
  readonly message?: string;
  /** The first 16,000 characters of its value, as JSON. Present only if content was requested. */
  readonly output?: string;
};

/** A failed attempt of a tool call. */
export type TracedTry = TraceSpan & {
  readonly attempt: number;
  /** The error message. */
  readonly message: string;
  readonly retryInMs: number;
};

/** One tool call. */
export type TracedCall = {
  readonly callKey: string;
  readonly toolCallId: string;
  readonly name: string;
  /** How a malformed call was repaired, without the description of the problem; absent if it was not. */
  readonly repair?: Pick<Repair, "by" | "name" | "changes">;
  /** Absent if the run ended before the call did. */
  readonly outcome?: CallOutcome;
  /** The limit that ended the child session: the output is what it had found until then. */
  readonly cut?: Reason;
  /** Absent if no process of the agent executed the call. */
  readonly ran?: TraceSpan & { readonly attempt: number };
  /** The attempts that failed and were retried. Absent: none. */
  readonly failed?: readonly TracedTry[];
  /** The call's waits, in order. */
  readonly waits: readonly TracedWait[];
  /** The call's tool steps, in log order; absent if there were none. */
  readonly steps?: readonly TracedToolStep[];
  /** The keys of the session's data that the call changed; absent if there were none. */
  readonly changed?: readonly string[];
  /** The first 16,000 characters of the input, as JSON. Present only if content was requested. */
  readonly input?: string;
  /** The first 16,000 characters of the output, as text. Present only if content was requested. */
  readonly output?: string;
  /** The same for the tool's return value, if `toModelOutput` created the output from it. Present only if content was requested. */
  readonly returned?: string;
};

/** A context source's text, without its content. */
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
      /** The person or account that sent the request, or otherwise the one that started the session. */
      readonly principal?: string;
      /** The span in which the request was made, as a W3C `traceparent`. The run belongs to that span's trace. */
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
         * What is the same as in the previous call and may come from a provider's cache: the number of leading messages, the system prompt,
         * and the tools with the choice of which may be used.
         */
        readonly reused: {
          readonly messages: number;
          /** Whether the system prompt is the same. */
          readonly prompt: boolean;
          /** Whether the tools are the same. */
          readonly tools: boolean;
          /** How many tokens of the previous call the provider could have read from its cache; absent if unknown. */
          readonly expected?: number;
          /** Why it could not; absent if the request only added messages, or if nothing is known about the previous call. */
          readonly broke?: CacheBreak;
        };
        /** How the model call used the provider's prompt cache; absent if with the usual lifetime. */
        readonly promptCache?: "1h" | "off";
        /** The settings of the model call; absent if there were none. Stop sequences are redacted. */
        readonly settings?: ModelSettings;
        /** The texts of context sources that the run uses. Only on its first step. */
        readonly sources?: readonly TracedSource[];
        /** The number of the last log entry that these messages show. */
        readonly contextSeq: number;
        /** The attempts of the model call. */
        readonly attempts: readonly TracedAttempt[];
        /** The tool calls of the step. */
        readonly calls: readonly TracedCall[];
        /** The hooks that were called. */
        readonly hooks: readonly TracedHook[];
        /** The changes of the session's state, in order. */
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
      /** How many messages of the conversation a filter kept. Absent: the next agent sees all of it. */
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
