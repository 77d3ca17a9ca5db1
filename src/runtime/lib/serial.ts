/**
 * Runs functions one after another: each begins when the previous one has ended, whether it succeeded or failed.
 */
export type TurnQueue = { lastTurn: Promise<unknown> | null };

export function runInTurn<T>(turns: TurnQueue, act: () => Promise<T>): Promise<T> {
  const current = turns.lastTurn === null ? act() : turns.lastTurn.then(act);
  const settled = current
    .catch(() => {})
    .then(() => {
      if (turns.lastTurn === settled) turns.lastTurn = null;
    });
  turns.lastTurn = settled;
  return current;
}
