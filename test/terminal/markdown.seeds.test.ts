import { describe, expect, test } from "vitest";
import { loadHighlighting } from "../../src/cli/conversation/lines/highlight.js";
import { createMarkdownLines } from "../../src/cli/conversation/lines/markdown-lines.js";
import { measureLine, toPlainText } from "../../src/cli/screen/line.js";
import { pickSampleCount } from "../support/sample-count.js";
import { verifies } from "../verifies.js";

await loadHighlighting();

/** The lines of a text that comes in these pieces. */
function linesOf(pieces: readonly string[], columns = 80) {
  const markdown = createMarkdownLines();
  return [...pieces.flatMap((piece) => markdown.add(piece, columns)), ...markdown.end(columns)];
}

function shown(text: string, columns = 80): readonly string[] {
  return linesOf([text], columns).map((line) => toPlainText(line).trimEnd());
}

describe("Markdown as lines", () => {
  test.each([
    ["headings and emphasis", "# One *two*\n\nA **b** _c_ `d` ~~e~~", ["One two", "", "A b c d ~~e~~"]],
    ["a line break in a paragraph is a space, and two spaces break", "a\nb  \nc", ["a b", "c"]],
    ["lists", "- a\n- b\n  - c\n    more\n\n3. x\n4. y", ["- a", "- b", "  - c more", "", "3. x", "4. y"]],
    [
      "lists with blank lines",
      "1. one\n\n    - inner\n\n    more\n\n2. two\n\nout",
      ["1. one", "", "    - inner", "", "    more", "", "2. two", "", "out"],
    ],
    ["tasks", "- [x] done\n- [ ] open", ["- [x] done", "- [ ] open"]],
    ["quotes", "> a\n> b", ["│ a b"]],
    [
      "code, whatever is in it",
      "```js\nconst a = `*b*`;\n\n# no\n```\nafter",
      ["  js", "  const a = `*b*`;", "", "  # no", "after"],
    ],
    ["code by indentation", "    a\n    b", ["  a", "  b"]],
    ["a fence in a list", "- a\n  ```\n  code\n  ```", ["- a", "  code"]],
    [
      "links show their address",
      "[safe](https://evil.example/x) <https://a.example>",
      ["safe (https://evil.example/x) https://a.example"],
    ],
    ["images are text", "![a cat](https://a.example/c.png)", ["[image: a cat] https://a.example/c.png"]],
    ["HTML is text", "<b>bold</b> &amp; <script>x()</script>", ["<b>bold</b> & <script>x()</script>"]],
    ["tables", "| a | bb |\n|---|----|\n| 1 | 漢字 |\n| 22 | x |", ["a   bb", "──  ────", "1   漢字", "22  x"]],
    ["blank lines are one", "a\n\n\n\nb\n", ["a", "", "b"]],
  ])("%s", verifies("CHAT-1#view"), (_, text, lines) => {
    expect(shown(text)).toEqual(lines);
  });

  test("prose is wrapped between words at 100 columns at most, and code is not", () => {
    const words = Array.from({ length: 60 }, (_, at) => `word${at}`).join(" ");
    for (const columns of [40, 80, 200]) {
      const widths = linesOf([words], columns).map(measureLine);
      expect(Math.max(...widths)).toBeLessThanOrEqual(Math.min(100, columns - 1));
      expect(shown(words, columns).join(" ")).toBe(words);
    }
    expect(shown(`\`\`\`\n${words}\n\`\`\``, 40)).toEqual([`  ${words}`]);
  });

  test("a table that is too wide becomes records", () => {
    const table = "| first name | second name | third name | fourth name |\n|-|-|-|-|\n| a | b | c | d |";
    expect(shown(table, 26)).toEqual(["first name: a", "second name: b", "third name: c", "fourth name: d", ""]);
  });

  test("what cannot change is given out at once: code by line, lists by item", () => {
    const markdown = createMarkdownLines();
    const texts = (text: string) => markdown.add(text, 80).map(toPlainText);
    expect(texts("- a\n- b")).toEqual([]);
    expect(texts("\n- c\n")).toEqual(["- a", "- b"]);
    expect(texts("\n```\nx\ny")).toEqual(["- c", "", "  x"]);
    expect(markdown.open(80).map(toPlainText)).toEqual(["  y"]);
  });
});

const mixed = [
  "# Title",
  "A paragraph with **bold**, `code` and a [link](https://a.example).\nIt has two lines.",
  "1. one\n2. two\n   - inner\n\n3. three",
  "```ts\nconst a: string = `x`;\n\n\nreturn a;\n```",
  "| a | b |\n|---|---|\n| 漢字 | 👩‍👧 |",
  "> quoted\n> text",
  "Last words.",
].join("\n\n");

test.each(Array.from({ length: pickSampleCount({ quick: 20, long: 500 }) }, (_, at) => at + 1))(
  "pieces of any size give the same lines (seed %i)",
  (seed) => {
    const pieces: string[] = [];
    let state = seed;
    for (let at = 0; at < mixed.length; ) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      const length = 1 + ((state >>> 16) % 17);
      pieces.push(mixed.slice(at, at + length));
      at += length;
    }
    expect(linesOf(pieces)).toEqual(linesOf([mixed]));
  },
);
