/**
 * The helpers of the conformance suite: a store, and functions to claim, commit and post.
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { Entry, Event } from "../../core/machine/event.js";
import type { InboxMessage } from "../../core/machine/inbox.js";
import type { RunLimits } from "../../core/machine/run-limits.js";
import { initialState, type State, type Status } from "../../core/machine/state.js";
import { PawlError } from "../../errors.js";
import type { ClaimOptions, Commit, CommitResult, Holder, Lease, Store } from "../../ports/store.js";

/** A store to test, and how to reopen and close it. */
export type StoreUnderTest = {
  readonly store: Store;
  /** Closes the store's files or connections and opens them again. */
  readonly reopen?: () => Promise<Store>;
  /** Another handle on the same content, as another process would have. */
  readonly second?: () => Promise<Store>;
  /**
   * For a store that keeps the time of leases itself: sets its clock to this time, in epoch milliseconds, and stops it there. The
   * suite calls this function before each operation that takes a time, with that time.
   */
  readonly setClock?: (now: number) => Promise<void>;
  /** Closes and removes everything that was opened. */
  close(): Promise<void>;
};

/** One case of the suite. */
export type ConformanceCase = {
  /** The rule that the case checks. */
  readonly name: string;
  /** The ids of the requirements that the case verifies. */
  readonly verifies: readonly string[];
  /** Runs the case. Rejects if the store breaks the rule. */
  run(): Promise<void>;
};

export type StoreCase = {
  readonly name: string;
  readonly verifies: readonly string[];
  readonly check: (bench: StoreBench) => Promise<void>;
};

export type StoreBench = {
  readonly store: Store;
  /** Another handle on the same content; the same handle if the store supports only one. */
  readonly second: () => Promise<Store>;
  readonly reopened: () => Promise<Store>;
};

/** An arbitrary current time, in epoch milliseconds. */
export const t0 = 1_790_000_000_000;
export const leaseMs = 30_000;

export const alice: Holder = { id: "alice 1", host: "one", pid: 101, startedAt: 7001 };
export const bob: Holder = { id: "bob 1", host: "two", pid: 202, startedAt: 7002 };

export function createCases(
  verifies: readonly string[],
  checks: { readonly [name: string]: StoreCase["check"] },
): readonly StoreCase[] {
  return Object.entries(checks).map(([name, check]) => ({ name, verifies, check }));
}

/** Claims the session. Throws if it is held. */
export async function claim(store: Store, sessionId = "s", options: Partial<ClaimOptions> = {}): Promise<Lease> {
  const result = await store.claim(sessionId, { holder: alice, now: t0, leaseMs, ...options });
  if (result.type !== "claimed") throw new Error(`${sessionId} is held by ${result.holder.id}`);
  return result.lease;
}

/** Tries to claim the session as Bob. Returns true if he got the lease. */
export async function claimAsBob(store: Store, now: number, options: Partial<ClaimOptions> = {}): Promise<boolean> {
  return (await store.claim("s", { holder: bob, now, leaseMs, ...options })).type === "claimed";
}

export type CommitOverrides = Partial<Omit<Commit, "events">> & { readonly events?: readonly Event[] | number };

/** Creates a commit after `expectedSeq`; by default with one event and the resulting state. */
export function createCommit(expectedSeq: number, overrides: CommitOverrides = {}): Commit {
  const { events = 1, ...rest } = overrides;
  const list = typeof events === "number" ? createEvents(expectedSeq, events) : events;
  const state = createState(expectedSeq + list.length, "model_running");
  return {
    expectedSeq,
    state,
    at: t0 + expectedSeq,
    activity: "active",
    dueAt: null,
    askedAt: null,
    ...rest,
    events: list,
  };
}

/** Commits, and throws if the commit is refused. */
export async function commit(
  store: Store,
  lease: Lease,
  expectedSeq: number,
  overrides: CommitOverrides = {},
): Promise<number> {
  const result = await store.commit(lease, createCommit(expectedSeq, overrides));
  if (result.type !== "ok") throw new Error(`The commit after ${expectedSeq} was refused: ${result.type}`);
  return result.seq;
}

/** Creates a held session with `count` entries. */
export async function createHeldSession(store: Store, count: number, sessionId = "s"): Promise<Lease> {
  const lease = await claim(store, sessionId);
  for (let seq = 0; seq < count; seq++) await commit(store, lease, seq);
  return lease;
}

/** Creates a released session at rest. */
export async function createRestingSession(
  store: Store,
  sessionId: string,
  overrides: CommitOverrides = {},
): Promise<void> {
  const lease = await claim(store, sessionId);
  const resting = { state: createState(1, "completed"), activity: "resting" } as const;
  await commit(store, lease, 0, { ...resting, ...overrides, release: true });
}

export function createEvents(afterSeq: number, count: number): readonly Event[] {
  return Array.from({ length: count }, (_, index) => createTextEvent(`entry ${afterSeq + index + 1}`));
}

/** Creates an event with this text. */
export function createTextEvent(text: string): Event {
  return { type: "steered", source: "user", input: [{ role: "user", parts: [{ type: "text", text }] }], at: t0 };
}

export function createMessage(id: string, at = t0, text = "hello"): InboxMessage {
  const input = [{ role: "user", parts: [{ type: "text", text }] }] as const;
  const session = { agent: "coder", model: "scripted" };
  return { id, at, body: { type: "input", mode: "queue", runId: `run of ${id}`, input, limits, session } };
}

export const limits: RunLimits = {
  maxSteps: 200,
  maxErrors: 20,
  onMaxSteps: "summary",
  toolConcurrency: 8,
  abortGraceMs: 5000,
  maxContinuations: 2,
  maxStopPreventions: 3,
  maxCompactions: 20,
};

export const everyStatus: readonly Status[] = [
  "idle",
  "preparing",
  "model_running",
  "tool_running",
  "awaiting_human",
  "completed",
  "failed",
  "aborted",
];

/** Creates a complete state with this status, after entry `seq`. */
export function createState(seq: number, status: Status): State {
  const session = { ...initialState, seq, session: { agent: "coder", model: "scripted", title: `entry ${seq}` } };
  const run = {
    ...session,
    runId: "run 1",
    startedAt: t0,
    startSeq: 1,
    limits,
    modelCallIndex: 1,
    attempt: 1,
    counters: {
      totalSteps: 1,
      errorCount: 0,
      compactionAttempts: 0,
      continuations: 0,
      stopPreventions: 0,
      outputRetries: 0,
    },
    usage: { inputTokens: 10 },
    restarts: 0,
    waitedMs: 0,
    fallback: 0,
    failing: null,
    compactionsInRow: 0,
    stopping: null,
  };
  const calls = [
    { callKey: "run 1/1/1", name: "write", inputSeq: 1, status: "running", policy: { recover: "ask" }, attempt: 1 },
  ] as const;
  switch (status) {
    case "idle":
      return { ...session, status };
    case "preparing":
      return { ...run, status, for: "step", purpose: "step" };
    case "model_running":
      return { ...run, status, purpose: "step", contextSeq: seq, backoff: null };
    case "tool_running":
      return { ...run, status, calls, cut: null, doneSeq: null };
    case "awaiting_human":
      return { ...run, status, calls, since: t0, cut: null, doneSeq: null };
    case "completed":
      return { ...run, status, reason: "stop" };
    case "failed":
      return { ...run, status, reason: "model_error" };
    case "aborted":
      return { ...run, status, reason: "aborted" };
  }
}

/** Creates a released session that waits for an answer. */
export async function createAskingSession(
  store: Store,
  sessionId: string,
  askedAt: number,
  overrides: CommitOverrides = {},
): Promise<void> {
  const lease = await claim(store, sessionId);
  await commit(store, lease, 0, { ...createAskingFields(1, askedAt), ...overrides, release: true });
}

/** The commit fields of a session that has been waiting for an answer since `askedAt`. */
export function createAskingFields(seq: number, askedAt: number): Pick<Commit, "state" | "activity" | "askedAt"> {
  const waiting = createState(seq, "awaiting_human");
  if (waiting.status !== "awaiting_human") throw new Error("The state does not wait.");
  const call = {
    callKey: "run 1/1/1",
    name: "write",
    inputSeq: 1,
    inputHash: "0".repeat(64),
    status: "asking",
    why: "policy",
    policy: { recover: "ask" },
    attempt: 0,
    askedAt,
  } as const;
  return { state: { ...waiting, calls: [call] }, activity: "waiting", askedAt };
}

export async function readInboxIds(store: Store, sessionId = "s"): Promise<readonly string[]> {
  return (await store.inbox(sessionId)).map((entry) => entry.id);
}

export function textsOf(entries: readonly Entry[]): readonly string[] {
  return entries.map(({ event }) => {
    const part = event.type === "steered" ? event.input[0]?.parts[0] : undefined;
    return part?.type === "text" ? part.text : event.type;
  });
}

/** Asserts that the log has this many entries. */
export async function expectLog(store: Store, count: number, sessionId = "s"): Promise<void> {
  const entries = await store.read(sessionId);
  deepStrictEqual(
    entries.map((entry) => entry.seq),
    Array.from({ length: count }, (_, index) => index + 1),
  );
  const loaded = await store.load(sessionId);
  strictEqual(loaded?.seq ?? 0, count);
}

export function expectResultType(result: CommitResult, type: CommitResult["type"]): void {
  strictEqual(result.type, type, `expected ${type}, got ${JSON.stringify(result)}`);
}

/** Asserts that the work is refused with a `PawlError` with one of these codes. */
export async function expectError(work: () => Promise<unknown>, ...codes: readonly string[]): Promise<void> {
  const error = await work().then(
    () => null,
    (reason: unknown) => reason,
  );
  ok(error instanceof PawlError, `expected a PawlError with ${codes.join(" or ")}, got ${String(error)}`);
  ok(codes.includes(error.code), `expected ${codes.join(" or ")}, got ${error.code}: ${error.message}`);
}

/** `seen` resolves when the store has reported a change of each of these sessions, or a gap. */
export function watchChanges(store: Store, ...sessionIds: readonly string[]): { readonly seen: Promise<void> } {
  const missing = new Set(sessionIds);
  const seen = new Promise<void>((resolve) => {
    const stop = store.watch((change) => {
      if (change.gap === true) missing.clear();
      else missing.delete(change.sessionId);
      if (missing.size > 0) return;
      stop();
      resolve();
    });
  });
  return { seen };
}
