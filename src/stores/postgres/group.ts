/**
 * Commits to the database. Concurrent commits are sent as one statement, whichever sessions they belong to.
 *
 * 1. If the reply to a commit was lost, the commit is looked up before anything else happens: it is in the log, or it is sent again.
 * 2. A statement that the server refused temporarily is retried, for at most `busyMs`.
 * 3. A commit waits for the end of the turn, so that others can join it, unless its session is the only writer.
 */
import type { Commit, CommitResult, Lease } from "../../ports/store.js";
import { checksumOf, checksumPrefixOf } from "../shared/checksum.js";
import { buildSearchText, encodeEvents, encodeInfo, encodeOverview, encodeState } from "../shared/encode.js";
import { encodeNotices } from "../shared/notice-rows.js";
import { checkSeq } from "../shared/rules.js";
import { isConnectionLost, isTransient } from "./client.js";
import { readInbox } from "./reads.js";
import { createBackoff } from "./retry.js";
import { appendWaiting } from "./signals.js";
import { type AppendOutcome, appendTypes, type Database } from "./statements.js";

type ParameterRow = readonly unknown[];
type CommitJob = {
  readonly lease: Lease;
  readonly commit: Commit;
  /** The parameters of `append`. */
  readonly row: ParameterRow;
  readonly eventsSum: number;
  readonly settle: { readonly resolve: (result: CommitResult) => void; readonly reject: (error: unknown) => void };
};

const maxGroup = 128;
/** More statements would contend for the same index rows, and take connections from reads. */
const maxStatements = 4;

export type CommitQueue = {
  readonly commit: (lease: Lease, commit: Commit) => Promise<CommitResult>;
  /** Resolves when no commit is in progress. */
  readonly settled: () => Promise<void>;
};

export function createCommitQueue(db: Database, busyMs: number): CommitQueue {
  const waiting: CommitJob[] = [];
  let inFlight = 0;
  let isScheduled = false;
  /** The session of the last commit. */
  let lastWriter: string | null = null;
  let settleWaiters: (() => void)[] = [];

  function scheduleSend(): void {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      while (inFlight < maxStatements && waiting.length > 0) void sendNext(waiting.splice(0, maxGroup));
    });
  }

  async function sendNext(group: readonly CommitJob[]): Promise<void> {
    inFlight += 1;
    await sendGroup(db, group, busyMs);
    inFlight -= 1;
    if (waiting.length > 0) scheduleSend();
    else if (inFlight === 0) for (const settled of settleWaiters.splice(0)) settled();
  }

  return {
    commit: (lease, commit) =>
      new Promise((resolve, reject) => {
        const job = { lease, commit, ...encodeCommit(lease, commit), settle: { resolve, reject } };
        const isAlone = lastWriter === lease.sessionId && inFlight === 0 && waiting.length === 0;
        lastWriter = lease.sessionId;
        if (isAlone) return void sendNext([job]);
        waiting.push(job);
        scheduleSend();
      }),
    settled: () =>
      new Promise((resolve) => {
        if (inFlight === 0 && waiting.length === 0) resolve();
        else settleWaiters = [...settleWaiters, resolve];
      }),
  };
}

/** The parameters of `append`. */
export function encodeCommit(
  { sessionId, epoch, holder }: Lease,
  commit: Commit,
): { readonly row: ParameterRow; readonly eventsSum: number } {
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
  const checksumPrefix = checksumPrefixOf(sessionId, expectedSeq + events.length);
  const eventsSum = checksumOf(eventsText, checksumPrefix);
  const overview = release && state.seq > 0 ? encodeOverview(state) : null;
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
    checksumOf(stateText, checksumPrefix),
    activity,
    dueAt,
    askedAt,
    JSON.stringify(consume),
    JSON.stringify(record),
    release,
    info,
    info === null ? null : checksumOf(info),
    toColumnText(agent),
    toColumnText(parent?.sessionId),
    toColumnText(title),
    toColumnText(root),
    toColumnText(principal),
    state.v,
    toColumnText(buildSearchText(sessionId, state.session)),
    overview,
    overview === null ? null : checksumOf(overview, checksumPrefix),
    JSON.stringify(encodeNotices(commit.notices).map(({ id, text, sum }) => ({ id, body: text, sum }))),
  ];
  return { row, eventsSum };
}

/** Text for a list column. PostgreSQL does not allow NUL in text. */
function toColumnText(text: string | undefined): string | null {
  return text === undefined ? null : text.replaceAll("\0", "\uFFFD");
}

async function sendGroup(db: Database, group: readonly CommitJob[], busyMs: number): Promise<void> {
  // A commit that changes its session's waits locks keys before its session, so it is a separate statement.
  const waiting = group.filter(({ commit }) => commit.waits !== undefined);
  if (waiting.length > 0 && group.length > 1) {
    const others = group.filter(({ commit }) => commit.waits === undefined);
    const groups = [...waiting.map((job) => [job]), ...(others.length === 0 ? [] : [others])];
    await Promise.all(groups.map((one) => sendGroup(db, one, busyMs)));
    return;
  }
  // Sessions are always locked in the same order, so that two groups cannot deadlock.
  const jobs = [...group].sort((a, b) => (a.lease.sessionId < b.lease.sessionId ? -1 : 1));
  const backOff = createBackoff(busyMs);
  for (;;) {
    try {
      const rows = await appendJobs(db, jobs);
      for (const [index, job] of jobs.entries()) job.settle.resolve(toCommitResult(rows[index]));
      return;
    } catch (error) {
      if (isConnectionLost(error)) {
        await Promise.all(jobs.map((job) => resolveUnknown(db, job, error, busyMs)));
        return;
      }
      if (!isTransient(error)) {
        // One of the commits is at fault. The others are written individually.
        if (jobs.length === 1) jobs[0]?.settle.reject(error);
        else for (const job of jobs) await sendGroup(db, [job], busyMs);
        return;
      }
      if (await backOff()) continue;
      for (const { settle } of jobs) settle.resolve({ type: "busy" });
      return;
    }
  }
}

async function appendJobs(db: Database, jobs: readonly CommitJob[]): Promise<readonly AppendOutcome[]> {
  const { query, statements } = db;
  const [only, ...others] = jobs;
  if (only?.commit.waits !== undefined) return [await appendWaiting(db, only.row, only.commit.waits)];
  if (only !== undefined && others.length === 0)
    return (await query(statements.append, only.row)).rows as readonly AppendOutcome[];
  const columns = appendTypes.map((_, column) => jobs.map(({ row }) => row[column]));
  return (await query(statements.appendAll, columns)).rows as readonly AppendOutcome[];
}

export function toCommitResult(row: AppendOutcome | undefined): CommitResult {
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
      throw new Error(`the function append returned ${JSON.stringify(row)}`);
  }
}

/**
 * The reply to a commit was lost. Checks whether it was written, and sends it again if not. The first attempt may still take effect
 * meanwhile: the second attempt then finds a longer log or a released lease, and the commit is looked up once more.
 */
async function resolveUnknown(db: Database, job: CommitJob, connectionError: unknown, busyMs: number): Promise<void> {
  const { commit, settle } = job;
  const written: CommitResult = { type: "ok", seq: commit.expectedSeq + commit.events.length };
  const backOff = createBackoff(busyMs);
  let last = connectionError;
  do {
    try {
      if (await isCommitWritten(db, job)) return settle.resolve(written);
      const result = toCommitResult((await appendJobs(db, [job]))[0]);
      const isWritten =
        result.type !== "ok" && ((await isCommitWritten(db, job)) || (await hasRecorded(db, job, result)));
      return settle.resolve(isWritten ? written : result);
    } catch (error) {
      if (!(isConnectionLost(error) || isTransient(error))) return settle.reject(error);
      last = error;
    }
  } while (await backOff());
  settle.reject(last);
}

/**
 * Whether the first attempt has recorded the id that the second could not record. It wrote nothing else, because the log is as before. A
 * message with this id from another process would be in the inbox, which only this process empties.
 */
async function hasRecorded(db: Database, { lease, commit }: CommitJob, result: CommitResult): Promise<boolean> {
  if (result.type !== "duplicate" || commit.events.length > 0) return false;
  return (await readInbox(db, lease.sessionId)).every(({ id }) => id !== result.id);
}

type CommitFate = { readonly appended: boolean; readonly released: boolean };

/**
 * Whether a commit took effect. A commit is identified by its events. Repeating a commit without events changes nothing, except for its
 * release, which is visible in the session's row.
 */
export async function isCommitWritten(
  { query, statements }: Database,
  { lease, commit, eventsSum }: Pick<CommitJob, "lease" | "commit" | "eventsSum">,
): Promise<boolean> {
  const { sessionId, epoch } = lease;
  const last = commit.expectedSeq + commit.events.length;
  const { rows } = await query(statements.fate, [sessionId, last, epoch, eventsSum]);
  const [fate] = rows as readonly CommitFate[];
  return commit.events.length > 0 ? fate?.appended === true : commit.release === true && fate?.released === true;
}
