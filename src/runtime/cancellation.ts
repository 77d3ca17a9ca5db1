/**
 * Aborts what was started.
 */

/** A signal is made only for those who look at it: most tools never do. */
export type Cancellation = { readonly signal: AbortSignal };

export type Cancellable = Cancellation & { readonly cancel: () => void };

export function createCancellation(): Cancellable {
  let controller: AbortController | undefined;
  let cancelled = false;
  return {
    get signal() {
      controller ??= new AbortController();
      if (cancelled) controller.abort();
      return controller.signal;
    },
    cancel() {
      cancelled = true;
      controller?.abort();
    },
  };
}
