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

/** Fields that are empty in most sessions are null or share a value, because a process may hold many transcripts. */
export type Transcript = {
  /**
   * The messages that the model sees. This array grows; copy it to keep it. If messages are replaced or removed, the
   * transcript gets another array, so that the first messages of an array stay what they were.
   */
  messages: Message[];
  /** For each message, the entry from which on it is shown. The numbers never decrease. */
  readonly seqs: number[];
  /**
   * For each message, the entry that holds its content. Input that arrives during a model call is shown later than its
   * entry.
   */
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
      /** The span that it was made in, as W3C's `traceparent`. */
      readonly traceparent?: string;
    }
  >;
  /** The entries that started the runs whose messages are shown. */
  runs: readonly number[];
  /** The calls for a last summary, from the entry that prepared each to its answer, which is never shown. */
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
  /** For each message whose ids had to be changed, the message as the model sent it. */
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
    /** What the summary should keep, in words. */
    readonly keep?: string;
  } | null;
  /** The messages that the context manager added last, as long as the model still sees them. */
  appended: {
    readonly seq: number;
    /** The additions of the context manager. */
    readonly messages: readonly UserMessage[];
  } | null;
  /** The results that a model is shown, if the agent bounds their size. */
  readonly shownResults: ShownResults;
  /**
   * The blobs with the system prompt and the tool specifications of the last model call. Null: none; undefined:
   * unknown.
   */
  promptHash: string | null | undefined;
  /** The blob of the tool specifications that were sent last. */
  toolsHash: string | null | undefined;
  /** The texts of context sources that applied to the last run; null if its agent has none. */
  sources: SourcesInForce | null;
  /** The messages that reported changes of such texts, as long as the model still sees them; null if there are none. */
  sourceNotes: {
    /** The messages, the oldest first. */
    readonly messages: readonly UserMessage[];
    /** The texts that applied when the last message was added. */
    readonly list: readonly SourceReference[];
  } | null;
  /** The settings of the last model call; null: none. A compaction resets them: the next call names its settings. */
  settings: ModelSettings | null;
  /** How the last model call used the provider's prompt cache; null: with its usual lifetime. */
  promptCache: "1h" | "off" | null;
  /** The pauses between model calls since the last compaction. */
  pauses: CallPauses;
  /** What the last model call was sent, if that was not the conversation as it is; null if it was. */
  sentList: readonly ListedMessage[] | null;
  /** The messages and tools that were sent last. */
  readonly lastSent: LastSent;
  /** What the provider's prompt cache holds of it. */
  cache: CacheRecord;
  /** The session's data. */
  data: SessionData;
  /** How many tokens a provider has counted; null if no provider has. */
  countedTokens: CountedTokens | null;
};

/** Pauses between model calls that outlast a prompt cache of 5 minutes, but not one of an hour. */
export type CallPauses = {
  /** When the last model call that was answered began, in epoch milliseconds; null if there is none. */
  readonly lastCallAt: number | null;
  /** How many there were. */
  readonly count: number;
};

/** The last model call, as far as a provider's prompt cache depends on it. */
export type CacheRecord = {
  /** What was sent besides messages; null if that is unknown. */
  call: {
    /** The blob of the system prompt; undefined if it is unknown. */
    readonly promptHash: string | null | undefined;
    /** The blob of the tools' specifications; undefined if it is unknown. */
    readonly toolsHash: string | null | undefined;
    /** Which tools the model could or had to call. */
    readonly toolChoice: ToolChoice;
    /** The setting `reasoning`; null if it was not set. */
    readonly reasoning: string | null;
    /** Whether a message had an image: from the first one on, providers read the messages again. */
    readonly hasImages: boolean;
    /** The lifetime that was requested. */
    readonly promptCache: Transcript["promptCache"];
  } | null;
  /** What the next call will change, for a reason that is known already. */
  upcoming: CacheBreak | null;
  /** What this call changed; null if it only added messages. */
  broke: CacheBreak | null;
  /** The presumed reason if its provider reads less than it could. */
  suspect: CacheBreak | null;
  /** How many tokens a provider could read in the next call; null if that is unknown. */
  expected: number | null;
  /** Whether the provider has reported what it wrote. */
  isExact: boolean;
  /** The model that answered last. */
  model: string | null;
  /** What the provider has reported of this call; null before its answer, and if it reports nothing. */
  usage: CacheUsage | null;
};

/** The last model call, and what it had in common with the previous call. */
export type LastSent = {
  /** What it was sent, if that was not the conversation as it is; null if it was. */
  list: readonly ListedMessage[] | null;
  /** How many messages. */
  count: number;
  /** How many leading messages are those of the previous call. */
  reused: number;
  /** The names of the tools that the model could use; undefined: all. */
  activeTools: readonly string[] | undefined;
  /** Whether it could use the same tools as in the previous call. */
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
