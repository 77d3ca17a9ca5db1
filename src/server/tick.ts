/**
 * The tick of a server with short-lived processes: it queries the store once, and drives what is due.
 */
import { createWorker, type Store, type Worker } from "../index.js";
import { overrideMembers } from "../ports/override-members.js";
import type { ScheduleStore } from "../store.js";
import type { ServerSettings } from "./server-settings.js";
import { logFailure } from "./work-log.js";

/** The result of a tick. */
export type TickResult = {
  /** How many runs of schedules were posted. */
  readonly fired: number;
  /** How many sessions were driven. */
  readonly driven: number;
  /** False if the time was up before all due work was done. */
  readonly isIdle: boolean;
  /** When the next schedule is due, in epoch milliseconds by the clock of this process; null if there is none. */
  readonly nextAt: number | null;
};

export type Ticks = {
  readonly run: (maxMs: number) => Promise<TickResult>;
  /** Ends the ticks, and waits up to `graceMs` milliseconds for the runs that they have begun. */
  readonly close: (graceMs: number) => Promise<void>;
};

/** A tick in progress. */
type OpenTick = { fired: number; readonly driven: Set<string>; readonly end: () => void };

/** @param isWorking whether the server drives sessions itself; a tick then only reports */
export function createTicks(settings: ServerSettings, isWorking: boolean): Ticks {
  const { store, agents, limits, worker: workerOptions } = settings;
  const openTicks = new Set<OpenTick>();
  /** The worker of all ticks with active runs, so that their total concurrency is that of one worker. */
  let shared: Worker | null = null;
  /** How many loops of the worker have not ended, including those of ticks whose time was up. */
  let loopCount = 0;
  let isClosed = false;

  async function work(maxMs: number): Promise<Omit<TickResult, "nextAt">> {
    if (isClosed) return { fired: 0, driven: 0, isIdle: false };
    let end = () => {};
    const ended = new Promise<boolean>((resolve) => {
      end = () => resolve(false);
    });
    const tick: OpenTick = { fired: 0, driven: new Set(), end };
    openTicks.add(tick);
    shared ??= createTickWorker();
    const worker = shared;
    const timer = setTimeout(end, maxMs);
    loopCount += 1;
    const idle = worker
      .runUntilIdle()
      .then(() => true)
      .finally(() => {
        loopCount -= 1;
        // A loop that waits for the store continues during the next tick, so that tick must not get another worker.
        if (loopCount === 0 && worker.status().running === 0) shared = null;
      });
    try {
      return { isIdle: await Promise.race([idle, ended]), fired: tick.fired, driven: tick.driven.size };
    } finally {
      clearTimeout(timer);
      openTicks.delete(tick);
      // Active runs continue. If the process ends, their leases expire, and the next tick resumes them.
      idle.catch(() => {});
    }
  }

  /**
   * Creates a worker that finds nothing more to do once the last tick has ended. It cannot be stopped by `stop`, which would also
   * shut down the server's agents.
   */
  function createTickWorker(): Worker {
    const isOpen = () => openTicks.size > 0 && !isClosed;
    return createWorker({
      store: restrictStore(store, isOpen),
      agents,
      concurrency: limits.runs,
      ...workerOptions,
      onReport(report) {
        logFailure(settings, report);
        for (const tick of openTicks) {
          if (report.type === "fired") tick.fired += 1;
          if (report.type === "taken") tick.driven.add(report.sessionId);
        }
      },
    });
  }

  return {
    async run(maxMs) {
      const { fired, driven, isIdle } = isWorking ? { fired: 0, driven: 0, isIdle: true } : await work(maxMs);
      return {
        fired,
        driven,
        isIdle,
        nextAt: store.schedules === undefined ? null : await findNextAt(store.schedules),
      };
    },
    async close(graceMs) {
      isClosed = true;
      const worker = shared;
      for (const { end } of openTicks) end();
      // The server is closing, so its agents may be shut down.
      await worker?.stop({ graceMs });
    },
  };
}

/** A store that keeps time itself may not have reached what this process, whose clock is ahead, has found due. */
async function findNextAt(schedules: ScheduleStore): Promise<number | null> {
  const now = Date.now();
  const reached = Math.min(now, (await schedules.latestSlot?.()) ?? now);
  const dueAt = await schedules.nextDueAt(reached);
  return dueAt === null ? null : dueAt + now - reached;
}

/** A store in which nothing is due or fired unless `isOpen` returns true, even if that changes during a query. */
function restrictStore(store: Store, isOpen: () => boolean): Store {
  async function readDue<Due>(read: () => Promise<readonly Due[]>): Promise<readonly Due[]> {
    const due = isOpen() ? await read() : [];
    return isOpen() ? due : [];
  }
  const { schedules } = store;
  return overrideMembers<Store>(store, {
    due: (...args) => readDue(() => store.due(...args)),
    ...(schedules === undefined
      ? {}
      : {
          schedules: overrideMembers<ScheduleStore>(schedules, {
            due: (...args) => readDue(() => schedules.due(...args)),
            fire: async (fire) => isOpen() && (await schedules.fire(fire)),
          }),
        }),
    // The worker recognizes the agents' store by this member.
    commit: store.commit,
  });
}
