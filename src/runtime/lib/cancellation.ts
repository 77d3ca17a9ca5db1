/**
 * Cancels something that was started.
 *
 * A process may hold many calls that wait, and each has a cancellation. So it is plain data, and its signal is made only
 * for code that asks for it.
 */

export type Cancellation = {
  isCancelled: boolean;
  /** Makes the reason of the signal, for code that asks for it. */
  reason: (() => unknown) | undefined;
  controller: AbortController | undefined;
  listeners: readonly (() => void)[];
};

const none: readonly never[] = [];

export function createCancellation(): Cancellation {
  return { isCancelled: false, reason: undefined, controller: undefined, listeners: none };
}

/** The signal, made by the first call. Most tools never ask for it. */
export function getSignal(cancellation: Cancellation): AbortSignal {
  cancellation.controller ??= new AbortController();
  const { signal } = cancellation.controller;
  if (cancellation.isCancelled && !signal.aborted) cancellation.controller.abort(cancellation.reason?.());
  return signal;
}

/**
 * Calls back once when it is cancelled, or at once if it was already. Cheaper than a listener on the signal.
 * Returns the way to stop listening.
 */
export function onCancel(cancellation: Cancellation, listener: () => void): () => void {
  if (cancellation.isCancelled) {
    listener();
    return () => {};
  }
  const { listeners } = cancellation;
  cancellation.listeners = listeners.length === 0 ? [listener] : [...listeners, listener];
  return () => {
    cancellation.listeners = cancellation.listeners.filter((other) => other !== listener);
  };
}

/** @param reason makes the `reason` of the signal; without it, the signal has the platform's own */
export function abort(cancellation: Cancellation, reason?: () => unknown): void {
  const { listeners } = cancellation;
  cancellation.isCancelled = true;
  cancellation.reason = reason;
  cancellation.listeners = none;
  cancellation.controller?.abort(reason?.());
  for (const listener of listeners) listener();
}
