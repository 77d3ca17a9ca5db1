/**
 * Decides whether a step may run in this process now, and creates its signal.
 *
 * 1. A step is only attempted by a process that has verified its lease. After each wait, another process may have the call.
 * 2. A cleanup step may begin and continue during the grace period of an abort.
 */
import type { State } from "../../core/machine/state.js";
import type { Cancellation } from "../lib/cancellation.js";
import { runCoroutine } from "../lib/coroutine.js";
import type { EffectContext } from "../work/effect-context.js";
import { canCleanUp, canStart } from "./can-start.js";

/** The attempt of a call to which the step belongs. */
export type StepAttempt = {
  readonly call: {
    readonly context: EffectContext;
    readonly cancellation: Cancellation;
    readonly signal: () => AbortSignal;
  };
  readonly isRunning: (state: State) => boolean;
  readonly isElsewhere: () => boolean;
  readonly isInGrace: () => boolean;
  readonly hasEnded: (isCleanup: boolean) => boolean;
};

/** The last check before an attempt. `ended`: no further step may begin. `elsewhere`: another process has the call. */
export async function findStepAccess(
  stepping: StepAttempt,
  isCleanup: boolean,
): Promise<"here" | "ended" | "elsewhere"> {
  const { context, cancellation } = stepping.call;
  const isHeld = await (isCleanup
    ? canCleanUp(context, stepping.isRunning)
    : runCoroutine(canStart(context, cancellation)));
  if (stepping.isElsewhere()) return "elsewhere";
  if (stepping.hasEnded(isCleanup)) return "ended";
  return isHeld ? "here" : "elsewhere";
}

/** The signal of a step: the call's signal, except that an abort of the run does not reach a cleanup step. */
export function createStepSignal(stepping: StepAttempt, isCleanup: boolean): AbortSignal {
  const signal = stepping.call.signal();
  if (!isCleanup) return signal;
  const controller = new AbortController();
  const abortOwn = () => {
    if (!stepping.isInGrace()) controller.abort(signal.reason);
  };
  if (signal.aborted) abortOwn();
  else signal.addEventListener("abort", abortOwn, { once: true });
  return controller.signal;
}
