/**
 * Keeps surrogate pairs together in text that arrives in pieces, because half a character cannot be printed.
 */

export type PairJoiner = {
  /** Adds a piece. If it ends with half a pair, that half is buffered until the other half arrives. @returns the text to show */
  readonly add: (piece: string) => string;
  /** Discards a buffered half, because unrelated text follows. */
  readonly reset: () => void;
};

export function createPairJoiner(): PairJoiner {
  let half = "";
  return {
    add(piece) {
      const joined = half + piece;
      half = endsInHalfPair(joined) ? joined.slice(-1) : "";
      return half === "" ? joined : joined.slice(0, -1);
    },
    reset() {
      half = "";
    },
  };
}

/** Whether the text ends with the first half of a surrogate pair. */
export function endsInHalfPair(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}
