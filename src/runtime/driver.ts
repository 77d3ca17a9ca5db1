/**
 * The driver: commits what happened, compares what should be in flight with what is, starts and signals the difference.
 *
 * 1. Nothing is published, started or answered before its commit is durable; memory never runs ahead of the store.
 * 2. A commit that fails closes the driver, but for `busy`, which is tried again first.
 * 3. Events that are ready together share a commit; an effect that answers at once joins the commit that wanted it.
 * 4. An effect that settles and is still wanted under its key is a bug, and closes the driver.
 * 5. When nothing is left to do here, the lease goes with the last commit.
 * 6. An effect starts right after a commit, while nobody else can have claimed the session; in a shutdown only a call that is committed as running.
 */
import type { Effect } from "../core/effect.js";
import { dueOf, effects } from "../core/effects.js";
import type { EventBody } from "../core/event.js";
import { eventsOf, type InboxMessage } from "../core/inbox.js";
import { isResting, isWaiting, type State } from "../core/state.js";
import type { Transcript } from "../core/transcript.js";
import type { Lease } from "../ports/store.js";
import { createCancellation } from "./cancellation.js";
import {
  type Closing,
  type CommitterOptions,
  closingOf,
  createCommitter,
  type Step,
  type Written,
} from "./committer.js";
import { createDraft, type Draft } from "./draft.js";
import type { AgentParts } from "./parts.js";
import { isAnswer, isImmediate, perform } from "./perform/index.js";
import type { Work, WorkMemory } from "./work.js";

export type DriverOptions = {
  readonly sessionId: string;
  readonly parts: AgentParts;
  readonly lease: Lease;
  readonly kept: CommitterOptions["kept"];
  readonly seq: number;
  readonly state: State;
  readonly transcript: Transcript;
  readonly memory: WorkMemory;
  readonly publish: Pick<Work, "publishDelta" | "publishProgress">;
  /** What was committed, in order. */
  readonly onCommitted: (steps: readonly Step[]) => void;
  readonly onClosed: (closing: Closing) => void;
  /** An effect that settled when nobody drives any more. */
  readonly onLate: (event: EventBody) => void;
};

export type Driver = {
  /** The committed state. */
  readonly state: () => State;
  /** Adds what happened; `events` may look at the state that they meet. True when it is durable, false where the driver closed before. */
  readonly dispatch: (events: (state: State) => readonly EventBody[], ids?: Ids) => Promise<boolean>;
  /** Takes messages of the inbox, each once. */
  readonly take: (messages: readonly InboxMessage[]) => Promise<void>;
  /** Takes what is in the inbox; gives the session back where nothing is left to do. False where the driver closed before. */
  readonly wake: () => Promise<boolean>;
  /** Starts nothing but calls that are committed as running; ends when what runs has settled or the grace is over. */
  readonly drain: (graceMs: number) => Promise<void>;
  /** The lease is gone. A commit under way tells better: it may have given the lease back. */
  readonly lose: () => void;
};

type Ids = { readonly consume?: string | undefined; readonly record?: string | undefined };
type Pending = {
  readonly events: readonly EventBody[] | ((state: State) => readonly EventBody[]);
  readonly ids?: Ids;
  /** The effect that settled with it. */
  readonly settled?: string;
  readonly done?: (durable: boolean) => void;
};
type AllIds = { readonly consume: readonly string[]; readonly record: readonly string[] };
type Job = { readonly cancel: () => void; readonly sleeps?: true };

export function createDriver(options: DriverOptions): Driver {
  const { sessionId, parts, transcript, memory, publish } = options;
  const { clock } = parts;
  const committer = createCommitter(options);
  const running = new Map<string, Job>();
  const early = new Map<string, Job & { readonly settled: Promise<EventBody | undefined> }>();
  const taken = new Set<string>();
  let committed = options.state;
  let wanted = { in: committed, effects: effects(committed) };
  let pending: Pending[] = [];
  let flushing = false;
  let closed = false;
  let draining: (() => void) | null = null;

  function dispatch(events: (state: State) => readonly EventBody[], ids: Ids = {}): Promise<boolean> {
    if (closed) return Promise.resolve(false);
    return new Promise((done) => add({ events, ids, done }));
  }

  function add(one: Pending): void {
    if (closed) return;
    pending.push(one);
    if (!flushing) queueMicrotask(flush);
    flushing = true;
  }

  async function flush(): Promise<void> {
    try {
      while (pending.length > 0 && !closed) {
        const batch = pending;
        pending = [];
        const draft = compose(batch);
        const ids = idsOf(batch);
        const release = draining === null && pending.length === 0 && isIdle(draft.state());
        const isEmpty = draft.steps.length === 0 && ids === noIds && !release;
        const beside = { ...ids, dueAt: dueOf(wantedIn(draft.state())), release };
        const written = isEmpty ? nothingWritten : await committer.commit(draft.steps, draft.state(), beside);
        if (written.type === "failed") close(written.closing);
        else goOn(batch, draft, ids, written);
        for (const one of batch) one.done?.(written.type !== "failed");
      }
    } catch (error) {
      close({ type: "broken", error });
    }
    flushing = false;
    if (closed) for (const one of pending.splice(0)) one.done?.(false);
  }

  /** What is written may be acted upon. */
  function goOn(batch: readonly Pending[], draft: Draft, { consume }: AllIds, written: Written): void {
    if (written !== nothingWritten) {
      committed = draft.state();
      options.onCommitted(draft.steps);
      if (written.type === "released") close({ type: "parked" });
      if (closed) return;
      if (written.type === "inbox_not_empty") void wake();
    }
    for (const id of consume) taken.delete(id);
    for (const { settled } of batch) if (settled !== undefined) retire(settled);
    reconcile();
  }

  /** A state is looked at several times: what it wants is found once. */
  function wantedIn(state: State): readonly Effect[] {
    if (wanted.in !== state) wanted = { in: state, effects: effects(state) };
    return wanted.effects;
  }

  function isWanted(key: string): boolean {
    return wantedIn(committed).some((effect) => effect.key === key);
  }

  function retire(key: string): void {
    const sleeping = running.get(key)?.sleeps === true;
    running.delete(key);
    if (!sleeping && isWanted(key)) throw new Error(`The effect ${key} settled and is still wanted.`);
  }

  /** Nothing is wanted here now: the session rests, or waits for somebody outside, who may come to another process. */
  function isIdle(state: State): boolean {
    if (early.size > 0 || !(isResting(state) || isWaiting(state))) return false;
    const due = dueOf(wantedIn(state));
    return due === null || (isWaiting(state) && due > clock.now());
  }

  /** What a batch leads to, with all that follows from it at once. */
  function compose(batch: readonly Pending[]): Draft {
    const draft = createDraft(committed, clock.now(), options);
    for (const { events } of batch)
      for (const body of typeof events === "function" ? events(draft.state()) : events) draft.apply(body);
    let applied = draining === null;
    while (applied) applied = performImmediate(draft);
    return draft;
  }

  function performImmediate(draft: Draft): boolean {
    let applied = false;
    for (const effect of wantedIn(draft.state())) {
      if (!isImmediate(effect) || effect.type === "sleep" || running.has(effect.key) || early.has(effect.key)) continue;
      const cancellation = createCancellation();
      const settled = perform(effect, workIn(draft.state()), cancellation);
      if (settled instanceof Promise) {
        settled.catch(() => {});
        early.set(effect.key, { settled, cancel: cancellation.cancel });
      } else if (settled !== undefined) {
        draft.apply(settled);
        applied = true;
      }
    }
    return applied;
  }

  function workIn(state: State): Work {
    const { publishDelta, publishProgress } = publish;
    return { sessionId, parts, state, transcript, memory, now: clock.now, publishDelta, publishProgress };
  }

  /** Signals what is no longer wanted, and starts what is wanted and not running. */
  function reconcile(): void {
    for (const jobs of [running, early])
      for (const [key, job] of jobs)
        if (!isWanted(key)) {
          jobs.delete(key);
          job.cancel();
        }
    for (const effect of wantedIn(committed))
      if (!running.has(effect.key) && (draining === null || effect.type === "run_tool")) start(effect);
    if (draining !== null && [...running.values()].every((job) => job.sleeps)) draining();
  }

  function start(effect: Effect): void {
    if (effect.type === "sleep") {
      sleep(effect);
      return;
    }
    const begun = early.get(effect.key);
    early.delete(effect.key);
    const cancellation = createCancellation();
    running.set(effect.key, begun ?? cancellation);
    const settled = begun?.settled ?? perform(effect, workIn(committed), cancellation);
    Promise.resolve(settled).then(
      (event) => settle(effect.key, event),
      (error) => close(closingOf(error)),
    );
  }

  function settle(key: string, event: EventBody | undefined): void {
    if (event === undefined) return;
    if (closed) options.onLate(event);
    else if (isAnswer(event)) void wake().then(() => add({ events: [event], settled: key }));
    else add({ events: [event], settled: key });
  }

  function sleep(effect: Extract<Effect, { type: "sleep" }>): void {
    const { key, runId, timer, until, ms, callKey, attempt } = effect;
    const left = Math.max(0, until - clock.now());
    const cancel = clock.after(ms === undefined ? left : Math.min(left, ms), () => {
      const named = { ...(callKey === undefined ? {} : { callKey }), ...(attempt === undefined ? {} : { attempt }) };
      add({ events: [{ type: "woke", runId, timer, ...named }], settled: key });
    });
    running.set(key, { cancel, sleeps: true });
  }

  async function wake(): Promise<boolean> {
    if (closed) return false;
    let messages: readonly InboxMessage[];
    try {
      messages = await parts.store.inbox(sessionId);
    } catch (error) {
      close({ type: "interrupted", reason: "store_failed", error });
      return false;
    }
    void take(messages);
    return dispatch(() => []);
  }

  async function take(messages: readonly InboxMessage[]): Promise<void> {
    const fresh = messages.filter((message) => !taken.has(message.id));
    for (const message of fresh) taken.add(message.id);
    await Promise.all(fresh.map((message) => dispatch((state) => eventsOf(message, state), { consume: message.id })));
  }

  async function drain(graceMs: number): Promise<void> {
    if (closed) return;
    let cancel = () => {};
    await new Promise<void>((settled) => {
      draining = settled;
      cancel = clock.after(graceMs, settled);
      void dispatch(() => []);
    });
    cancel();
    if (closed) return;
    await committer.release();
    close({ type: "interrupted", reason: "shutdown" });
  }

  function close(closing: Closing): void {
    if (closed) return;
    closed = true;
    for (const job of [...running.values(), ...early.values()]) job.cancel();
    running.clear();
    options.onClosed(closing);
  }

  function lose(): void {
    if (!flushing) close({ type: "interrupted", reason: "lease_lost" });
  }

  return { state: () => committed, dispatch, take, wake, drain, lose };
}

const noIds: AllIds = { consume: [], record: [] };
const nothingWritten: Written = { type: "committed" };

function idsOf(batch: readonly Pending[]): AllIds {
  if (batch.every(({ ids }) => ids?.consume === undefined && ids?.record === undefined)) return noIds;
  return {
    consume: batch.flatMap(({ ids }) => ids?.consume ?? []),
    record: batch.flatMap(({ ids }) => ids?.record ?? []),
  };
}
