/**
 * What waits in a store. The queries have indexes of their own and a limit, so a scrape of a large store is not slow.
 */
import { hasCalls, openQuestionsOf, type State } from "../../core/index.js";
import type { AskingSession, Store, Worker } from "../../index.js";
import { gauge } from "./figures.js";

/** The most sessions that are counted. */
const maxCounted = 1_000;

/** The sessions whose states are read at a stretch. */
const portion = 100;

/** The sessions whose figures are shown. */
export type Backlog = {
  /** The store whose sessions wait. The figures are the same in every process that has it. */
  readonly store?: Store;
  /** The worker of this process. */
  readonly worker?: Pick<Worker, "status">;
};

export async function backlogText({ store, worker }: Backlog): Promise<string> {
  const own = worker === undefined ? [] : workerGauges(worker.status());
  return [...own, ...(store === undefined ? [] : await storeGauges(store))].join("");
}

function workerGauges({ running, refused }: ReturnType<Worker["status"]>): readonly string[] {
  return [
    gauge("pawl_sessions_running", "Sessions that this process carries on.", running),
    gauge("pawl_sessions_refused", "Sessions that this process cannot carry on.", refused.length),
  ];
}

async function storeGauges(store: Store): Promise<readonly string[]> {
  const now = Date.now();
  const due = await store.due(now, maxCounted);
  const { sessions, questions, oldestAt } = await countAsking(store);
  const waited = oldestAt === null ? 0 : Math.max(0, now - oldestAt) / 1_000;
  return [
    gauge("pawl_sessions_due", "Sessions that wait for a process, at most 1,000.", due.length),
    gauge(
      "pawl_sessions_waiting",
      "Sessions that wait for a person or a result from outside, at most 1,000.",
      sessions,
    ),
    gauge("pawl_approvals_waiting", "Questions that are open in these sessions.", questions),
    gauge("pawl_oldest_approval_seconds", "How long the oldest open question has waited.", waited),
  ];
}

/** In portions, because a store in this process reads and parses the states of a portion at a stretch. */
async function countAsking(store: Store) {
  let [sessions, questions] = [0, 0];
  let oldestAt: number | null = null;
  let last: AskingSession | undefined;
  do {
    const page: readonly AskingSession[] = await store.asking({
      limit: portion,
      ...(last === undefined ? {} : { after: { askedAt: last.askedAt, sessionId: last.sessionId } }),
    });
    oldestAt ??= page[0]?.askedAt ?? null;
    sessions += page.length;
    for (const { state } of page) questions += state === null ? 1 : questionsIn(state);
    last = page.length < portion ? undefined : page.at(-1);
  } while (last !== undefined && sessions < maxCounted);
  return { sessions, questions, oldestAt };
}

/** The open questions of a session itself, without those of its child sessions, which are counted there. */
function questionsIn(state: State): number {
  if (!hasCalls(state)) return 0;
  return state.calls.reduce((sum, call) => {
    const isAsking = call.status === "asking" || (call.status === "waiting" && call.on === "external");
    return sum + (openQuestionsOf(call)?.length ?? (isAsking ? 1 : 0));
  }, 0);
}
