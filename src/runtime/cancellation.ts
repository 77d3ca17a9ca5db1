/**
 * Aborts what was started.
 */

/** A signal is made only for those who ask for it: most tools never do. */
export type Cancellation = {
  readonly signal: () => AbortSignal;
  /** Calls back when it is cancelled, without the cost of a signal. */
  readonly onCancel: (callback: () => void) => void;
};

export type Cancellable = Cancellation & { readonly cancel: () => void };

export function createCancellation(): Cancellable {
  let controller: AbortController | undefined;
  let callback: (() => void) | undefined;
  let cancelled = false;
  return {
    signal() {
      controller ??= new AbortController();
      if (cancelled) controller.abort();
      return controller.signal;
    },
    onCancel(called) {
      callback = called;
      if (cancelled) called();
    },
    cancel() {
      cancelled = true;
      controller?.abort();
      callback?.();
    },
  };
}
