import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createKeyReader, escapeMs, type Key, maxPasted } from "../../src/cli/screen/keys.js";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** What a reader makes of these pieces. After the last one, nothing comes for a while. */
function keysIn(...pieces: readonly string[]): readonly Key[] {
  const keys: Key[] = [];
  const reader = createKeyReader((key) => keys.push(key));
  for (const piece of pieces) reader.feed(piece);
  vi.advanceTimersByTime(escapeMs);
  return keys;
}

function nameOf(key: Key): string {
  if (key.type === "text") return `"${key.text}"`;
  if (key.type === "paste") return `paste ${JSON.stringify(key.text)}`;
  return `${key.ctrl ? "ctrl-" : ""}${key.alt ? "alt-" : ""}${key.shift ? "shift-" : ""}${key.name}`;
}

const sequences = [
  ["a letter", "é", '"é"'],
  ["a word that comes at once", "hello", '"hello"'],
  ["an emoji", "👨‍👩‍👧", '"👨‍👩‍👧"'],
  ["Enter", "\r", "enter"],
  ["Ctrl-J", "\n", "ctrl-j"],
  ["Tab and Shift+Tab", "\t\x1b[Z", "tab shift-tab"],
  ["backspace in both forms", "\x7f\b", "backspace backspace"],
  ["Ctrl with a letter", "\x01\x03\x1a", "ctrl-a ctrl-c ctrl-z"],
  ["Ctrl-_", "\x1f", "ctrl-_"],
  ["arrows", "\x1b[A\x1b[B\x1b[C\x1b[D", "up down right left"],
  ["arrows of the application mode", "\x1bOA\x1bOD", "up left"],
  ["Home, End, Delete", "\x1b[H\x1b[F\x1b[3~\x1b[1~\x1b[4~", "home end delete home end"],
  ["arrows with modifiers", "\x1b[1;3A\x1b[1;5C\x1b[1;2B", "alt-up ctrl-right shift-down"],
  ["Alt with a letter", "\x1bb\x1bF", "alt-b alt-f"],
  ["Alt+Enter and Alt+Backspace", "\x1b\r\x1b\x7f", "alt-enter alt-backspace"],
  ["the kitty protocol: Esc, Ctrl-C, Alt-B", "\x1b[27u\x1b[99;5u\x1b[98;3u", "escape ctrl-c alt-b"],
  ["the kitty protocol: Shift+Enter, Ctrl-Tab", "\x1b[13;2u\x1b[9;5u", "shift-enter ctrl-tab"],
  ["the kitty protocol: a letter with its other forms", "\x1b[97:65;2u", '"A"'],
  ["the kitty protocol: a key that is let go is none", "\x1b[97;1:3u", ""],
  ["sequences that are none of ours", "\x1b[?62;4c\x1b[38;5;1m\x1b[57441;1u", ""],
  ["a paste", "\x1b[200~a\r\nb\x1b[201~", 'paste "a\\nb"'],
  ["a paste with escape sequences in it", "\x1b[200~\x1b[2Jx\x1b[A\x1b[201~", 'paste "\\u001b[2Jx\\u001b[A"'],
] as const;

describe("keys", () => {
  test.each(sequences)("%s", (_, text, names) => {
    expect(keysIn(text).map(nameOf).join(" ")).toBe(names);
  });

  test.each(sequences.filter(([, text]) => text.startsWith("\x1b")))("%s, split at each place", (_, text, names) => {
    for (let at = 1; at < text.length; at++)
      expect(keysIn(text.slice(0, at), text.slice(at)).map(nameOf).join(" ")).toBe(names);
    expect(
      keysIn(...text)
        .map(nameOf)
        .join(" "),
    ).toBe(names);
  });

  test("Esc alone is a key once nothing follows, also twice", () => {
    expect(keysIn("\x1b").map(nameOf)).toEqual(["escape"]);
    expect(keysIn("\x1b\x1b").map(nameOf)).toEqual(["escape", "escape"]);
    expect(keysIn("a\x1b").map(nameOf)).toEqual(['"a"', "escape"]);
  });

  test("what arrives with the end of a paste belongs to it, so a paste cannot press Enter", () => {
    expect(keysIn("\x1b[200~y\x1b[201~\r").map(nameOf)).toEqual(['paste "y\\n"']);
    expect(keysIn("\x1b[200~a\x1b[201~\ry\x1b[201~").map(nameOf)).toEqual(['paste "a\\ny"']);
  });

  test("a paste is kept up to the length of an input, and says that it was cut", () => {
    const keys = keysIn(`\x1b[200~${"x".repeat(600_000)}`, `${"y".repeat(600_000)}\x1b[201~`);
    expect(keys).toMatchObject([{ type: "paste", isCut: true }]);
    expect(keys[0]?.type === "paste" ? keys[0].text.length : 0).toBe(maxPasted);
  });

  test("a sequence without an end is dropped, and the next key is read", () => {
    expect(keysIn(`\x1b[${"1;".repeat(200)}`, "a").map(nameOf)).toEqual(['"a"']);
  });
});
