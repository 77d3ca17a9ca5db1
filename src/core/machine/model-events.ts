/**
 * The events of a model call: its preparation, the compaction before it, and the outcomes of its attempts.
 */
import type { MessageEnding } from "../data/finish-reason.js";
import type { AssistantMessage, Fault, FinishReason, Json, ModelFailure, Usage, UserMessage } from "../data/message.js";
import type { ModelSettings } from "../data/model-settings.js";
import type { Reason } from "../data/reasons.js";
import type { MessageRef } from "./message-ref.js";
import type { ToolChoice } from "./run-options.js";
import type { SourceChange, SourceReference, SourcesOfRun } from "./sources.js";
import type { Purpose } from "./state.js";

/** When an attempt or a call ran, in epoch milliseconds, and how long, in milliseconds. */
export type Timing = {
  readonly startedAt: number;
  readonly durationMs: number;
  /** The time until the first delta, in milliseconds. */
  readonly firstDeltaMs?: number;
};

/** What follows a failed attempt. */
export type AfterFailure =
  /** The same model is called again. */
  | {
      readonly type: "retry";
      /** Milliseconds until the next attempt starts. */
      readonly inMs: number;
    }
  /** A fallback model is called. */
  | {
      readonly type: "fallback";
      /** The number of the agent's fallback model that takes over, from 1. */
      readonly index: number;
    }
  /** The conversation is compacted first. */
  | { readonly type: "compact" }
  /** The step ends, and the run ends with it. */
  | {
      readonly type: "give_up";
      /** Why the run ends. */
      readonly reason: Reason;
    };

/** A request for a summary, as the log records it. */
export type SummaryRequest = {
  /** The blob of the system prompt. */
  readonly prompt: string;
  /** The blob of the text to summarize. */
  readonly text: string;
  /**
   * The text is an instruction: the model was sent the conversation with the system prompt and tools of the previous call, followed by the
   * instruction.
   */
  readonly behind?: true;
  /** How often the request was sent. */
  readonly attempts: number;
};

type WithRunId = { readonly runId: string };
type WithStep = WithRunId & { readonly modelCallIndex: number };

/** A system prompt that an agent's function returned for a run. */
export type RunPrompt = {
  /** The SHA-256 of the text, which is a blob of the session. */
  readonly blob: string;
  /** Its size in bytes. */
  readonly bytes: number;
};

export type ModelEventBody =
  /** A model is about to be called. */
  | (WithStep & {
      readonly type: "prepared";
      /** The model sees the log up to this entry. */
      readonly contextSeq: number;
      readonly purpose: Purpose;
      /** The run's input, if a hook changed it. */
      readonly input?: readonly UserMessage[];
      /** In an agent's first call of a run: the system prompt that its function returned. */
      readonly runPrompt?: RunPrompt;
      /** In a run's first call: the validated params, if the agent's schema changed them. */
      readonly params?: { readonly [name: string]: Json };
      /** The tools that hooks chose, in place of the run's options. */
      readonly activeTools?: readonly string[];
      readonly toolChoice?: ToolChoice;
      /** Messages that the model sees after everything else. They are part of the conversation from this call on. */
      readonly append?: readonly UserMessage[];
      /** The blob of the system prompt (null: none), if it differs from that of the previous call. */
      readonly promptHash?: string | null;
      /** The blob of the tool specifications (null: none), if it differs from that of the previous call. */
      readonly toolsHash?: string | null;
      readonly providerOptions?: { readonly [provider: string]: { readonly [key: string]: Json } };
      /** The maximum total size of tool results, in bytes, if the agent limits it. Older results are omitted. */
      readonly resultBytes?: number;
      /** The messages that are sent in place of the conversation, which does not change. */
      readonly messages?: readonly MessageRef[];
      /** The model of this call, by its name among the agent's `models`. */
      readonly model?: string;
      /**
       * The settings of the call, if they differ from those of the previous call (null: none). After a compaction there is no previous
       * call.
       */
      readonly settings?: ModelSettings | null;
      /** How the provider's prompt cache is used in this call. Absent: with the provider's usual lifetime. */
      readonly promptCache?: "1h" | "off";
      /**
       * For a final summary: the request has the tools and the system prompt of the earlier steps, so that a provider can read them from
       * its cache. Absent in logs of 0.1, whose summaries had no tools.
       */
      readonly summaryKeepsTools?: true;
      /** In a run's first call, if its agent has context sources: the texts that the whole run uses. */
      readonly sources?: readonly SourceReference[];
      /** How these texts differ from those of the previous run. */
      readonly changedSources?: readonly SourceChange[];
      /**
       * The last message of `append` is about these texts. `changes`: the system prompt keeps its earlier texts, and the message contains
       * the changed ones. `prompt`: the system prompt has the new texts, and the message says that they replace those in earlier messages.
       * Absent: nothing changed, or the system prompt has the new texts, as in all logs of 0.1.
       */
      readonly sourcesTold?: "changes" | "prompt";
    })
  /** A compaction before the step's model call begins. */
  | (Partial<WithStep> & { readonly type: "compaction_started" })
  /** A compaction ended. Without a run: it was requested by a person, in a session at rest. */
  | (Partial<WithRunId> & {
      readonly type: "compacted";
      /**
       * The first entry that is still shown unchanged. `keptFrom` and `summary` are either both present, or the conversation does not
       * change.
       */
      readonly keptFrom?: number;
      /** The summary that replaces the earlier messages. */
      readonly summary?: string;
      /** The first entry that a reader of the log needs, if it comes before `keptFrom`. */
      readonly readFrom?: number;
      /** The entry that started the run to which `readFrom` belongs. */
      readonly runStartSeq?: number;
      /** Texts that are kept word for word before the summary, including those of earlier compactions. */
      readonly retained?: readonly string[];
      /** The messages that the summary replaces: how many, and the first entry that they come from. */
      readonly replaced?: {
        /** The first log entry that they come from. */
        readonly from: number;
        readonly messages: number;
      };
      /** Estimated sizes of a request before and after. */
      readonly tokensBefore?: number;
      readonly tokensAfter?: number;
      /** The model that wrote the summary. */
      readonly model?: string;
      /** The requests to that model: the blobs of the system prompt and the text, and how often each was sent. */
      readonly requests?: readonly SummaryRequest[];
      readonly timing?: Timing;
      readonly usage?: Usage;
      /** Why the conversation did not change. */
      readonly fault?: Fault;
      /** The blob with the current session data, if there is any. */
      readonly dataBlob?: string;
      /** The system prompt of the current run, for a reader that begins here. */
      readonly runPrompt?: RunPrompt;
      /** The validated params of the current run, for a reader that begins here. */
      readonly params?: { readonly [name: string]: Json };
      /** The texts of context sources that the last run used, for a reader that begins here. */
      readonly sources?: SourcesOfRun;
    })
  /** A model call ended with a message. */
  | (WithStep & {
      readonly type: "model_finished";
      readonly attempt: number;
      readonly model: string;
      /** How often the request was resent within this attempt, because the connection closed before any answer. */
      readonly resends?: number;
      /** The message of the model. */
      readonly message: AssistantMessage;
      readonly finishReason: FinishReason;
      readonly usage: Usage;
      readonly timing: Timing;
      readonly providerMetadata?: { readonly [provider: string]: { readonly [key: string]: Json } };
      /** Set if the context window ended the message and no compaction is possible. */
      readonly cut?: "context";
      /** How the answer ended, if its finish reason alone would mislead. */
      readonly ending?: MessageEnding;
      /** Requested features that the provider did not support. */
      readonly warnings?: readonly string[];
    })
  /** An attempt of a model call failed. */
  | (WithStep & {
      readonly type: "model_failed";
      readonly attempt: number;
      readonly model: string;
      /** How often the request was resent, because the connection closed before any answer. */
      readonly resends?: number;
      readonly failure: ModelFailure;
      /** What happens next. */
      readonly next: AfterFailure;
      readonly usage?: Usage;
      readonly timing: Timing;
      /** The text streamed before a stop cut the attempt off; absent if there was none. */
      readonly partial?: {
        /** The text as far as it came. */
        readonly text: string;
      };
    });
