/**
 * The clients of model providers that the built package brings: the command line alone loads them, and their licences are named.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";
import { verifies } from "../verifies.js";

type Manifest = {
  readonly exports: { readonly [entry: string]: string | { readonly default: string } };
  readonly bin: { readonly pawl: string };
  readonly files: readonly string[];
};
type Locked = {
  readonly version: string;
  readonly license?: string;
  readonly dependencies?: { readonly [name: string]: string };
};

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;

/** All files of the package that these files load, at once or later. */
function loadedBy(files: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  const open = files.map(normalize);
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    const imports = readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?\s*["'](\.[^"']+\.js)["']/g);
    for (const [, path = ""] of imports) open.push(join(dirname(file), path));
  }
  return found;
}

const clients = readdirSync("dist/clients").map((file) => join("dist/clients", file));

describe("the clients", () => {
  test("are loaded by the command line", verifies("CHAT-5"), () => {
    const loaded = loadedBy([manifest.bin.pawl]);
    expect(clients.length).toBeGreaterThanOrEqual(4);
    expect(clients.filter((file) => !loaded.has(normalize(file)))).toEqual([]);
  });

  test("are not loaded by any entry point of the library", verifies("CHAT-5"), () => {
    const entries = Object.values(manifest.exports).map((entry) => (typeof entry === "string" ? entry : entry.default));
    const loaded = loadedBy(entries.filter((entry) => entry.endsWith(".js")));
    expect(loaded.size).toBeGreaterThan(entries.length);
    expect([...loaded].filter((file) => file.startsWith(normalize("dist/clients")))).toEqual([]);
  });

  test("import nothing but Node and each other", () => {
    for (const file of clients) {
      const imports = [...readFileSync(file, "utf8").matchAll(/\bfrom["']([^"']+)["']/g)].map(([, path = ""]) => path);
      for (const path of imports) {
        if (path.startsWith(".")) expect(existsSync(join(dirname(file), path))).toBe(true);
        else expect(path).toMatch(/^node:/);
      }
    }
  });
});

describe("THIRD_PARTY.md", () => {
  const page = readFileSync("THIRD_PARTY.md", "utf8");
  const locked = (JSON.parse(readFileSync("package-lock.json", "utf8")) as { packages: { [path: string]: Locked } })
    .packages;

  test("is in the package", () => {
    expect(manifest.files).toContain("THIRD_PARTY.md");
  });

  test("names each package of the clients, with its version and licence", verifies("SEC-16"), () => {
    for (const name of [
      "@ai-sdk/anthropic",
      "@ai-sdk/google",
      "@ai-sdk/openai",
      "@ai-sdk/openai-compatible",
      "@ai-sdk/provider",
      "eventsource-parser",
      "zod",
    ]) {
      const { version, license } = locked[`node_modules/${name}`] ?? {};
      expect(page).toContain(`| ${name} | ${version} | ${license} |`);
    }
  });

  test("has the whole text of each licence that asks for it", () => {
    for (const [, name, version] of page.matchAll(/^\| (\S+) \| (\S+) \| MIT \|/gm)) {
      // A licence may have headings of its own; it ends where its block does.
      const section = page.split(`## ${name} ${version}\n`)[1]?.split("\n```\n")[0] ?? "";
      expect(section).toMatch(/Copyright[\s\S]*Permission is hereby granted[\s\S]*THE SOFTWARE IS PROVIDED/);
    }
  });
});
