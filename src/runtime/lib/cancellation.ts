/**
 * Cancellation of work in progress.
 *
 * A process may have many waiting calls, each with a cancellation. So a cancellation is plain data, and its signal is created only for code
 * that asks for it.
 */

export type Cancellation = {
  isCancelled: boolean;
  /** Creates the signal's `reason`. Called only if code asks for the signal. */
  reason: (() => unknown) | undefined;
  controller: AbortController | undefined;
  listeners: readonly (() => void)[];
};

const none: readonly never[] = [];

export function createCancellation(): Cancellation {
  return { isCancelled: false, reason: undefined, controller: undefined, listeners: none };
}

/** The signal, created by the first call. Most tools never ask for it. */
export function getSignal(cancellation: Cancellation): AbortSignal {
  cancellation.controller ??= new AbortController();
  const { signal } = cancellation.controller;
  if (cancellation.isCancelled && !signal.aborted) cancellation.controller.abort(cancellation.reason?.());
  return signal;
}

/**
 * Calls the listener once on cancellation, or at once if already cancelled. Cheaper than a listener on the signal.
 * Returns a function that removes the listener.
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

/** @param reason creates the signal's `reason`. Default: the platform's default */
export function abort(cancellation: Cancellation, reason?: () => unknown): void {
  const { listeners } = cancellation;
  cancellation.isCancelled = true;
  cancellation.reason = reason;
  cancellation.listeners = none;
  cancellation.controller?.abort(reason?.());
  for (const listener of listeners) listener();
}
