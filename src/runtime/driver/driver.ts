/**
 * The driver of a session: commits events, then compares the effects that the state wants with those in flight. It starts what is missing
 * and cancels what is no longer wanted.
 *
 * Who owns what:
 * - The driver owns the committed state, the transcript, the effects in flight (`jobs`) and the batch of pending commits.
 * - The committer (committer.ts) owns the number of the last entry, and is the only writer of a driven session's log.
 * - The lease keeper (lease-keeper.ts) owns the leases of all sessions of the process, and renews them.
 * - The local session (session/local-session.ts) owns the driver. It opens, follows, drains and forgets a session.
 * - The broadcast (subscribers/broadcast.ts) owns the subscriptions and waiters of a local session.
 *
 * Who calls whom:
 * - The local session calls `createDriver`, `takeMessages`, `dispatch`, `wake`, `drain`. The watch of the inboxes calls `wake`.
 * - The driver calls `commit`, which calls the store, and asks the lease keeper whether the lease is still held (`createLeaseHold`). The
 *   driver reads the inbox itself, and after a drain it releases the lease itself.
 * - The driver calls `onCommitted`, `onClosed` and `onLate` of the local session. The local session passes commits and the closing on to
 *   the broadcast, and posts late results. Effects publish deltas and progress to the subscribers directly.
 * - The local session calls `trackLease` and `untrackLease`. If a lease is lost, the lease keeper calls back, and the local session calls
 *   `loseLease`.
 *
 * Invariants:
 * 1. Nothing is published, started or answered before its commit is durable; memory never runs ahead of the store.
 * 2. A commit that fails closes the driver. Only `busy` is retried first.
 * 3. Events that are ready together share a commit. An effect that settles at once joins the commit that wanted it.
 * 4. An effect that settles and is still wanted under its key is a bug, and closes the driver.
 * 5. When nothing is left to do here, the last commit releases the lease.
 * 6. An effect starts right after a commit, while no other process can have claimed the session. An effect that waits before it calls a
 *    model or a tool checks again directly before the call (effects/can-start.ts). During a shutdown, only calls that are committed as
 *    running start.
 */
import type { Effect } from "../../core/machine/effect.js";
import { effects, findDueTime } from "../../core/machine/effects.js";
import type { EventBody } from "../../core/machine/event.js";
import { eventsOf, type InboxMessage } from "../../core/machine/inbox.js";
import { hasCalls, isAsleep, isResting, isWaiting, type State, shortWaitMs } from "../../core/machine/state.js";
import { holderDefaults } from "../agent/compiled-agent.js";
import { isFinalMessage, isImmediate, perform } from "../effects/perform.js";
import { abort, createCancellation } from "../lib/cancellation.js";
import { type Closing, toClosing } from "../log/closing.js";
import { createClosingError, findAbortReason } from "./abort-reason.js";
import { cancelChecks } from "./approval-checks.js";
import { withCheck } from "./check-message.js";
import { commit, type WriteResult } from "./committer.js";
import { agentMissingClosing, createEffectContext } from "./create-effect-context.js";
import { createDraft, type Draft } from "./draft-commit.js";
import type { Driver, DriverOptions, Job, MessageChange } from "./driver-types.js";
import { beginRead, claimFresh, endRead, noReads, recordConsumed } from "./inbox-reads.js";
import { createLeaseHold } from "./lease-keeper.js";
import {
  type BatchIds,
  type CreateEvents,
  checkBatch,
  collectIds,
  type MessageIds,
  noIds,
  type PendingCommit,
} from "./pending-commit.js";
import { readInbox } from "./read-inbox.js";
import { createRecorder } from "./recorder.js";
import { resolveAnswers } from "./resolve-answers.js";
import { sleep } from "./sleep.js";

export type { Driver, DriverOptions } from "./driver-types.js";

/** Copies field by field: V8 gives each object literal with a spread its own hidden class, which costs memory. */
export function createDriver(options: DriverOptions): Driver {
  const { state, keeper, kept } = options;
  const onStoreFailed = (error: unknown) => close(driver, { type: "interrupted", reason: "store_failed", error });
  const driver: Driver = {
    sessionId: options.sessionId,
    agent: options.agent,
    kept,
    hold: createLeaseHold(keeper, kept, onStoreFailed),
    recorder: createRecorder(() => driver, recorderActions),
    seq: options.seq,
    state,
    transcript: options.transcript,
    memory: options.memory,
    subscribers: options.subscribers,
    questions: options.questions,
    onCommitted: options.onCommitted,
    onClosed: options.onClosed,
    onLate: options.onLate,
    jobs: new Map(),
    claimed: null,
    reads: noReads,
    checks: null,
    wanted: { in: state, effects: effects(state) },
    pending: [],
    flushing: null,
    closed: false,
    closing: null,
    draining: null,
    onDraining: null,
    released: false,
  };
  return driver;
}

const recorderActions = { dispatch, detachJob };

/**
 * Adds events to the next commit. `events` computes them from the state that they will be applied to. Resolves to true when they are
 * durable, and to false if the driver closes first.
 */
export function dispatch(driver: Driver, events: CreateEvents, ids: MessageIds = {}): Promise<boolean> {
  if (driver.closed) return Promise.resolve(false);
  return new Promise((done) => enqueue(driver, { events, ids, done }));
}

function enqueue(driver: Driver, addition: PendingCommit): void {
  if (driver.closed) rejectCommit(driver, addition);
  else driver.pending.push(addition);
  if (driver.closed) return;
  driver.flushing ??= flush(driver);
}

async function flush(driver: Driver): Promise<void> {
  // Events that are enqueued in the same turn share the commit.
  await undefined;
  try {
    while (driver.pending.length > 0 && !driver.closed) {
      const batch = checkBatch(driver.pending.splice(0));
      if (driver.closed) {
        for (const one of batch) rejectCommit(driver, one);
        break;
      }
      const draft = composeDraft(driver, batch);
      const state = draft.state();
      const ids = collectIds(batch);
      const shouldRelease = driver.draining === null && driver.pending.length === 0 && canRelease(driver, state);
      const isEmpty = draft.entries.length === 0 && ids === noIds && !shouldRelease;
      const reason = findAbortReason(draft.entries, state, driver.subscribers);
      const onUnsure = () => cancelUnwantedEffects(driver, batch, state, reason);
      // The new keys come first: on Node 20, adding keys to a copy is twenty times slower.
      const commitOptions = {
        dueAt: findDueTime(wantedEffects(driver, state)),
        release: shouldRelease,
        onUnsure,
        ...ids,
      };
      const written = isEmpty ? emptyCommit : await commit(driver, draft.entries, state, commitOptions);
      if (written.type === "failed") close(driver, written.closing);
      else applyCommit(driver, batch, draft, ids, written, reason);
      for (const one of batch) one.done?.(written.type !== "failed");
    }
  } catch (error) {
    close(driver, { type: "broken", error });
  }
  driver.flushing = null;
  if (driver.closed) for (const one of driver.pending.splice(0)) rejectCommit(driver, one);
}

/** Handles events that missed the last commit. */
function rejectCommit(driver: Driver, { events, settled, done }: PendingCommit): void {
  if (settled !== undefined && typeof events !== "function") for (const event of events) driver.onLate(event);
  done?.(false);
}

/** Acts on a commit: publishes it, and cancels and starts effects. */
function applyCommit(
  driver: Driver,
  batch: readonly PendingCommit[],
  draft: Draft,
  { consume }: BatchIds,
  written: WriteResult,
  reason: () => unknown,
): void {
  if (written !== emptyCommit) {
    driver.state = draft.state();
    driver.onCommitted(draft.entries);
    if (driver.memory.answerWaiters !== null) resolveAnswers(driver.memory.answerWaiters, draft.entries);
    if (written.type === "released") close(driver, { type: "parked" }, reason);
    if (driver.closed) return;
    if (written.type === "inbox_not_empty") void wake(driver);
  }
  if (driver.questions.size > 0 && !hasCalls(driver.state)) driver.questions.clear();
  recordConsumed(driver, consume);
  for (const { settled } of batch) if (settled !== undefined) retireEffect(driver, settled);
  cancelUnwantedEffects(driver, batch, driver.state, reason);
  startMissingEffects(driver);
}

function wantedEffects(driver: Driver, state: State): readonly Effect[] {
  if (driver.wanted.in !== state) driver.wanted = { in: state, effects: effects(state) };
  return driver.wanted.effects;
}

function isWanted(driver: Driver, key: string): boolean {
  return wantedEffects(driver, driver.state).some((effect) => effect.key === key);
}

function retireEffect(driver: Driver, key: string): void {
  const sleeping = driver.jobs.get(key)?.sleeps === true;
  driver.jobs.delete(key);
  if (!sleeping && isWanted(driver, key)) throw new Error(`The effect ${key} settled and is still wanted.`);
}

/**
 * Whether the session rests, or waits for something that another process may hear of first. The driver keeps the session during a short
 * sleep.
 */
function canRelease(driver: Driver, state: State): boolean {
  if (!(isResting(state) || isWaiting(state)) || driver.checks !== null) return false;
  for (const { early } of driver.jobs.values()) if (early !== undefined) return false;
  const due = findDueTime(wantedEffects(driver, state));
  const keptMs = isAsleep(state) ? shortWaitMs : 0;
  return due === null || (isWaiting(state) && due > driver.agent.clock.now() + keptMs);
}

/** The draft of a batch, with all its immediate consequences. */
function composeDraft(driver: Driver, batch: readonly PendingCommit[]): Draft {
  const draft = createDraft(driver.state, driver.agent.clock.now(), driver);
  for (const { events } of batch)
    for (const body of typeof events === "function" ? events(draft.state()) : events) draft.apply(body);
  let applied = driver.draining === null;
  while (applied) applied = runImmediateEffects(driver, draft);
  return draft;
}

function runImmediateEffects(driver: Driver, draft: Draft): boolean {
  let applied = false;
  for (const effect of wantedEffects(driver, draft.state())) {
    if (!isImmediate(effect) || effect.type === "sleep" || driver.jobs.has(effect.key)) continue;
    const cancellation = createCancellation();
    const work = createEffectContext(driver, draft.state());
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
 * Cancels effects that a durable commit no longer wants, except for those that settled with it. This also happens before the lease is
 * verified, because an effect that waits for the same verification would start first.
 */
function cancelUnwantedEffects(
  driver: Driver,
  batch: readonly PendingCommit[],
  state: State,
  reason: () => unknown,
): void {
  const { jobs } = driver;
  const wanted = wantedEffects(driver, state);
  for (const [key, { cancellation }] of jobs) {
    if (wanted.some((effect) => effect.key === key) || batch.some(({ settled }) => settled === key)) continue;
    jobs.delete(key);
    abort(cancellation, reason);
  }
  if (driver.checks !== null) cancelChecks(driver.checks, state);
}

/** Starts wanted effects that are not running. */
function startMissingEffects(driver: Driver): void {
  const { jobs, draining } = driver;
  if (driver.released) return;
  for (const effect of wantedEffects(driver, driver.state))
    if (!isStarted(jobs.get(effect.key)) && (draining === null || effect.type === "run_tool"))
      startEffect(driver, effect);
  finishDrainIfIdle(driver);
}

/** Ends a shutdown when nothing is in flight that will settle here. */
function finishDrainIfIdle({ draining, jobs }: Driver): void {
  if (draining === null) return;
  for (const job of jobs.values()) if (job.sleeps !== true && job.isDetached !== true && isStarted(job)) return;
  draining();
}

/** Marks an effect that will not settle in this process, so that a shutdown does not wait for it. */
function detachJob(driver: Driver, key: string): void {
  const job = driver.jobs.get(key);
  if (job !== undefined) job.isDetached = true;
  finishDrainIfIdle(driver);
}

function isStarted(job: Job | undefined): boolean {
  return job !== undefined && job.early === undefined;
}

function startEffect(driver: Driver, effect: Effect): void {
  const work = createEffectContext(driver, driver.state);
  if (work === null) close(driver, agentMissingClosing(driver));
  else if (effect.type === "sleep") sleep(driver, effect, (event) => settleEffect(driver, effect.key, event));
  if (work === null || effect.type === "sleep") return;
  const begun = driver.jobs.get(effect.key);
  const { cancellation } = begun ?? { cancellation: createCancellation() };
  driver.jobs.set(effect.key, { cancellation });
  const settled = begun?.early ?? perform(effect, work, cancellation);
  Promise.resolve(settled).then(
    (event) => settleEffect(driver, effect.key, event),
    (error) => close(driver, toClosing(error)),
  );
}

/**
 * Enqueues the event of a settled effect. A final model message and an expired wait are enqueued after the messages in the inbox: a message
 * that was already posted counts for the run, and a signal that was already sent ends the wait, even if no process has read them yet.
 */
function settleEffect(driver: Driver, key: string, event: EventBody | undefined): void {
  if (event === undefined) return;
  const settle = () => enqueue(driver, { events: [event], settled: key });
  const readsInbox = isFinalMessage(event) || (event.type === "timer_fired" && event.timer === "wait");
  if (readsInbox) void wake(driver).then(settle);
  else settle();
}

/** Takes the messages in the inbox, and releases the session if nothing is left to do. False if the driver closes first. */
export async function wake(driver: Driver): Promise<boolean> {
  if (driver.closed) return false;
  const read = beginRead(driver);
  let messages: readonly InboxMessage[];
  try {
    messages = await readInbox(driver);
  } catch (error) {
    close(driver, { type: "interrupted", reason: "store_failed", error });
    return false;
  }
  void takeMessages(driver, endRead(driver, read, messages));
  return dispatch(driver, () => []);
}

/** Commits messages of the inbox, each once and in their order. */
export async function takeMessages(driver: Driver, messages: readonly InboxMessage[]): Promise<void> {
  await Promise.all(claimFresh(driver, messages).map((message) => takeMessage(driver, message)));
}

function takeMessage(driver: Driver, message: InboxMessage): Promise<boolean> {
  if (driver.closed) return Promise.resolve(false);
  return new Promise((done) => {
    const toCommit = (change?: MessageChange): PendingCommit => ({
      events(state) {
        const given = eventsOf(change?.message ?? message, state, holderDefaults(driver.agent, state));
        return change === undefined ? given : change.events(given, state);
      },
      ids: { consume: message.id },
      done,
    });
    const addLater = (addition: PendingCommit) => enqueue(driver, addition);
    enqueue(driver, withCheck(driver, message, { toCommit, addLater, close: (why) => close(driver, why) }));
  });
}

/** Cancels the effects in flight. Nothing more is committed. */
export function close(
  driver: Driver,
  closing: Closing,
  reason: () => unknown = () => createClosingError(closing),
): void {
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
export function loseLease(driver: Driver): void {
  if (driver.flushing === null) close(driver, { type: "interrupted", reason: "lease_lost" });
}

const emptyCommit: WriteResult = { type: "committed" };
