/**
 * Those who watch a session or wait for it, in this process.
 *
 * 1. An entry is told once, whether it was committed here or by another process, and in the order of the log.
 * 2. Whoever waits for a run learns of its end with those who watch.
 */

import { initialState, type State } from "../../core/machine/state.js";
import { createTranscript, type Transcript } from "../../core/transcript/transcript.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import type { MessageDelta } from "../../ports/model.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import type { CommittedEntry } from "../log/committed-entry.js";
import { behindEntry } from "../log/cursor.js";
import { readEvents } from "../log/read-log.js";
import { endWith } from "../model/message-assembly.js";
import type { Tracing } from "../trace/tracing.js";
import { forgetSignals, type Signalled } from "./run-signals.js";
import {
  createSubscription,
  endSubscription,
  pushItem,
  type Source,
  type StreamItem,
  type Subscription,
  type SubscriptionOptions,
} from "./subscription.js";
import { closeWaiters, settleRun, type WaitedFor } from "./waiters.js";

export type EntryListener = (step: CommittedEntry, transcript: Transcript) => void;

/** Those who hear of a session at once. */
export type Subscribers = {
  readonly sessionId: string;
  readonly parts: Pick<CompiledAgent, "listeners">;
  subscriptions: readonly Subscription[];
};

export type Broadcast = Subscribers &
  WaitedFor &
  Signalled &
  Source & {
    readonly parts: Pick<CompiledAgent, "store" | "listeners">;
    stepListeners: readonly EntryListener[];
    /** Null where nobody wants traces. */
    readonly tracing: Tracing | null;
    /** The last entry that was told. */
    toldUpTo: number;
  };

function broadcast({ subscriptions }: Subscribers, item: StreamItem): void {
  for (const subscription of subscriptions) pushItem(subscription, item);
}

function settleEnded(audience: Broadcast, events: readonly PublicEvent[]): void {
  for (const event of events)
    if (event.type === "final") {
      forgetSignals(audience, event.runId);
      settleRun(audience, event.result, event.seq);
    }
}

/** What was committed here. */
export function broadcastCommitted(
  audience: Broadcast,
  steps: readonly CommittedEntry[],
  transcript: Transcript,
): void {
  const { listeners } = audience.parts;
  for (const step of steps) {
    if (step.entry.event.type === "run_finished") cutShort(audience);
    // A driver that was closed during a commit may come after the follower in telling of it.
    const isNew = step.entry.seq > audience.toldUpTo;
    audience.toldUpTo = Math.max(audience.toldUpTo, step.entry.seq);
    for (const event of step.events) {
      for (const listener of listeners) listener.event?.(event);
      if (isNew) broadcast(audience, event);
    }
    audience.tracing?.see(step);
    if (step.events.some(isLast)) for (const listener of listeners) listener.catchUp();
    for (const listener of audience.stepListeners) listener(step, transcript);
    settleEnded(audience, step.events);
  }
}

/** A model that was given up says nothing more: its stream ends with its run. */
function cutShort(audience: Broadcast): void {
  const partial = audience.memory?.partial ?? null;
  if (partial === null) return;
  const end = endWith(partial, { kind: "cancelled", message: "The call was given up." });
  for (const delta of end) publishDelta(audience, delta);
}

export function publishDelta(hearers: Subscribers, delta: MessageDelta): void {
  for (const listener of hearers.parts.listeners) listener.delta?.(delta, hearers.sessionId);
  if (hearers.subscriptions.length > 0) broadcast(hearers, { type: "delta", delta });
}

export function publishProgress(hearers: Subscribers, callKey: string, note: string): void {
  broadcast(hearers, { type: "progress", callKey, note });
}

/** What another process committed. */
export function broadcastFollowed(audience: Broadcast, seq: number, events: readonly PublicEvent[]): void {
  if (seq <= audience.toldUpTo) return;
  audience.toldUpTo = seq;
  for (const event of events) broadcast(audience, event);
  settleEnded(audience, events);
}

/** Somebody goes on watching whoever drives. */
export function hasLastingSubscriber({ subscriptions }: Broadcast): boolean {
  return subscriptions.some(({ stays }) => stays);
}

/** A driver begins at this state: those who stayed are told of what they have not seen. */
export async function catchUpTo(audience: Broadcast, state: State): Promise<void> {
  const { seq } = state;
  await audience.tracing?.begin(state);
  if (hasLastingSubscriber(audience) && audience.toldUpTo < seq) {
    const { toldUpTo } = audience;
    for await (const event of readEvents(audience.parts.store, audience.sessionId, behindEntry(toldUpTo)))
      if (event.seq <= seq) broadcast(audience, event);
  }
  audience.toldUpTo = Math.max(audience.toldUpTo, seq);
}

export function subscribeTo(audience: Broadcast, options: SubscriptionOptions): Subscription {
  const subscription = createSubscription(audience, options, audience.toldUpTo);
  audience.subscriptions = audience.subscriptions.concat(subscription);
  return subscription;
}

export function unsubscribe(audience: Broadcast, subscription: Subscription): void {
  audience.subscriptions = audience.subscriptions.filter((one) => one !== subscription);
}

/** Calls back after each step; returns the way to stop. */
export function onEntry(audience: Broadcast, listener: EntryListener): () => void {
  audience.stepListeners = audience.stepListeners.concat(listener);
  return () => {
    audience.stepListeners = audience.stepListeners.filter((one) => one !== listener);
  };
}

/** The process shuts down: those who wait learn it, and those who stayed get no more. */
export function endForShutdown(audience: Broadcast): void {
  closeWaiters(audience, { type: "interrupted", reason: "shutdown" }, initialState, createTranscript());
  for (const subscription of audience.subscriptions) if (subscription.stays) endSubscription(subscription);
}

/** Nobody can tell of the session any more: those who wait and those who stayed learn why. */
export function endWithError(audience: Broadcast, cause: unknown): void {
  const closing = { type: "interrupted", reason: "store_failed", error: cause } as const;
  closeWaiters(audience, closing, initialState, createTranscript());
  for (const subscription of audience.subscriptions) if (subscription.stays) endSubscription(subscription, { cause });
}

export function isEmpty({ subscriptions, waiters, signals }: Broadcast): boolean {
  return subscriptions.length === 0 && waiters.length === 0 && signals.length === 0;
}

/** A result follows from it: whoever gets that finds that all were told. */
function isLast({ type }: PublicEvent): boolean {
  return type === "final" || type === "suspended";
}
