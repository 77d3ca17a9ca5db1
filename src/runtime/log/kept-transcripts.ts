/**
 * Transcripts of long conversations, kept for the next reader in this process. Anyone who reads near the end of a session that
 * was never compacted needs the whole conversation before it, and a page in a browser reads many times.
 *
 * 1. A kept transcript is never changed. A reader gets a copy, which shares the messages, and adds the entries that follow.
 * 2. It is used only if the log still has the entry after which it was kept: a session may have been deleted, and another one
 *    begun under its id.
 *    Nor is it used if content was redacted since.
 * 3. Only conversations that begin with their log are kept: what a compaction leaves is short.
 * 4. A store keeps those of a few sessions, a few places each.
 */
import { entryAt } from "../../context/entry-at.js";
import type { Entry } from "../../core/machine/event.js";
import type { State } from "../../core/machine/state.js";
import { copyTranscript } from "../../core/transcript/copy.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import type { Store } from "../../ports/store.js";

/** A transcript after an entry. */
type Kept = {
  readonly entry: Entry;
  readonly transcript: Transcript;
  /** The last redaction by then: a later one may have changed what is kept. */
  readonly redactedSeq: number | undefined;
};

/** By session: the one that was read last is the last one. */
const keptIn = new WeakMap<object, Map<string, Kept[]>>();

/** Conversations of fewer entries are read again as fast. */
const leastEntries = 1_024;
const mostSessions = 3;
const mostPlaces = 12;
/** Places where readers have stopped: the next one often stops there, too. */
const mostEnds = 3;
/** A reader reads this many entries at once, so nothing is kept of a place that is nearer to a kept one. */
const nearEntries = 128;

/** Readers of the one store and of the other one, which wraps it, keep transcripts together. */
export function keepTogether(store: object, wrapper: object): void {
  keptIn.set(wrapper, sessionsOf(store));
}

function sessionsOf(store: object): Map<string, Kept[]> {
  const sessions = keptIn.get(store) ?? new Map<string, Kept[]>();
  keptIn.set(store, sessions);
  return sessions;
}

/** The last redaction of a session whose transcripts are worth keeping. The state that a reader asks for may be older than it. */
export async function redactedBefore(
  store: Pick<Store, "load">,
  sessionId: string,
  state: State,
): Promise<number | undefined> {
  return isWorthKeeping(state) ? (await store.load(sessionId))?.state.redactedSeq : undefined;
}

/** A kept transcript at or before a state, as a copy; null if there is none. */
export async function keptTranscript(
  store: Pick<Store, "read">,
  sessionId: string,
  state: State,
  redactedSeq: number | undefined,
): Promise<{ readonly seq: number; readonly transcript: Transcript } | null> {
  const sessions = sessionsOf(store);
  const all = sessions.get(sessionId) ?? [];
  const found = isWorthKeeping(state) ? all.findLast(({ entry }) => entry.seq <= state.seq) : undefined;
  if (found === undefined) return null;
  const { entry, transcript } = found;
  const now = await entryAt(store, sessionId, entry.seq);
  if (found.redactedSeq !== redactedSeq || JSON.stringify(now) !== JSON.stringify(entry)) {
    sessions.delete(sessionId);
    return null;
  }
  sessions.delete(sessionId);
  sessions.set(sessionId, all);
  return { seq: entry.seq, transcript: copyTranscript(transcript) };
}

/**
 * Keeps a copy of a transcript after an entry, if that is a place to keep one.
 * @param state where the reader stops
 * @param redactedSeq what `redactedBefore` gave before the log was read
 */
export function keepTranscript(
  store: object,
  sessionId: string,
  state: State,
  entry: Entry,
  read: Transcript,
  redactedSeq: number | undefined,
): void {
  const isEnd = entry.seq === state.seq;
  if (!isWorthKeeping(state) || !(isEnd || isOnGrid(entry, state))) return;
  const sessions = sessionsOf(store);
  const all = sessions.get(sessionId) ?? [];
  const near = isEnd ? nearEntries : 0;
  if (all.some(({ entry: { seq } }) => seq <= entry.seq && seq + near >= entry.seq)) return;
  const kept = [...placesToKeep(all, state), { entry, transcript: copyTranscript(read), redactedSeq }];
  kept.sort((a, b) => a.entry.seq - b.entry.seq);
  sessions.delete(sessionId);
  sessions.set(sessionId, kept);
  for (const oldest of sessions.keys()) {
    if (sessions.size <= mostSessions) break;
    sessions.delete(oldest);
  }
}

/** A log that has grown keeps places that are further apart, and the last ends of readers. */
function placesToKeep(all: readonly Kept[], state: State): readonly Kept[] {
  const ends = all.filter(({ entry }) => !isOnGrid(entry, state)).slice(-(mostEnds - 1));
  return all.filter((one) => isOnGrid(one.entry, state) || ends.includes(one));
}

function isOnGrid({ seq }: Entry, state: State): boolean {
  return seq % distance(state.seq) === 0;
}

function isWorthKeeping({ seq, context }: State): boolean {
  return context.readFrom <= 1 && context.dataBlob === undefined && seq >= leastEntries;
}

/** The entries between two places. */
function distance(lastSeq: number): number {
  let entries = leastEntries;
  while (lastSeq / entries > mostPlaces) entries *= 2;
  return entries;
}
