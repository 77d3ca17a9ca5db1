/**
 * Gives a tool that runs again what its steps gave before.
 *
 * 1. Recorded results are given in the order of the log: when they are asked for, and all before them were given. One
 *    turn of the event loop lies between two, so that each branch of the tool goes as far as it went then.
 * 2. A step that is not recorded begins when all recorded ones were given.
 * 3. If recorded ones are left, something is asked for, and nothing moves for 10 s, the tool is stuck: its code has
 *    changed.
 */
import type { StepRecord } from "../../core/transcript/tool-steps.js";
import type { Clock } from "../../ports/clock.js";
import { afterTurn } from "../lib/event-loop.js";

export type StepOrder = {
  /** The recorded result of a step in its turn; undefined when a step that is not recorded may begin. */
  readonly take: (step: string) => Promise<StepRecord | undefined>;
  /** The recorded step that would be given next, if the tool has not asked for it. */
  readonly missing: () => string | undefined;
  /** Gives nothing more. */
  readonly stop: () => void;
};

const stuckAfterMs = 10_000;

/** @param onStuck called with the step that was recorded next, and those that are asked for */
export function createStepOrder(
  recorded: readonly StepRecord[],
  clock: Clock,
  onStuck: (next: string, asked: readonly string[]) => void,
): StepOrder {
  const waitingSteps = new Map<string, (record: StepRecord | undefined) => void>();
  let givenCount = 0;
  let isGiving = false;
  let isStopped = false;
  let stopTimer = () => {};

  function restartStuckTimer(): void {
    stopTimer();
    const next = recorded[givenCount];
    if (next === undefined || isStopped) return;
    stopTimer = clock.after(stuckAfterMs, () => {
      if (!isGiving && waitingSteps.size > 0) onStuck(next.step, [...waitingSteps.keys()]);
    });
  }

  function giveNext(): void {
    if (isGiving || isStopped) return;
    const next = recorded[givenCount];
    if (next === undefined) {
      const waiting = [...waitingSteps.values()];
      waitingSteps.clear();
      for (const begin of waiting) begin(undefined);
      return;
    }
    const taker = waitingSteps.get(next.step);
    if (taker === undefined) return;
    isGiving = true;
    afterTurn(() => {
      isGiving = false;
      if (isStopped) return;
      waitingSteps.delete(next.step);
      givenCount += 1;
      restartStuckTimer();
      taker(next);
      giveNext();
    });
  }

  return {
    take(step) {
      if (givenCount === recorded.length && waitingSteps.size === 0) return Promise.resolve(undefined);
      return new Promise((resolve) => {
        waitingSteps.set(step, resolve);
        restartStuckTimer();
        giveNext();
      });
    },
    missing: () => recorded.slice(givenCount).find(({ step }) => !waitingSteps.has(step))?.step,
    stop() {
      isStopped = true;
      stopTimer();
    },
  };
}
