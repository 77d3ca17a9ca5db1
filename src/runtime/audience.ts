/**
 * Those who watch a session or wait for it, in this process.
 *
 * 1. An entry is told once, whether it was committed here or by another process, and in the order of the log.
 * 2. Whoever waits for a run learns of its end with those who watch.
 */
import type { PublicEvent } from "../core/public-event.js";
import { initialState, type State } from "../core/state.js";
import { createTranscript, type Transcript } from "../core/transcript.js";
import type { MessageDelta } from "../ports/model.js";
import { partialOf } from "./assembled.js";
import { type Assembly, endWith } from "./assembly.js";
import type { Step } from "./committer.js";
import { readEvents } from "./history.js";
import type { AgentParts } from "./parts.js";
import { createSignals, type Signals } from "./signals.js";
import { createSubscription, type Snapshot, type StreamItem, type Subscription } from "./subscription.js";
import { createTracing } from "./trace/tracing.js";
import { createWaiters, type Waiters } from "./waiters.js";
import type { Work } from "./work.js";

export type StepListener = (step: Step, transcript: Transcript) => void;

export type SubscribeOptions = {
  /** Only what belongs to this run. */
  readonly runId?: string;
  /** Goes on after a run has ended, and when another process takes over: with what follows this entry, which was committed. */
  readonly stayAfter?: number;
};

export type Audience = Pick<Work, "publishDelta" | "publishProgress"> & {
  readonly waiters: Waiters;
  readonly signals: Signals;
  /** What was committed here. */
  readonly tell: (steps: readonly Step[], transcript: Transcript) => void;
  /** What another process committed. */
  readonly tellFollowed: (seq: number, events: readonly PublicEvent[]) => void;
  /** The last entry that was told. */
  readonly toldUpTo: () => number;
  /** A driver begins at this state: those who stayed are told of what they have not seen. */
  readonly beginAt: (state: State) => Promise<void>;
  readonly subscribe: (options?: SubscribeOptions) => Subscription;
  readonly onStep: (listener: StepListener) => () => void;
  /** Somebody goes on watching whoever drives. */
  readonly stays: () => boolean;
  /** Nobody can tell of the session any more: those who wait and those who stayed learn why. */
  readonly giveUp: (error: unknown) => void;
  /** The process shuts down: those who wait learn it, and those who stayed get no more. */
  readonly dismiss: () => void;
  readonly isEmpty: () => boolean;
};

export type AudienceOptions = {
  readonly sessionId: string;
  readonly parts: Pick<AgentParts, "store" | "listeners" | "redact">;
  /** The message that is being streamed. */
  readonly streaming: () => Assembly | null;
  readonly abort: (runId: string) => void;
  /** Nobody here tells of the session: neither a driver nor a follower. */
  readonly isSilent: () => boolean;
  readonly onLeave: () => void;
};

export function createAudience(options: AudienceOptions): Audience {
  const { sessionId, parts, streaming, onLeave } = options;
  const { store, listeners } = parts;
  const subscriptions = new Map<Subscription, { readonly stays: boolean }>();
  const stepListeners = new Set<StepListener>();
  const waiters = createWaiters(sessionId);
  const signals = createSignals(options.abort);
  const tracing = createTracing(sessionId, parts);
  let toldUpTo = 0;

  function broadcast(item: StreamItem): void {
    for (const subscription of subscriptions.keys()) subscription.push(item);
  }

  function settleEnded(events: readonly PublicEvent[]): void {
    for (const event of events)
      if (event.type === "final") {
        signals.forget(event.runId);
        waiters.settle(event.result, event.seq);
      }
  }

  function tell(steps: readonly Step[], transcript: Transcript): void {
    for (const step of steps) {
      if (step.entry.event.type === "run_finished") cutShort();
      // A driver that was closed during a commit may come after the follower in telling of it.
      const isNew = step.entry.seq > toldUpTo;
      toldUpTo = Math.max(toldUpTo, step.entry.seq);
      for (const event of step.events) {
        for (const listener of listeners) listener.event?.(event);
        if (isNew) broadcast(event);
      }
      tracing.see(step);
      if (step.events.some(isLast)) for (const listener of listeners) listener.catchUp();
      for (const listener of stepListeners) listener(step, transcript);
      settleEnded(step.events);
    }
  }

  /** A model that was given up says nothing more: its stream ends with its run. */
  function cutShort(): void {
    const partial = streaming();
    if (partial === null) return;
    for (const delta of endWith(partial, { kind: "cancelled", message: "The call was given up." })) publishDelta(delta);
  }

  function publishDelta(delta: MessageDelta): void {
    for (const listener of listeners) listener.delta?.(delta, sessionId);
    if (subscriptions.size > 0) broadcast({ type: "delta", delta });
  }

  function tellFollowed(seq: number, events: readonly PublicEvent[]): void {
    if (seq <= toldUpTo) return;
    toldUpTo = seq;
    for (const event of events) broadcast(event);
    settleEnded(events);
  }

  const stays = () => [...subscriptions.values()].some((one) => one.stays);

  async function beginAt(state: State): Promise<void> {
    const { seq } = state;
    await tracing.begin(state);
    if (stays() && toldUpTo < seq) {
      const events = await readEvents(store, sessionId, toldUpTo);
      const told = toldUpTo;
      for (const event of events) if (event.seq > told && event.seq <= seq) broadcast(event);
    }
    toldUpTo = Math.max(toldUpTo, seq);
  }

  function subscribe({ runId, stayAfter }: SubscribeOptions = {}): Subscription {
    // Nobody else is owed what came before.
    if (options.isSilent() && !stays() && waiters.count() === 0) toldUpTo = Math.max(toldUpTo, stayAfter ?? 0);
    const subscription = createSubscription({
      after: toldUpTo,
      readLog: (after) => readEvents(store, sessionId, after),
      snapshot: () => snapshotOf(streaming()),
      ...(runId === undefined ? {} : { runId }),
      onLeave() {
        subscriptions.delete(subscription);
        onLeave();
      },
    });
    subscriptions.set(subscription, { stays: stayAfter !== undefined });
    return subscription;
  }

  return {
    waiters,
    signals,
    tell,
    tellFollowed,
    toldUpTo: () => toldUpTo,
    beginAt,
    publishDelta,
    publishProgress: (callKey, note) => broadcast({ type: "progress", callKey, note }),
    subscribe,
    onStep(listener) {
      stepListeners.add(listener);
      return () => stepListeners.delete(listener);
    },
    stays,
    dismiss() {
      waiters.close({ type: "interrupted", reason: "shutdown" }, initialState, createTranscript());
      for (const [subscription, { stays: stayed }] of subscriptions) if (stayed) subscription.end();
    },
    giveUp(cause) {
      waiters.close({ type: "interrupted", reason: "store_failed", error: cause }, initialState, createTranscript());
      for (const [subscription, { stays: stayed }] of subscriptions) if (stayed) subscription.end({ cause });
    },
    isEmpty: () => subscriptions.size === 0 && waiters.count() === 0 && signals.count() === 0,
  };
}

/** A result follows from it: whoever gets that finds that all were told. */
function isLast({ type }: PublicEvent): boolean {
  return type === "final" || type === "suspended";
}

function snapshotOf(partial: Assembly | null): Snapshot | null {
  if (partial === null) return null;
  const { runId, modelCallIndex, attempt } = partial.identity;
  return { type: "snapshot", runId, modelCallIndex, attempt, deltaSeq: partial.seq, ...partialOf(partial) };
}
