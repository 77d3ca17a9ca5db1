/**
 * The share of the longest sweeps (crashes, kills, seeds) that a run of the tests plays: all of it, unless PAWL_SHARE says otherwise.
 *
 * Continuous integration sets `PAWL_SHARE=K/6`, with a K that is drawn from the commit: each commit plays a sixth of the points, and the
 * next commits play the others. `npm run test:long` and `npm run crash` play all of them.
 */

/** The quick set is the same everywhere. */
const share = process.env.PAWL_TESTS === "quick" ? "0/1" : (process.env.PAWL_SHARE ?? "0/1");
const [, numberText = "0", countText = "1"] = /^(\d+)\/(\d+)$/.exec(share) ?? [];
const [number, count] = [Number(numberText), Number(countText)];

if (count === 0 || number >= count)
  throw new Error(`PAWL_SHARE is "${process.env.PAWL_SHARE}". Give K/N with K below N.`);

/** Whether every point is played, so that a test can expect what only some of the points lead to. */
export const isWholeSweep = count === 1;

/** How many seeds are tried of so many, and the first of them: the next commits try the others. */
export function seedsInShare(first: number, seeds: number): { readonly first: number; readonly seeds: number } {
  const inShare = Math.ceil(seeds / count);
  return { first: first + number * inShare, seeds: inShare };
}

/** Whether the point with this number is played. */
export function isInShare(point: number): boolean {
  return point % count === number;
}
