/**
 * A clock that a test owns: time stands still until it is moved, and nobody really waits.
 */

import type { Clock } from "../ports/clock.js";
import { loadValidator } from "../runtime/tools/schema.js";

export type TestClock = Clock & {
  /** Moves time on by `ms`. Timers that fall due are called in the order of their times, then of their making; what each leads to happens before the next. */
  readonly advance: (ms: number) => Promise<void>;
  /**
   * Moves time to the next timer, again and again, until none is left or `maxMs` have passed (an hour unless given: some
   * timers are set for ever anew).
   */
  readonly runUntilIdle: (options?: { readonly maxMs?: number }) => Promise<void>;
  /** Moves time to the next timer and calls it at once; false where there is none. */
  readonly fireNext: () => boolean;
  /** Sets the wall clock forward or back by `ms`, as people and time servers do. Timers are not affected. */
  readonly jump: (ms: number) => void;
};

type Timer = { readonly due: number; readonly call: () => void };

const anHour = 3_600_000;

// What a program loads when it first needs it would come late where time stands still.
await loadValidator();

/** @param startAt the first time, epoch milliseconds; 1,000,000 unless given */
export function createTestClock(startAt = 1_000_000): TestClock {
  let timers: Timer[] = [];
  let elapsed = 0;
  let wall = startAt;

  function fire(timer: Timer): void {
    timers = timers.filter((one) => one !== timer);
    elapsed = Math.max(elapsed, timer.due);
    timer.call();
  }

  async function runTo(end: number): Promise<void> {
    await settled();
    for (let timer = timers[0]; timer !== undefined && timer.due <= end; timer = timers[0]) {
      fire(timer);
      await settled();
    }
  }

  return {
    now: () => wall + elapsed,
    after(ms, call) {
      const timer = { due: elapsed + Math.max(0, ms), call };
      const place = timers.findIndex((one) => one.due > timer.due);
      timers.splice(place === -1 ? timers.length : place, 0, timer);
      return () => {
        timers = timers.filter((one) => one !== timer);
      };
    },
    async advance(ms) {
      const end = elapsed + ms;
      await runTo(end);
      elapsed = Math.max(elapsed, end);
    },
    runUntilIdle: ({ maxMs = anHour } = {}) => runTo(elapsed + maxMs),
    fireNext() {
      const timer = timers[0];
      if (timer !== undefined) fire(timer);
      return timer !== undefined;
    },
    jump(ms) {
      wall += ms;
    },
    elapsed: () => elapsed,
  };
}

/** Lets promises that can settle do so: those that wait for nothing but each other. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
