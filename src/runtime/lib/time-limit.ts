/**
 * Calls foreign code, and awaits its promise with a time limit.
 *
 * Anything the code does after the limit has no effect.
 */
import type { Clock } from "../../ports/clock.js";
import { type Cancellation, onCancel } from "./cancellation.js";
import { isThenable, type MaybePromise } from "./coroutine.js";
import { formatError } from "./error-text.js";

/** The outcome of a call with a time limit. */
export type SettledCall<Value = unknown> =
  | { readonly type: "returned"; readonly value: Value }
  | { readonly type: "threw" | "timed_out"; readonly message: string };

export type TimeLimit = {
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Ends the wait early, if the call is no longer wanted. */
  readonly cancellation?: Cancellation | undefined;
  /** Called when the wait ends before the code does. */
  readonly onGivenUp?: () => void;
};

/** Returns synchronously if the code does. */
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

/** Awaits a promise with a time limit. Never rejects. */
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
      stopListening = onCancel(cancellation, () => giveUp("It is no longer needed, so its result is ignored."));
  });
}

function toThrewResult(error: unknown): SettledCall<never> {
  return { type: "threw", message: formatError(error, maxMessageCharacters) };
}

const maxMessageCharacters = 500;
