/**
 * The events of a model call: how it is prepared, how the conversation is made smaller before it, and how its attempts end.
 */
import type { MessageEnding } from "../data/finish-reason.js";
import type { AssistantMessage, Fault, FinishReason, Json, ModelFailure, Usage, UserMessage } from "../data/message.js";
import type { ModelSettings } from "../data/model-settings.js";
import type { Reason } from "../data/reasons.js";
import type { MessageRef } from "./message-ref.js";
import type { ToolChoice } from "./run-options.js";
import type { SourceChange, SourceReference, SourcesOfRun } from "./sources.js";
import type { Purpose } from "./state.js";

/** When an attempt or a call ran: epoch milliseconds and milliseconds. */
export type Timing = {
  readonly startedAt: number;
  readonly durationMs: number;
  /** How long it took until the first delta, in milliseconds. */
  readonly firstDeltaMs?: number;
};

/** What follows a failed attempt. */
export type AfterFailure =
  /** The same model is called again. */
  | {
      readonly type: "retry";
      /** In how many milliseconds the next attempt starts. */
      readonly inMs: number;
    }
  /** The next model is called. */
  | {
      readonly type: "fallback";
      /** Which model takes over: n is the agent's n-th fallback. */
      readonly index: number;
    }
  /** The conversation is made smaller first. */
  | { readonly type: "compact" }
  /** The step ends, and the run with it. */
  | {
      readonly type: "give_up";
      /** Why the run ends. */
      readonly reason: Reason;
    };

/** A request for a summary, as the log names it. */
export type SummaryRequest = {
  /** The blob of the system prompt. */
  readonly prompt: string;
  /** The blob of the text to sum up. */
  readonly text: string;
  /**
   * The text is an instruction: the model was sent the conversation, with the prompt and the tools of the call before, and then
   * the instruction.
   */
  readonly behind?: true;
  /** How often it was sent. */
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
      /** In a run's first call: the run's params after validation, if the agent's schema changed them. */
      readonly params?: { readonly [name: string]: Json };
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
      /** The blob of the tool specifications, in the same way. */
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
      /** How the provider's prompt cache is used in this call. Absent: with the provider's usual lifetime. */
      readonly promptCache?: "1h" | "off";
      /**
       * For a last summary: it has the tools and the system prompt of the steps before, so that a provider can read them from
       * its cache. Absent in logs of 0.1, whose summaries had no tools.
       */
      readonly summaryKeepsTools?: true;
      /** In a run's first call, if its agent has context sources: the texts that the whole run goes by. */
      readonly sources?: readonly SourceReference[];
      /** How these differ from those of the run before. */
      readonly changedSources?: readonly SourceChange[];
      /**
       * The last message of `append` is about these texts. `changes`: the system prompt keeps the texts that it had, and the
       * message has those that changed. `prompt`: the system prompt has the new texts, and the message says that they replace
       * those in earlier messages. Absent: nothing changed, or the system prompt has the new texts, as in
       * all logs of 0.1.
       */
      readonly sourcesTold?: "changes" | "prompt";
    })
  /** The conversation is to be made smaller before the step's model is called. */
  | (Partial<WithStep> & { readonly type: "compaction_started" })
  /** A compaction ended. Without a run: it was made for a person, in a session at rest. */
  | (Partial<WithRunId> & {
      readonly type: "compacted";
      /**
       * The first entry that is still shown as it is, and the summary that stands for the rest. Both, or nothing
       * changes.
       */
      readonly keptFrom?: number;
      /** The summary that stands for the earlier messages. */
      readonly summary?: string;
      /** The first entry that a reader of the log needs, if it comes before `keptFrom`. */
      readonly readFrom?: number;
      /** The entry that started the run to which `readFrom` belongs. */
      readonly runStartSeq?: number;
      /** Texts that stand word for word before the summary, those of earlier compactions included. */
      readonly retained?: readonly string[];
      /** How many messages the summary stands for, and the first entry that they come from. */
      readonly replaced?: {
        /** The first entry of the log that they come from. */
        readonly from: number;
        readonly messages: number;
      };
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
      /** The system prompt of the current run, for a reader that begins here. */
      readonly runPrompt?: RunPrompt;
      /** The params of the current run after validation, for a reader that begins here. */
      readonly params?: { readonly [name: string]: Json };
      /** The texts of context sources that the last run went by, for a reader that begins here. */
      readonly sources?: SourcesOfRun;
    })
  /** A model call ended with a message. */
  | (WithStep & {
      readonly type: "model_finished";
      readonly attempt: number;
      readonly model: string;
      /** How often the request was sent again within this attempt, because the connection closed before any answer. */
      readonly resends?: number;
      /** The message of the model. */
      readonly message: AssistantMessage;
      readonly finishReason: FinishReason;
      readonly usage: Usage;
      readonly timing: Timing;
      readonly providerMetadata?: { readonly [provider: string]: { readonly [key: string]: Json } };
      /** The context window ended the message, and nothing can be done about it. */
      readonly cut?: "context";
      /** How the answer ended, where its finish reason alone would mislead. */
      readonly ending?: MessageEnding;
      /** What the provider could not do of what was asked. */
      readonly warnings?: readonly string[];
    })
  /** An attempt of a model call failed. */
  | (WithStep & {
      readonly type: "model_failed";
      readonly attempt: number;
      readonly model: string;
      /** How often the request was sent again, because the connection closed before any answer. */
      readonly resends?: number;
      readonly failure: ModelFailure;
      /** What follows. */
      readonly next: AfterFailure;
      readonly usage?: Usage;
      readonly timing: Timing;
      /** The text that came before a stop cut the attempt off; absent if there was none. */
      readonly partial?: {
        /** The text as far as it came. */
        readonly text: string;
      };
    });
