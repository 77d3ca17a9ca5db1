/** Runs of vitest with the reporter, over test files of its own. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { owedCitations } from "../requirements.js";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

type Case = { readonly verifies: readonly string[]; readonly fails?: boolean };

/** A project with one test file for each of these, and what vitest says of it. */
function runTests(files: { readonly [name: string]: Case }, ...filters: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), "pawl-reporter-"));
  folders.push(folder);
  mkdirSync(join(folder, "test"));
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(
    join(folder, "vitest.config.ts"),
    `import { requirementsReporter } from ${JSON.stringify(resolve("test/requirements-reporter.ts"))};
     export default { test: { reporters: ["default", requirementsReporter()] } };`,
  );
  for (const [name, { verifies, fails = false }] of Object.entries(files)) {
    writeFileSync(
      join(folder, `test/${name}.test.ts`),
      `import { expect, test } from "vitest";
       test("${name}", { meta: { verifies: ${JSON.stringify(verifies)} } }, () => expect(${fails}).toBe(false));`,
    );
  }
  const program = resolve("node_modules/vitest/vitest.mjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, "run", ...filters], {
    cwd: folder,
    encoding: "utf8",
    env: { PATH: process.env.PATH, NO_COLOR: "1" },
  });
  return { code: status, output: stdout + stderr };
}

const everything = { verifies: owedCitations() };

describe("a run of tests", () => {
  test("passes when passing tests cite all that is owed", () => {
    const { code, output } = runTests({ all: everything });
    expect(output).toContain(`all ${owedCitations().length} that are owed are proved`);
    expect(code).toBe(0);
  });

  test("fails when something owed is not cited, and names it", () => {
    const { code, output } = runTests({ most: { verifies: owedCitations().filter((id) => id !== "LOOP-3") } });
    expect(output).toContain("proved by no passing test: LOOP-3\n");
    expect(code).toBe(1);
  });

  test("does not count the citations of a test that failed", () => {
    const { output } = runTests({ all: { ...everything, fails: true } });
    expect(output).toContain("proved by no passing test: LOOP-1,");
  });

  test("passes without what is owed when it is a part of the tests", () => {
    const files = { one: { verifies: ["LOOP-1"] }, other: { verifies: ["LOOP-2"] } };
    expect(runTests(files, "test/one")).toMatchObject({ code: 0 });
    expect(runTests(files, "-t", "one")).toMatchObject({ code: 0 });
    expect(runTests(files)).toMatchObject({ code: 1 });
  });

  test("fails on a citation that names nothing, however small it is", () => {
    const { code, output } = runTests({ one: { verifies: ["LOOP-99"] }, other: { verifies: [] } }, "test/one");
    expect(output).toContain("requirements that do not exist: LOOP-99");
    expect(code).toBe(1);
  });
});
