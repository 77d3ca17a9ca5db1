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
import type { Effect } from "../../core/machine/effect.js";
import { dueOf, effects } from "../../core/machine/effects.js";
import type { EventBody } from "../../core/machine/event.js";
import { eventsOf, type InboxMessage } from "../../core/machine/inbox.js";
import { isResting, isWaiting, type State } from "../../core/machine/state.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import { type CompiledAgent, holderDefaults } from "../agent/compiled-agent.js";
import { isAnswer, isImmediate, perform } from "../effects/perform.js";
import { abort, type Cancellation, createCancellation, onCancel } from "../lib/cancellation.js";
import { type Closing, closingOf } from "../log/closing.js";
import type { CommittedEntry } from "../log/committed-entry.js";
import { releaseLease } from "../log/driver-errors.js";
import type { Subscribers } from "../subscribers/broadcast.js";
import type { EffectContext, ProcessMemory } from "../work/effect-context.js";
import { type AllIds, type Events, type Ids, idsOf, noIds, type PendingCommit } from "./batch.js";
import { type Committer, commit, type WriteResult } from "./committer.js";
import { createDraft, type Draft } from "./draft-commit.js";

export type DriverOptions = Committer & {
  readonly parts: CompiledAgent;
  readonly transcript: Transcript;
  readonly memory: ProcessMemory;
  readonly hearers: Subscribers;
  /** The committed state. */
  state: State;
  /** What was committed, in order. */
  readonly onCommitted: (steps: readonly CommittedEntry[]) => void;
  readonly onClosed: (closing: Closing) => void;
  /** An effect that settled when nobody drives any more. */
  readonly onLate: (event: EventBody) => void;
};

export type Driver = DriverOptions & {
  /** What is in flight, by the key of its effect. */
  readonly jobs: Map<string, Job>;
  /** Messages of the inbox that are on their way into the log. */
  taken: Set<string> | null;
  wanted: { readonly in: State; readonly effects: readonly Effect[] };
  pending: PendingCommit[];
  flushing: boolean;
  closed: boolean;
  draining: (() => void) | null;
};

type Job = {
  readonly cancellation: Cancellation;
  readonly sleeps?: true;
  /** What it will settle with, where it began before the commit that wants it. */
  readonly early?: Promise<EventBody | undefined>;
};

/** Field by field: V8 gives each object that a spread has begun a shape of its own, which takes more bytes than what is in it. */
export function createDriver(options: DriverOptions): Driver {
  const { state } = options;
  return {
    sessionId: options.sessionId,
    parts: options.parts,
    keeper: options.keeper,
    kept: options.kept,
    seq: options.seq,
    state,
    transcript: options.transcript,
    memory: options.memory,
    hearers: options.hearers,
    onCommitted: options.onCommitted,
    onClosed: options.onClosed,
    onLate: options.onLate,
    jobs: new Map(),
    taken: null,
    wanted: { in: state, effects: effects(state) },
    pending: [],
    flushing: false,
    closed: false,
    draining: null,
  };
}

/** Adds what happened; `events` may look at the state that they meet. True when it is durable, false where the driver closed before. */
export function dispatch(driver: Driver, events: Events, ids: Ids = {}): Promise<boolean> {
  if (driver.closed) return Promise.resolve(false);
  return new Promise((done) => add(driver, { events, ids, done }));
}

function add(driver: Driver, one: PendingCommit): void {
  if (driver.closed) leaveOut(driver, one);
  else driver.pending.push(one);
  if (driver.closed || driver.flushing) return;
  queueMicrotask(() => flush(driver));
  driver.flushing = true;
}

async function flush(driver: Driver): Promise<void> {
  try {
    while (driver.pending.length > 0 && !driver.closed) {
      const batch = driver.pending;
      driver.pending = [];
      const draft = compose(driver, batch);
      const state = draft.state();
      const ids = idsOf(batch);
      const leaves = driver.draining === null && driver.pending.length === 0 && isIdle(driver, state);
      const isEmpty = draft.steps.length === 0 && ids === noIds && !leaves;
      const beside = { ...ids, dueAt: dueOf(effectsOf(driver, state)), release: leaves };
      const written = isEmpty ? nothingWritten : await commit(driver, draft.steps, state, beside);
      if (written.type === "failed") close(driver, written.closing);
      else continueAfter(driver, batch, draft, ids, written);
      for (const one of batch) one.done?.(written.type !== "failed");
    }
  } catch (error) {
    close(driver, { type: "broken", error });
  }
  driver.flushing = false;
  if (driver.closed) for (const one of driver.pending.splice(0)) leaveOut(driver, one);
}

/** It came too late for the last commit, which may have been under way. */
function leaveOut(driver: Driver, { events, settled, done }: PendingCommit): void {
  if (settled !== undefined && typeof events !== "function") for (const event of events) driver.onLate(event);
  done?.(false);
}

/** What is written may be acted upon. */
function continueAfter(
  driver: Driver,
  batch: readonly PendingCommit[],
  draft: Draft,
  { consume }: AllIds,
  written: WriteResult,
): void {
  if (written !== nothingWritten) {
    driver.state = draft.state();
    driver.onCommitted(draft.steps);
    if (written.type === "released") close(driver, { type: "parked" });
    if (driver.closed) return;
    if (written.type === "inbox_not_empty") void wake(driver);
  }
  for (const id of consume) driver.taken?.delete(id);
  if (driver.taken?.size === 0) driver.taken = null;
  for (const { settled } of batch) if (settled !== undefined) retire(driver, settled);
  startAndAbort(driver);
}

/** A state is looked at several times: what it wants is found once. */
function effectsOf(driver: Driver, state: State): readonly Effect[] {
  if (driver.wanted.in !== state) driver.wanted = { in: state, effects: effects(state) };
  return driver.wanted.effects;
}

function isWanted(driver: Driver, key: string): boolean {
  return effectsOf(driver, driver.state).some((effect) => effect.key === key);
}

function retire(driver: Driver, key: string): void {
  const sleeping = driver.jobs.get(key)?.sleeps === true;
  driver.jobs.delete(key);
  if (!sleeping && isWanted(driver, key)) throw new Error(`The effect ${key} settled and is still wanted.`);
}

/** Nothing is wanted here now: the session rests, or waits for somebody outside, who may come to another process. */
function isIdle(driver: Driver, state: State): boolean {
  if (!(isResting(state) || isWaiting(state))) return false;
  for (const { early } of driver.jobs.values()) if (early !== undefined) return false;
  const due = dueOf(effectsOf(driver, state));
  return due === null || (isWaiting(state) && due > driver.parts.clock.now());
}

/** What a batch leads to, with all that follows from it at once. */
function compose(driver: Driver, batch: readonly PendingCommit[]): Draft {
  const draft = createDraft(driver.state, driver.parts.clock.now(), driver);
  for (const { events } of batch)
    for (const body of typeof events === "function" ? events(draft.state()) : events) draft.apply(body);
  let applied = driver.draining === null;
  while (applied) applied = performImmediate(driver, draft);
  return draft;
}

function performImmediate(driver: Driver, draft: Draft): boolean {
  let applied = false;
  for (const effect of effectsOf(driver, draft.state())) {
    if (!isImmediate(effect) || effect.type === "sleep" || driver.jobs.has(effect.key)) continue;
    const cancellation = createCancellation();
    const settled = perform(effect, workIn(driver, draft.state()), cancellation);
    if (settled instanceof Promise) {
      settled.catch(() => {});
      driver.jobs.set(effect.key, { cancellation, early: settled });
    } else if (settled !== undefined) {
      draft.apply(settled);
      applied = true;
    }
  }
  return applied;
}

function workIn({ sessionId, parts, transcript, memory, hearers }: Driver, state: State): EffectContext {
  return { sessionId, parts, state, transcript, memory, now: parts.clock.now, hearers };
}

/** Signals what is no longer wanted, and starts what is wanted and not running. */
function startAndAbort(driver: Driver): void {
  const { jobs, draining } = driver;
  for (const [key, { cancellation }] of jobs)
    if (!isWanted(driver, key)) {
      jobs.delete(key);
      abort(cancellation);
    }
  for (const effect of effectsOf(driver, driver.state))
    if (!isStarted(jobs.get(effect.key)) && (draining === null || effect.type === "run_tool")) start(driver, effect);
  if (draining !== null && [...jobs.values()].every((job) => job.sleeps || !isStarted(job))) draining();
}

function isStarted(job: Job | undefined): boolean {
  return job !== undefined && job.early === undefined;
}

function start(driver: Driver, effect: Effect): void {
  if (effect.type === "sleep") {
    sleep(driver, effect);
    return;
  }
  const begun = driver.jobs.get(effect.key);
  const { cancellation } = begun ?? { cancellation: createCancellation() };
  driver.jobs.set(effect.key, { cancellation });
  const settled = begun?.early ?? perform(effect, workIn(driver, driver.state), cancellation);
  Promise.resolve(settled).then(
    (event) => settle(driver, effect.key, event),
    (error) => close(driver, closingOf(error)),
  );
}

function settle(driver: Driver, key: string, event: EventBody | undefined): void {
  if (event === undefined) return;
  if (isAnswer(event)) void wake(driver).then(() => add(driver, { events: [event], settled: key }));
  else add(driver, { events: [event], settled: key });
}

function sleep(driver: Driver, effect: Extract<Effect, { type: "sleep" }>): void {
  const { key, runId, timer, until, ms, callKey, attempt } = effect;
  const { clock } = driver.parts;
  const left = Math.max(0, until - clock.now());
  const cancellation = createCancellation();
  const cancel = clock.after(ms === undefined ? left : Math.min(left, ms), () => {
    const named = { ...(callKey === undefined ? {} : { callKey }), ...(attempt === undefined ? {} : { attempt }) };
    add(driver, { events: [{ type: "timer_fired", runId, timer, ...named }], settled: key });
  });
  onCancel(cancellation, cancel);
  driver.jobs.set(key, { cancellation, sleeps: true });
}

/** Takes what is in the inbox; gives the session back where nothing is left to do. False where the driver closed before. */
export async function wake(driver: Driver): Promise<boolean> {
  if (driver.closed) return false;
  let messages: readonly InboxMessage[];
  try {
    messages = await driver.parts.store.inbox(driver.sessionId);
  } catch (error) {
    close(driver, { type: "interrupted", reason: "store_failed", error });
    return false;
  }
  void takeMessages(driver, messages);
  return dispatch(driver, () => []);
}

/** Takes messages of the inbox, each once. */
export async function takeMessages(driver: Driver, messages: readonly InboxMessage[]): Promise<void> {
  const fresh = messages.filter(({ id }) => driver.taken?.has(id) !== true);
  for (const { id } of fresh) driver.taken = (driver.taken ?? new Set()).add(id);
  await Promise.all(
    fresh.map((one) =>
      dispatch(driver, (state) => eventsOf(one, state, holderDefaults(driver.parts)), { consume: one.id }),
    ),
  );
}

/** Starts nothing but calls that are committed as running; ends when what runs has settled or the grace is over. */
export async function drain(driver: Driver, graceMs: number): Promise<void> {
  if (driver.closed) return;
  let cancel = () => {};
  await new Promise<void>((settled) => {
    driver.draining = settled;
    cancel = driver.parts.clock.after(graceMs, settled);
    void dispatch(driver, () => []);
  });
  cancel();
  if (driver.closed) return;
  await releaseLease(driver.parts.store, driver.kept.lease);
  close(driver, { type: "interrupted", reason: "shutdown" });
}

function close(driver: Driver, closing: Closing): void {
  if (driver.closed) return;
  driver.closed = true;
  for (const { cancellation } of driver.jobs.values()) abort(cancellation);
  driver.jobs.clear();
  driver.onClosed(closing);
}

/** The lease is gone. A commit under way tells better: it may have given the lease back. */
export function lose(driver: Driver): void {
  if (!driver.flushing) close(driver, { type: "interrupted", reason: "lease_lost" });
}

const nothingWritten: WriteResult = { type: "committed" };
