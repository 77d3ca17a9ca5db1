/**
 * A session in this process: driven here where its lease can be had, followed where another process holds it.
 *
 * 1. What anybody says is posted to the inbox, or, by the driver itself, committed with its id taken; so it counts once.
 * 2. Whoever waits for a run gets one result: its end, what it waits for, or why it stopped here.
 * 3. An idle session holds nothing: no lease, no transcript, no timer.
 */
import { effects } from "../core/effects.js";
import type { EventBody } from "../core/event.js";
import { eventsOf, type InboxMessage } from "../core/inbox.js";
import type { RunResult } from "../core/outcome.js";
import { initialState, isResting, type State } from "../core/state.js";
import type { Transcript } from "../core/transcript.js";
import type { Lease } from "../ports/store.js";
import { messageOf } from "./assembly.js";
import type { Closing, Step } from "./committer.js";
import { createDriver, type Driver } from "./driver.js";
import { followLog } from "./follow.js";
import { findResult, loadTranscript, readEvents } from "./history.js";
import type { LeaseKeeper } from "./lease-keeper.js";
import { type AgentParts, checkAgent } from "./parts.js";
import { createSubscription, type StreamItem, type Subscription } from "./subscription.js";
import { createWaiters } from "./waiters.js";
import { watchInbox } from "./watch-inbox.js";
import type { WorkMemory } from "./work.js";

export type StepListener = (step: Step, transcript: Transcript) => void;

export type Live = {
  readonly sessionId: string;
  /** Sends a message to the session: by its driver where that is here, else, or where its id is `shared`, through the inbox. */
  readonly say: (message: InboxMessage, options: { readonly shared: boolean }) => Promise<"said" | "duplicate">;
  /** Sends the message that asks for a run, and gives the run's result. */
  readonly run: (runId: string, message: InboxMessage, options: { readonly shared: boolean }) => Promise<RunResult>;
  /** Carries on what is under way, or starts what is queued; gives the result. */
  readonly resume: () => Promise<RunResult>;
  /** `stay` goes on after a run has ended, and when another process takes over. */
  readonly subscribe: (options?: { readonly stay?: boolean }) => Subscription;
  readonly onStep: (listener: StepListener) => () => void;
  readonly drain: (graceMs: number) => Promise<void>;
};

type Driven = { readonly driver: Driver; readonly transcript: Transcript; readonly memory: WorkMemory };

export function createLive(sessionId: string, parts: AgentParts, keeper: LeaseKeeper, onIdle: () => void): Live {
  const { store, clock } = parts;
  const subscriptions = new Map<Subscription, { readonly stay: boolean }>();
  const stepListeners = new Set<StepListener>();
  const waiters = createWaiters(sessionId);
  let driven: Driven | null = null;
  let opening: Promise<"driving" | "held"> | null = null;
  let following: (() => void) | null = null;
  let lastSeq = 0;
  let lastClosing: Closing | null = null;

  function broadcast(item: StreamItem): void {
    for (const subscription of subscriptions.keys()) subscription.push(item);
  }

  function onCommitted(steps: readonly Step[], transcript: Transcript): void {
    for (const step of steps) {
      lastSeq = step.entry.seq;
      for (const event of step.events) {
        for (const listener of parts.listeners) listener.event(event);
        broadcast(event);
      }
      for (const listener of stepListeners) listener(step, transcript);
      for (const event of step.events) if (event.type === "final") waiters.settle(event.result);
    }
  }

  function onClosed(closing: Closing, state: State, transcript: Transcript): void {
    driven = null;
    lastClosing = closing;
    waiters.close(closing, state, transcript);
    if (hasStaying()) follow();
    else leaveIfIdle();
  }

  function hasStaying(): boolean {
    return [...subscriptions.values()].some((one) => one.stay);
  }

  function leaveIfIdle(): void {
    const idle = driven === null && opening === null && following === null;
    if (idle && subscriptions.size === 0 && waiters.count() === 0) onIdle();
  }

  function open(): Promise<"driving" | "held"> {
    if (driven !== null) return Promise.resolve("driving");
    opening ??= claim().finally(() => {
      opening = null;
      leaveIfIdle();
    });
    return opening;
  }

  async function claim(): Promise<"driving" | "held"> {
    const { owner, leaseMs, isDead } = keeper;
    const options = { owner, now: clock.now(), leaseMs };
    const claimed = await store.claim(sessionId, isDead === undefined ? options : { ...options, isDead });
    if (claimed.type === "held") {
      follow();
      return "held";
    }
    following?.();
    try {
      const state = claimed.state ?? initialState;
      checkAgent(sessionId, state, parts);
      await drive(claimed.lease, claimed.seq, state);
    } catch (error) {
      await store.release(claimed.lease);
      throw error;
    }
    return "driving";
  }

  async function drive(lease: Lease, seq: number, state: State): Promise<void> {
    const transcript = await loadTranscript(store, sessionId, state);
    const messages = await store.inbox(sessionId);
    const memory: WorkMemory = { validated: new Map(), modelCall: null, partial: null };
    const forget = keeper.keep(lease, () => driver.close({ type: "interrupted", reason: "lease_lost" }));
    const unwatch = watchInbox(sessionId, store, clock, () => void driver.wake());
    const driver = createDriver({
      sessionId,
      parts,
      lease,
      seq,
      state,
      transcript,
      memory,
      publish: {
        publishDelta(delta) {
          for (const listener of parts.listeners) listener.delta(delta, sessionId);
          if (subscriptions.size > 0) broadcast({ type: "delta", delta });
        },
        publishProgress: (callKey, note) => broadcast({ type: "progress", callKey, note }),
      },
      onCommitted: (steps) => onCommitted(steps, transcript),
      onLate: (event) => void sayLate(event),
      onClosed(closing) {
        forget();
        unwatch();
        onClosed(closing, driver.state(), transcript);
      },
    });
    lastSeq = seq;
    driven = { driver, transcript, memory };
    begin(driver, state, messages);
  }

  /** What waits in the inbox goes first: an abort there keeps things from being started again only to be stopped. */
  function begin(driver: Driver, state: State, messages: readonly InboxMessage[]): void {
    void driver.take(messages);
    if (isResting(state)) return;
    const inDoubt = effects(state).some((effect) => effect.type !== "sleep");
    const { runId } = state;
    void driver.dispatch(() => (inDoubt ? [{ type: "restarted", runId, owner: keeper.owner.id }] : []));
  }

  /** What settles when the run is over still belongs to its call; what this process was cut off from is not its to say. */
  async function sayLate(event: EventBody): Promise<void> {
    if (lastClosing?.type !== "parked" || event.type !== "tool_finished" || event.output === undefined) return;
    const { callKey, output, outcome } = event;
    const body = { type: "result", callKey, output, isError: outcome !== "ok" } as const;
    try {
      await say({ id: `late/${callKey}`, at: clock.now(), body }, { shared: true });
    } catch {
      // The store that refused it has ended the run as well, and its result said so.
    }
  }

  async function say(message: InboxMessage, { shared }: { readonly shared: boolean }): Promise<"said" | "duplicate"> {
    while (!shared && (await open()) === "driving") {
      const durable = await driven?.driver.dispatch((state) => eventsOf(message, state), { record: message.id });
      if (durable === true) return "said";
      if (driven === null && lastClosing?.type !== "parked") return "said";
    }
    const posted = await store.post(sessionId, message);
    if (posted.type === "duplicate") return "duplicate";
    if ((await open()) === "driving") await driven?.driver.wake();
    return "said";
  }

  async function run(runId: string, message: InboxMessage, options: { readonly shared: boolean }): Promise<RunResult> {
    return waiters
      .during(runId, async (result) => {
        const said = await say(message, options);
        const known = said === "duplicate" ? await findResult(store, sessionId, runId) : null;
        if (known !== null) return known;
        if (said === "duplicate") await open();
        return result;
      })
      .finally(leaveIfIdle);
  }

  async function resume(): Promise<RunResult> {
    return waiters
      .during(undefined, async (result) => {
        if ((await open()) === "driving") await driven?.driver.dispatch(startQueued);
        return result;
      })
      .finally(leaveIfIdle);
  }

  function follow(): void {
    following ??= followLog({
      sessionId,
      store,
      clock,
      after: lastSeq,
      onEvents(events) {
        for (const event of events) {
          lastSeq = event.seq;
          broadcast(event);
          if (event.type === "final") waiters.settle(event.result);
        }
      },
      onWaiting: waiters.settle,
      isWanted: () => waiters.count() > 0 || hasStaying(),
      takeOver: async () => waiters.count() > 0 && (await open()) === "driving",
      onEnd(error) {
        following = null;
        if (error !== undefined) waiters.fail(error);
        leaveIfIdle();
      },
    });
  }

  function subscribe({ stay = false }: { readonly stay?: boolean } = {}): Subscription {
    const subscription = createSubscription(
      (after) => readEvents(store, sessionId, after),
      () => {
        subscriptions.delete(subscription);
        leaveIfIdle();
      },
    );
    const partial = driven?.memory.partial ?? null;
    if (partial !== null) {
      const { runId, modelCallIndex, attempt } = partial.identity;
      subscription.push({
        type: "snapshot",
        runId,
        modelCallIndex,
        attempt,
        deltaSeq: partial.seq,
        message: messageOf(partial),
      });
    }
    subscriptions.set(subscription, { stay });
    if (stay && driven === null) follow();
    return subscription;
  }

  return {
    sessionId,
    say,
    run,
    resume,
    subscribe,
    onStep(listener) {
      stepListeners.add(listener);
      return () => stepListeners.delete(listener);
    },
    drain: async (graceMs) => driven?.driver.drain(graceMs),
  };
}

/** Starts the next run of the queue, where none is under way (after an abort). */
function startQueued(state: State): readonly EventBody[] {
  if (!isResting(state)) return [];
  const next = state.queue.find((one) => one.kind === "run");
  if (next?.kind !== "run") return [];
  return [{ type: "run_started", runId: next.runId, limits: next.limits, queuedSeq: next.seq }];
}
