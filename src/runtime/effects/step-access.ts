/**
 * Whether a step may run here and now, and the signal that it gets.
 *
 * 1. A step is tried only by a process that is sure of its lease. Another process may have the call after each wait.
 * 2. A step that tidies up may begin, and goes on, in the grace of an abort.
 */
import type { State } from "../../core/machine/state.js";
import type { Cancellation } from "../lib/cancellation.js";
import { runCoroutine } from "../lib/coroutine.js";
import type { EffectContext } from "../work/effect-context.js";
import { canCleanUp, canStart } from "./can-start.js";

/** The attempt of a call whose step it is. */
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

/** The last look before a try. `ended`: no step may begin any more. `elsewhere`: another process has the call. */
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

/** The signal of the call. An abort of the run does not reach a step that tidies up. */
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
