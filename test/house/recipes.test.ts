import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { pageWithCode, stalePages } from "../../scripts/recipes.mjs";

const programs = readdirSync("examples/recipes").map((file) => file.replace(/\.ts$/, ""));
const pages = readdirSync("docs/recipes")
  .filter((file) => file !== "README.md")
  .map((file) => file.replace(/\.md$/, ""));
const read = (page: string) => readFileSync(`docs/recipes/${page}.md`, "utf8");

describe("the recipes", () => {
  test("have a page and a program each, and a row in the index", () => {
    expect(pages).toEqual(programs);
    for (const page of pages) expect(read("README")).toContain(`](${page}.md)`);
  });

  test("show the code of their programs, and nothing else", () => {
    expect(stalePages()).toEqual([]);
    for (const page of pages) {
      const blocks = read(page).match(/^```ts$/gm) ?? [];
      const marked = read(page).match(/^<!-- code: .+ -->\n```ts$/gm) ?? [];
      expect([page, blocks.length], "each block is one of the program").toEqual([page, marked.length]);
      expect(blocks.length).toBeGreaterThan(0);
    }
  });

  test("say what they are for, what a kill does, and what comes next, on one page", () => {
    for (const page of pages) {
      const text = read(page);
      const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
      expect([page, ...headings]).toContain("If the process is killed");
      expect(text).toMatch(/^# .+\n\n[A-Z]/);
      expect(text).toMatch(/\n\n\*\*Next:\*\* .*\]\([^)]+\)[^\0]*\n$/);
      expect(text).toContain(`](../../examples/recipes/${page}.ts)`);
      expect([page, text.split("\n").length < 150]).toEqual([page, true]);
    }
  });
});

describe("a block of code", () => {
  const program = "const a = 1;\n\n/** Twice. */\nfunction twice() {\n  f();\n\n  g();\n}\n\nconst b = 2;\n";
  const block = (name: string, code: string) => `<!-- code: ${name} -->\n\`\`\`ts\n${code}\n\`\`\`\n`;

  test("is the part with that line, with its comment, up to the next part", () => {
    const page = block("function twice | const a", "old");
    const whole = "/** Twice. */\nfunction twice() {\n  f();\n\n  g();\n}\n\nconst a = 1;";
    expect(pageWithCode(page, program)).toBe(block("function twice | const a", whole));
  });

  test("is refused if no part, or more than one, has such a line", () => {
    expect(() => pageWithCode(block("function thrice", ""), program)).toThrow("0 parts");
    expect(() => pageWithCode(block("const", ""), program)).toThrow("2 parts");
  });
});
