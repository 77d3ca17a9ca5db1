/** The rules of who may import whom bite: each is tried on a tree of sources that breaks it. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { resolveCheckTool } from "../support/check-tools.js";

const sources = {
  "src/errors.ts": "export const codes = [];",
  "src/index.ts": 'export * from "./runtime/api/agent.js"; export * from "./stores/memory/index.js";',
  "src/core/index.ts": "export const step = 1;",
  "src/core/data/json.ts": 'import "../machine/state.js";',
  "src/core/machine/state.ts": "export const state = 1;",
  "src/runtime/flat.ts": "export const flat = 1;",
  "src/core/clock.ts": 'import "node:timers";',
  "src/core/impure.ts": 'import "../errors.js";',
  "src/ports/store.ts": 'import "../core/machine/state.js";',
  "src/ports/upward.ts": 'import "../runtime/api/agent.js";',
  "src/ports/one.ts": 'import "./two.js"; export const one = 1;',
  "src/ports/two.ts": 'import type { one } from "./one.js"; export type Two = typeof one;',
  "src/runtime/api/agent.ts": 'import "../../ports/store.js"; import "../flat.js";',
  "src/runtime/driver/store-user.ts": 'import "../../stores/memory/index.js";',
  "src/runtime/driver/tester.ts": 'import "../../testing/index.js";',
  "src/stores/memory/index.ts": 'import "../../ports/store.js"; import "../../errors.js"; import "node:fs";',
  "src/stores/sqlite/index.ts": 'import "libsql"; import "node:sqlite";',
  "src/stores/shared/modeller.ts": 'import "../../models/index.js";',
  "src/models/index.ts": 'import "../ports/store.js";',
  "src/models/facts/schema.ts": 'import "zod";',
  "src/tools/index.ts": 'import "../ports/store.js";',
  "src/testing/index.ts": 'import "../runtime/api/agent.js";',
  "src/cli/main.ts":
    'import "../index.js"; import "../core/index.js"; import "../models/index.js"; import "commander";',
  "src/cli/shortcut.ts": 'import "../runtime/api/agent.js";',
};

const violations = [
  "core-is-pure: src/core/clock.ts → timers",
  "core-is-pure: src/core/impure.ts → src/errors.ts",
  "every-file-has-a-room: src/runtime/api/agent.ts → src/runtime/flat.ts",
  "room-core-data: src/core/data/json.ts → src/core/machine/state.ts",
  "room-ports: src/ports/upward.ts → src/runtime/api/agent.ts",
  "room-runtime-api: src/runtime/api/agent.ts → src/runtime/flat.ts",
  "room-runtime-driver: src/runtime/driver/store-user.ts → src/stores/memory/index.ts",
  "room-runtime-driver: src/runtime/driver/tester.ts → src/testing/index.ts",
  "room-stores-shared: src/stores/shared/modeller.ts → src/models/index.ts",
  "no-cycles: src/ports/one.ts → src/ports/two.ts",
  "only-own-dependencies: src/models/facts/schema.ts → zod",
  "program-cli: src/cli/shortcut.ts → src/runtime/api/agent.ts",
  "top-testing: src/runtime/driver/tester.ts → src/testing/index.ts",
];

let folder: string;
let found: readonly string[];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "pawl-boundaries-"));
  mkdirSync(join(folder, "scripts"));
  for (const file of [".dependency-cruiser.cjs", "scripts/rooms.cjs", "tsconfig.json", "package.json"])
    copyFileSync(file, join(folder, file));
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  for (const [path, text] of Object.entries(sources)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  found = cruise(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Violation = {
  readonly rule: { readonly name: string };
  readonly from: string;
  readonly unresolvedTo?: string;
  readonly to: string;
};

function cruise(cwd: string): readonly string[] {
  const program = resolveCheckTool("dependency-cruiser/bin/dependency-cruise.mjs");
  const args = [program, "--config", ".dependency-cruiser.cjs", "--output-type", "json", "src"];
  const { stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  if (stdout === "") throw new Error(`The cruise failed: ${stderr}`);
  const report: { readonly summary: { readonly violations: readonly Violation[] } } = JSON.parse(stdout);
  return report.summary.violations.map(
    ({ rule, from, to }) => `${rule.name}: ${from} → ${to.replace(/^.*\/node_modules\/([^/]+)\/.*$/, "$1")}`,
  );
}

describe("the import rules", () => {
  test.each(violations)("find %s", (violation) => {
    expect(found).toContain(violation);
  });

  test("find nothing else", () => {
    expect([...found].sort()).toEqual([...violations].sort());
  });
});
