/**
 * The signals of those who asked for runs: each aborts its own run, also one that is still queued, until the run has ended.
 */
export type Signals = {
  readonly count: () => number;
  /** Aborts the run when its signal does; at once where it has. */
  readonly watch: (runId: string, signal: AbortSignal) => void;
  readonly forget: (runId: string) => void;
};

export function createSignals(abort: (runId: string) => void): Signals {
  const watched = new Map<string, Set<() => void>>();
  return {
    count: () => watched.size,
    watch(runId, signal) {
      const stop = () => abort(runId);
      if (signal.aborted) return stop();
      signal.addEventListener("abort", stop, { once: true });
      const leave = () => signal.removeEventListener("abort", stop);
      watched.set(runId, (watched.get(runId) ?? new Set()).add(leave));
    },
    forget(runId) {
      for (const leave of watched.get(runId) ?? []) leave();
      watched.delete(runId);
    },
  };
}
