/**
 * Signals in memory, and the sessions' waits for them.
 */
import type { InboxMessage } from "../../core/machine/inbox.js";
import { isSignalMessage, type SignalWait } from "../../core/machine/signal-waits.js";
import { maxSignalsOfKey, type Signal, type SignalResult } from "../../ports/signal.js";
import type { CommittedWait } from "../../ports/store.js";
import { createSignalMessage, hadPrefix, isInTime, nameOfWait } from "../shared/signals.js";

/** A wait, with the id of the message that delivered its signal. */
export type MemoryWait = SignalWait & { given: string | null };

type WaitingSession = {
  readonly sessionId: string;
  inbox: Map<string, InboxMessage>;
  readonly takenIds: Set<string>;
  /** The id prefixes of the messages that delivered signals to its calls. Null as long as there are none. */
  had: Set<string> | null;
  waits: readonly MemoryWait[];
};

export type MemorySignals = {
  /** By key, each list in the order in which the signals were sent. */
  readonly kept: Map<string, readonly Signal[]>;
  /** By key. */
  readonly waiting: Map<string, Set<WaitingSession>>;
  /** Adds a message to the inbox of a session. */
  readonly post: (sessionId: string, message: InboxMessage) => void;
};

export const noWaits: readonly MemoryWait[] = [];

/** Marks the id of a message as taken. */
export function takeId(session: WaitingSession, id: string): void {
  session.takenIds.add(id);
  if (!isSignalMessage(id)) return;
  session.had ??= new Set();
  session.had.add(id.slice(0, id.indexOf("/", id.indexOf("/") + 1) + 1));
}

/** Whether a new wait would get a signal at once. */
export function wouldGetSignal(
  signals: MemorySignals,
  session: WaitingSession,
  waits: readonly CommittedWait[],
  at: number,
): boolean {
  const known = new Set(session.waits.map(nameOfWait));
  return waits.some(
    (wait) =>
      wait.given === undefined && !known.has(nameOfWait(wait)) && findKept(signals, session, wait, at) !== undefined,
  );
}

/** Ends the waits that are over, and delivers the kept signals to new waits. Mutates the session's waits. */
export function changeWaits(
  signals: MemorySignals,
  session: WaitingSession,
  waits: readonly CommittedWait[],
  at: number,
): void {
  const wanted = new Set(waits.map(nameOfWait));
  const current = new Map(session.waits.map((wait) => [nameOfWait(wait), wait]));
  for (const wait of session.waits) if (!wanted.has(nameOfWait(wait))) takeBack(session, wait);
  forgetWaits(signals, session);
  session.waits = waits.map((wait) => current.get(nameOfWait(wait)) ?? { ...wait, given: wait.given ?? null });
  for (const wait of session.waits) {
    signals.waiting.set(wait.key, (signals.waiting.get(wait.key) ?? new Set()).add(session));
    const kept = wait.given === null ? findKept(signals, session, wait, at) : undefined;
    if (kept !== undefined) deliverSignal(signals, session, wait, kept);
  }
}

/** Takes an unread signal back from a wait that is over. The next wait of the call gets it. */
function takeBack(session: WaitingSession, { callKey, key, given }: MemoryWait): void {
  const message = given === null ? undefined : session.inbox.get(given);
  if (given === null || message === undefined) return;
  session.inbox.delete(given);
  session.takenIds.delete(given);
  const { body } = message;
  const value = body.type === "answer" && body.answer.type === "reply" ? body.answer.value : null;
  const { id } = value as { readonly id: string };
  session.had?.delete(hadPrefix({ key, id }, callKey));
}

export function forgetWaits(signals: MemorySignals, session: WaitingSession): void {
  for (const { key } of session.waits) {
    const sessions = signals.waiting.get(key);
    sessions?.delete(session);
    if (sessions?.size === 0) signals.waiting.delete(key);
  }
  session.waits = noWaits;
}

function findKept(signals: MemorySignals, session: WaitingSession, wait: SignalWait, at: number): Signal | undefined {
  return signals.kept
    .get(wait.key)
    ?.find((signal) => signal.keptUntil > at && isInTime(signal, wait) && !hasHad(session, signal, wait.callKey));
}

function hasHad({ had }: WaitingSession, signal: Signal, callKey: string): boolean {
  return had?.has(hadPrefix(signal, callKey)) === true;
}

function deliverSignal(signals: MemorySignals, session: WaitingSession, wait: MemoryWait, signal: Signal): void {
  const message = createSignalMessage(signal, wait);
  wait.given = message.id;
  signals.post(session.sessionId, message);
}

export function send(signals: MemorySignals, signal: Signal): SignalResult {
  const { key, at } = signal;
  const kept = (signals.kept.get(key) ?? []).filter(({ keptUntil }) => keptUntil > at);
  if (kept.some(({ id }) => id === signal.id)) return { type: "ok", isNew: false, sessions: [] };
  if (kept.length >= maxSignalsOfKey) return { type: "full" };
  signals.kept.set(key, [...kept, signal]);
  const sessions: string[] = [];
  for (const session of signals.waiting.get(key) ?? []) {
    const served = new Set<string>();
    for (const wait of session.waits) {
      const { callKey, given } = wait;
      // Two waits of one call get two different signals.
      if (wait.key !== key || given !== null || served.has(callKey)) continue;
      if (!isInTime(signal, wait) || hasHad(session, signal, callKey)) continue;
      served.add(callKey);
      deliverSignal(signals, session, wait, signal);
    }
    if (served.size > 0) sessions.push(session.sessionId);
  }
  return { type: "ok", isNew: true, sessions };
}

export function list(
  { kept }: MemorySignals,
  now: number,
  { after, limit }: { readonly after?: Pick<Signal, "key" | "id">; readonly limit: number },
): readonly Signal[] {
  const all = [...kept.values()].flat().filter(({ keptUntil }) => keptUntil > now);
  // Stable: signals with the same key keep their order.
  all.sort((a, b) => (a.key === b.key ? 0 : a.key < b.key ? -1 : 1));
  const from = after === undefined ? 0 : all.findIndex(({ key, id }) => key === after.key && id === after.id) + 1;
  return all.slice(from, from + limit);
}

export function drop({ kept }: MemorySignals, now: number, limit: number): number {
  let dropped = 0;
  for (const [key, signals] of kept) {
    const remaining = signals.filter(({ keptUntil }) => keptUntil > now || dropped >= limit || ++dropped === 0);
    if (remaining.length === 0) kept.delete(key);
    else if (remaining.length < signals.length) kept.set(key, remaining);
  }
  return dropped;
}
