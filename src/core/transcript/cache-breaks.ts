/**
 * Finds what a model call changed since the previous request, if the provider could not use its prompt cache.
 *
 * 1. The result follows from the log alone. A compaction forgets the previous call, so that a reader that begins there agrees.
 * 2. A change of tools, prompt or messages is always reported. A change that matters only to some providers is reported if the usage shows
 *    that it mattered.
 */
import type { CacheBreak, CacheUsage } from "../data/cache-break.js";
import { isSameJson } from "../data/json.js";
import type { Message } from "../data/message.js";
import type { EventOf } from "../machine/event.js";
import { resolveToolChoice } from "../machine/tool-choice.js";
import { isCached } from "./pauses.js";
import type { RunRecord } from "./run-record.js";
import type { CacheRecord, Transcript } from "./transcript-record.js";

export function createCacheRecord(broke: CacheBreak | null = null): CacheRecord {
  return {
    call: null,
    upcoming: broke,
    broke: null,
    suspect: null,
    expected: null,
    isExact: false,
    model: null,
    usage: null,
  };
}

/** Records a handoff. The next call reports the handoff, whatever else changes. */
export function recordHandoff(cache: CacheRecord): void {
  cache.upcoming = "handoff";
}

/**
 * Records what the upcoming call changes.
 * @param before the previous call, which was sent `count` messages
 */
export function recordCachedCall(
  transcript: Transcript,
  run: RunRecord,
  { modelCallIndex, at }: EventOf<"prepared">,
  before: { readonly count: number },
): void {
  const { cache, promptHash, toolsHash, settings } = transcript;
  const last = cache.call;
  const hasImages = last?.hasImages === true || hasNewImages(transcript, before.count);
  const now = {
    promptHash,
    toolsHash,
    toolChoice: run.choices.toolChoice ?? resolveToolChoice(run.options.toolChoice, modelCallIndex) ?? "auto",
    reasoning: settings?.reasoning ?? null,
    hasImages,
    promptCache: transcript.promptCache,
  };
  const isRepeated = cache.usage === null && last !== null;
  const found = cache.upcoming ?? (last === null ? null : findDifference(last, now, transcript, before.count));
  // A call that was prepared but never answered changes as much as it did the first time.
  cache.broke = found ?? (isRepeated ? cache.broke : null);
  cache.suspect = last === null ? null : guessCause(last, now, transcript, at);
  cache.call = now;
  cache.upcoming = null;
  cache.usage = null;
}

type CachedCall = NonNullable<CacheRecord["call"]>;

function findDifference(last: CachedCall, now: CachedCall, { lastSent }: Transcript, count: number): CacheBreak | null {
  if (last.toolsHash !== now.toolsHash || !lastSent.sameChoice) return "tools";
  if (last.promptHash !== now.promptHash) return "system_prompt";
  return lastSent.reused < count ? "messages" : null;
}

function guessCause(last: CachedCall, now: CachedCall, { pauses }: Transcript, at: number): CacheBreak {
  if (!isSameJson(last.toolChoice, now.toolChoice)) return "tool_choice";
  if (last.reasoning !== now.reasoning) return "settings";
  if (last.hasImages !== now.hasImages) return "images";
  return isCached({ pauses, promptCache: last.promptCache }, at) ? "unknown" : "time";
}

function hasNewImages({ messages, sentList }: Transcript, count: number): boolean {
  if (sentList !== null) return false;
  for (let index = Math.min(count, messages.length); index < messages.length; index += 1)
    if (hasImage(messages[index])) return true;
  return false;
}

function hasImage(message: Message | undefined): boolean {
  if (message === undefined || message.role === "assistant") return false;
  return message.parts.some((part) => {
    if (part.type === "file") return part.mediaType.startsWith("image/");
    if (part.type !== "tool_result" || part.output.type !== "content") return false;
    return part.output.parts.some((item) => item.type === "file" && item.mediaType.startsWith("image/"));
  });
}

/** Records how many tokens the provider read and wrote. `usage` stays null if the provider did not report them. */
export function recordCacheUsage(cache: CacheRecord, { model, usage }: EventOf<"model_finished">): void {
  const { inputTokens, cacheReadTokens, cacheWriteTokens } = usage;
  const expected = cache.expected;
  if (cache.model !== null && cache.model !== model && cache.broke === null) cache.broke = "model";
  cache.model = model;
  const isReported = cacheReadTokens !== undefined || cacheWriteTokens !== undefined;
  const read = cacheReadTokens ?? 0;
  if (cache.broke === null && isReported && expected !== null && isCacheMiss(read, expected, cache))
    cache.broke = cache.suspect;
  cache.usage = isReported ? toCacheUsage(read, cacheWriteTokens ?? 0, expected, cache.broke) : null;
  // A provider that reports writes has cached exactly these tokens. Other providers may have cached the whole request.
  cache.isExact = cacheWriteTokens !== undefined;
  cache.expected = cache.isExact ? read + (cacheWriteTokens ?? 0) : (inputTokens ?? null);
}

function toCacheUsage(read: number, written: number, expected: number | null, broke: CacheBreak | null): CacheUsage {
  return {
    read,
    written,
    ...(expected === null ? {} : { expected }),
    ...(broke === null ? {} : { broke }),
  };
}

/**
 * Providers that do not report writes read only whole blocks, and do not cache short requests. A small difference is not worth reporting
 * unless a change explains it.
 */
function isCacheMiss(read: number, expected: number, { isExact, suspect }: CacheRecord): boolean {
  if (!isExact) return expected >= 2_048 && read < expected * 0.5;
  const isUnexplained = suspect === "time" || suspect === "unknown";
  return read < (isUnexplained ? expected * 0.9 : expected);
}
