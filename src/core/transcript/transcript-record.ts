/**
 * The data of a transcript.
 */

import type { CacheBreak, CacheUsage } from "../data/cache-break.js";
import type { CountedTokens } from "../data/counted-tokens.js";
import type { AssistantMessage, Message, UserMessage } from "../data/message.js";
import type { ModelSettings } from "../data/model-settings.js";
import type { SessionData } from "../data/session-data.js";
import type { RunOptions, ToolChoice } from "../machine/event.js";
import type { ListedMessage } from "../machine/message-ref.js";
import type { SourceReference, SourcesInForce } from "../machine/sources.js";
import type { CallRecord, ShownResults } from "./results.js";
import type { RunRecord } from "./run-record.js";

/** A transcript. Fields that are empty in most sessions are null or share a value, because a process may hold many transcripts. */
export type Transcript = {
  /**
   * The messages that the model sees. This array grows; copy it to keep it. If messages are replaced or removed, the transcript gets a new
   * array, so that the beginning of an array never changes.
   */
  messages: Message[];
  /** For each message, the first entry from which it is shown. The numbers never decrease. */
  readonly seqs: number[];
  /** For each message, the entry that holds its content. Input that arrives during a model call is shown later than its entry. */
  readonly origins: number[];
  /** The calls of the current or last step, in order. */
  calls: Map<string, CallRecord>;
  /** Input that arrived during a model call and is not shown yet. */
  later: {
    readonly seq: number;
    /** The message. */
    readonly message: UserMessage;
  }[];
  /** Requests that are queued and have not started, by entry. */
  queued: ReadonlyMap<
    number,
    {
      readonly runId: string;
      /** The request. */
      readonly input: readonly UserMessage[];
      /** The options of the run. */
      readonly options?: RunOptions;
      /** The person or account that sent it. */
      readonly by?: string;
      /** The span in which it was made, as a W3C `traceparent`. */
      readonly traceparent?: string;
      /** As in `run_queued`. */
      readonly sessionInKeys?: true;
    }
  >;
  /** The entries that started the runs whose messages are shown. */
  runs: readonly number[];
  /** The calls for a final summary: from the entry that prepared each call to its answer, which is never shown. */
  summaries: readonly {
    /** The entry that prepared the call. */
    readonly from: number;
    /** The entry of its answer. */
    readonly until: number;
  }[];
  /** The run under way, or the last run. */
  run: RunRecord | null;
  /** The ids of all calls that are shown. */
  readonly ids: Set<string>;
  /** For each message whose ids were changed, the message as the model sent it. */
  originals: Map<AssistantMessage, AssistantMessage> | null;
  /** The replacement of the messages that the last compaction removed. */
  compaction: {
    /** The summary, which precedes the conversation. */
    readonly summary: string;
    /** Texts that precede the summary, word for word. */
    readonly retained: readonly string[];
  } | null;
  /** A person's request for a compaction that has not ended yet. */
  asked: {
    /** What the summary should keep, in the person's words. */
    readonly keep?: string;
  } | null;
  /** The messages that the context manager added last, as long as the model still sees them. */
  appended: {
    readonly seq: number;
    /** The additions of the context manager. */
    readonly messages: readonly UserMessage[];
  } | null;
  /** The results that a model sees, if the agent limits their size. */
  readonly shownResults: ShownResults;
  /** The blob of the last model call's system prompt. Null: it had none; undefined: unknown. */
  promptHash: string | null | undefined;
  /** The blob of the tool specifications that were sent last. Null: there were none; undefined: unknown. */
  toolsHash: string | null | undefined;
  /** The context source texts that applied to the last run; null if its agent has none. */
  sources: SourcesInForce | null;
  /** The messages that reported changes to context source texts, as long as the model still sees them; null if there are none. */
  sourceNotes: {
    /** The messages, the oldest first. */
    readonly messages: readonly UserMessage[];
    /** The texts that applied when the last message was added. */
    readonly list: readonly SourceReference[];
  } | null;
  /** The settings of the last model call; null if it had none. A compaction resets them, and the next call records its settings. */
  settings: ModelSettings | null;
  /** How the last model call used the provider's prompt cache; null: with the usual lifetime. */
  promptCache: "1h" | "off" | null;
  /** The pauses between model calls since the last compaction. */
  pauses: CallPauses;
  /** The messages that were sent to the last model call in place of the conversation; null if it was sent the conversation. */
  sentList: readonly ListedMessage[] | null;
  /** The messages and tools that were sent last. */
  readonly lastSent: LastSent;
  /** The state of the provider's prompt cache. */
  cache: CacheRecord;
  /** The session's data. */
  data: SessionData;
  /** The number of tokens that a provider has counted; null if none has. */
  countedTokens: CountedTokens | null;
};

/** Pauses between model calls that outlast a prompt cache of 5 minutes, but not one of an hour. */
export type CallPauses = {
  /** When the last answered model call began, in epoch milliseconds; null if there is none. */
  readonly lastCallAt: number | null;
  /** The number of pauses. */
  readonly count: number;
};

/** The last model call, as far as a provider's prompt cache depends on it. */
export type CacheRecord = {
  /** The parts of the request other than messages; null if unknown. */
  call: {
    /** The blob of the system prompt; undefined if unknown. */
    readonly promptHash: string | null | undefined;
    /** The blob of the tool specifications; undefined if unknown. */
    readonly toolsHash: string | null | undefined;
    /** Which tools the model could or had to call. */
    readonly toolChoice: ToolChoice;
    /** The setting `reasoning`; null if it was not set. */
    readonly reasoning: string | null;
    /** Whether any message contained an image. The first image makes providers read the messages again. */
    readonly hasImages: boolean;
    /** The lifetime that was requested. */
    readonly promptCache: Transcript["promptCache"];
  } | null;
  /** The change that the next call will report, if it is already known. */
  upcoming: CacheBreak | null;
  /** The change that this call made; null if it only added messages. */
  broke: CacheBreak | null;
  /** The presumed reason if the provider reads less than it could. */
  suspect: CacheBreak | null;
  /** How many tokens a provider could read in the next call; null if unknown. */
  expected: number | null;
  /** Whether the provider has reported its cache writes. */
  isExact: boolean;
  /** The model that answered last. */
  model: string | null;
  /** The cache usage that the provider reported for this call; null before its answer, and if it reports none. */
  usage: CacheUsage | null;
};

/** The last model call, and what it had in common with the previous call. */
export type LastSent = {
  /** The messages that were sent in place of the conversation; null if the conversation was sent. */
  list: readonly ListedMessage[] | null;
  /** The number of messages. */
  count: number;
  /** How many leading messages are the same as in the previous call. */
  reused: number;
  /** The names of the tools that the model could use; undefined means all. */
  activeTools: readonly string[] | undefined;
  /** Whether the model could use the same tools as in the previous call. */
  sameChoice: boolean;
};

/** Events that do not change what a model sees. */
export type UnseenEventType =
  | "session_created"
  | "data_changed"
  | "session_changed"
  | "content_redacted"
  | "compaction_started"
  | "tool_waiting"
  | "restarted"
  | "after_run_hooks_called"
  | "parent_notified"
  | "parent_told"
  | "child_waiting"
  | "migrated";
