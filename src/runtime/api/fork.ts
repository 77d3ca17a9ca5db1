/**
 * Forks a session: copies its history up to an entry into a new session (REC-6).
 *
 * 1. A run that is in progress at that entry ends in the copy, so that the fork does not run what its source may also run.
 * 2. Until the copy is complete, it is not due: a worker that finds a part of it, after a crash or after the lease, must not continue it.
 * 3. The ids of the runs in the copy are taken: a request with one of them is a repetition, as in the source. A second run with that id would
 *    have calls with the same keys.
 */

import { advance, consequences } from "../../core/machine/consequences.js";
import { dueAt } from "../../core/machine/effects.js";
import type { Event } from "../../core/machine/event.js";
import { isCompacting } from "../../core/machine/requested-compaction.js";
import { hasCalls, initialState, isResting, type State } from "../../core/machine/state.js";
import { transition } from "../../core/machine/transition.js";
import { blobsOf } from "../../core/transcript/blob-references.js";
import { askedAt } from "../../core/view/outcome.js";
import { PawlError } from "../../errors.js";
import type { Lease } from "../../ports/store.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import type { LeaseKeeper } from "../driver/lease-keeper.js";
import { releaseLease } from "../log/driver-errors.js";
import { readEntries } from "../log/read-entries.js";

/** The maximum number of events in one commit of the copy. */
const batchSize = 200;

/**
 * Copies the log up to entry `at` into a new session.
 * @throws PawlError `no_session`; `bad_input` if the session has no entry `at`; `session_busy` if the new id is taken
 */
export async function forkSession(
  sourceId: string,
  targetId: string,
  at: number,
  { store, clock }: Pick<CompiledAgent, "store" | "clock">,
  keeper: Pick<LeaseKeeper, "holder" | "leaseMs">,
): Promise<void> {
  const events = await readEventsUpTo(store, sourceId, at);
  const claimed = await store.claim(targetId, { holder: keeper.holder, now: clock.now(), leaseMs: keeper.leaseMs });
  const isNew = claimed.type === "claimed" && claimed.state === null && (await store.inbox(targetId)).length === 0;
  if (claimed.type === "claimed" && !isNew) await releaseLease(store, claimed.lease);
  if (claimed.type === "held" || !isNew)
    throw new PawlError("session_busy", `Session ${targetId} already exists. Give the fork a new id.`);
  await copyBlobs(sourceId, targetId, events, store);
  const renew = async () => void (await store.renew([claimed.lease], clock.now(), keeper.leaseMs));
  await writeCopy(claimed.lease, events, clock.now(), store, renew);
}

async function readEventsUpTo(store: CompiledAgent["store"], sourceId: string, at: number): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const { seq, event } of readEntries(store, sourceId, 0)) {
    if (seq > at) break;
    events.push(dropFamily(event));
  }
  if (events.length === 0)
    throw new PawlError("no_session", `There is no session ${sourceId} in this store, or it is empty.`);
  if (!Number.isInteger(at) || at < 1 || events.length < at)
    throw new PawlError("bad_input", `Session ${sourceId} has no entry ${at}; its last entry is ${events.length}.`);
  return events;
}

/** A fork of a child session has no parent, and the children in the background belong to the source. */
function dropFamily(event: Event): Event {
  if (event.type === "tool_finished" && event.startedChild !== undefined) {
    const { startedChild: _, ...own } = event;
    return own;
  }
  if (event.type !== "session_created") return event;
  const { parent: _, top: __, ...own } = event;
  return own;
}

/** The fork needs its own blobs, because a blob belongs to one session. */
async function copyBlobs(
  sourceId: string,
  targetId: string,
  events: readonly Event[],
  store: CompiledAgent["store"],
): Promise<void> {
  const hashes = new Set(events.flatMap(blobsOf));
  for (const hash of hashes) {
    const bytes = await store.getBlob(sourceId, hash);
    if (bytes !== null) await store.putBlob(targetId, bytes);
  }
}

async function writeCopy(
  lease: Lease,
  events: readonly Event[],
  now: number,
  store: CompiledAgent["store"],
  renew: () => Promise<void>,
): Promise<void> {
  let state: State = initialState;
  const recorded = new Set<string>();
  for (let start = 0; start < events.length; start += batchSize) {
    const batch = events.slice(start, start + batchSize);
    const record = findRequestIds(batch).filter((id) => !recorded.has(id));
    for (const id of record) recorded.add(id);
    const expectedSeq = state.seq;
    for (const event of batch) state = transition(state, event);
    const isLast = start + batchSize >= events.length;
    const ended: EndedState = isLast ? endEverything(state, now) : { state, events: [] };
    state = ended.state;
    const result = await store.commit(lease, {
      expectedSeq,
      events: [...batch, ...ended.events],
      record,
      state,
      at: now,
      activity: isResting(state) || !isLast ? "resting" : "active",
      dueAt: isLast ? dueAt(state) : null,
      askedAt: isLast ? askedAt(state) : null,
    });
    if (result.type !== "ok")
      throw new PawlError("store_failed", `The fork could not be written (${result.type}). Delete it and retry.`);
    // A message to the copy would make it due when the lease expires.
    if (!isLast) await renew();
  }
  // Not with the last commit, which would be refused if the copy already has a message.
  await releaseLease(store, lease);
}

/** The ids of the messages with which the runs of these events were requested. */
function findRequestIds(events: readonly Event[]): readonly string[] {
  const requested = events.filter(({ type }) => type === "run_started" || type === "run_queued");
  return [...new Set(requested.flatMap((event) => ("runId" in event ? [`run/${event.runId}`] : [])))];
}

type EndedState = { readonly state: State; readonly events: readonly Event[] };

/** Ends all work in progress. Runs that wait for their turn and a requested compaction also belong only to the source. */
function endEverything(before: State, at: number): EndedState {
  const unqueued = dropQueuedRuns(before, at);
  const ended = endRun(unqueued.state, at);
  const events = [...unqueued.events, ...ended.events];
  if (!isCompacting(ended.state)) return { state: ended.state, events };
  const { runId } = ended.state;
  const dropped = advance(ended.state, { type: "abort_requested", runId, note: "forked", at });
  return { state: dropped.state, events: [...events, ...dropped.events] };
}

function dropQueuedRuns(before: State, at: number): EndedState {
  let state = before;
  const events: Event[] = [];
  for (const queued of before.queue) {
    if (queued.kind !== "run") continue;
    const event: Event = { type: "abort_requested", runId: queued.runId, note: "forked", at };
    state = transition(state, event);
    events.push(event);
  }
  return { state, events };
}

/** Ends the current run with the events of an abort and a restart, because no process executes its calls in the copy. */
function endRun(state: State, at: number): EndedState {
  if (isResting(state)) return { state, events: [] };
  const { runId } = state;
  const settled = settleCalls(state, at);
  const aborted = advance(settled.state, { type: "abort_requested", runId, note: "forked", at });
  const restarted = advance(aborted.state, { type: "restarted", runId, holder: "fork", at });
  const events = [...settled.events, ...aborted.events, ...restarted.events];
  if (isResting(restarted.state)) return { state: restarted.state, events };
  // Child sessions belong to the source: the copy does not wait for them.
  const ended = advance(restarted.state, { type: "timer_fired", runId, timer: "grace", at });
  return { state: ended.state, events: [...events, ...ended.events] };
}

/** Adds the results that the machine creates for calls: they belong to the entry that causes them. */
function settleCalls(before: State, at: number): EndedState {
  let state = before;
  const events: Event[] = [];
  for (let consequent = consequences(state); hasCalls(state) && consequent.length > 0; consequent = consequences(state))
    for (const body of consequent) {
      const event: Event = { at, ...body };
      state = transition(state, event);
      events.push(event);
    }
  return { state, events };
}
