/**
 * What models write, as data for the page: nothing is lost, nothing becomes an address that is none, and no text takes long.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { detectDirection } from "../../src/inspector/state/direction.js";
import { type Block, type Inline, parseMarkdown } from "../../src/inspector/state/parse-markdown.js";
import { measureTime } from "../bounds/plain-pass.js";
import { verifies } from "../verifies.js";

/** Blocks as short texts, to compare them at a glance. */
function told(block: Block): string {
  switch (block.kind) {
    case "heading":
      return `h${block.level}(${inline(block.children)})`;
    case "paragraph":
      return inline(block.children);
    case "code":
      return `code(${block.language}:${block.text})`;
    case "quote":
      return `quote(${block.blocks.map(told).join(";")})`;
    case "rule":
      return "rule";
    case "list":
      return `${block.start ?? "-"}[${block.items.map((item) => item.map(told).join(";")).join(", ")}]`;
    case "table":
      return `table(${[block.head, ...block.rows].map((row) => row.map(inline).join("|")).join(";")})`;
  }
}

function inline(inlines: readonly Inline[]): string {
  return inlines
    .map((one) => {
      if ("children" in one) return `${one.kind}(${inline(one.children)})`;
      if (one.kind === "link") return `link(${one.text}→${one.href})`;
      return one.kind === "text" ? one.text : `code(${one.text})`;
    })
    .join("");
}

const blocks = (text: string) => parseMarkdown(text).map(told);

test.each([
  ["# One\ntwo", ["h1(One)", "two"]],
  ["two **strong _em_** `a*b*` ~~no~~", ["two strong(strong em(em)) code(a*b*) strike(no)"]],
  ["snake_case_name and 2 * 3 * 4", ["snake_case_name and 2 * 3 * 4"]],
  ["- a\n- b\n  - c\n\n  more", ["-[a, b;-[c];more]"]],
  ["3. a\n4. b", ["3[a, b]"]],
  ["```ts\na | b\n**c**\n```\nafter", ["code(ts:a | b\n**c**)", "after"]],
  ["```\nnot ended", ["code(:not ended)"]],
  ["| a | b |\n|---|--:|\n| 1 | 2 | 3 |", ["table(a|b;1|2 | 3)"]],
  ["> quoted\n> - x", ["quote(quoted;-[x])"]],
  ["a\n\n---\n\nb", ["a", "rule", "b"]],
  ["\\*not em\\*", ["*not em*"]],
  ["**not ended", ["**not ended"]],
  ["اكتب **ملخصًا** الآن", ["اكتب strong(ملخصًا) الآن"]],
])("%j", (text, expected) => {
  expect(blocks(text)).toEqual(expected);
});

describe("a link", () => {
  test.each([
    ["[the issue](https://example.com/a?b=1)", "link(the issue→https://example.com/a?b=1)"],
    ["see https://example.com/a.", "see link(https://example.com/a→https://example.com/a)."],
    ["[x](mailto:a@b.c)", "link(x→mailto:a@b.c)"],
  ])("has an address of the web or of mail: %s", (text, expected) => {
    expect(blocks(text)).toEqual([expected]);
  });

  test.each([
    ...["javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:x", "data:text/html,x", "vbscript:x", "file:///etc"],
    ...["//example.com", "/v1/sessions", "#/approvals", "https://", "java\tscript:x"],
  ])("of any other address stays text: %s", verifies("SEC-18#page"), (href) => {
    for (const text of [`[x](${href})`, href, `**[x](${href})**`])
      expect(JSON.stringify(parseMarkdown(text))).not.toContain('"link"');
  });

  test("is not made of an image: nothing is fetched", () => {
    expect(blocks("![x](https://example.com/a.png)")).toEqual(["!link(x→https://example.com/a.png)"]);
  });
});

test("no word is lost, whatever the signs around it", () => {
  const piece = fc.constantFrom(
    ..."ab *_`[]()#>-|~1.\\\n".split(""),
    "**",
    "```",
    "- ",
    "1. ",
    "| ",
    "|--|--|\n",
    "\n\n",
    "](",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const text = pieces.join("");
      const letters = (all: string) =>
        [...all.replace(/code\(|strong\(|strike\(|table\(|quote\(|em\(|h\d\(|rule/g, "")]
          .filter((one) => one === "a" || one === "b")
          .join("");
      expect(letters(blocks(text).join(" "))).toBe(letters(text));
    }),
    { numRuns: 300 },
  );
});

const long = 20_000;

test.each([
  ...[
    "[",
    "[a](",
    "`",
    "``a",
    "*",
    "**a ",
    "_",
    "a_",
    "> ",
    "- ",
    "  ",
    "|",
    "|-",
    "\\",
    "https://a",
    "#",
    "# ",
    "1. ",
    "~",
    "```\n",
  ],
  ...["- a\n", "> > ", "\n|", "|a|\n|-|\n"],
])("a text of %j alone takes about as long as words do", (piece) => {
  const text = piece.repeat(Math.ceil(long / piece.length));
  const words = "some words and more. ".repeat(Math.ceil(long / 21));
  const best = (of: string) => Math.min(...[1, 2, 3].map(() => measureTime(() => parseMarkdown(of))));
  expect(best(text)).toBeLessThan(500 * Math.max(0.5, best(words)));
});

test.each([
  ["a list in Arabic that begins with code", "1. `drain()` تأخذ دفعة\n2. ثم ينتهي", "rtl"],
  ["a quote in Hebrew", "> 12. שלום", "rtl"],
  ["a table in Arabic", "| الملف | قبل |\n|---|---|\n| src | 1 |", "rtl"],
  ["Arabic within English", "The word **طابور** means queue", "ltr"],
  ["bold Arabic first", "**طابور** means queue", "rtl"],
  ["Japanese", "調べた結果", "ltr"],
  ["no letters at all", "1 + 1 = 2 ✅", "ltr"],
  ["code alone", "```\nشيفرة\n```", "ltr"],
] as const)("finds the direction of %s", (_, text, direction) => {
  expect(detectDirection(parseMarkdown(text))).toBe(direction);
});
