/**
 * How much the files `*.seeds.test.ts` try: a few seeds in the quick tests, all of them in the long tests.
 */

/** Set by vitest.config.ts. */
const isLong = process.env.PAWL_TESTS === "long";

/** How many seeds, runs or plays there are: `quick` in `npm test`, `long` in `npm run test:long`. */
export function pickSampleCount({ quick, long }: { readonly quick: number; readonly long: number }): number {
  return isLong ? long : quick;
}
