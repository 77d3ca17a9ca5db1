import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, test } from "vitest";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

/** Checks the sizes in a project whose only source is this. */
function checkSizes(source: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), "pawl-sizes-"));
  folders.push(folder);
  mkdirSync(join(folder, "src"));
  writeFileSync(join(folder, "src/one.ts"), `${source.join("\n")}\n`);
  const { status, stderr } = spawnSync(process.execPath, [resolve("scripts/check-sizes.mjs")], {
    cwd: folder,
    encoding: "utf8",
  });
  return { code: status, output: stderr };
}

const statements = (count: number) => Array.from({ length: count }, (_, index) => `  call(${index});`);
const functionOf = (name: string, body: readonly string[]) => [`function ${name}() {`, ...body, "}"];

describe("the check of sizes", () => {
  test("takes a file of 300 lines and refuses one of 301", () => {
    expect(checkSizes(statements(300))).toEqual({ code: 0, output: "" });
    const { code, output } = checkSizes(statements(301));
    expect(output).toContain("src/one.ts has 301 lines");
    expect(code).toBe(1);
  });

  test("takes a function of 60 lines and refuses one of 61", () => {
    expect(checkSizes(functionOf("short", statements(58)))).toMatchObject({ code: 0 });
    const { code, output } = checkSizes(functionOf("long", statements(59)));
    expect(output).toContain("src/one.ts#long has 61 lines");
    expect(code).toBe(1);
  });

  test("counts what is in a nested function for that function only", () => {
    const nested = [...functionOf("one", statements(50)), ...functionOf("two", statements(50))];
    expect(checkSizes(functionOf("factory", [...nested, ...statements(50)]))).toMatchObject({ code: 0 });
    const { output } = checkSizes(functionOf("factory", [...nested, ...functionOf("three", statements(70))]));
    expect(output).toContain("src/one.ts#three has 72 lines");
    expect(output).not.toContain("#factory");
  });
});
