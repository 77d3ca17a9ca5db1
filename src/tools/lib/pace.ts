/**
 * Paces long work in small pieces: yields to the event loop every few milliseconds, and ends soon after an abort.
 *
 * All work in this process shares one turn. So ten concurrent calls block the event loop no longer than one does.
 */
import { scheduleNextTurn } from "../../platform/process.js";

/** The size of a piece in characters or bytes. A plain scan of a piece takes well under a millisecond. */
export const pieceSize = 64 * 1024;

const turnMs = 4;

/**
 * Called between two pieces of work. Waits for the next turn of the event loop if the current turn has lasted long enough.
 *
 * @throws the signal's reason if it is aborted
 */
export type Pace = () => Promise<void>;

export function createPace(signal: AbortSignal): Pace {
  return async () => {
    signal.throwIfAborted();
    if (!isTurnOver()) return;
    await nextTurn();
    signal.throwIfAborted();
  };
}

/** Whether the next call of a pace waits. Loops over many small items check this first, because each call costs a promise. */
export function isTurnOver(): boolean {
  return performance.now() - turnStart >= turnMs;
}

let turnStart = 0;
let pendingTurn: Promise<void> | null = null;

function nextTurn(): Promise<void> {
  pendingTurn ??= new Promise((resolve) => {
    scheduleNextTurn(() => {
      pendingTurn = null;
      turnStart = performance.now();
      resolve();
    });
  });
  return pendingTurn;
}
