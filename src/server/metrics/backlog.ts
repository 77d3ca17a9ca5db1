/**
 * The backlog of a store. The queries have their own indexes and a limit, so that scrapes of a large store are fast.
 */
import { buildOverview } from "../../core/index.js";
import type { Store, Worker } from "../../index.js";
import type { AskingSession } from "../../store.js";
import { formatGauge } from "./registry.js";

/** The maximum number of sessions that are counted. */
const maxCounted = 1_000;

/** How many sessions' states are read at a time. */
const batchSize = 100;

/** The sources of the backlog metrics. */
export type Backlog = {
  /** The store with the waiting sessions. The metrics are the same in every process that uses it. */
  readonly store?: Store;
  /** The worker of this process. */
  readonly worker?: Pick<Worker, "status">;
};

export async function formatBacklog({ store, worker }: Backlog): Promise<string> {
  const workerLines = worker === undefined ? [] : formatWorkerGauges(worker.status());
  return [...workerLines, ...(store === undefined ? [] : await formatStoreGauges(store))].join("");
}

function formatWorkerGauges({ running, refused }: ReturnType<Worker["status"]>): readonly string[] {
  return [
    formatGauge("pawl_sessions_running", "Sessions that this process is driving.", running),
    formatGauge("pawl_sessions_refused", "Sessions that this process could not resume.", refused.length),
  ];
}

async function formatStoreGauges(store: Store): Promise<readonly string[]> {
  const now = Date.now();
  const due = await store.due(now, maxCounted);
  const { sessions, questions, oldestAt } = await countAskingSessions(store);
  const waitedSeconds = oldestAt === null ? 0 : Math.max(0, now - oldestAt) / 1_000;
  return [
    formatGauge("pawl_sessions_due", "Sessions that wait for a process, at most 1,000.", due.length),
    formatGauge(
      "pawl_sessions_waiting",
      "Sessions that wait for a person or an external result, at most 1,000.",
      sessions,
    ),
    formatGauge("pawl_approvals_waiting", "Open questions in these sessions.", questions),
    formatGauge("pawl_oldest_approval_seconds", "How long the oldest open question has waited.", waitedSeconds),
  ];
}

/** Reads in batches, because an in-process store blocks the event loop while it reads and parses the states of a batch. */
async function countAskingSessions(store: Store) {
  let [sessions, questions] = [0, 0];
  let oldestAt: number | null = null;
  let last: AskingSession | undefined;
  do {
    const page: readonly AskingSession[] = await store.asking({
      limit: batchSize,
      ...(last === undefined ? {} : { after: { askedAt: last.askedAt, sessionId: last.sessionId } }),
    });
    oldestAt ??= page[0]?.askedAt ?? null;
    sessions += page.length;
    for (const { state } of page) questions += state === null ? 1 : buildOverview(state).questions;
    last = page.length < batchSize ? undefined : page.at(-1);
  } while (last !== undefined && sessions < maxCounted);
  return { sessions, questions, oldestAt };
}
