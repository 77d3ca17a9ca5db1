/**
 * Caches the transcripts of long conversations for later readers in this process. A reader near the end of a session that was never
 * compacted needs the whole conversation before it, and a page in a browser reads many times.
 *
 * 1. A cached transcript is never changed. A reader gets a copy, which shares the messages, and adds the entries that follow.
 * 2. It is used only if the log still has the entry after which it was cached: a session may have been deleted, and another one started
 *    under its id. Nor is it used if content was redacted since.
 * 3. Only conversations that begin with their log are cached: a compacted conversation is short.
 * 4. The cache of a store has a few sessions, with a few positions each.
 */
import { readEntry } from "../../context/read-entry.js";
import type { Entry } from "../../core/machine/event.js";
import type { State } from "../../core/machine/state.js";
import { copyTranscript } from "../../core/transcript/copy-transcript.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import type { Store } from "../../ports/store.js";

/** A transcript after an entry. */
type CachedTranscript = {
  readonly entry: Entry;
  readonly transcript: Transcript;
  /** The last redaction at that time: a later one may have changed the cached content. */
  readonly redactedSeq: number | undefined;
};

/** By session, in LRU order: the most recently read session comes last. */
const cachesByStore = new WeakMap<object, Map<string, CachedTranscript[]>>();

/** Rereading a shorter conversation is as fast as copying it. */
const minEntries = 1_024;
const maxSessions = 3;
const maxPositions = 12;
/** How many positions are cached where readers have stopped: the next reader often stops there again. */
const maxEnds = 3;
/** A reader reads this many entries at once, so a position this close to a cached one is not cached. */
const nearEntries = 128;

/** Lets a store and its wrapper share one cache. */
export function shareCache(store: object, wrapper: object): void {
  cachesByStore.set(wrapper, getSessions(store));
}

function getSessions(store: object): Map<string, CachedTranscript[]> {
  const sessions = cachesByStore.get(store) ?? new Map<string, CachedTranscript[]>();
  cachesByStore.set(store, sessions);
  return sessions;
}

/** The last redaction of a session, if its transcripts are worth caching. It may be later than the given state. */
export async function findLastRedaction(
  store: Pick<Store, "load">,
  sessionId: string,
  state: State,
): Promise<number | undefined> {
  return isWorthCaching(state) ? (await store.load(sessionId))?.state.redactedSeq : undefined;
}

/** A copy of the last cached transcript at or before a state; null if there is none. */
export async function findCachedTranscript(
  store: Pick<Store, "read">,
  sessionId: string,
  state: State,
  redactedSeq: number | undefined,
): Promise<{ readonly seq: number; readonly transcript: Transcript } | null> {
  const sessions = getSessions(store);
  const all = sessions.get(sessionId) ?? [];
  const cached = isWorthCaching(state) ? all.findLast(({ entry }) => entry.seq <= state.seq) : undefined;
  if (cached === undefined) return null;
  const { entry, transcript } = cached;
  const currentEntry = await readEntry(store, sessionId, entry.seq);
  if (cached.redactedSeq !== redactedSeq || JSON.stringify(currentEntry) !== JSON.stringify(entry)) {
    sessions.delete(sessionId);
    return null;
  }
  sessions.delete(sessionId);
  sessions.set(sessionId, all);
  return { seq: entry.seq, transcript: copyTranscript(transcript) };
}

/**
 * Caches a copy of a transcript after an entry, if that position is worth caching.
 * @param state the state at which the reader stops
 * @param redactedSeq the result of `findLastRedaction` before the log was read
 */
export function cacheTranscript(
  store: object,
  sessionId: string,
  state: State,
  entry: Entry,
  read: Transcript,
  redactedSeq: number | undefined,
): void {
  const isEnd = entry.seq === state.seq;
  if (!isWorthCaching(state) || !(isEnd || isOnGrid(entry, state))) return;
  const sessions = getSessions(store);
  const all = sessions.get(sessionId) ?? [];
  const tolerance = isEnd ? nearEntries : 0;
  if (all.some(({ entry: { seq } }) => seq <= entry.seq && seq + tolerance >= entry.seq)) return;
  const kept = [...selectKept(all, state), { entry, transcript: copyTranscript(read), redactedSeq }];
  kept.sort((a, b) => a.entry.seq - b.entry.seq);
  sessions.delete(sessionId);
  sessions.set(sessionId, kept);
  for (const oldest of sessions.keys()) {
    if (sessions.size <= maxSessions) break;
    sessions.delete(oldest);
  }
}

/** The positions to keep: those on the grid, which gets wider as the log grows, and the last ends of readers. */
function selectKept(all: readonly CachedTranscript[], state: State): readonly CachedTranscript[] {
  const ends = all.filter(({ entry }) => !isOnGrid(entry, state)).slice(-(maxEnds - 1));
  return all.filter((one) => isOnGrid(one.entry, state) || ends.includes(one));
}

function isOnGrid({ seq }: Entry, state: State): boolean {
  return seq % gridSpacing(state.seq) === 0;
}

function isWorthCaching({ seq, context }: State): boolean {
  return context.readFrom <= 1 && context.dataBlob === undefined && seq >= minEntries;
}

/** The distance between two cached positions, in entries. */
function gridSpacing(lastSeq: number): number {
  let entries = minEntries;
  while (lastSeq / entries > maxPositions) entries *= 2;
  return entries;
}
