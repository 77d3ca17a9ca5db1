/**
 * The driver of a session: commits events, then compares the effects that the state wants with those in flight. It
 * starts what is missing and cancels what is no longer wanted.
 *
 * Who owns what:
 * - The driver owns the committed state, the transcript, the effects in flight (`jobs`) and the batch of pending
 *   commits.
 * - The committer (committer.ts) owns the number of the last entry, and is the only writer of a driven session's log.
 * - The lease keeper (lease-keeper.ts) owns the leases of all sessions of the process, and renews them.
 * - The local session (session/local-session.ts) owns the driver. It opens, follows, drains and forgets a session.
 * - The broadcast (subscribers/broadcast.ts) owns the subscriptions and waiters of a local session.
 *
 * Who calls whom:
 * - The local session calls `createDriver`, `takeMessages`, `dispatch`, `wake`, `drain`. The watch of the inboxes calls
 *   `wake`.
 * - The driver calls `commit`, which calls the store, and asks the lease keeper whether the lease is still held
 *   (`holdOf`). The driver reads the inbox itself, and after a drain it releases the lease itself.
 * - The driver calls `onCommitted`, `onClosed` and `onLate` of the local session. The local session passes commits and
 *   the closing on to the broadcast, and posts late results. Effects publish deltas and progress to the subscribers
 *   directly.
 * - The local session calls `keepLease` and `dropLease`. If a lease is lost, the lease keeper calls back, and the local
 *   session calls `lose`.
 *
 * Invariants:
 * 1. Nothing is published, started or answered before its commit is durable; memory never runs ahead of the store.
 * 2. A commit that fails closes the driver. Only `busy` is retried first.
 * 3. Events that are ready together share a commit. An effect that answers at once joins the commit that wanted it.
 * 4. An effect that settles and is still wanted under its key is a bug, and closes the driver.
 * 5. When nothing is left to do here, the last commit releases the lease.
 * 6. An effect starts right after a commit, while nobody else can have claimed the session. If it waits on the way to
 *    the call of a model or a tool, it looks once more directly before (effects/may-start.ts). In a shutdown only calls
 *    start that are committed as running.
 */
import type { Effect } from "../../core/machine/effect.js";
import { dueOf, effects } from "../../core/machine/effects.js";
import type { EventBody } from "../../core/machine/event.js";
import { eventsOf, type InboxMessage } from "../../core/machine/inbox.js";
import { hasCalls, isResting, isWaiting, type State } from "../../core/machine/state.js";
import { holderDefaults } from "../agent/compiled-agent.js";
import { isAnswer, isImmediate, perform } from "../effects/perform.js";
import { abort, createCancellation } from "../lib/cancellation.js";
import { type Closing, closingOf } from "../log/closing.js";
import { abortReason, closingError } from "./abort-reason.js";
import { cancelChecks } from "./approval-checks.js";
import { type AllIds, type Events, type Ids, idsOf, noIds, type PendingCommit } from "./batch.js";
import { takeChecked } from "./check-message.js";
import { commit, type WriteResult } from "./committer.js";
import { createDraft, type Draft } from "./draft-commit.js";
import type { Driver, DriverOptions, Job, MessageChange } from "./driver-parts.js";
import { beginLook, endLook, noLooks, noteConsumed, takeFresh } from "./inbox-looks.js";
import { holdOf } from "./lease-keeper.js";
import { readInbox } from "./read-inbox.js";
import { createRecorder } from "./recorder.js";
import { sleep } from "./sleep.js";
import { tellAnswers } from "./tell-answers.js";
import { withoutAgent, workIn } from "./work-in.js";

export type { Driver, DriverOptions } from "./driver-parts.js";

/** Copies field by field: V8 gives each object literal with a spread a hidden class of its own, which costs memory. */
export function createDriver(options: DriverOptions): Driver {
  const { state, keeper, kept } = options;
  const storeFailed = (error: unknown) => close(driver, { type: "interrupted", reason: "store_failed", error });
  const driver: Driver = {
    sessionId: options.sessionId,
    parts: options.parts,
    kept,
    hold: holdOf(keeper, kept, storeFailed),
    recorder: createRecorder(() => driver, recording),
    seq: options.seq,
    state,
    transcript: options.transcript,
    memory: options.memory,
    hearers: options.hearers,
    questions: options.questions,
    onCommitted: options.onCommitted,
    onClosed: options.onClosed,
    onLate: options.onLate,
    jobs: new Map(),
    taken: null,
    looks: noLooks,
    checks: null,
    wanted: { in: state, effects: effects(state) },
    pending: [],
    flushing: null,
    closed: false,
    closing: null,
    draining: null,
    released: false,
  };
  return driver;
}

const recording = { dispatch, letGo };

/**
 * Adds events to the next commit. `events` computes them from the state that they will be applied to. Resolves to true
 * when they are durable, and to false if the driver closes before.
 */
export function dispatch(driver: Driver, events: Events, ids: Ids = {}): Promise<boolean> {
  if (driver.closed) return Promise.resolve(false);
  return new Promise((done) => add(driver, { events, ids, done }));
}

function add(driver: Driver, addition: PendingCommit): void {
  if (driver.closed) leaveOut(driver, addition);
  else driver.pending.push(addition);
  if (driver.closed) return;
  driver.flushing ??= Promise.resolve().then(() => flush(driver));
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
      const reason = abortReason(draft.steps, state, driver.hearers);
      const onUnsure = () => cancelUnwanted(driver, batch, state, reason);
      // The new keys come first: on Node 20, adding keys to a copy is twenty times slower.
      const beside = { dueAt: dueOf(effectsOf(driver, state)), release: leaves, onUnsure, ...ids };
      const written = isEmpty ? nothingWritten : await commit(driver, draft.steps, state, beside);
      if (written.type === "failed") close(driver, written.closing);
      else continueAfter(driver, batch, draft, ids, written, reason);
      for (const one of batch) one.done?.(written.type !== "failed");
    }
  } catch (error) {
    close(driver, { type: "broken", error });
  }
  driver.flushing = null;
  if (driver.closed) for (const one of driver.pending.splice(0)) leaveOut(driver, one);
}

/** Handles events that came too late for the last commit. */
function leaveOut(driver: Driver, { events, settled, done }: PendingCommit): void {
  if (settled !== undefined && typeof events !== "function") for (const event of events) driver.onLate(event);
  done?.(false);
}

/** Acts on a commit: publishes it, and cancels and starts effects. */
function continueAfter(
  driver: Driver,
  batch: readonly PendingCommit[],
  draft: Draft,
  { consume }: AllIds,
  written: WriteResult,
  reason: () => unknown,
): void {
  if (written !== nothingWritten) {
    driver.state = draft.state();
    driver.onCommitted(draft.steps);
    if (driver.memory.held !== null) tellAnswers(driver.memory.held, draft.steps);
    if (written.type === "released") close(driver, { type: "parked" }, reason);
    if (driver.closed) return;
    if (written.type === "inbox_not_empty") void wake(driver);
  }
  if (driver.questions.size > 0 && !hasCalls(driver.state)) driver.questions.clear();
  noteConsumed(driver, consume);
  for (const { settled } of batch) if (settled !== undefined) retire(driver, settled);
  cancelUnwanted(driver, batch, driver.state, reason);
  startMissing(driver);
}

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

/** The session rests, or waits for somebody outside, whose answer may come to another process. */
function isIdle(driver: Driver, state: State): boolean {
  if (!(isResting(state) || isWaiting(state)) || driver.checks !== null) return false;
  for (const { early } of driver.jobs.values()) if (early !== undefined) return false;
  const due = dueOf(effectsOf(driver, state));
  return due === null || (isWaiting(state) && due > driver.parts.clock.now());
}

/** The draft of a batch, with all its immediate consequences. */
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
    const work = workIn(driver, draft.state());
    if (work === null) return false;
    const settled = perform(effect, work, cancellation);
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

/**
 * Cancels effects that a durable commit no longer wants, except for those that settled with it. An effect may wait for the lease
 * beside the driver, and would begin first.
 */
function cancelUnwanted(driver: Driver, batch: readonly PendingCommit[], state: State, reason: () => unknown): void {
  const { jobs } = driver;
  const wanted = effectsOf(driver, state);
  for (const [key, { cancellation }] of jobs) {
    if (wanted.some((effect) => effect.key === key) || batch.some(({ settled }) => settled === key)) continue;
    jobs.delete(key);
    abort(cancellation, reason);
  }
  if (driver.checks !== null) cancelChecks(driver.checks, state);
}

/** Starts wanted effects that are not running. */
function startMissing(driver: Driver): void {
  const { jobs, draining } = driver;
  if (driver.released) return;
  for (const effect of effectsOf(driver, driver.state))
    if (!isStarted(jobs.get(effect.key)) && (draining === null || effect.type === "run_tool")) start(driver, effect);
  leaveIfDone(driver);
}

/** Ends a shutdown when nothing is in flight that will settle here. */
function leaveIfDone({ draining, jobs }: Driver): void {
  if (draining === null) return;
  for (const job of jobs.values()) if (job.sleeps !== true && job.isLetGo !== true && isStarted(job)) return;
  draining();
}

/** The effect will not settle in this process: a shutdown does not wait for it. */
function letGo(driver: Driver, key: string): void {
  const job = driver.jobs.get(key);
  if (job !== undefined) job.isLetGo = true;
  leaveIfDone(driver);
}

function isStarted(job: Job | undefined): boolean {
  return job !== undefined && job.early === undefined;
}

function start(driver: Driver, effect: Effect): void {
  const work = workIn(driver, driver.state);
  if (work === null) close(driver, withoutAgent(driver));
  else if (effect.type === "sleep")
    sleep(driver, effect, (event) => add(driver, { events: [event], settled: effect.key }));
  if (work === null || effect.type === "sleep") return;
  const begun = driver.jobs.get(effect.key);
  const { cancellation } = begun ?? { cancellation: createCancellation() };
  driver.jobs.set(effect.key, { cancellation });
  const settled = begun?.early ?? perform(effect, work, cancellation);
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

/**
 * Takes the messages in the inbox, and releases the session if nothing is left to do. False if the driver closes
 * before.
 */
export async function wake(driver: Driver): Promise<boolean> {
  if (driver.closed) return false;
  const look = beginLook(driver);
  let messages: readonly InboxMessage[];
  try {
    messages = await readInbox(driver);
  } catch (error) {
    close(driver, { type: "interrupted", reason: "store_failed", error });
    return false;
  }
  void takeMessages(driver, endLook(driver, look, messages));
  return dispatch(driver, () => []);
}

/** Commits messages of the inbox, each once. */
export async function takeMessages(driver: Driver, messages: readonly InboxMessage[]): Promise<void> {
  await Promise.all(
    takeFresh(driver, messages).map((one) =>
      takeChecked(driver, one, {
        take: (change) => takeMessage(driver, one, change),
        close: (why) => close(driver, why),
      }),
    ),
  );
}

function takeMessage(driver: Driver, message: InboxMessage, change?: MessageChange): Promise<boolean> {
  const events = (state: State) => {
    const given = eventsOf(change?.message ?? message, state, holderDefaults(driver.parts, state));
    return change === undefined ? given : change.events(given, state);
  };
  return dispatch(driver, events, { consume: message.id });
}

/** Cancels what is in flight, and commits nothing more. */
export function close(driver: Driver, closing: Closing, reason: () => unknown = () => closingError(closing)): void {
  if (driver.closed) return;
  driver.closed = true;
  driver.closing = closing;
  for (const { cancellation } of driver.jobs.values()) abort(cancellation, reason);
  driver.jobs.clear();
  for (const { cancellation } of driver.checks ?? []) abort(cancellation, reason);
  driver.onClosed(closing);
}

/**
 * Closes the driver, because the lease is gone. During a commit, the commit decides: it may have released the lease
 * itself.
 */
export function lose(driver: Driver): void {
  if (driver.flushing === null) close(driver, { type: "interrupted", reason: "lease_lost" });
}

const nothingWritten: WriteResult = { type: "committed" };
