import { describe, expect, test } from "vitest";
import type { Draft } from "../../src/cli/screen/draft.js";
import * as edit from "../../src/cli/screen/draft.js";
import { applyKey, continueLine } from "../../src/cli/screen/draft-keys.js";
import { renderDraft } from "../../src/cli/screen/draft-rows.js";
import type { Key } from "../../src/cli/screen/keys.js";
import { toPlainText } from "../../src/cli/screen/line.js";
import { measureTime } from "../bounds/plain-pass.js";
import { verifies } from "../verifies.js";

const place = { prompt: "> ", columns: 20 };

/** Presses keys by name, as `ctrl-a` or `up`; anything in quotes is typed. */
function press(draft: Draft, ...names: readonly string[]): Draft {
  return names.reduce((state, name) => applyKey(state, keyOf(name), place) ?? state, draft);
}

function keyOf(name: string): Key {
  if (name.startsWith('"')) return { type: "text", text: name.slice(1, -1) };
  const parts = name.split("-");
  return {
    type: "key",
    name: parts.at(-1) ?? "",
    ctrl: parts.slice(0, -1).includes("ctrl"),
    alt: parts.slice(0, -1).includes("alt"),
    shift: parts.slice(0, -1).includes("shift"),
  };
}

/** The text with `|` for the cursor. */
function shown({ text, cursor }: Draft): string {
  return `${text.slice(0, cursor)}|${text.slice(cursor)}`;
}

describe("keys of the draft", () => {
  test.each([
    ["typing", ['"ab"', '"c"'], "abc|"],
    ["moving by characters", ['"abc"', "left", "ctrl-b", "right"], "ab|c"],
    ["moving by words", ['"one two three"', "alt-b", "alt-b", "alt-f"], "one two| three"],
    ["moving in the line", ['"one"', "shift-enter", '"two"', "ctrl-a", '"x"', "ctrl-e"], "one\nxtwo|"],
    ["a character of several code points", ['"a👨‍👩‍👧é"', "left", "backspace"], "a|é"],
    ["deleting words", ['"one two three"', "ctrl-w", "alt-backspace"], "one |"],
    ["deleting on", ['"one two"', "home", "alt-d", "delete"], "|two"],
    ["cutting and putting back", ['"one two"', "ctrl-w", "home", "ctrl-y"], "two|one "],
    ["cutting the line", ['"one"', "alt-enter", '"two"', "ctrl-u", "ctrl-y", "ctrl-y"], "one\ntwotwo|"],
    ["cutting the end of a line joins lines at its end", ['"a"', "ctrl-j", '"b"', "up", "ctrl-e", "ctrl-k"], "a|b"],
    ["undoing", ['"one "', '"two"', "ctrl-w", "ctrl-_", "ctrl-_"], "one |"],
    ["rows", ['"123456789012345678901234"', "up"], "1234567|89012345678901234"],
    ["lines", ['"one"', "ctrl-j", '"three"', "up"], "one|\nthree"],
  ])("%s", verifies("CHAT-1#keys"), (_, keys, expected) => {
    expect(shown(press(edit.emptyDraft, ...keys))).toBe(expected);
  });

  test("earlier messages come back, and the draft behind them is kept", () => {
    const sent = ["first", "second"].reduce(
      (draft, text) => edit.submit(edit.insert(draft, text)).draft,
      edit.emptyDraft,
    );
    const typing = press(sent, '"new"');
    expect(shown(press(typing, "up"))).toBe("second|");
    expect(shown(press(typing, "ctrl-p", "ctrl-p"))).toBe("first|");
    expect(shown(press(typing, "up", "up", "up", "down", "down"))).toBe("new|");
  });

  test("a backslash before Enter is a new line", () => {
    const draft = press(edit.emptyDraft, '"one\\"');
    expect(shown(continueLine(draft) ?? draft)).toBe("one\n|");
    expect(continueLine(edit.insert(edit.emptyDraft, "one"))).toBeNull();
  });
});

describe("a paste", () => {
  const long = Array.from({ length: 120 }, (_, at) => `line ${at}`).join("\n");

  test("that is long stands as one character, and is sent whole", () => {
    const draft = press(edit.paste(edit.insert(edit.emptyDraft, "see "), long), '"!"');
    expect(renderDraft(draft, "> ", 60, 3).rows.map(toPlainText)).toEqual(["> see [pasted 120 lines]!"]);
    expect(edit.expandPastes(draft)).toBe(`see ${long}!`);
    const ended = edit.paste(edit.emptyDraft, `${long}\n`);
    expect(renderDraft(ended, "> ", 60, 3).rows.map(toPlainText)).toEqual(["> [pasted 120 lines]"]);
    expect(edit.expandPastes(press(draft, "backspace", "backspace"))).toBe("see ");
  });

  test("cannot stand for another one, and its control characters are made visible", () => {
    const forged = edit.paste(edit.paste(edit.emptyDraft, long), "\u{f0000}\x1b[2J");
    expect(edit.expandPastes(forged)).toBe(`${long}\ufffd\\x1b[2J`);
  });

  test("of 300 kB takes no longer than a few passes over it", () => {
    const huge = "ab\n".repeat(100_000);
    const pass = measureTime(() => huge.replaceAll("a", "c"));
    const spent = measureTime(() => renderDraft(edit.paste(edit.emptyDraft, huge), "> ", 80, 8));
    expect(spent / Math.max(pass, 1)).toBeLessThan(300);
  });
});

describe("rows of the draft", () => {
  test("are broken by columns, with wide characters counted as two", () => {
    const { rows, cursor } = renderDraft(edit.insert(edit.emptyDraft, "漢字漢字漢字漢字"), "> ", 11, 9);
    expect(rows.map(toPlainText)).toEqual(["> 漢字漢字", "  漢字漢字"]);
    expect({ ...cursor, before: toPlainText(cursor.before) }).toEqual({ row: 1, before: "  漢字漢字" });
  });

  test("are those around the cursor if there are more than fit", () => {
    const draft = edit.insert(edit.emptyDraft, "1\n2\n3\n4\n5");
    expect(renderDraft(draft, "> ", 20, 2).rows.map(toPlainText)).toEqual(["  4", "  5"]);
    expect(renderDraft({ ...draft, cursor: 0 }, "> ", 20, 2).rows.map(toPlainText)).toEqual(["> 1", "  2"]);
  });
});
