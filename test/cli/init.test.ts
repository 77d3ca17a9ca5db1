/**
 * `pawl init`: what it writes and refuses. scripts/check-package.mjs installs, compiles, tests and runs such a project.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { init } from "../../src/cli/commands/init.js";
import { exitCodes } from "../../src/cli/exit.js";
import { createTempFolder } from "../tools/folder.js";

type Report = { readonly folder: string; readonly files: readonly string[]; readonly next: readonly string[] };

/** Runs the command, and returns what it prints. */
function runInit(folder: string, environment = {}): { readonly text: string; readonly code: number } {
  let text = "";
  const code = init(folder, {}, { out: (printed) => (text += printed), json: () => {} }, environment);
  return { text, code };
}

function runInitAsJson(folder: string): Report {
  let report: object = {};
  init(folder, { json: true }, { out: () => {}, json: (value) => (report = value) }, {});
  return report as Report;
}

function listFiles(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

const template = "examples/starter";

describe("a new folder", () => {
  test("gets the files of the template unchanged, a package.json and a .gitignore", () => {
    const folder = join(createTempFolder({}), "apps/shop");
    const { files, next, folder: reported } = runInitAsJson(folder);
    expect(reported).toBe(folder);
    expect(listFiles(folder)).toEqual(files);
    expect(files).toEqual([...listFiles(template), "package.json", ".gitignore"].sort());
    for (const path of listFiles(template))
      expect(readFileSync(join(folder, path), "utf8")).toBe(readFileSync(join(template, path), "utf8"));
    expect(next).toEqual([
      `cd ${relative(process.cwd(), folder)} && npm install`,
      'npm start -- "Find order 1041 and refund it"',
    ]);
  });

  test("depends on this version of Pawl, and on the versions that it is tested with", () => {
    const folder = join(createTempFolder({}), "My Shop!");
    runInit(folder);
    const own = JSON.parse(readFileSync("package.json", "utf8"));
    const { name, type, dependencies, devDependencies } = JSON.parse(
      readFileSync(join(folder, "package.json"), "utf8"),
    );
    expect({ name, type }).toEqual({ name: "my-shop", type: "module" });
    expect(dependencies).toMatchObject({ pawl: `^${own.version}`, zod: own.devDependencies.zod });
    expect(devDependencies).toEqual({
      "@types/node": own.devDependencies["@types/node"],
      typescript: own.devDependencies.typescript,
    });
  });

  test("depends on the client of the provider whose key is set", () => {
    const folder = join(createTempFolder({}), "keyed");
    const { text } = runInit(folder, { ANTHROPIC_API_KEY: "", GOOGLE_GENERATIVE_AI_API_KEY: "a key of a test" });
    expect(text).toContain("It uses the key in GOOGLE_GENERATIVE_AI_API_KEY.");
    const { dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    expect(Object.keys(dependencies).filter((name) => name.startsWith("@ai-sdk/"))).toEqual(["@ai-sdk/google"]);
  });

  test.each([
    ["pawl", "my-agent"],
    ["zod", "my-agent"],
    ["…", "my-agent"],
  ])("named %s is a package that npm accepts: %s", (folderName, packageName) => {
    const folder = join(createTempFolder({}), folderName);
    runInit(folder);
    expect(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")).name).toBe(packageName);
  });

  test("is what the two commands to type next are for", () => {
    const folder = join(createTempFolder({}), "it's");
    const { text, code } = runInit(folder);
    expect(code).toBe(exitCodes.done);
    expect(text).toContain("It needs no key");
    expect(text.trimEnd().split("\n").slice(-2)).toEqual([
      `  cd '${relative(process.cwd(), folder).replace("'", "'\\''")}' && npm install`,
      '  npm start -- "Find order 1041 and refund it"',
    ]);
  });
});

test("a folder with nothing but a repository counts as empty", () => {
  const folder = createTempFolder({});
  mkdirSync(join(folder, ".git"));
  runInit(folder);
  expect(listFiles(folder)).toContain("src/agent.ts");
});

test("a folder that is not empty is refused, and stays as it is", () => {
  const files = { "package.json": "{}", "a.txt": "", "b.txt": "", "c.txt": "", "d.txt": "", "e.txt": "", "f.txt": "" };
  const folder = createTempFolder(files);
  expect(() => runInit(folder)).toThrow(
    expect.objectContaining({
      code: "bad_configuration",
      message: `${folder} is not empty: it contains a.txt, b.txt, c.txt, d.txt, e.txt and 2 more. Name a new folder: pawl init my-agent`,
    }),
  );
  expect(listFiles(folder)).toEqual(Object.keys(files).sort());
  expect(readFileSync(join(folder, "package.json"), "utf8")).toBe("{}");
});

test("a file is refused", () => {
  const file = join(createTempFolder({}), "file");
  writeFileSync(file, "mine");
  expect(() => runInit(file)).toThrow(`${file} is a file. Name a new or empty folder.`);
  expect(readFileSync(file, "utf8")).toBe("mine");
});
