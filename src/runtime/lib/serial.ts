/**
 * One after the other: each act begins when the one before it has ended, whether it succeeded or failed.
 */
export type Turns = { lastTurn: Promise<unknown> | null };

export function inTurn<T>(turns: Turns, act: () => Promise<T>): Promise<T> {
  const mine = turns.lastTurn === null ? act() : turns.lastTurn.then(act);
  const over = mine
    .catch(() => {})
    .then(() => {
      if (turns.lastTurn === over) turns.lastTurn = null;
    });
  turns.lastTurn = over;
  return mine;
}
