import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.js";

const folder = new URL("../../src/core/", import.meta.url);

/** What would make a fold of the log depend on more than the log. */
const impure =
  /\b(await|async|Promise|Date|performance|process|globalThis|crypto|fetch|setTimeout|setInterval|setImmediate|queueMicrotask|structuredClone)\b|Math\.random|console\.|["']node:/;

/** The code, without comments. */
function codeOf(source: string): string {
  return source.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "");
}

describe("the core", () => {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));

  test("has files to look at", () => {
    expect(files).toContain("machine/transition.ts");
  });

  test.each(files)("%s uses no clock, chance, input or output, nor a promise", verifies("LOOP-3"), (name) => {
    const code = codeOf(readFileSync(new URL(name, folder), "utf8"));
    expect(impure.exec(code)?.[0]).toBeUndefined();
    const imports = [...code.matchAll(/from\s+"([^"]+)"/g)].map((match) => match[1]);
    expect(
      imports.filter(
        (path) => path?.startsWith("./") !== true && !/^\.\.\/(data|machine|transcript|view)\//.test(path ?? ""),
      ),
    ).toEqual([]);
  });
});
