/**
 * Returns recorded step results to a tool that runs again.
 *
 * 1. Recorded results are returned in the order of the log: when they are requested, and all earlier ones have been returned. One turn of
 *    the event loop passes between two results, so that each branch of the tool gets as far as it did before.
 * 2. A step that is not recorded begins when all recorded results have been returned.
 * 3. If recorded results remain, the tool requests another step, and nothing happens for 10 s, the tool is stuck: its code has changed.
 */
import type { StepRecord } from "../../core/transcript/tool-steps.js";
import type { Clock } from "../../ports/clock.js";
import { afterTurn } from "../lib/event-loop.js";
import { detached } from "./tool-attempt.js";

export type StepOrder = {
  /** Resolves to the recorded result of a step in its turn, to undefined when an unrecorded step may begin, or to `detached`. */
  readonly take: (step: string) => Promise<StepRecord | undefined | typeof detached>;
  /** The first remaining recorded step that the tool has not requested. */
  readonly missing: () => string | undefined;
  /** Stops returning results: pending requests get `detached`. */
  readonly stop: () => void;
};

const stuckAfterMs = 10_000;

/** @param onStuck called with the next recorded step, and with the requested steps */
export function createStepOrder(
  recorded: readonly StepRecord[],
  clock: Clock,
  onStuck: (next: string, asked: readonly string[]) => void,
): StepOrder {
  const waitingSteps = new Map<string, (record: StepRecord | undefined | typeof detached) => void>();
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
        if (isStopped) return resolve(detached);
        restartStuckTimer();
        giveNext();
      });
    },
    missing: () => recorded.slice(givenCount).find(({ step }) => !waitingSteps.has(step))?.step,
    stop() {
      isStopped = true;
      stopTimer();
      // They stay in the map, because the tool has requested them.
      for (const settle of waitingSteps.values()) settle(detached);
    },
  };
}
