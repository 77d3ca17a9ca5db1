/**
 * Reads a report, that of the tests (vitest's JSON) or that of `npm run verify`, and prints a line for each thing it tells:
 * `failed NAME`, `took SECONDS NAME` for a step of `npm run verify` or a test file that took long, and last `counts PASSED FAILED`. A
 * missing report counts nothing: the exit code of the command says how it ended. Errors that no test caught stand in a file beside the
 * report of the tests, and count as failures.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

/** A test file that takes longer is named in the table of CI, so that one sees where its time goes. */
const longSeconds = 20;

const [path] = process.argv.slice(2);
const unhandled = join(dirname(path), "unhandled.json");
const report = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : { passed: 0, failed: [] };
const { passed, failed, seconds = {} } = "testResults" in report ? ofTests(report) : report;
for (const name of failed) console.log(`failed ${name.replaceAll("\n", " ")}`);
for (const [name, took] of Object.entries(seconds)) console.log(`took ${Math.round(took)} ${name}`);
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
  const seconds = testResults
    .map((file) => [relative(".", file.name), (file.endTime - file.startTime) / 1_000])
    .filter(([, took]) => took >= longSeconds)
    .sort(([, one], [, other]) => other - one);
  return { passed: numPassedTests, failed: [...failed, ...unhandledErrors()], seconds: Object.fromEntries(seconds) };
}

function unhandledErrors() {
  if (!existsSync(unhandled)) return [];
  return JSON.parse(readFileSync(unhandled, "utf8")).map(
    (error) => `an error that no test caught: ${error.slice(0, 600)}`,
  );
}
