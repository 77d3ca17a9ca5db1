/**
 * Commits to the database. Those that meet are sent as one statement, whichever sessions they belong to.
 *
 * 1. A commit whose answer was lost is looked for before anything follows: it is in the log, or it is sent again.
 * 2. A statement that the server refused for now is sent again, for `busyMs` at most.
 */
import type { Commit, CommitResult, Lease } from "../../ports/store.js";
import { checksumOf, positionOf } from "../shared/checksum.js";
import { checkSeq } from "../shared/rules.js";
import { encodeEvents, encodeInfo, encodeState } from "../shared/storable.js";
import { isBroken, isPassing, type PostgresQuery } from "./client.js";
import { createPatience } from "./patience.js";
import { appendTypes, type Statements } from "./statements.js";

export type Database = {
  readonly query: PostgresQuery["query"];
  readonly statements: Statements;
  /** The store's name in messages. */
  readonly file: string;
};

type Row = readonly unknown[];
type Job = {
  readonly lease: Lease;
  readonly commit: Commit;
  /** The parameters of `append`. */
  readonly row: Row;
  readonly eventsSum: number;
  readonly settle: { readonly resolve: (result: CommitResult) => void; readonly reject: (error: unknown) => void };
};

const largestGroup = 128;
/** More would wait for the same rows of the index, and take the connections of reads. */
const mostStatements = 4;

export type Committing = {
  readonly commit: (lease: Lease, commit: Commit) => Promise<CommitResult>;
  /** Resolves when nothing is under way. */
  readonly settled: () => Promise<void>;
};

export function createCommitting(db: Database, busyMs: number): Committing {
  const waiting: Job[] = [];
  let underWay = 0;
  let isScheduled = false;
  let whenSettled: (() => void)[] = [];

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      while (underWay < mostStatements && waiting.length > 0) void send(waiting.splice(0, largestGroup));
    });
  }

  async function send(group: readonly Job[]): Promise<void> {
    underWay += 1;
    await sendGroup(db, group, busyMs);
    underWay -= 1;
    if (waiting.length > 0) schedule();
    else if (underWay === 0) for (const settled of whenSettled.splice(0)) settled();
  }

  return {
    commit: (lease, commit) =>
      new Promise((resolve, reject) => {
        waiting.push({ lease, commit, ...encoded(lease, commit), settle: { resolve, reject } });
        schedule();
      }),
    settled: () =>
      new Promise((resolve) => {
        if (underWay === 0 && waiting.length === 0) resolve();
        else whenSettled = [...whenSettled, resolve];
      }),
  };
}

/** The parameters of `append`. */
export function encoded(
  { sessionId, epoch, holder }: Lease,
  commit: Commit,
): { readonly row: Row; readonly eventsSum: number } {
  const {
    events,
    state,
    expectedSeq,
    at,
    activity,
    dueAt,
    askedAt,
    consume = [],
    record = [],
    release = false,
  } = commit;
  checkSeq(commit);
  const eventsText = encodeEvents(events);
  const stateText = encodeState(state);
  const of = positionOf(sessionId, expectedSeq + events.length);
  const eventsSum = checksumOf(eventsText, of);
  const info = state.session === null ? null : encodeInfo(state.session);
  const { agent, parent, title, root, principal } = state.session ?? {};
  const row = [
    sessionId,
    epoch,
    JSON.stringify(holder),
    expectedSeq,
    events.length,
    state.status,
    at,
    eventsText,
    eventsSum,
    stateText,
    checksumOf(stateText, of),
    activity,
    dueAt,
    askedAt,
    JSON.stringify(consume),
    JSON.stringify(record),
    release,
    info,
    info === null ? null : checksumOf(info),
    storable(agent),
    storable(parent?.sessionId),
    storable(title),
    storable(root),
    storable(principal),
  ];
  return { row, eventsSum };
}

/** A column of a list: PostgreSQL refuses NUL in a text. */
function storable(text: string | undefined): string | null {
  return text === undefined ? null : text.replaceAll("\0", "\uFFFD");
}

export type Outcome = { readonly outcome: string; readonly tail: number | null; readonly message: string | null };

async function sendGroup(db: Database, group: readonly Job[], busyMs: number): Promise<void> {
  // Sessions are locked in one order, so that two groups cannot wait for each other.
  const jobs = [...group].sort((a, b) => (a.lease.sessionId < b.lease.sessionId ? -1 : 1));
  const wait = createPatience(busyMs);
  for (;;) {
    try {
      const rows = await append(db, jobs);
      for (const [index, job] of jobs.entries()) job.settle.resolve(resultOf(rows[index]));
      return;
    } catch (error) {
      if (isBroken(error)) {
        await Promise.all(jobs.map((job) => settleUnknown(db, job, error, busyMs)));
        return;
      }
      if (!isPassing(error)) {
        // One of them is at fault. The others are written.
        if (jobs.length === 1) jobs[0]?.settle.reject(error);
        else for (const job of jobs) await sendGroup(db, [job], busyMs);
        return;
      }
      if (await wait()) continue;
      for (const { settle } of jobs) settle.resolve({ type: "busy" });
      return;
    }
  }
}

async function append({ query, statements }: Database, jobs: readonly Job[]): Promise<readonly Outcome[]> {
  const [only, ...others] = jobs;
  if (only !== undefined && others.length === 0)
    return (await query(statements.append, only.row)).rows as readonly Outcome[];
  const columns = appendTypes.map((_, column) => jobs.map(({ row }) => row[column]));
  return (await query(statements.appendAll, columns)).rows as readonly Outcome[];
}

export function resultOf(row: Outcome | undefined): CommitResult {
  switch (row?.outcome) {
    case "ok":
      return { type: "ok", seq: row.tail ?? 0 };
    case "conflict":
      return { type: "conflict", seq: row.tail ?? 0 };
    case "fenced":
      return { type: "fenced" };
    case "duplicate":
      return { type: "duplicate", id: row.message ?? "" };
    case "inbox_not_empty":
      return { type: "inbox_not_empty" };
    default:
      throw new Error(`the function append gave ${JSON.stringify(row)}`);
  }
}

/**
 * The answer to a commit was lost. Looks whether it was written, and sends it again if not. The first attempt may still come
 * through meanwhile: then the second finds the log longer or the lease given back, and the commit is looked for once more.
 */
async function settleUnknown(db: Database, job: Job, loss: unknown, busyMs: number): Promise<void> {
  const { commit, settle } = job;
  const written: CommitResult = { type: "ok", seq: commit.expectedSeq + commit.events.length };
  const wait = createPatience(busyMs);
  let last = loss;
  do {
    try {
      if (await isWritten(db, job)) return settle.resolve(written);
      const result = resultOf((await append(db, [job]))[0]);
      return settle.resolve(result.type !== "ok" && (await isWritten(db, job)) ? written : result);
    } catch (error) {
      if (!(isBroken(error) || isPassing(error))) return settle.reject(error);
      last = error;
    }
  } while (await wait());
  settle.reject(last);
}

type Fate = { readonly appended: boolean; readonly released: boolean };

/**
 * A commit is known by its events. One without events does nothing if it is done twice, except for its release: that is known by the
 * session's row.
 */
export async function isWritten(
  { query, statements }: Database,
  { lease, commit, eventsSum }: Pick<Job, "lease" | "commit" | "eventsSum">,
): Promise<boolean> {
  const { sessionId, epoch } = lease;
  const last = commit.expectedSeq + commit.events.length;
  const { rows } = await query(statements.fate, [sessionId, last, epoch, eventsSum]);
  const [fate] = rows as readonly Fate[];
  return commit.events.length > 0 ? fate?.appended === true : commit.release === true && fate?.released === true;
}
