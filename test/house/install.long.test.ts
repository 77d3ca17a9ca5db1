import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { verifies } from "../verifies.js";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function checkInstall(folder: string): { readonly code: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [resolve("scripts/check-install.mjs"), folder], {
    encoding: "utf8",
  });
  return { code: status, output: stdout + stderr };
}

/** A package with these files, each given as JSON. */
function packageWith(files: { readonly [path: string]: unknown }): string {
  const folder = mkdtempSync(join(tmpdir(), "pawl-install-"));
  folders.push(folder);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), typeof content === "string" ? content : JSON.stringify(content));
  }
  return folder;
}

const own = { name: "own", version: "1.0.0", files: ["dist"] };
const lockfileOf = (...names: readonly string[]) => ({
  packages: { "": own, ...Object.fromEntries(names.map((name) => [`node_modules/${name}`, { version: "1.0.0" }])) },
});

describe("what an install of this package brings", () => {
  test("is few packages, small, and runs no script", verifies("SEC-16"), () => {
    expect(checkInstall(".")).toMatchObject({ code: 0 });
  });
});

describe("the check of an install", () => {
  test("refuses a dependency with an install script", verifies("SEC-16"), () => {
    const folder = packageWith({
      "package.json": own,
      "package-lock.json": lockfileOf("sly"),
      "node_modules/sly/package.json": { name: "sly", scripts: { postinstall: "node steal.js" } },
    });
    const { code, output } = checkInstall(folder);
    expect(output).toContain("node_modules/sly runs a script at install: postinstall");
    expect(code).toBe(1);
  });

  test("refuses a dependency that npm would compile", () => {
    const folder = packageWith({
      "package.json": own,
      "package-lock.json": lockfileOf("native"),
      "node_modules/native/package.json": { name: "native" },
      "node_modules/native/binding.gyp": "{}",
    });
    expect(checkInstall(folder)).toMatchObject({ code: 1, output: expect.stringContaining("binding.gyp") });
  });

  test("refuses an install script of the package itself", () => {
    const folder = packageWith({
      "package.json": { ...own, scripts: { install: "node setup.js" } },
      "package-lock.json": lockfileOf(),
    });
    expect(checkInstall(folder)).toMatchObject({ code: 1, output: expect.stringContaining("itself runs a script") });
  });

  test("refuses a script that npm warns of", verifies("SEC-16"), () => {
    const folder = packageWith({
      "package.json": { ...own, scripts: { prepare: "node build.js" } },
      "package-lock.json": lockfileOf(),
    });
    expect(checkInstall(folder)).toMatchObject({ code: 1, output: expect.stringContaining("at install: prepare") });
  });

  test("refuses too many packages and too many bytes", () => {
    const names = Array.from({ length: 8 }, (_, index) => `part-${index}`);
    const folder = packageWith({
      "package.json": own,
      "package-lock.json": lockfileOf(...names),
      "dist/large.js": randomBytes(5 * 1024 * 1024).toString("hex"),
      ...Object.fromEntries(names.map((name) => [`node_modules/${name}/package.json`, { name }])),
    });
    const { code, output } = checkInstall(folder);
    expect(output).toContain("brings 9 packages");
    expect(output).toContain("takes 10.00 MiB");
    expect(output).toContain("10.00 MiB  dist");
    expect(code).toBe(1);
  });

  test("counts what is installed, and not the folder that it is installed in", () => {
    const folder = packageWith({
      "package.json": { private: true },
      "package-lock.json": lockfileOf("one", "other"),
      "node_modules/one/package.json": { name: "one" },
      "node_modules/other/package.json": { name: "other" },
    });
    expect(checkInstall(folder)).toMatchObject({ code: 0, output: expect.stringContaining("brings 2 packages") });
  });

  test("leaves development dependencies and optional peers out", () => {
    const folder = packageWith({
      "package.json": own,
      "package-lock.json": {
        packages: { "": own, "node_modules/tool": { dev: true }, "node_modules/peer": { peer: true, optional: true } },
      },
    });
    expect(checkInstall(folder)).toMatchObject({ code: 0, output: expect.stringContaining("brings 1 packages") });
  });
});

test("SECURITY.md has the threat model and says how to report", verifies("SEC-16"), () => {
  const page = readFileSync("SECURITY.md", "utf8");
  expect(page).toMatch(/^## Threat model$/m);
  expect(page).toMatch(/^## Reporting a vulnerability$/m);
});
