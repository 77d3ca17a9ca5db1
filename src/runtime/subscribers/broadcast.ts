/**
 * Publishes the events of a session to its subscribers, listeners and waiters in this process.
 *
 * 1. Each entry is published once and in the order of the log, whether this process or another committed it.
 * 2. Waiters for a run get its end together with the subscribers. After that, nothing of the run is kept here.
 * 3. Without subscribers and listeners, entries are committed without creating their public events. A subscriber that joins during
 *    such a commit reads its entries from the log.
 */

import { defined } from "../../core/data/defined.js";
import { deepFreeze, freezeMembers } from "../../core/data/freeze.js";
import type { ToolOutput } from "../../core/data/message.js";
import { initialState, type State } from "../../core/machine/state.js";
import { createTranscript, type Transcript } from "../../core/transcript/transcript.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import type { PawlError } from "../../errors.js";
import type { MessageDelta } from "../../ports/model.js";
import type { EventContext } from "../../ports/observer.js";
import {
  createTail,
  endTail,
  moveTail,
  pushItem,
  readFromLog,
  type Tail,
  type TailOptions,
} from "../../stream/tail/tail.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import { forgetLocals } from "../agent/local-run-options.js";
import type { StreamItem } from "../agent/stream-types.js";
import { type CommittedEntry, unheard } from "../log/committed-entry.js";
import { createReplacedSessionError } from "../log/driver-errors.js";
import { readCommittedEntries } from "../log/read-log.js";
import { endWith } from "../model/message-assembly.js";
import type { PartialOutput } from "../model/partial-output.js";
import type { Tracing } from "../trace/tracing.js";
import { type RunSignals, removeSignals } from "./run-signals.js";
import type { StreamedWork, StreamSource } from "./stream-source.js";
import { closeWaiters, dismissWaiters, type HasWaiters, settleRunWaiters } from "./waiters.js";

export type EntryListener = (committed: CommittedEntry, transcript: Transcript) => void;

/** The subscribers and listeners of a session. */
export type Subscribers = {
  readonly sessionId: string;
  readonly agent: Pick<CompiledAgent, "listeners">;
  subscriptions: readonly Tail[];
};

export type Broadcast = Subscribers &
  HasWaiters &
  RunSignals &
  StreamSource & {
    readonly agent: Pick<CompiledAgent, "store" | "listeners" | "locals">;
    entryListeners: readonly EntryListener[];
    /** Null if no listener wants traces. */
    readonly tracing: Tracing | null;
    /** The last entry that was published. */
    publishedSeq: number;
  };

/** Whether anybody in this process wants the session's events. */
export function isHeard({ subscriptions, agent }: Subscribers): boolean {
  return subscriptions.length > 0 || agent.listeners.length > 0;
}

function broadcast({ subscriptions }: Subscribers, item: StreamItem): void {
  if (subscriptions.length > 1) deepFreeze(item);
  for (const subscription of subscriptions) pushItem(subscription, item);
}

function settleEndedRuns(audience: Broadcast, events: readonly PublicEvent[]): void {
  for (const event of events)
    if (event.type === "final") {
      removeSignals(audience, event.runId);
      forgetLocals(audience.agent.locals, audience.sessionId, event.runId);
      settleRunWaiters(audience, event.result, event.seq);
    }
}

/** Publishes entries that this process committed. */
export function broadcastCommitted(
  audience: Broadcast,
  entries: readonly CommittedEntry[],
  transcript: Transcript,
): void {
  const { listeners } = audience.agent;
  // Once for the commit, all of which is in the log.
  if (entries.some(({ events }) => events === unheard))
    for (const subscription of audience.subscriptions) readFromLog(subscription);
  for (const committed of entries) {
    if (committed.entry.event.type === "run_finished") endStreamedCall(audience);
    // If a driver closes during a commit, the follower may have published the entry before.
    const isNew = committed.entry.seq > audience.publishedSeq;
    audience.publishedSeq = Math.max(audience.publishedSeq, committed.entry.seq);
    const context = listeners.length === 0 ? null : createEventContext(committed);
    for (const event of committed.events) {
      if (context !== null) for (const listener of listeners) listener.event?.(deepFreeze(event), context);
      if (isNew) broadcast(audience, event);
    }
    audience.tracing?.addEntry(committed);
    if (committed.events.some(precedesResult)) for (const listener of listeners) listener.catchUp();
    for (const listener of audience.entryListeners) listener(committed, transcript);
    settleEndedRuns(audience, committed.events);
  }
}

function createEventContext({ entry: { event }, after }: CommittedEntry): EventContext {
  // The usage of a tool call belongs to its child session, which has its own observers.
  const usage = event.type !== "tool_finished" && "usage" in event ? event.usage : undefined;
  const timing = "timing" in event ? event.timing : undefined;
  const runStartedAt = after.status === "idle" ? undefined : after.startedAt;
  return deepFreeze({ agent: after.session?.agent ?? "", ...defined({ runStartedAt, usage, timing }) });
}

/** Ends the stream of a model call that the run has abandoned. */
function endStreamedCall(audience: Broadcast): void {
  const partial = audience.memory?.partial ?? null;
  if (partial === null) return;
  const end = endWith(partial, { kind: "cancelled", message: "The call was given up." });
  for (const delta of end) publishDelta(audience, delta);
}

/** A delta with only one consumer belongs to that consumer: only its nested objects, which others may share, are frozen. */
export function publishDelta(subscribers: Subscribers, delta: MessageDelta): void {
  const { agent, subscriptions, sessionId } = subscribers;
  if (subscriptions.length > 1) deepFreeze(delta);
  else if (!hasOnlyScalars(delta)) freezeMembers(delta);
  for (const listener of agent.listeners) listener.delta?.(deepFreeze(delta), sessionId);
  for (const subscription of subscriptions) pushItem(subscription, { type: "delta", delta });
}

function hasOnlyScalars(delta: MessageDelta): boolean {
  // Almost every delta.
  if (delta.kind === "text-delta") return delta.providerMetadata === undefined;
  for (const key in delta) if (typeof delta[key as keyof MessageDelta] === "object") return false;
  return true;
}

export function publishPartialOutput(subscribers: Subscribers, item: PartialOutput): void {
  broadcast(subscribers, item);
}

export function publishProgress(subscribers: Subscribers, callKey: string, note: string): void {
  broadcast(subscribers, { type: "progress", callKey, note });
}

/** Publishes a preliminary result of a call. */
export function publishPreliminary(
  subscribers: Subscribers,
  memory: StreamedWork,
  callKey: string,
  output: ToolOutput,
): void {
  deepFreeze(output);
  memory.preliminary = (memory.preliminary ?? new Map()).set(callKey, output);
  for (const subscription of subscribers.subscriptions)
    pushItem(subscription, { type: "preliminary", callKey, output });
}

/** Drops the preliminary result of a call that has its result, or no longer waits for one. */
export function forgetPreliminary(memory: StreamedWork, callKey: string): void {
  memory.preliminary?.delete(callKey);
  if (memory.preliminary?.size === 0) memory.preliminary = null;
}

/** Publishes the events of an entry that another process committed. */
export function broadcastFollowed(audience: Broadcast, seq: number, events: readonly PublicEvent[]): void {
  if (seq <= audience.publishedSeq) return;
  audience.publishedSeq = seq;
  for (const event of events) broadcast(audience, event);
  settleEndedRuns(audience, events);
}

/** Whether any subscriber outlives runs and changes of the holder. */
export function hasLastingSubscriber({ subscriptions }: Broadcast): boolean {
  return subscriptions.some(({ stays }) => stays);
}

/** Prepares for a driver that begins at this state: lasting subscribers get the events that they have missed. */
export async function catchUpTo(audience: Broadcast, state: State): Promise<void> {
  const { seq } = state;
  if (seq < audience.publishedSeq) restart(audience, seq, createReplacedSessionError(audience.sessionId));
  await audience.tracing?.begin(state);
  if (hasLastingSubscriber(audience) && audience.publishedSeq < seq) {
    const { store } = audience.agent;
    for await (const { entry, events } of readCommittedEntries(store, audience.sessionId, audience.publishedSeq)) {
      // A subscriber that was added meanwhile has a follower, which may have published the entry.
      if (entry.seq > seq || entry.seq <= audience.publishedSeq) continue;
      audience.publishedSeq = entry.seq;
      for (const event of events) broadcast(audience, event);
    }
  }
  audience.publishedSeq = Math.max(audience.publishedSeq, seq);
}

export function addSubscription(audience: Broadcast, options: TailOptions): Tail {
  const subscription = createTail(audience, audience.publishedSeq, options);
  audience.subscriptions = audience.subscriptions.concat(subscription);
  return subscription;
}

export function removeSubscription(audience: Broadcast, subscription: Tail): void {
  audience.subscriptions = audience.subscriptions.filter((other) => other !== subscription);
}

/** Calls the listener after each committed entry. Returns a function that removes the listener. */
export function addEntryListener(audience: Broadcast, listener: EntryListener): () => void {
  audience.entryListeners = audience.entryListeners.concat(listener);
  return () => {
    audience.entryListeners = audience.entryListeners.filter((other) => other !== listener);
  };
}

/** Ends waiters and lasting subscriptions, because the process shuts down. */
export function closeForShutdown(audience: Broadcast): void {
  closeWaiters(audience, { type: "interrupted", reason: "shutdown" }, initialState, createTranscript());
  for (const subscription of audience.subscriptions) if (subscription.stays) endTail(subscription);
}

/** Ends waiters and lasting subscriptions with an error, because the log can no longer be followed. */
export function closeWithError(audience: Broadcast, cause: unknown): void {
  const closing = { type: "interrupted", reason: "store_failed", error: cause } as const;
  closeWaiters(audience, closing, initialState, createTranscript());
  for (const subscription of audience.subscriptions) if (subscription.stays) endTail(subscription, { cause });
}

/** Ends waiters and lasting subscriptions, because the session was deleted. The waiters then find no run. */
export function closeDeleted(audience: Broadcast, cause: PawlError): void {
  dismissWaiters(audience, audience.waiters);
  restart(audience, 0, cause);
}

/** Ends the lasting subscriptions to a deleted session. The others belong to requests that begin another session under its id. */
function restart(audience: Broadcast, seq: number, cause: PawlError): void {
  audience.publishedSeq = seq;
  for (const subscription of audience.subscriptions)
    if (subscription.stays) endTail(subscription, { cause });
    else moveTail(subscription, seq);
}

export function hasNoConsumers({ subscriptions, waiters, signals }: Broadcast): boolean {
  return subscriptions.length === 0 && waiters.length === 0 && signals.length === 0;
}

/** Whether a result follows from the event. All queued calls of listeners must be made before it. */
function precedesResult({ type }: PublicEvent): boolean {
  return type === "final" || type === "suspended";
}
