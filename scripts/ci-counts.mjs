/**
 * Reads the report of the tests (vitest's JSON) or of `npm run verify`. Prints one line for each failure, then
 * `counts PASSED FAILED`. A missing report counts as 0 and 0; the command's own exit code tells how it ended.
 */
import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";

const [path] = process.argv.slice(2);
const report = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : { passed: 0, failed: [] };
const { passed, failed } = "testResults" in report ? ofTests(report) : report;
for (const name of failed) console.log(name.replaceAll("\n", " "));
console.log(`counts ${passed} ${failed.length}`);

/** A file that could not be loaded has no tests, and counts as one failure. */
function ofTests({ numPassedTests, testResults }) {
  const failed = testResults.flatMap((file) => {
    const path = relative(".", file.name);
    const tests = file.assertionResults
      .filter((test) => test.status === "failed")
      .map((test) => `${path}: ${test.fullName}`);
    return tests.length === 0 && file.status === "failed" ? [path] : tests;
  });
  return { passed: numPassedTests, failed };
}
