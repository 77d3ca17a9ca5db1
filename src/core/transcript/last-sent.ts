/**
 * The common beginning of two consecutive requests, which a provider's cache can hold.
 *
 * 1. It follows from the log alone. After a compaction the previous call is unknown, whichever process reads the log.
 * 2. A call that is sent the unmodified conversation costs only a comparison of two numbers. Only other lists are compared message by
 *    message.
 */
import { isSameJson } from "../data/json.js";
import type { Json } from "../data/message.js";
import type { ListedMessage } from "../machine/message-ref.js";
import type { RunRecord } from "./run-record.js";
import type { LastSent, Transcript } from "./transcript-record.js";
import { trimMessages } from "./trim-results.js";

export function createLastSent(): LastSent {
  return { list: null, count: 0, reused: 0, activeTools: undefined, sameChoice: true };
}

/** Resets the record, because a compaction puts a new message before all others. */
export function resetLastSent(last: LastSent): void {
  Object.assign(last, createLastSent());
}

/** Records that the messages from this index on differ from those that were sent. */
export function invalidateFrom(last: LastSent, index: number): void {
  if (last.list === null) last.count = Math.min(last.count, index);
}

/** Records the messages and tools that a call is sent. */
export function recordSent(transcript: Transcript, run: RunRecord): void {
  const { lastSent: last, messages } = transcript;
  const sent = transcript.sentList ?? trimMessages(transcript);
  last.reused =
    sent === messages && last.list === null
      ? Math.min(last.count, messages.length)
      : countCommonPrefix(last.list ?? messages, last.count, sent);
  last.list = sent === messages ? null : sent;
  last.count = sent.length;
  const activeTools = run.choices.activeTools ?? run.options.activeTools;
  last.sameChoice = activeTools === last.activeTools || isSameJson(activeTools ?? null, last.activeTools ?? null);
  last.activeTools = activeTools;
}

function countCommonPrefix(before: readonly ListedMessage[], count: number, now: readonly ListedMessage[]): number {
  const maxCount = Math.min(count, now.length);
  for (let index = 0; index < maxCount; index += 1) {
    const [left, right] = [before[index], now[index]];
    if (left !== right && !isSameJson(left as Json, right as Json)) return index;
  }
  return maxCount;
}
