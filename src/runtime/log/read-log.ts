/**
 * Reads a log: its entries, the transcript at a state, and public events from any position.
 *
 * 1. The cost depends on what is read. To produce public events, reading starts at the last row before the requested position. The
 *    transcript before that row costs as much as the messages that the model sees.
 * 2. A page that is shorter than requested is the last.
 */

import { readEntry } from "../../context/read-entry.js";
import type { Entry } from "../../core/machine/event.js";
import { hasCalls, initialState, isTerminal, type State } from "../../core/machine/state.js";
import { transition } from "../../core/machine/transition.js";
import { dropOverrides } from "../../core/transcript/handoff.js";
import { createTranscript, type Transcript } from "../../core/transcript/transcript.js";
import { questionPlaces } from "../../core/view/child-questions.js";
import { publicEvents } from "../../core/view/entry-events.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import type { Store } from "../../ports/store.js";
import { afterEntry, type Cursor, findLastWholeEntry, isAfter } from "../../stream/cursor.js";
import { type CommittedEntry, toSentCall } from "./committed-entry.js";
import { loadDataAtCompaction } from "./data-at-compaction.js";
import { appendFrozen } from "./frozen-transcript.js";
import { createQuestionLookup, type KnownQuestions, readQuestions } from "./open-questions.js";
import { type LogStore, nextPageSize, pageSizes, readEntries } from "./read-entries.js";
import { cacheTranscript, findCachedTranscript, findLastRedaction } from "./transcript-cache.js";

/** The transcript at a state: the entries from the last compaction on, and the queued inputs before it. */
export async function loadTranscript(
  store: Pick<Store, "read" | "getBlob">,
  sessionId: string,
  state: State,
): Promise<Transcript> {
  const transcript = createTranscript();
  const { readFrom, dataBlob } = state.context;
  if (dataBlob !== undefined) transcript.data = await loadDataAtCompaction(store, sessionId, state);
  if (readFrom > 1) {
    transcript.promptHash = undefined;
    transcript.toolsHash = undefined;
    for (const entry of await readEarlierEntries(store, sessionId, state)) appendFrozen(transcript, entry);
  }
  for await (const entry of readEntries(store, sessionId, readFrom - 1, state.seq)) appendFrozen(transcript, entry);
  // The entry of the handoff may come before `readFrom`.
  if (readFrom > 1 && hasHandedOff(state) && transcript.run !== null) dropOverrides(transcript.run);
  return transcript;
}

/** The same for readers: starts from a cached transcript near the state, if this process has read the conversation before. */
export async function readTranscript(
  store: Pick<Store, "read" | "load" | "getBlob">,
  sessionId: string,
  state: State,
): Promise<Transcript> {
  if (state.context.readFrom > 1 || state.context.dataBlob !== undefined)
    return loadTranscript(store, sessionId, state);
  const redactedSeq = await findLastRedaction(store, sessionId, state);
  const { seq, transcript } = (await findCachedTranscript(store, sessionId, state, redactedSeq)) ?? {
    seq: 0,
    transcript: createTranscript(),
  };
  for await (const entry of readEntries(store, sessionId, seq, state.seq)) {
    appendFrozen(transcript, entry);
    cacheTranscript(store, sessionId, state, entry, transcript, redactedSeq);
  }
  return transcript;
}

function hasHandedOff(state: State): boolean {
  return state.status !== "idle" && (state.counters.handoffs ?? 0) > 0;
}

/** The entries before `readFrom` that the transcript needs: queued inputs, and the start and the request of the run. */
async function readEarlierEntries(
  store: Pick<Store, "read">,
  sessionId: string,
  state: State,
): Promise<readonly Entry[]> {
  const { readFrom, runStartSeq } = state.context;
  const seqs = new Set(state.queue.map((queued) => queued.seq));
  if (runStartSeq !== undefined) seqs.add(runStartSeq);
  if (state.status !== "idle") {
    seqs.add(state.startSeq);
    const event = (await readEntry(store, sessionId, state.startSeq))?.event;
    if (event?.type === "run_started" && event.queuedSeq !== undefined) seqs.add(event.queuedSeq);
  }
  const entries: Entry[] = [];
  for (const seq of [...seqs].filter((one) => one < readFrom).sort((a, b) => a - b)) {
    const entry = await readEntry(store, sessionId, seq);
    if (entry !== undefined) entries.push(entry);
  }
  return entries;
}

/** Folds the entries of a log into a state, a transcript and public events. */
export type Follower = {
  readonly sessionId: string;
  readonly store: LogStore;
  state: State;
  readonly transcript: Transcript;
  /** The questions of child sessions that the events of the next entry may show. */
  readonly questions: KnownQuestions;
};

/** Opens a follower at the last row at or before `seq`. */
export async function openFollower(store: LogStore, sessionId: string, seq: number): Promise<Follower> {
  const row = seq <= 0 ? null : await store.loadAt(sessionId, seq);
  const state = row === null ? initialState : row.state;
  const transcript = row === null ? createTranscript() : await readTranscript(store, sessionId, state);
  return { sessionId, store, state, transcript, questions: new Map() };
}

/** Adds the next entry. Returns its public events. */
export async function followEntry(follower: Follower, entry: Entry): Promise<readonly PublicEvent[]> {
  const { sessionId, store, state: before, transcript, questions } = follower;
  const after = transition(before, entry.event);
  const reports = questionPlaces(before, entry.event, after);
  if (reports.length > 0) await readQuestions(store, questions, reports);
  follower.state = after;
  appendFrozen(transcript, entry);
  const events = publicEvents(sessionId, entry, transcript, before, after, createQuestionLookup(questions));
  if (!hasCalls(after)) questions.clear();
  return events;
}

/** The entries after the last row at or before `after`, each with its public events and states. */
export async function* readCommittedEntries(
  store: LogStore,
  sessionId: string,
  after = 0,
): AsyncGenerator<CommittedEntry, void, undefined> {
  const follower = await openFollower(store, sessionId, after);
  for await (const entry of readEntries(store, sessionId, follower.state.seq)) {
    const before = follower.state;
    const events = await followEntry(follower, entry);
    const { state: after, transcript } = follower;
    const sent = toSentCall(entry, transcript);
    yield { entry, events, before, after, shown: transcript.messages.length, sent, asked: transcript.run };
  }
}

/** The public events after a cursor, from the log. */
export async function* readEvents(
  store: LogStore,
  sessionId: string,
  after: Cursor,
): AsyncGenerator<PublicEvent, void, undefined> {
  const last = findLastWholeEntry(after);
  // The first page of a log has the entries on both sides of such a cursor: one read instead of three.
  const follower = await openFollower(store, sessionId, last <= pageSizes.first / 2 ? 0 : last);
  for await (const entry of readEntries(store, sessionId, follower.state.seq))
    if (entry.seq <= last) skipEntry(follower, entry);
    else for (const event of await followEntry(follower, entry)) if (isAfter(event, after)) yield event;
}

/** Adds an entry whose events are not needed. */
function skipEntry(follower: Follower, entry: Entry): void {
  follower.state = transition(follower.state, entry.event);
  appendFrozen(follower.transcript, entry);
}

/**
 * The end of a run, from the log; null if the run has not ended, or if there is no such run. The newest entries are read first, because the
 * requested run is usually a recent one.
 */
export async function findFinalEvent(store: LogStore, sessionId: string, runId: string): Promise<FinalEvent | null> {
  const state = (await store.load(sessionId))?.state ?? initialState;
  const isUnderWay = state.status !== "idle" && state.runId === runId && !isTerminal(state);
  if (isUnderWay || state.queue.some((queued) => queued.kind === "run" && queued.runId === runId)) return null;
  const canBeEnd = ({ event }: Entry) => canEndRun(event.type) && belongsToRun(event, runId);
  let seq = await findLastEntry(store, sessionId, state.seq, canBeEnd);
  while (seq !== null) {
    const final = await findFinalEventAt(store, sessionId, runId, seq);
    if (final !== null) return final;
    // The abort may belong to a compaction that was requested after the run.
    seq = await findLastEntry(store, sessionId, seq - 1, canBeEnd);
  }
  return null;
}

/** The end of a run that follows from its entry at `seq`, at once or after its hooks were called. */
async function findFinalEventAt(
  store: LogStore,
  sessionId: string,
  runId: string,
  seq: number,
): Promise<FinalEvent | null> {
  for await (const event of readEvents(store, sessionId, afterEntry(seq - 1))) {
    if (event.type === "final" && event.runId === runId) return event;
    if (event.type === "run_started") return null;
  }
  return null;
}

type FinalEvent = Extract<PublicEvent, { readonly type: "final" }>;

function canEndRun(type: Entry["event"]["type"]): boolean {
  return type === "run_finished" || type === "abort_requested";
}

function belongsToRun(event: Entry["event"], runId: string): boolean {
  return "runId" in event && event.runId === runId;
}

/** Searches backwards in pages that grow. */
async function findLastEntry(
  store: Pick<Store, "read">,
  sessionId: string,
  lastSeq: number,
  isWanted: (entry: Entry) => boolean,
): Promise<number | null> {
  let size: number = pageSizes.first;
  for (let last = lastSeq; last > 0; size = nextPageSize(size)) {
    const first = Math.max(0, last - size);
    const page = await store.read(sessionId, first, last - first);
    const found = page.findLast((entry) => entry.seq <= last && isWanted(entry));
    if (found !== undefined) return found.seq;
    last = first;
  }
  return null;
}
