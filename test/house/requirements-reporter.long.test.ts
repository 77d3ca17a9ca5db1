/** Runs of vitest with the reporter over test files of its own, and the check over both sets of tests. */
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
type Outcome = { readonly code: number | null; readonly output: string };

/** A project with one test file for each of these: `one.long` is in the long set. */
function project(files: { readonly [name: string]: Case }) {
  const folder = mkdtempSync(join(tmpdir(), "pawl-reporter-"));
  folders.push(folder);
  mkdirSync(join(folder, "test"));
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(
    join(folder, "vitest.config.ts"),
    `import { requirementsReporter } from ${JSON.stringify(resolve("test/requirements-reporter.ts"))};
     const quick = { name: "quick", include: ["test/*.test.ts"], exclude: ["test/*.long.test.ts"] };
     const long = { name: "long", include: ["test/*.long.test.ts"] };
     export default { test: { reporters: ["default", requirementsReporter()], projects: [{ test: quick }, { test: long }] } };`,
  );
  for (const [name, { verifies, fails = false }] of Object.entries(files)) {
    writeFileSync(
      join(folder, `test/${name}.test.ts`),
      `import { expect, test } from "vitest";
       test("${name}", { meta: { verifies: ${JSON.stringify(verifies)} } }, () => expect(${fails}).toBe(false));`,
    );
  }
  const run = (file: string, args: readonly string[]): Outcome => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [resolve(file), ...args], {
      cwd: folder,
      encoding: "utf8",
      env: { PATH: process.env.PATH, NO_COLOR: "1" },
    });
    return { code: status, output: stdout + stderr };
  };
  return {
    tests: (...filters: readonly string[]) => run("node_modules/vitest/vitest.mjs", ["run", ...filters]),
    check: () => run("scripts/check-requirements.mjs", []),
  };
}

const owed = owedCitations();
const half = Math.floor(owed.length / 2);

describe("the check of requirements", () => {
  test("passes when passing tests of the two sets together cite all that is owed", () => {
    const { tests, check } = project({
      some: { verifies: owed.slice(0, half) },
      "rest.long": { verifies: owed.slice(half) },
    });
    expect(check()).toMatchObject({
      code: 1,
      output: expect.stringContaining("First run npm test and npm run test:long"),
    });
    expect(tests("--project", "quick").output).toContain(`the quick tests prove ${half} of the ${owed.length}`);
    expect(check()).toMatchObject({ code: 1, output: expect.stringContaining("First run npm run test:long") });
    expect(tests("--project", "long")).toMatchObject({ code: 0 });
    expect(check()).toMatchObject({ code: 0, output: expect.stringContaining(`All ${owed.length} requirements`) });
  });

  test("fails when neither set cites something owed, and names it; a test that fails cites nothing", () => {
    const { tests, check } = project({
      most: { verifies: owed.filter((id) => id !== "LOOP-3" && id !== "LOOP-1") },
      "other.long": { verifies: ["LOOP-1"], fails: true },
    });
    expect(tests()).toMatchObject({ code: 1 });
    expect(check()).toMatchObject({ code: 1, output: expect.stringContaining("no passing test: LOOP-1, LOOP-3\n") });
  });
});

describe("a run of tests", () => {
  test("that is a part of a set says nothing of what is owed", () => {
    const { tests, check } = project({
      one: { verifies: ["LOOP-1"] },
      other: { verifies: [] },
      "a.long": { verifies: [] },
    });
    expect(tests("test/one").output).not.toContain("Requirements");
    expect(tests("--project", "quick", "-t", "one").output).not.toContain("Requirements");
    expect(check()).toMatchObject({ code: 1, output: expect.stringContaining("First run npm test and") });
  });

  test("fails on a citation that names nothing, however small it is", () => {
    const { tests } = project({ one: { verifies: ["LOOP-99"] }, other: { verifies: [] } });
    const { code, output } = tests("test/one");
    expect(output).toContain("requirements that do not exist: LOOP-99");
    expect(code).toBe(1);
  });
});
