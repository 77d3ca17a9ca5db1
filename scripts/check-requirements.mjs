/**
 * Fails while a requirement that is owed is proved by no passing test: `npm run requirements`, after `npm test` and `npm run test:long`.
 *
 *     node scripts/check-requirements.mjs [PROJECT…]     the sets of tests that count together; quick and long
 *
 * Each whole run of a set leaves temp/requirements/<set>.json with what it does not prove: see test/requirements-reporter.ts.
 */
import { existsSync, readFileSync } from "node:fs";

const sets = process.argv.length > 2 ? process.argv.slice(2) : ["quick", "long"];
const commands = { quick: "npm test", long: "npm run test:long" };

const absent = sets.filter((set) => !existsSync(fileOf(set)));
if (absent.length > 0) {
  console.error(`First run ${absent.map((set) => commands[set] ?? set).join(" and ")}: no whole run of it is known.`);
  process.exit(1);
}

const reports = sets.map((set) => JSON.parse(readFileSync(fileOf(set), "utf8")));
const [first, ...others] = reports;
const missing = first.missing.filter((id) => others.every((report) => report.missing.includes(id)));
if (missing.length > 0) {
  console.error(
    `${missing.length} of ${first.owed} owed requirements are proved by no passing test: ${missing.join(", ")}`,
  );
  process.exitCode = 1;
} else {
  console.log(`All ${first.owed} requirements that are owed are proved by tests.`);
}

function fileOf(set) {
  return `temp/requirements/${set}.json`;
}
