import { describe, expect, test } from "vitest";
import {
  formatAge,
  formatDuration,
  formatInput,
  formatJsonLine,
  sanitize,
  sanitizeStrictly,
  summarizeInput,
  summarizeResult,
  truncate,
  widthOf,
  wrapWords,
} from "../../../src/cli/terminal/text.js";
import { verifies } from "../../verifies.js";

describe("what a terminal would obey is made visible", () => {
  test.each([
    ["an escape sequence", "\u001b[2Jgone", "\\x1b[2Jgone"],
    ["a title by a C1 control", "\u009d0;title\u009c", "\\x9d0;title\\x9c"],
    ["a carriage return", "rm -rf /\rls", "rm -rf /\\rls"],
    ["a backspace", "a\bb", "a\\x08b"],
    ["a bell and NUL", "\u0007\0", "\\x07\\x00"],
    ["text that runs the other way", "a\u202etxt.exe", "a\\u{202e}txt.exe"],
    ["a byte order mark and a zero-width space", "\ufeffa\u200bb", "\\u{feff}a\\u{200b}b"],
    ["half of a character", "a\ud83d", "a\\u{d83d}"],
    ["a separator of lines", "a\u2028b", "a\\u{2028}b"],
    ["ends of lines and tabs stay", "a\n\tb", "a\n\tb"],
    ["letters, emoji and what joins them stay", "é 漢字 👨‍👩‍👧 می‌خواهم", "é 漢字 👨‍👩‍👧 می‌خواهم"],
  ])("%s", (_, text, shown) => {
    expect(sanitize(text)).toBe(shown);
  });

  test("what is approved hides nothing, joiners and variation selectors included", () => {
    expect(sanitizeStrictly("rm\u200d -rf\ufe0f \u3164")).toBe("rm\\u{200d} -rf\\u{fe0f} \\u{3164}");
  });

  test(
    "of what is approved, no character is left that Unicode calls blank or ignorable",
    verifies("SEC-6#shown"),
    () => {
      const found = ["\u034f", "\u17b4", "\u2800", "\u2065", "\u{e0fff}", "\u00a0", "\u3000", "\u200b", "\ue000"];
      for (const character of found) expect(sanitizeStrictly(`a${character}b`)).toMatch(/^a\\[ux][{0-9a-f}]+b$/);
      const blank = /^[\p{C}\p{Z}\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Variation_Selector}]$/u;
      for (let code = 0; code <= 0x10ffff; code += 1) {
        const character = String.fromCodePoint(code);
        if (blank.test(character) && !" \n\t".includes(character) && sanitizeStrictly(character) === character)
          throw new Error(`U+${code.toString(16)} is not shown`);
      }
      expect(sanitizeStrictly("é 漢字 ñ Ω ½ 😀 मानक\n\tx")).toBe("é 漢字 ñ Ω ½ 😀 मानक\n\tx");
    },
  );

  test("JSON stays JSON", () => {
    const value = { text: "\u001b[2J\u009b\u202e\u{e0041}\u007f é" };
    const line = formatJsonLine(value);
    expect(JSON.parse(line)).toEqual(value);
    expect(line).toMatch(/^[\x20-\x7eé]*\n$/);
  });
});

describe("a line fits its columns", () => {
  test.each([
    ["abc", 3],
    ["漢字", 4],
    ["é", 1],
    ["e\u0301", 1],
    ["👨‍👩‍👧", 2],
    ["❤️", 2],
    ["한국", 4],
    ["", 0],
  ])("the width of %s is %i", (text, width) => {
    expect(widthOf(text)).toBe(width);
  });

  test.each([
    ["short", 10, "short"],
    ["exactly", 7, "exactly"],
    ["too long a line", 8, "too lon…"],
    ["漢字漢字", 5, "漢字…"],
    ["漢字漢字", 4, "漢…"],
    ["👨‍👩‍👧👨‍👩‍👧", 3, "👨‍👩‍👧…"],
  ])("%s in %i columns", (text, columns, shown) => {
    expect(truncate(text, columns)).toBe(shown);
    expect(widthOf(truncate(text, columns))).toBeLessThanOrEqual(columns);
  });
});

describe("calls", () => {
  test.each([
    ["by key", { path: "src", depth: 2 }, 60, 'path="src" depth=2'],
    ["without input", {}, 60, ""],
    ["not an object", [1, 2], 60, "[1,2]"],
    ["an escape in a value and a key", { "a\u001b": "b\u009b" }, 60, 'a\\x1b="b\\x9b"'],
    ["one value may take the line", { command: "x".repeat(30) }, 30, `command="${"x".repeat(20)}…`],
    [
      "long ones are cut each",
      { path: "a.txt", content: "x".repeat(90) },
      60,
      `path="a.txt" content="${"x".repeat(26)}…`,
    ],
  ])("in short: %s", (_, input, columns, shown) => {
    expect(summarizeInput(input, columns)).toBe(shown);
  });

  test("whole: every character of it, lines kept apart", () => {
    const input = { command: "echo \u001b[8mhidden", content: "a\n  b\n", times: 2 };
    expect(formatInput(input)).toBe("command: echo \\x1b[8mhidden\ncontent:\n  | a\n  |   b\n  | \ntimes: 2");
  });

  test.each([
    ["one line", "Wrote a.txt", true, "Wrote a.txt"],
    ["many lines", "a\nb\nc", true, "3 lines"],
    ["a remark at the end", "a\nb\n(2 files)", true, "2 files"],
    ["nothing", "", true, "(no output)"],
    ["an error", "Error: Denied: no.\nmore", false, "Denied: no."],
    ["an escape", "\u001b[1mbold", true, "\\x1b[1mbold"],
  ])("the result in short: %s", (_, result, isOk, shown) => {
    expect(summarizeResult(result, isOk)).toBe(shown);
  });
});

describe("times", () => {
  test.each([
    [0, "0 ms"],
    [412, "412 ms"],
    [1_240, "1.2 s"],
    [9_960, "10 s"],
    [59_700, "1 min"],
    [185_000, "3 min 5 s"],
    [7_800_000, "2 h 10 min"],
  ])("%i ms last %s", (ms, shown) => {
    expect(formatDuration(ms)).toBe(shown);
  });

  test.each([
    [-5, "now"],
    [59_000, "now"],
    [300_000, "5 min"],
    [3 * 3_600_000, "3 h"],
    [72 * 3_600_000, "3 d"],
  ])("%i ms are %s old", (ms, shown) => {
    expect(formatAge(ms)).toBe(shown);
  });
});

describe("a sentence is wrapped between its words", () => {
  test.each([
    ["that fits", "one two", ["one two"]],
    ["that is one column too long", "one two 3", ["one two", "3"]],
    ["with a word that is longer than a line", "a word-beyond b", ["a", "word-beyond", "b"]],
    ["of wide characters", "漢字 漢字 漢", ["漢字", "漢字 漢"]],
    ["that is empty", "", [""]],
  ])("%s", (_, text, lines) => {
    expect(wrapWords(text, 7)).toEqual(lines);
  });
});
