import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterEach, describe, expect, test } from "vitest";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Runs the examples of a project that has these files. */
function runExamples(files: { readonly [path: string]: string }, ...names: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), "pawl-examples-"));
  folders.push(folder);
  const project = {
    "package.json": '{ "type": "module" }',
    "tsconfig.examples.json": JSON.stringify({
      compilerOptions: {
        module: "nodenext",
        skipLibCheck: true,
        types: ["node"],
        rootDir: "examples",
        outDir: "temp/examples",
      },
      include: ["examples"],
    }),
    ...files,
  };
  for (const [path, text] of Object.entries(project)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  const { status, stdout, stderr } = spawnSync(process.execPath, [resolve("scripts/examples.mjs"), ...names], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, OPENAI_API_KEY: "not for examples" },
  });
  return { code: status, output: stdout + stderr };
}

describe("the runner of examples", () => {
  test("passes when each example exits with 0, in an empty folder and without model keys", () => {
    const { code, output } = runExamples({
      "examples/empty-folder.ts":
        'import { readdirSync } from "node:fs"; if (readdirSync(".").length > 0) throw new Error("not empty");',
      "examples/no-keys/main.ts": 'import { key } from "./key.js"; if (key !== undefined) throw new Error("a key");',
      "examples/no-keys/key.ts": "export const key = process.env.OPENAI_API_KEY;",
    });
    expect(output).toContain("passed  empty-folder");
    expect(output).toContain("passed  no-keys");
    expect(code).toBe(0);
  });

  test("fails when one does not, says which and shows its output", () => {
    const { code, output } = runExamples({
      "examples/good.ts": "export {};",
      "examples/bad.ts": 'console.log("so far"); throw new Error("the report is missing");',
    });
    expect(output).toContain("passed  good");
    expect(output).toContain("failed  bad: exit code 1\nso far");
    expect(output).toContain("the report is missing");
    expect(code).toBe(1);
  });

  test("fails when one does not compile", () => {
    const { code, output } = runExamples({ "examples/wrong.ts": 'export const count: number = "many";' });
    expect(output).toContain("The examples do not compile.");
    expect(code).toBe(1);
  });

  test("runs only those that are named", () => {
    const files = { "examples/good.ts": "export {};", "examples/bad.ts": 'throw new Error("bad");' };
    expect(runExamples(files, "good")).toMatchObject({ code: 0 });
    expect(runExamples(files, "other")).toMatchObject({
      code: 2,
      output: expect.stringContaining('no example "other"'),
    });
  });
});
