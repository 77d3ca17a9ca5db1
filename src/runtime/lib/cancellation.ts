/**
 * Aborts what was started.
 *
 * A process may hold many calls that wait, and each has one: so it is data, and a signal is made only for those who ask for it.
 */

export type Cancellation = {
  cancelled: boolean;
  controller: AbortController | undefined;
  callback: (() => void) | undefined;
};

export function createCancellation(): Cancellation {
  return { cancelled: false, controller: undefined, callback: undefined };
}

/** Most tools never ask for it. */
export function signalOf(cancellation: Cancellation): AbortSignal {
  cancellation.controller ??= new AbortController();
  if (cancellation.cancelled) cancellation.controller.abort();
  return cancellation.controller.signal;
}

/** Calls back when it is cancelled, without the cost of a signal; the last one who asks is called. */
export function onCancel(cancellation: Cancellation, callback: () => void): void {
  cancellation.callback = callback;
  if (cancellation.cancelled) callback();
}

export function abort(cancellation: Cancellation): void {
  cancellation.cancelled = true;
  cancellation.controller?.abort();
  cancellation.callback?.();
}
