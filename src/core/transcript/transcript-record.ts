/**
 * What a transcript holds.
 */

import type { CountedTokens } from "../data/counted-tokens.js";
import type { AssistantMessage, Message, UserMessage } from "../data/message.js";
import type { RunOptions } from "../machine/event.js";
import type { CallRecord, ShownResults } from "./results.js";
import type { RunRecord } from "./run-record.js";

/** What is empty in most sessions is shared or null: a process may hold many. */
export type Transcript = {
  /** What the model sees. Grows by appending; copy it to keep it. */
  readonly messages: Message[];
  /** The entry that each message is shown since; they never go down. */
  readonly seqs: number[];
  /** The entry that holds each message's words: input that came while something else was under way is shown later. */
  readonly origins: number[];
  /** The calls of the present or last step, in order. */
  calls: Map<string, CallRecord>;
  /** Input that a model call under way does not see. */
  later: { readonly seq: number; readonly message: UserMessage }[];
  /** Requests that were queued and have not started, by entry. */
  queued: ReadonlyMap<
    number,
    { readonly runId: string; readonly input: readonly UserMessage[]; readonly options?: RunOptions }
  >;
  /** The entries that started the runs of which something is shown. */
  runs: readonly number[];
  /** The run under way, or the last one. */
  run: RunRecord | null;
  readonly ids: Set<string>;
  /** Messages as the model gave them, where ids in them had to be changed. */
  given: Map<AssistantMessage, AssistantMessage> | null;
  /** What stands for the messages that the last compaction replaced. */
  compaction: { readonly summary: string; readonly retained: readonly string[] } | null;
  /** What was last shown to the model beside what people, models and tools said, while that is still seen. */
  appended: { readonly seq: number; readonly messages: readonly UserMessage[] } | null;
  readonly shownResults: ShownResults;
  /** The blobs that hold the system prompt and the tool specifications of the last model call; undefined where that is not known. */
  promptHash: string | null | undefined;
  toolsHash: string | null | undefined;
  /** How much of it a provider has counted; null where none has. */
  countedTokens: CountedTokens | null;
};
