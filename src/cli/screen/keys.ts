/**
 * Reads keys from what a terminal sends: text, keys with modifiers, and pasted text.
 *
 * 1. A sequence may be split at any byte. A lone Esc is a key once nothing has followed it for `escapeMs`.
 * 2. Pasted text is text, whatever it contains. What arrives in one piece with the end of a paste belongs to it, because
 *    a paste may contain the mark of its own end.
 * 3. Memory is bounded: a paste keeps `mostPasted` characters, and a sequence that is too long is dropped.
 */

export type KeyName =
  | "enter"
  | "tab"
  | "escape"
  | "backspace"
  | "delete"
  | "up"
  | "down"
  | "left"
  | "right"
  | "home"
  | "end"
  | "page-up"
  | "page-down";

export type Key =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "paste"; readonly text: string; readonly isCut: boolean }
  /** A key with a name, or a letter with Ctrl or Alt. */
  | {
      readonly type: "key";
      readonly name: string;
      readonly ctrl: boolean;
      readonly alt: boolean;
      readonly shift: boolean;
    };

export type KeyReader = {
  readonly feed: (text: string) => void;
  readonly close: () => void;
};

/** Milliseconds. */
export const escapeMs = 40;
/** Characters. A run takes no longer input. */
export const mostPasted = 900_000;
const longestSequence = 64;

const pasteStart = "\x1b[200~";
const pasteEnd = "\x1b[201~";

type Pasting = { text: string; isCut: boolean; tail: string };

export function createKeyReader(onKey: (key: Key) => void): KeyReader {
  let rest = "";
  let pasting: Pasting | null = null;
  let timer: NodeJS.Timeout | null = null;

  function stopTimer(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  }

  function feed(text: string): void {
    stopTimer();
    if (pasting === null) readKeys(rest + text);
    else readPaste(pasting, text);
  }

  function readKeys(text: string): void {
    rest = "";
    let at = 0;
    while (at < text.length) {
      if (text.startsWith(pasteStart, at)) {
        pasting = { text: "", isCut: false, tail: "" };
        readPaste(pasting, text.slice(at + pasteStart.length));
        return;
      }
      const length = lengthOf(text, at);
      if (length === 0) break;
      emit(text.slice(at, at + length), onKey);
      at += length;
    }
    rest = text.slice(at);
    if (rest.length > longestSequence) rest = "";
    if (rest !== "") timer = setTimeout(giveUp, escapeMs);
  }

  /** What has come of a sequence is all there is: Esc was pressed, or the sequence is none. */
  function giveUp(): void {
    const kept = rest;
    rest = "";
    if (kept === "\x1b") onKey(keyOf("escape"));
    else if (kept === "\x1b\x1b") for (let count = 0; count < 2; count++) onKey(keyOf("escape"));
    else if (kept.length === 2) emit(kept, onKey);
  }

  function readPaste(paste: Pasting, text: string): void {
    const all = paste.tail + text;
    const at = all.indexOf(pasteEnd);
    const kept = at === -1 ? all.slice(0, keptLength(all)) : all.slice(0, at) + all.slice(at + pasteEnd.length);
    paste.tail = at === -1 ? all.slice(kept.length) : "";
    const room = mostPasted - paste.text.length;
    paste.text += kept.slice(0, Math.max(0, room));
    paste.isCut ||= kept.length > room;
    if (at === -1) return;
    pasting = null;
    onKey({ type: "paste", text: normalised(paste.text), isCut: paste.isCut });
  }

  return { feed, close: stopTimer };
}

/** How much of a pasted text cannot be the beginning of the mark of its end. */
function keptLength(text: string): number {
  for (let length = Math.min(pasteEnd.length - 1, text.length); length > 0; length--)
    if (pasteEnd.startsWith(text.slice(-length))) return text.length - length;
  return text.length;
}

function normalised(text: string): string {
  return text.replaceAll(pasteEnd, "").replace(/\r\n?/g, "\n");
}

/** The length of the key at this place; 0 if the text may end in the middle of one. */
function lengthOf(text: string, at: number): number {
  if (text[at] !== "\x1b") {
    if (/[\x00-\x1f\x7f]/.test(text[at] ?? "")) return 1;
    const control = /[\x00-\x1f\x7f]/g;
    control.lastIndex = at;
    return (control.exec(text)?.index ?? text.length) - at;
  }
  const next = text[at + 1];
  if (next === undefined) return 0;
  if (next === "[") {
    const sequence = /\x1b\[[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]/y;
    sequence.lastIndex = at;
    const found = sequence.exec(text);
    if (found !== null) return found[0].length;
    // A character that no sequence has ends it.
    const partial = /\x1b\[[\x30-\x3f]*[\x20-\x2f]*/y;
    partial.lastIndex = at;
    const length = partial.exec(text)?.[0].length ?? 2;
    return at + length === text.length ? 0 : length;
  }
  if (next === "O") return text[at + 2] === undefined ? 0 : 3;
  if (next === "\x1b") return text[at + 2] === undefined ? 0 : 1;
  return 1 + ((text.codePointAt(at + 1) ?? 0) > 0xffff ? 2 : 1);
}

type Modifiers = { readonly ctrl?: boolean; readonly alt?: boolean; readonly shift?: boolean };

function keyOf(name: string, { ctrl = false, alt = false, shift = false }: Modifiers = {}): Key {
  return { type: "key", name, ctrl, alt, shift };
}

function emit(text: string, onKey: (key: Key) => void): void {
  const key = readKey(text);
  if (key !== null) onKey(key);
}

function readKey(text: string): Key | null {
  if (text.startsWith("\x1b[")) return readSequence(text);
  if (text.startsWith("\x1bO")) return named(finals[text[2] ?? ""], {});
  if (text === "\x1b") return keyOf("escape");
  if (text.startsWith("\x1b")) {
    const key = readKey(text.slice(1));
    if (key === null || key.type === "paste") return null;
    return key.type === "text" ? keyOf(key.text.toLowerCase(), { alt: true }) : { ...key, alt: true };
  }
  if (/[\x00-\x1f\x7f]/.test(text)) return readControl(text);
  return { type: "text", text };
}

function readControl(text: string): Key | null {
  if (text === "\r") return keyOf("enter");
  if (text === "\t") return keyOf("tab");
  if (text === "\x7f" || text === "\b") return keyOf("backspace");
  const code = text.charCodeAt(0);
  if (code === 0x1f) return keyOf("_", { ctrl: true });
  return code >= 1 && code <= 26 ? keyOf(String.fromCharCode(code + 96), { ctrl: true }) : null;
}

const finals: { readonly [final: string]: KeyName | undefined } = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  H: "home",
  F: "end",
  M: "enter",
};

const tildes: { readonly [number: string]: KeyName | undefined } = {
  1: "home",
  3: "delete",
  4: "end",
  5: "page-up",
  6: "page-down",
  7: "home",
  8: "end",
};

const codes: { readonly [code: string]: KeyName | undefined } = {
  9: "tab",
  13: "enter",
  27: "escape",
  127: "backspace",
  57414: "enter",
};

/** `ESC [ 1 ; modifiers A`, `ESC [ 3 ; modifiers ~`, and the kitty protocol's `ESC [ code ; modifiers u`. */
function readSequence(text: string): Key | null {
  const [, first = "", modifier = "1", event = "1", final = ""] =
    /^\x1b\[(\d*)(?::\d*)*(?:;(\d*)(?::(\d+))?)?(?:;[\d:]*)*([A-Za-z~])$/.exec(text) ?? [];
  if (final === "" || event === "3") return null;
  const modifiers = modifiersOf(Number(modifier || "1") - 1);
  if (final === "Z") return keyOf("tab", { shift: true });
  if (final === "~") return named(tildes[first], modifiers);
  if (final !== "u") return named(finals[final], modifiers);
  const known = codes[first];
  if (known !== undefined) return keyOf(known, modifiers);
  const code = Number(first);
  // The codes from 57344 on are keys without a text of their own.
  if (!(code >= 32 && code < 57_344)) return null;
  const character = String.fromCodePoint(code);
  if (modifiers.ctrl === true || modifiers.alt === true) return keyOf(character.toLowerCase(), modifiers);
  return { type: "text", text: modifiers.shift === true ? character.toUpperCase() : character };
}

function modifiersOf(bits: number): Modifiers {
  return { shift: (bits & 1) !== 0, alt: (bits & 2) !== 0, ctrl: (bits & 4) !== 0 };
}

function named(name: KeyName | undefined, modifiers: Modifiers): Key | null {
  return name === undefined ? null : keyOf(name, modifiers);
}
