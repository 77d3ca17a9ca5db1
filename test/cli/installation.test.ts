/**
 * How the program was installed, told from its path, and the command that adds a package to it.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { detectInstallation, formatInstallCommand } from "../../src/cli/installation.js";
import { createProgram } from "../../src/cli/program/create-program.js";
import { nameAsStarted } from "../../src/cli/terminal/started-as.js";
import { verifies } from "../verifies.js";

function folderWith(...files: readonly string[]): string {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "pawl-installation-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  for (const file of files) {
    mkdirSync(dirname(join(base, file)), { recursive: true });
    writeFileSync(join(base, file), "{}");
  }
  return base;
}

const program = "node_modules/pawl/dist/cli/main.js";

test("hints name the program as it was started", verifies("CHAT-5"), () => {
  const hint = 'To go on: pawl --continue, or "pawl sessions". It has ../pawl run and npx pawl trust.';
  expect(nameAsStarted(hint, {})).toBe(hint);
  expect(nameAsStarted(hint, { npm_command: "run-script" })).toBe(hint);
  expect(nameAsStarted(hint, { npm_command: "exec" })).toBe(
    'To go on: npx pawl --continue, or "npx pawl sessions". It has ../pawl run and npx pawl trust.',
  );
  const program = createProgram({ out() {}, err() {} } as never, () => {});
  for (const command of program.commands)
    expect(nameAsStarted(`pawl ${command.name()}`, { npm_command: "exec" })).toBe(`npx pawl ${command.name()}`);
});

describe("the command that adds a package", () => {
  test("to a checkout installs it there, and changes no file of the checkout", verifies("CHAT-5"), () => {
    const base = folderWith("package.json", "dist/cli/main.js");
    const clone = detectInstallation(join(base, "dist/cli/main.js"));
    expect(clone).toEqual({ kind: "clone", folder: base });
    expect(formatInstallCommand(clone, "libsql", join(base, "docs"))).toBe("npm install --no-save libsql");
    expect(formatInstallCommand(clone, "libsql", tmpdir())).toBe(`npm install --no-save --prefix "${base}" libsql`);
  });

  test("to a run of npx is another run of npx", verifies("CHAT-5"), () => {
    const base = folderWith("_npx/1f2e/package.json", `_npx/1f2e/${program}`);
    const npx = detectInstallation(join(base, "_npx/1f2e", program));
    expect(formatInstallCommand(npx, "libsql", base)).toBe("npx -p pawl -p libsql pawl …");
  });

  test("to a global install is global", verifies("CHAT-5"), () => {
    const base = folderWith(`lib/${program}`);
    expect(formatInstallCommand(detectInstallation(join(base, "lib", program)), "libsql", base)).toBe(
      "npm install -g libsql",
    );
  });

  test.each([
    ["package-lock.json", "npm install"],
    ["pnpm-lock.yaml", "pnpm add"],
    ["yarn.lock", "yarn add"],
    ["bun.lock", "bun add"],
  ])("to a project with %s is that of its package manager", verifies("CHAT-5"), (lockfile, command) => {
    const base = folderWith("package.json", lockfile, program, "node_modules/.pnpm/pawl@1/node_modules/pawl/main.js");
    for (const path of [program, "node_modules/.pnpm/pawl@1/node_modules/pawl/main.js"]) {
      const local = detectInstallation(join(base, path));
      expect(formatInstallCommand(local, "libsql", join(base, "src"))).toBe(`${command} libsql`);
    }
  });

  test("names the project's folder if the person is elsewhere", verifies("CHAT-5"), () => {
    const base = folderWith("package.json", program);
    const local = detectInstallation(join(base, program));
    expect(formatInstallCommand(local, "libsql", tmpdir())).toBe(`npm install --prefix "${base}" libsql`);
  });
});
