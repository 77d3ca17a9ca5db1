/**
 * The tick of a server whose process does not last: one look at the store, and driving what is due.
 */
import { createWorker, type Worker } from "../index.js";
import type { ServerSettings } from "./server-options.js";

/** What a tick did. */
export type TickResult = {
  /** How many runs of schedules were posted. */
  readonly fired: number;
  /** How many sessions were driven. */
  readonly driven: number;
  /** False if the time was up before everything was done. */
  readonly isIdle: boolean;
  /** When the next schedule is due, in epoch milliseconds; null if none is. */
  readonly nextAt: number | null;
};

export type Tick = (maxMs: number) => Promise<TickResult>;

/** A tick that is not over yet. */
type OpenTick = { fired: number; readonly driven: Set<string> };

/** @param isWorking whether the server drives sessions by itself; then a tick only reports */
export function createTick({ store, agents, limits }: ServerSettings, isWorking: boolean): Tick {
  const openTicks = new Set<OpenTick>();
  /** The worker of all ticks whose runs go on: its places are theirs together. */
  let shared: Worker | null = null;

  return async (maxMs) => {
    const { fired, driven, isIdle } = isWorking ? { fired: 0, driven: 0, isIdle: true } : await work(maxMs);
    return { fired, driven, isIdle, nextAt: (await store.schedules?.nextDueAt(Date.now())) ?? null };
  };

  async function work(maxMs: number): Promise<Omit<TickResult, "nextAt">> {
    const tick: OpenTick = { fired: 0, driven: new Set() };
    openTicks.add(tick);
    shared ??= createTickWorker();
    const worker = shared;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const timeout = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), maxMs);
    });
    const idle = worker.runUntilIdle().then(() => true);
    try {
      return { isIdle: await Promise.race([idle, timeout]), fired: tick.fired, driven: tick.driven.size };
    } finally {
      clearTimeout(timer);
      openTicks.delete(tick);
      // What still runs goes on. Without a process its lease ends, and the next tick continues it.
      idle.catch(() => {});
      if (openTicks.size === 0 && worker.status().running === 0) shared = null;
    }
  }

  /**
   * When the last tick is over, it finds nothing more to do. `stop` would not do: it shuts down the agents, which belong
   * to the server.
   */
  function createTickWorker(): Worker {
    const { schedules } = store;
    const isOpen = () => openTicks.size > 0;
    return createWorker({
      store: {
        ...store,
        due: async (...args) => (isOpen() ? store.due(...args) : []),
        ...(schedules === undefined
          ? {}
          : { schedules: { ...schedules, due: async (...args) => (isOpen() ? schedules.due(...args) : []) } }),
      },
      agents,
      concurrency: limits.runs,
      onReport(report) {
        for (const tick of openTicks) {
          if (report.type === "fired") tick.fired += 1;
          if (report.type === "taken") tick.driven.add(report.sessionId);
        }
      },
    });
  }
}
