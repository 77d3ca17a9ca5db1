/**
 * The abort signals of runs that this process requested. A signal aborts its own run, queued or under way.
 */
export type Signalled = { signals: readonly Watched[] };

type Watched = { readonly runId: string; readonly leave: () => void };

/** Calls `stop` when the signal is aborted, or at once if it is aborted already. */
export function watchSignal(signalled: Signalled, runId: string, signal: AbortSignal, stop: () => void): void {
  if (signal.aborted) {
    stop();
    return;
  }
  signal.addEventListener("abort", stop, { once: true });
  const leave = () => signal.removeEventListener("abort", stop);
  signalled.signals = signalled.signals.concat({ runId, leave });
}

export function forgetSignals(signalled: Signalled, runId: string): void {
  if (signalled.signals.length === 0) return;
  for (const watched of signalled.signals) if (watched.runId === runId) watched.leave();
  signalled.signals = signalled.signals.filter((watched) => watched.runId !== runId);
}
