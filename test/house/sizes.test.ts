import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { questionsAbout } from "../../scripts/sizes.mjs";
import { verifies } from "../verifies.js";

/** What is asked about a project whose only source is this. */
function ask(source: readonly string[], reasons: { readonly [what: string]: string } = {}): string {
  return questionsAbout([{ path: "src/one.ts", text: `${source.join("\n")}\n` }], reasons).join("\n");
}

const statements = (count: number) => Array.from({ length: count }, (_, index) => `  call(${index});`);
const functionOf = (name: string, body: readonly string[]) => [`function ${name}() {`, ...body, "}"];

test("every file of src has one idea, and every function fits on a screen", verifies("LOOP-14"), () => {
  const { status, stderr } = spawnSync(process.execPath, ["scripts/check-sizes.mjs"], { encoding: "utf8" });
  expect(stderr).toBe("");
  expect(status).toBe(0);
});

describe("the check of sizes", () => {
  test("takes a file of 400 lines and asks about one of 401", verifies("LOOP-14"), () => {
    expect(ask(statements(400))).toBe("");
    expect(ask(statements(401))).toContain("src/one.ts has 401 lines. Over 400, is it still one idea?");
  });

  test("takes a function of 75 lines and asks about one of 76", () => {
    expect(ask(functionOf("short", statements(73)))).toBe("");
    expect(ask(functionOf("long", statements(74)))).toContain("src/one.ts#long has 76 lines");
  });

  test("counts what is in a nested function for that function only", () => {
    const nested = [...functionOf("one", statements(50)), ...functionOf("two", statements(50))];
    expect(ask(functionOf("factory", [...nested, ...statements(50)]))).toBe("");
    const questions = ask(functionOf("factory", [...nested, ...functionOf("three", statements(80))]));
    expect(questions).toContain("src/one.ts#three has 82 lines");
    expect(questions).not.toContain("#factory");
  });

  test("takes what is listed with a reason, and asks about a reason that nothing needs", () => {
    expect(ask(statements(401), { "src/one.ts": "a table" })).toBe("");
    expect(ask(statements(10), { "src/one.ts": "a table" })).toContain("src/one.ts is listed");
  });
});
