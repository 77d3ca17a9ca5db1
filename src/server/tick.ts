/**
 * The tick of a server whose process does not last: one look at the store, and driving what is due.
 */
import { createWorker } from "../index.js";
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

/** @param isWorking whether the server drives sessions by itself; then a tick only reports */
export function createTick({ store, agents, limits }: ServerSettings, isWorking: boolean): Tick {
  return async (maxMs) => {
    const { fired, driven, isIdle } = isWorking ? { fired: 0, driven: 0, isIdle: true } : await work(maxMs);
    return { fired, driven, isIdle, nextAt: (await store.schedules?.nextDueAt(Date.now())) ?? null };
  };

  async function work(maxMs: number): Promise<Omit<TickResult, "nextAt">> {
    let fired = 0;
    const driven = new Set<string>();
    const worker = createWorker({
      store,
      agents,
      concurrency: limits.runs,
      onReport(report) {
        if (report.type === "fired") fired += 1;
        if (report.type === "taken") driven.add(report.sessionId);
      },
    });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const timeout = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), maxMs);
    });
    const idle = worker.runUntilIdle().then(() => true);
    try {
      return { isIdle: await Promise.race([idle, timeout]), fired, driven: driven.size };
    } finally {
      clearTimeout(timer);
      // What still runs goes on. Without a process its lease ends, and the next tick continues it.
      idle.catch(() => {});
    }
  }
}
