/**
 * Transactions: all writes of one turn of the event loop share one, and waiting for a lock does not block the process. A session that is
 * the only writer has no transaction to share, so its writes do not wait for the end of the turn.
 *
 * 1. Work is synchronous and can be repeated: if a transaction fails, it is rolled back, and a group's work then runs one by one.
 * 2. Work that refuses (returns a result other than `ok`) has written nothing.
 * 3. Reads see only committed rows, all from the same moment, because a transaction never spans turns.
 * 4. A transaction whose file is gone has failed, even if SQLite committed it.
 */
import { PawlError } from "../../errors.js";
import type { Checkpoints } from "./checkpoints.js";
import { inTransaction, isBusy, type SqliteHandle } from "./driver.js";
import type { IdentityCheck } from "./identity.js";

export type Transactions = {
  /**
   * Runs work in a transaction. Settles when it is durable. If the database stays locked, it rejects with SQLite's own error.
   *
   * @param bytes roughly how many bytes are written, in addition to a row or two
   * @param writer the session whose holder writes; without it, the write waits for others to join
   */
  readonly write: <Result>(work: () => Result, bytes?: number, writer?: string) => Promise<Result>;
  /** Runs read-only work; retried while the database is locked. */
  readonly read: <Result>(work: () => Result) => Promise<Result>;
  /** Runs read-only work at once. Throws if the database is locked, or if its file is gone. */
  readonly readNow: <Result>(work: () => Result) => Result;
  /** Refuses new work from now on, and waits for work in progress. */
  readonly drain: () => Promise<void>;
  readonly assertOpen: () => void;
};

export type TransactionOptions = {
  readonly handle: SqliteHandle;
  readonly file: string;
  /** How long to wait for a lock, in milliseconds. */
  readonly busyMs: number;
  readonly checkpoints: Checkpoints;
  /** Called after each writing transaction before its result is reported, and occasionally after reads. */
  readonly checkIdentity: IdentityCheck;
};

type WriteJob = {
  readonly work: () => unknown;
  readonly bytes: number;
  readonly writer: string | null;
  readonly settle: (outcome: JobOutcome) => void;
};
type JobOutcome = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: unknown };

/**
 * The maximum number of commits per transaction. Commits that share a transaction cost a fraction of single ones; the rest waits for the
 * next transaction.
 */
const maxGroup = 256;

/** How long reads may continue without checking the file. */
const maxUncheckedMs = 100;

/** How long a sole writer may write without yielding to the event loop. Timers and the network wait no longer than that. */
const maxTurnMs = 1;

export function createTransactions(options: TransactionOptions): Transactions {
  const { handle, file, busyMs, checkpoints, checkIdentity } = options;
  const waiting: WriteJob[] = [];
  let flushing: Promise<void> | null = null;
  let isOpen = true;

  let checkedAt = Number.NEGATIVE_INFINITY;

  /** Checks the file for reads, whose results may be this old. */
  function checkIfStale(): void {
    if (performance.now() - checkedAt >= maxUncheckedMs) recheck();
  }

  /** Checks the file. After a failure, each read checks it again. */
  function recheck(): void {
    checkedAt = Number.NEGATIVE_INFINITY;
    checkIdentity();
    checkedAt = performance.now();
  }

  /** The session that wrote last, if no other session has written since. */
  let soleWriter: string | null = null;
  let yieldedAt = Number.NEGATIVE_INFINITY;

  async function flush(): Promise<void> {
    do {
      // Also between groups, because a program that writes without pause must not starve timers and the network.
      if (soleWriter === null || performance.now() - yieldedAt >= maxTurnMs) {
        await new Promise<void>((resolve) => setImmediate(resolve));
        yieldedAt = performance.now();
      }
      const group = waiting.splice(0, maxGroup);
      await runGroup(group, { ...options, checkIdentity: recheck });
      checkpoints.recordWrite(estimatePages(group));
      soleWriter = group.length === 1 && waiting.length === 0 ? (group[0]?.writer ?? null) : null;
    } while (waiting.length > 0);
    flushing = null;
  }
  function assertOpen(): void {
    if (!isOpen) throw new PawlError("store_closed", `The store ${file} is closed. Open it again.`);
  }

  return {
    assertOpen,
    write<Result>(work: () => Result, bytes = 0, writer?: string): Promise<Result> {
      return new Promise<Result>((resolve, reject) => {
        assertOpen();
        if (soleWriter !== writer) soleWriter = null;
        waiting.push({
          work,
          bytes,
          writer: writer ?? null,
          settle: (outcome) => (outcome.ok ? resolve(outcome.value as Result) : reject(outcome.error)),
        });
        flushing ??= flush();
      });
    },
    async read(work) {
      const attempt = (): ReturnType<typeof work> => {
        assertOpen();
        const result = inTransaction(handle, "read", work);
        checkIfStale();
        return result;
      };
      return await retryWhileBusy(attempt, busyMs);
    },
    readNow(work) {
      const result = inTransaction(handle, "read", work);
      checkIfStale();
      return result;
    },
    async drain() {
      isOpen = false;
      await flushing;
    },
  };
}

async function runGroup(group: readonly WriteJob[], options: TransactionOptions): Promise<void> {
  let isWritten = false;
  try {
    const values = await retryWhileBusy(() => runWrites(group, options), options.busyMs);
    isWritten = true;
    options.checkIdentity();
    group.forEach((job, index) => {
      job.settle({ ok: true, value: values[index] });
    });
  } catch (error) {
    if (isWritten || group.length === 1 || isBusy(error)) for (const job of group) job.settle({ ok: false, error });
    else for (const job of group) await runGroup([job], options);
  }
}

function runWrites(group: readonly WriteJob[], { handle }: TransactionOptions): readonly unknown[] {
  return inTransaction(handle, "write", () => group.map((job) => job.work()));
}

/** An estimate in pages of 4 KiB: a commit writes two, plus the pages of its bytes. */
function estimatePages(group: readonly WriteJob[]): number {
  return group.reduce((sum, { bytes }) => sum + 2 + bytes / 4096, 0);
}

/** Short, because a process that writes without pause leaves the lock free only for moments. */
const maxPauseMs = 4;

/** Waits in steps, so that timers and other sessions continue meanwhile. */
export async function retryWhileBusy<Result>(work: () => Result, busyMs: number): Promise<Result> {
  let waited = 0;
  for (let basePauseMs = 1; ; basePauseMs = Math.min(basePauseMs * 2, maxPauseMs)) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error) || waited >= busyMs) throw error;
    }
    // Jitter, so that two processes that wait for each other do not collide repeatedly.
    const pauseMs = basePauseMs * (0.5 + Math.random());
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    waited += pauseMs;
  }
}
