/**
 * Cancels something that was started.
 *
 * A process may hold many calls that wait, and each has a cancellation. So it is plain data, and its signal is made only
 * for code that asks for it.
 */

export type Cancellation = {
  isCancelled: boolean;
  controller: AbortController | undefined;
  listeners: readonly (() => void)[];
};

const none: readonly never[] = [];

export function createCancellation(): Cancellation {
  return { isCancelled: false, controller: undefined, listeners: none };
}

/** The signal, made by the first call. Most tools never ask for it. */
export function signalOf(cancellation: Cancellation): AbortSignal {
  cancellation.controller ??= new AbortController();
  if (cancellation.isCancelled) cancellation.controller.abort();
  return cancellation.controller.signal;
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

export function abort(cancellation: Cancellation): void {
  const { listeners } = cancellation;
  cancellation.isCancelled = true;
  cancellation.listeners = none;
  cancellation.controller?.abort();
  for (const listener of listeners) listener();
}
