/**
 * How much the files `*.seeds.test.ts` try: a few seeds in the quick tests, all of them in the long tests.
 */

/** Set by vitest.config.ts. */
const isLong = process.env.PAWL_TESTS === "long";

/** How many seeds, runs or plays there are, of one kind or of several: `quick` in `npm test`, `long` in `npm run test:long`. */
export function pickSampleCount<Amount>({ quick, long }: { readonly quick: Amount; readonly long: Amount }): Amount {
  return isLong ? long : quick;
}
