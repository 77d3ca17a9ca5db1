/**
 * Time that a test owns, with the waits that were asked for.
 */
import type { StreamItem } from "../../src/index.js";
import { createTestClock, type TestClock } from "../../src/testing/test-clock.js";

export type WatchedClock = TestClock & {
  /** The lengths of the waits that were asked for, in order, without those of the runtime's own upkeep. */
  readonly waits: readonly number[];
  /** How many waits are under way, upkeep included. */
  readonly pending: () => number;
  /** Resolves when a wait of this length is under way. */
  readonly waitFor: (ms: number) => Promise<void>;
};

/** How often a lease is renewed, an inbox is looked at, a log is followed; and how long a tool and a model may take. */
const upkeepDelaysMs: ReadonlySet<number> = new Set([5_000, 10, 100, 1_500, 250, 600_000, 120_000, 60_000]);

export function createWatchedClock(startAt?: number): WatchedClock {
  const clock = createTestClock(startAt);
  const waits: number[] = [];
  const pendingByMs = new Map<number, number>();
  const waitersByMs = new Map<number, (() => void)[]>();
  const addPending = (ms: number, delta: number) => pendingByMs.set(ms, (pendingByMs.get(ms) ?? 0) + delta);

  return {
    ...clock,
    waits,
    pending: () => [...pendingByMs.values()].reduce((sum, many) => sum + many, 0),
    after(ms, callback) {
      let hasEnded = false;
      const finish = () => {
        if (!hasEnded) addPending(ms, -1);
        hasEnded = true;
      };
      if (!upkeepDelaysMs.has(ms)) waits.push(ms);
      addPending(ms, 1);
      const cancel = clock.after(ms, () => {
        finish();
        callback();
      });
      for (const resolve of waitersByMs.get(ms)?.splice(0) ?? []) resolve();
      return () => {
        finish();
        cancel();
      };
    },
    waitFor: (ms) =>
      new Promise((resolve) => {
        if ((pendingByMs.get(ms) ?? 0) > 0) resolve();
        else waitersByMs.set(ms, [...(waitersByMs.get(ms) ?? []), resolve]);
      }),
  };
}

/** Collects a run's stream; time passes only where the run waits before another attempt of a model call. */
export async function advanceThroughRetries(
  clock: WatchedClock,
  stream: AsyncIterable<StreamItem>,
): Promise<readonly StreamItem[]> {
  const items: StreamItem[] = [];
  for await (const item of stream) {
    items.push(item);
    if (item.type !== "attempt_failed" || item.retryInMs === undefined || item.retryInMs === 0) continue;
    await clock.waitFor(item.retryInMs);
    await clock.advance(item.retryInMs);
  }
  return items;
}
