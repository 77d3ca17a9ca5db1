/**
 * Chance that can be repeated: the same seed gives the same numbers.
 */
export type Chance = {
  /** From 0 up to, but not including, 1. */
  readonly next: () => number;
  /** A whole number from `least` to `most`. */
  readonly between: (least: number, most: number) => number;
  readonly pick: <T>(all: readonly T[]) => T | undefined;
};

/** A linear congruential generator over 32 bits, its state mixed before it is shown. */
export function createChance(seed: string): Chance {
  let state = 2_166_136_261;
  for (const letter of seed) state = Math.imul(state ^ (letter.codePointAt(0) ?? 0), 16_777_619);
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    const mixed = Math.imul(state ^ (state >>> 15), 2_246_822_519);
    return ((mixed ^ (mixed >>> 13)) >>> 0) / 2 ** 32;
  };
  const between = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  return { next, between, pick: (all) => all[between(0, all.length - 1)] };
}
