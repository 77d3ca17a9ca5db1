/**
 * The abort signals of runs that this process requested. A signal aborts its own run, queued or in progress.
 */
export type RunSignals = { signals: readonly WatchedSignal[] };

type WatchedSignal = { readonly runId: string; readonly signal: AbortSignal; readonly leave: () => void };

/** Calls `stop` when the signal is aborted, or at once if it is already aborted. */
export function watchSignal(signalled: RunSignals, runId: string, signal: AbortSignal, stop: () => void): void {
  const leave = () => signal.removeEventListener("abort", stop);
  signalled.signals = signalled.signals.concat({ runId, signal, leave });
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
}

/** The reason of the signal that aborted a run; undefined if no signal of this process did. */
export function findAbortedSignal({ signals }: RunSignals, runId: string): { readonly reason: unknown } | undefined {
  const aborted = signals.find((watched) => watched.runId === runId && watched.signal.aborted);
  return aborted === undefined ? undefined : { reason: aborted.signal.reason };
}

export function removeSignals(signalled: RunSignals, runId: string): void {
  if (signalled.signals.length === 0) return;
  for (const watched of signalled.signals) if (watched.runId === runId) watched.leave();
  signalled.signals = signalled.signals.filter((watched) => watched.runId !== runId);
}
