import { describe, expect, test } from "vitest";
import { loadHighlighting } from "../../src/cli/conversation/lines/highlight.js";
import { createMarkdownLines } from "../../src/cli/conversation/lines/markdown-lines.js";
import { measureTime } from "../bounds/plain-pass.js";
import { verifies } from "../verifies.js";

await loadHighlighting();

function show(pieces: readonly string[]): void {
  const markdown = createMarkdownLines();
  for (const piece of pieces) {
    markdown.add(piece, 80);
    markdown.open(80);
  }
  markdown.end(80);
}

const hostile: { readonly [name: string]: string } = {
  "500 nested lists": Array.from({ length: 500 }, (_, at) => `${" ".repeat(at * 2)}- x`).join("\n"),
  "500 nested quotes": `${">".repeat(500)} x`,
  "a word of 100 kB": "x".repeat(100_000),
  "open brackets": "[".repeat(50_000),
  "stars and words": "*a _b ".repeat(10_000),
  "back ticks": "`".repeat(3) + "`a".repeat(20_000),
  "a line of 100 kB of code": `\`\`\`\n${"a(".repeat(50_000)}`,
  "a line of 100 kB in a language": `\`\`\`ts\n${"a(".repeat(50_000)}`,
  "hostile lines in many languages": ["ts", "python", "sh", "markdown", "html", "sql"]
    .map((language) => `\`\`\`${language}\n${`${"a('\"/*<{".repeat(40)}\n`.repeat(30)}\`\`\`\n`)
    .join(""),
  "a table of 3,000 cells": `|a|\n|-|\n${"|[[[[**_`\n".repeat(3_000)}`,
  entities: "&amp;&#".repeat(10_000),
  links: "[a](".repeat(10_000),
};

describe("hostile Markdown", () => {
  test.each(Object.entries(hostile))(
    "%s takes no longer than many plain passes",
    verifies("CHAT-1#view"),
    (_, text) => {
      const plain = "Some plain words in a line.\n\n".repeat(Math.ceil(text.length / 29));
      const pass = measureTime(() => show(plain.match(/[\s\S]{1,2000}/g) ?? []));
      const spent = measureTime(() => show(text.match(/[\s\S]{1,2000}/g) ?? []));
      expect(spent / Math.max(pass, 5)).toBeLessThan(60);
    },
  );
});
