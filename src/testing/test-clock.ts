/**
 * A clock for tests: time stands still until the test moves it, so tests never wait.
 */

import type { Clock } from "../ports/clock.js";
import { loadValidator } from "../runtime/tools/schema.js";

/** A clock that stands still until a test moves it. */
export type TestClock = Clock & {
  /**
   * Moves time forward by `ms`. Due timers fire in the order of their due times; timers with the same due time fire in the order of
   * their creation. Promises that a timer resolves settle before the next timer fires.
   */
  readonly advance: (ms: number) => Promise<void>;
  /**
   * Moves time to the next timer, again and again, until no timer is left or `maxMs` have passed. Default: an hour, because some
   * timers reschedule themselves forever.
   */
  readonly runUntilIdle: (options?: {
    /** The maximum time that may pass on the clock, in milliseconds. */
    readonly maxMs?: number;
  }) => Promise<void>;
  /** Moves time to the next timer and fires it at once. @returns false if there is no timer */
  readonly fireNext: () => boolean;
  /** Sets the wall clock forward or back by `ms`, as people and time servers do. Timers are not affected. */
  readonly jump: (ms: number) => void;
};

type PendingTimer = { readonly due: number; readonly call: () => void };

const hourMs = 3_600_000;

// The validator is otherwise loaded lazily, and a test's clock could move while it loads.
await loadValidator();

/**
 * Creates a clock that stands still until a test moves it.
 * @param startAt the initial time in epoch milliseconds; default: 1,000,000
 *
 * @example
 * ```ts
 * import { createScriptedModel, createTestClock } from "pawl/testing";
 *
 * const clock = createTestClock();
 * const model = createScriptedModel([{ error: { kind: "overloaded", message: "busy" } }, { text: "Hello" }]);
 * const run = createAgent({ model, clock }).run("Hi");
 * await clock.runUntilIdle(); // the wait before the second attempt takes no real time
 * const result = await run;
 * ```
 */
export function createTestClock(startAt = 1_000_000): TestClock {
  let timers: PendingTimer[] = [];
  let elapsed = 0;
  let wallOffset = startAt;

  function fire(timer: PendingTimer): void {
    timers = timers.filter((other) => other !== timer);
    elapsed = Math.max(elapsed, timer.due);
    timer.call();
  }

  async function runUntil(end: number): Promise<void> {
    await settled();
    for (let timer = timers[0]; timer !== undefined && timer.due <= end; timer = timers[0]) {
      fire(timer);
      await settled();
    }
  }

  return {
    now: () => wallOffset + elapsed,
    after(ms, call) {
      const timer = { due: elapsed + Math.max(0, ms), call };
      const index = timers.findIndex((other) => other.due > timer.due);
      timers.splice(index === -1 ? timers.length : index, 0, timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    async advance(ms) {
      const end = elapsed + ms;
      await runUntil(end);
      elapsed = Math.max(elapsed, end);
    },
    runUntilIdle: ({ maxMs = hourMs } = {}) => runUntil(elapsed + maxMs),
    fireNext() {
      const timer = timers[0];
      if (timer !== undefined) fire(timer);
      return timer !== undefined;
    },
    jump(ms) {
      wallOffset += ms;
    },
    elapsed: () => elapsed,
  };
}

/** Lets all promises settle that only wait for each other. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
