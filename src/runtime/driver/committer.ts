/**
 * Writes a session's commits under its lease.
 */

import { signalWaits } from "../../core/machine/signal-waits.js";
import { activityOf, initialFormat, type State } from "../../core/machine/state.js";
import { askedAt } from "../../core/view/outcome.js";
import type { Commit, CommitResult } from "../../ports/store.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import type { Closing } from "../log/closing.js";
import type { CommittedEntry } from "../log/committed-entry.js";
import type { LeaseHold } from "../work/effect-context.js";
import { type PromptBlobs, writePromptBlobs } from "../work/prompt-blobs.js";
import { findNotices } from "./find-notices.js";
import type { KeptLease } from "./lease-keeper.js";

export type WriteResult =
  | { readonly type: "committed" | "released" | "inbox_not_empty" }
  | { readonly type: "failed"; readonly closing: Closing };

type CommitOptions = {
  /** When the session needs a driver next, in epoch milliseconds; null for never. */
  readonly dueAt: number | null;
  readonly consume: readonly string[];
  readonly record: readonly string[];
  readonly release: boolean;
  /** Called when the row is durable but the lease has to be verified before the driver acts on the commit. */
  readonly onUnsure: () => void;
};

/** The parts of the driver that the committer uses. */
export type Committer = {
  readonly sessionId: string;
  readonly agent: Pick<CompiledAgent, "store" | "clock">;
  readonly hold: LeaseHold;
  readonly kept: KeptLease;
  readonly memory: { readonly texts: PromptBlobs };
  /** The number of the last entry of the log. */
  seq: number;
};

const committed: WriteResult = { type: "committed" };
const released: WriteResult = { type: "released" };

const busyRetries = 20;
const busyWaitMs = 50;

/**
 * Writes a row, and then makes sure that the lease is still held. The driver acts on a commit at once, and a process
 * that slept, or whose clock jumped, may have lost its lease meanwhile without knowing.
 */
export async function commit(
  committer: Committer,
  entries: readonly CommittedEntry[],
  state: State,
  options: CommitOptions,
): Promise<WriteResult> {
  const { agent, hold, kept, memory, seq, sessionId } = committer;
  const { store, clock } = agent;
  const { dueAt, consume, record, release, onUnsure } = options;
  const at = clock.now();
  const notices = findNotices(sessionId, entries, at);
  const row: Commit = {
    expectedSeq: seq,
    events: entries.map((item) => item.entry.event),
    state,
    at,
    activity: activityOf(state),
    dueAt,
    askedAt: askedAt(state),
    ...(consume.length === 0 ? {} : { consume }),
    ...(record.length === 0 ? {} : { record }),
    ...(release ? { release } : {}),
    ...changedWaits(entries),
    ...(notices.length === 0 ? {} : { notices }),
  };
  try {
    const writing = writePromptBlobs(memory.texts);
    if (writing !== undefined) await writing;
    let result = await store.commit(kept.lease, row);
    if (result.type === "busy") result = await retryWhileBusy(committer, row);
    if (result.type === "ok") {
      const last = seq + entries.length;
      if (result.seq !== last)
        throw new Error(`The store reported ${result.seq} as the last entry after a commit; expected ${last}.`);
      committer.seq = last;
      if (release) return released;
      if (hold.isFresh()) return committed;
      onUnsure();
      while (!hold.isFresh())
        if (!(await hold.refresh())) return { type: "failed", closing: { type: "interrupted", reason: "lease_lost" } };
      return committed;
    }
    if (result.type === "inbox_not_empty") {
      const written = await commit(committer, entries, state, { ...options, release: false });
      return written.type === "committed" ? { type: "inbox_not_empty" } : written;
    }
    return { type: "failed", closing: toCommitFailure(result, sessionId) };
  } catch (error) {
    return { type: "failed", closing: { type: "interrupted", reason: "store_failed", error } };
  }
}

/** The signals for which the session waits, if these entries change them. */
function changedWaits(entries: readonly CommittedEntry[]): Pick<Commit, "waits"> {
  const [first] = entries;
  const last = entries.at(-1);
  // A session of the first format has never waited.
  if (first === undefined || last === undefined || last.after.v === initialFormat) return {};
  const before = signalWaits(first.before);
  const waits = signalWaits(last.after);
  const isSame =
    before.length === waits.length &&
    waits.every(({ callKey, step: item }, index) => before[index]?.callKey === callKey && before[index].step === item);
  return isSame ? {} : { waits };
}

/** Retries while the store is busy, up to `busyRetries` times. */
async function retryWhileBusy({ agent, kept }: Committer, row: Commit): Promise<CommitResult> {
  const { store, clock } = agent;
  for (let attempt = 1; ; attempt += 1) {
    await new Promise<void>((resolve) => clock.after(busyWaitMs, resolve));
    const result = await store.commit(kept.lease, row);
    if (result.type !== "busy" || attempt >= busyRetries) return result;
  }
}

function toCommitFailure(
  result: Exclude<CommitResult, { type: "ok" | "inbox_not_empty" }>,
  sessionId: string,
): Closing {
  switch (result.type) {
    case "busy":
      return {
        type: "interrupted",
        reason: "store_failed",
        error: new Error(`The store stayed busy; session ${sessionId} was not written.`),
      };
    case "fenced":
    case "conflict":
      return { type: "interrupted", reason: "lease_lost" };
    case "duplicate":
      return {
        type: "broken",
        error: new Error(`The message id ${result.id} is already used in session ${sessionId}.`),
      };
    default:
      return {
        type: "interrupted",
        reason: "store_failed",
        error: new Error("The store returned a malformed commit result."),
      };
  }
}
