/**
 * Repeatable randomness: the same seed always gives the same choices.
 */
export type SeededRandom = {
  /** A number from 0 up to, but not including, 1. */
  readonly fraction: () => number;
  /** An integer from 0 to `bound` - 1. */
  readonly below: (bound: number) => number;
  readonly pick: <Item>(items: readonly Item[]) => Item;
  /** True with this probability. */
  readonly happens: (probability: number) => boolean;
};

/** Mulberry32: small, and good enough for making choices. */
export function createSeededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  function fraction(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
  const below = (bound: number) => Math.floor(fraction() * bound);
  return {
    fraction,
    below,
    pick(items) {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error("There is nothing to pick from.");
      return item;
    },
    happens: (probability) => fraction() < probability,
  };
}
