/**
 * What a process needs of a session that it has not driven so far: its state, its transcript, its events.
 */
import { entryAt } from "../../context/entry-at.js";
import type { Entry } from "../../core/machine/event.js";
import { initialState, type State } from "../../core/machine/state.js";
import { transition } from "../../core/machine/transition.js";
import { appendEntry, createTranscript, type Transcript } from "../../core/transcript/transcript.js";
import { publicEvents } from "../../core/view/entry-events.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import { PawlError } from "../../errors.js";
import type { Store } from "../../ports/store.js";
import type { CommittedEntry } from "./committed-entry.js";

const pageSize = 1_000;

/** All entries after `after`, a page at a time. @throws PawlError `store_corrupt` where one is missing */
export async function* readEntries(
  store: Pick<Store, "read">,
  sessionId: string,
  after: number,
): AsyncGenerator<Entry, void, undefined> {
  for (let from = after; ; ) {
    const page = await store.read(sessionId, from, pageSize);
    if (page.length === 0) return;
    for (const entry of page) {
      from += 1;
      if (entry.seq !== from) throw gapError(sessionId, from);
      yield entry;
    }
  }
}

function gapError(sessionId: string, seq: number): PawlError {
  return new PawlError(
    "store_corrupt",
    `Entry ${seq} of session ${sessionId} is missing in the store. Look at what store.verify() finds; restore it from a copy.`,
  );
}

/** The transcript as it stands at a state: from the last compaction on, with what is queued from before it. */
export async function loadTranscript(store: Pick<Store, "read">, sessionId: string, state: State): Promise<Transcript> {
  const transcript = createTranscript();
  const { readFrom } = state.context;
  if (readFrom > 1) {
    transcript.promptHash = undefined;
    transcript.toolsHash = undefined;
  }
  for (const seq of await needed(store, sessionId, state)) {
    const entry = seq < readFrom ? await entryAt(store, sessionId, seq) : undefined;
    if (entry !== undefined) appendEntry(transcript, entry);
  }
  for await (const entry of readEntries(store, sessionId, readFrom - 1)) {
    if (entry.seq > state.seq) break;
    appendEntry(transcript, entry);
  }
  return transcript;
}

/** Entries that count wherever they are: what waits, the start of the run and its request, and of the run that is read from. */
async function needed(store: Pick<Store, "read">, sessionId: string, state: State): Promise<readonly number[]> {
  const seqs = new Set(state.queue.map((queued) => queued.seq));
  if (state.context.runStartSeq !== undefined) seqs.add(state.context.runStartSeq);
  if (state.status !== "idle") {
    seqs.add(state.startSeq);
    const event = (await entryAt(store, sessionId, state.startSeq))?.event;
    if (event?.type === "run_started" && event.queuedSeq !== undefined) seqs.add(event.queuedSeq);
  }
  return [...seqs].sort((a, b) => a - b);
}

/** Follows a log: a fold of its entries into a state, a transcript and public events. */
export type Follower = {
  readonly sessionId: string;
  state: State;
  readonly transcript: Transcript;
};

export function createFollower(sessionId: string): Follower {
  return { sessionId, state: initialState, transcript: createTranscript() };
}

/** Adds an entry; returns what the world sees of it. */
export function followEntry(follower: Follower, entry: Entry): readonly PublicEvent[] {
  const before = follower.state;
  follower.state = transition(before, entry.event);
  appendEntry(follower.transcript, entry);
  return publicEvents(follower.sessionId, entry, follower.transcript, before, follower.state);
}

/** The log, each entry with what it meant when it was committed. */
export async function* readCommittedEntries(
  store: Pick<Store, "read">,
  sessionId: string,
): AsyncGenerator<CommittedEntry, void, undefined> {
  const follower = createFollower(sessionId);
  for await (const entry of readEntries(store, sessionId, 0)) {
    const before = follower.state;
    const events = followEntry(follower, entry);
    yield { entry, events, before, after: follower.state, shown: follower.transcript.messages.length };
  }
}

/** The public events after an entry, as the log has them. */
export async function readEvents(
  store: Pick<Store, "read">,
  sessionId: string,
  after: number,
): Promise<readonly PublicEvent[]> {
  const follower = createFollower(sessionId);
  const events: PublicEvent[] = [];
  for await (const entry of readEntries(store, sessionId, 0)) {
    const seen = followEntry(follower, entry);
    if (entry.seq > after) events.push(...seen);
  }
  return events;
}

/** The end of a run, from the log; null where it has not ended. */
export async function findFinalEvent(store: Store, sessionId: string, runId: string): Promise<EndOfRun | null> {
  for (const event of await readEvents(store, sessionId, 0))
    if (event.type === "final" && event.runId === runId) return event;
  return null;
}

type EndOfRun = Extract<PublicEvent, { readonly type: "final" }>;
