import { describe, expect, test } from "vitest";
import { diffInFile, diffTexts } from "../../src/cli/conversation/lines/change-lines.js";
import { renderInput } from "../../src/cli/conversation/lines/exact-lines.js";
import { createHighlighter, loadHighlighting } from "../../src/cli/conversation/lines/highlight.js";
import { createMarkdownLines } from "../../src/cli/conversation/lines/markdown-lines.js";
import { type Line, toPlainText } from "../../src/cli/screen/line.js";
import { verifies } from "../verifies.js";

await loadHighlighting();

/** A line with the style of each piece: `[keyword magenta]`. */
const marked = (line: Line) =>
  line.map(({ text, style }) => (style === undefined ? text : `[${text} ${style}]`)).join("");
const styleOf = (line: Line, word: string) => line.find(({ text }) => text.trim() === word)?.style;

describe("code in an answer", verifies("CHAT-1#code"), () => {
  test.each([
    ["ts", 'const a = "x"; // note', ["const", "magenta"], ['"x"', "green"], ["// note", "dim"]],
    ["python", "def f(): return 12", ["def", "magenta"], ["12", "yellow"], ["return", "magenta"]],
    ["json", '{ "a": 1 }', ['"a"', "cyan"], ["1", "yellow"], ["1", "yellow"]],
    ["sh", "if [ -f a ]; then echo 'x'; fi", ["if", "magenta"], ["'x'", "green"], ["fi", "magenta"]],
    ["html", "<a href='x'>&amp;</a>", ["'x'", "green"], ["href", "cyan"], ["'x'", "green"]],
  ] as const)("in %s has colours", (language, line, ...expected) => {
    const spans = createHighlighter(language).next(line);
    expect(toPlainText(spans)).toBe(line);
    for (const [word = "", style] of expected) expect(styleOf(spans, word), marked(spans)).toBe(style);
  });

  test.each([
    ["ts", ["const a = /* open", "still; const", "over */ const b"]],
    ["python", ['x = """open', "def inside", 'over"""; return']],
    ["ts", ["const a = `open", "const inside", "over`; const b"]],
  ])("in %s remembers what a line leaves open", (language, lines) => {
    const highlighter = createHighlighter(language);
    const [first = [], second = [], third = []] = lines.map(highlighter.next);
    expect(first.at(-1)?.style).toMatch(/dim|green/);
    expect(second).toEqual([{ text: lines[1] ?? "", style: first.at(-1)?.style }]);
    expect(third.at(-1)?.style).not.toBe(second[0]?.style);
  });

  test("is plain if the line is long or its language is not known, and its text is always the line", () => {
    const long = `const a = "${"x".repeat(400)}";`;
    expect(createHighlighter("ts").next(long)).toEqual([{ text: long }]);
    expect(createHighlighter("nonsense").next("const a")).toEqual([{ text: "const a", style: "cyan" }]);
    for (const line of ['<span class="hljs-keyword">', "&amp;&#x27;", "\u0000\ud800<", "</span></span>", "é😀<b>"])
      for (const language of ["ts", "html", "sh", "diff", "markdown"])
        expect(
          createHighlighter(language)
            .next(line)
            .map(({ text }) => text)
            .join(""),
          language,
        ).toBe(line);
  });

  test("looks the same while it comes as when it is whole", () => {
    const markdown = createMarkdownLines();
    expect(markdown.add("```ts\n/* a\nconst", 80).map(marked)).toEqual(["[  ts dim]", "  [/* a dim]"]);
    expect(markdown.open(80).map(marked)).toEqual(["  [const dim]"]);
    expect(markdown.add("\n*/ const b\n```\n\n```ts\nconst c\n", 80).map(marked)).toEqual([
      "  [const dim]",
      "  [*/ dim] [const magenta] b",
      "",
      "[  ts dim]",
      "  [const magenta] c",
    ]);
  });
});

const file = "one\ntwo\nthree\n  four();\nfive\nsix\nseven\neight\nthree\n";

describe("a change", verifies("CHAT-1#diff"), () => {
  const text = (lines: readonly Line[]) => lines.map(toPlainText);

  test("of a part of a line is shown as whole lines with their numbers, and what is around them", () => {
    const changes = diffInFile(file, { before: "four", after: "4", all: false });
    expect(text(changes?.lines ?? [])).toEqual([
      "    1   one",
      "    2   two",
      "    3   three",
      "    4 -   four();",
      "    4 +   4();",
      "    5   five",
      "    6   six",
      "    7   seven",
    ]);
    expect(changes).toMatchObject({ added: 1, removed: 1 });
  });

  test("says where else the old text stands", () => {
    const changes = diffInFile(file, { before: "three", after: "3", all: false });
    expect(text(changes?.lines ?? []).at(-1)).toBe("    The old text also occurs in line 9");
  });

  test("of every occurrence is shown as the lines that are written", () => {
    const input = { path: "f", oldText: "l", newText: "L", replaceAll: true };
    const others = Array.from({ length: 20 }, (_, at) => `${at}\n`).join("");
    expect(text(renderInput(input, `hello\nworld\n${others}all\n`))).toEqual([
      ...["    path: f", "    replaceAll: true", "    1 - hello", "    2 - world", "    1 + heLLo", "    2 + worLd"],
      ...["    3   0", "    4   1", "    5   2", "    …", "    20   17", "    21   18", "    22   19"],
      ...["    23 - all", "    23 + aLL"],
    ]);
  });

  test("of many large places that are wholly different is there within the time for one", () => {
    const lines = (word: string, count: number) =>
      Array.from({ length: count }, (_, at) => `${word}${at % 97}`).join("\n");
    const [before, after] = [lines("old", 4_000), lines("new", 4_000)];
    const all = Array.from({ length: 40 }, () => before).join(`\n${lines("same", 20)}\n`);
    const { added = 0, removed = 0 } = diffInFile(all, { before, after, all: true }) ?? {};
    expect(added).toBeGreaterThanOrEqual(160_000);
    expect(removed).toBe(added);
  });

  test("at both ends of a file, with \\r\\n, and not in the file", () => {
    expect(text(diffInFile("a\nb", { before: "a\nb", after: "c", all: false })?.lines ?? [])).toEqual([
      "    1 - a",
      "    2 - b",
      "    1 + c",
    ]);
    expect(diffInFile("a\r\nb\r\n", { before: "a\nb", after: "c", all: false })?.added).toBe(1);
    expect(text(diffInFile("\na", { before: "\na", after: "\nb", all: false })?.lines ?? [])[0]).toBe("    1   ");
    expect(diffInFile(file, { before: "none", after: "x", all: false })).toBeNull();
  });

  test("marks the words that differ, unless most of the line does", () => {
    expect(diffTexts("if (a) return b;", "if (c) return b;").lines.map(marked)).toEqual([
      "[     dim][-  red][if ( red][a red-strong][) return b; red]",
      "[     dim][+  green][if ( green][c green-strong][) return b; green]",
    ]);
    expect(diffTexts("abc def", "xyz").lines.map(marked).join("")).not.toContain("strong");
  });

  test("keeps every line of both texts, however it is compared", () => {
    const before = Array.from({ length: 60 }, (_, at) => `line ${at % 7}`);
    const after = before.filter((_, at) => at % 5 !== 0).flatMap((line, at) => (at % 9 === 0 ? [line, "new"] : [line]));
    const lines = text(diffTexts(before.join("\n"), after.join("\n"), 1).lines).map((line) => line.slice(7));
    expect(lines.filter((line) => !line.startsWith("+")).map((line) => line.slice(2))).toEqual(before);
    expect(lines.filter((line) => !line.startsWith("-")).map((line) => line.slice(2))).toEqual(after);
  });
});
