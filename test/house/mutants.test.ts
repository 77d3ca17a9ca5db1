/**
 * The mutants that the checks are known to find still have their places in the source; `npm run mutants` applies them.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mutants } from "../../scripts/mutants-list.mjs";

const root = join(import.meta.dirname, "../..");

test("there are twenty or more, each with a name of its own", () => {
  expect(mutants.length).toBeGreaterThanOrEqual(20);
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
});

test.each(mutants)("$name: its place is in $file once", ({ file, find, replace, check, tests }) => {
  expect(tests === undefined).toBe(check !== "tests");
  if (tests !== undefined) expect(existsSync(join(root, tests)), tests).toBe(true);
  expect(readFileSync(join(root, file), "utf8").split(find)).toHaveLength(2);
  expect(replace).not.toBe(find);
});

test("the page lists them all", () => {
  const page = readFileSync(join(root, "docs/mutants.md"), "utf8");
  const rows = page.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| defect"));
  expect(rows.map((row) => row.split(" | ")[0]?.slice(2))).toEqual(mutants.map(({ name }) => name));
});
