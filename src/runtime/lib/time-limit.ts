/**
 * Calls code that others wrote, and waits for what it promises no longer than its time limit.
 *
 * What the code does after it was given up has no effect.
 */
import type { Clock } from "../../ports/clock.js";
import { type Cancellation, onCancel } from "./cancellation.js";
import { isThenable, type MaybePromise } from "./coroutine.js";
import { formatError } from "./error-text.js";

/** How a call of such code ended. */
export type SettledCall<Value = unknown> =
  | { readonly type: "returned"; readonly value: Value }
  | { readonly type: "threw" | "timed_out"; readonly message: string };

export type TimeLimit = {
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Ends the wait as well, if the call is no longer wanted. */
  readonly cancellation?: Cancellation | undefined;
  /** Called when the wait ends before the code does. */
  readonly onGivenUp?: () => void;
};

/** Answers at once if the code does. */
export function callInTime(call: () => unknown, limit: TimeLimit): MaybePromise<SettledCall> {
  try {
    const value = call();
    if (isThenable(value)) return awaitInTime(value, limit);
    return value === undefined ? returnedNothing : { type: "returned", value };
  } catch (error) {
    return toThrewResult(error);
  }
}

const returnedNothing: SettledCall = { type: "returned", value: undefined };

/** Waits for what was promised, no longer than the time limit. Never rejects. */
export function awaitInTime<Value>(
  promised: PromiseLike<Value>,
  { timeoutMs, clock, cancellation, onGivenUp }: TimeLimit,
): Promise<SettledCall<Value>> {
  return new Promise((resolve) => {
    let stopTimer = () => {};
    let stopListening = () => {};
    const settle = (call: SettledCall<Value>) => {
      stopTimer();
      stopListening();
      resolve(call);
    };
    const giveUp = (message: string) => {
      settle({ type: "timed_out", message });
      onGivenUp?.();
    };
    stopTimer = clock.after(timeoutMs, () => giveUp(`It took more than ${timeoutMs} ms.`));
    Promise.resolve(promised).then(
      (value) => settle({ type: "returned", value }),
      (error) => settle(toThrewResult(error)),
    );
    if (cancellation !== undefined)
      stopListening = onCancel(cancellation, () => giveUp("It is no longer wanted, and was not waited for."));
  });
}

function toThrewResult(error: unknown): SettledCall<never> {
  return { type: "threw", message: formatError(error, maxMessageCharacters) };
}

const maxMessageCharacters = 500;
