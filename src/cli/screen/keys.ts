/**
 * Parses the input of a terminal: text, keys with modifiers, and pasted text.
 *
 * 1. A sequence may be split at any byte. A lone Esc becomes a key if nothing follows it within `escapeMs`.
 * 2. Pasted text is text, whatever it contains. Data that arrives in the same chunk as the end of a paste belongs to the paste,
 *    because a paste may contain its own end mark.
 * 3. Memory is bounded: a paste keeps `maxPasted` characters, and a sequence that is too long is dropped.
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

/** How long to wait for the rest of a sequence after Esc; milliseconds. */
export const escapeMs = 40;
/** The maximum length of a paste; characters. A run accepts no longer input. */
export const maxPasted = 900_000;
const maxSequence = 64;

const pasteStart = "\x1b[200~";
const pasteEnd = "\x1b[201~";
const focusIn = "\x1b[I";
const focusOut = "\x1b[O";

type PasteInProgress = { text: string; isCut: boolean; tail: string };

/** @param onFocus called when the terminal reports that its window has or has lost the focus */
export function createKeyReader(onKey: (key: Key) => void, onFocus: (hasFocus: boolean) => void = () => {}): KeyReader {
  let pendingText = "";
  let pasting: PasteInProgress | null = null;
  let timer: NodeJS.Timeout | null = null;

  function stopTimer(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  }

  function feed(text: string): void {
    stopTimer();
    if (pasting === null) readKeys(pendingText + text);
    else readPaste(pasting, text);
  }

  function readKeys(text: string): void {
    pendingText = "";
    let at = 0;
    while (at < text.length) {
      if (text.startsWith(pasteStart, at)) {
        pasting = { text: "", isCut: false, tail: "" };
        readPaste(pasting, text.slice(at + pasteStart.length));
        return;
      }
      const length = findKeyLength(text, at);
      if (length === 0) break;
      const sequence = text.slice(at, at + length);
      if (sequence === focusIn || sequence === focusOut) onFocus(sequence === focusIn);
      else emitKey(sequence, onKey);
      at += length;
    }
    pendingText = text.slice(at);
    if (pendingText.length > maxSequence) pendingText = "";
    if (pendingText !== "") timer = setTimeout(flushPending, escapeMs);
  }

  /** Nothing has followed, so the sequence is complete: Esc was pressed, or it is not a sequence. */
  function flushPending(): void {
    const kept = pendingText;
    pendingText = "";
    if (kept === "\x1b") onKey(createKey("escape"));
    else if (kept === "\x1b\x1b") for (let count = 0; count < 2; count++) onKey(createKey("escape"));
    else if (kept.length === 2) emitKey(kept, onKey);
  }

  function readPaste(paste: PasteInProgress, text: string): void {
    const all = paste.tail + text;
    const at = all.indexOf(pasteEnd);
    const kept = at === -1 ? all.slice(0, findSafeLength(all)) : all.slice(0, at) + all.slice(at + pasteEnd.length);
    paste.tail = at === -1 ? all.slice(kept.length) : "";
    const remaining = maxPasted - paste.text.length;
    paste.text += kept.slice(0, Math.max(0, remaining));
    paste.isCut ||= kept.length > remaining;
    if (at === -1) return;
    pasting = null;
    onKey({ type: "paste", text: normalizePaste(paste.text), isCut: paste.isCut });
  }

  return { feed, close: stopTimer };
}

/** The length of the text without a suffix that may be the beginning of the end mark. */
function findSafeLength(text: string): number {
  for (let length = Math.min(pasteEnd.length - 1, text.length); length > 0; length--)
    if (pasteEnd.startsWith(text.slice(-length))) return text.length - length;
  return text.length;
}

function normalizePaste(text: string): string {
  return text.replaceAll(pasteEnd, "").replace(/\r\n?/g, "\n");
}

/** The length of the key at this offset; 0 if the text may end in the middle of one. */
function findKeyLength(text: string, at: number): number {
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
    // A character that is invalid in a sequence ends it.
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

function createKey(name: string, { ctrl = false, alt = false, shift = false }: Modifiers = {}): Key {
  return { type: "key", name, ctrl, alt, shift };
}

function emitKey(text: string, onKey: (key: Key) => void): void {
  const key = parseKey(text);
  if (key !== null) onKey(key);
}

function parseKey(text: string): Key | null {
  if (text.startsWith("\x1b[")) return parseSequence(text);
  if (text.startsWith("\x1bO")) return createNamedKey(keyByFinal[text[2] ?? ""], {});
  if (text === "\x1b") return createKey("escape");
  if (text.startsWith("\x1b")) {
    const key = parseKey(text.slice(1));
    if (key === null || key.type === "paste") return null;
    return key.type === "text" ? createKey(key.text.toLowerCase(), { alt: true }) : { ...key, alt: true };
  }
  if (/[\x00-\x1f\x7f]/.test(text)) return parseControl(text);
  return { type: "text", text };
}

function parseControl(text: string): Key | null {
  if (text === "\r") return createKey("enter");
  if (text === "\t") return createKey("tab");
  if (text === "\x7f" || text === "\b") return createKey("backspace");
  const code = text.charCodeAt(0);
  if (code === 0x1f) return createKey("_", { ctrl: true });
  return code >= 1 && code <= 26 ? createKey(String.fromCharCode(code + 96), { ctrl: true }) : null;
}

const keyByFinal: { readonly [final: string]: KeyName | undefined } = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  H: "home",
  F: "end",
  M: "enter",
};

const keyByTildeNumber: { readonly [number: string]: KeyName | undefined } = {
  1: "home",
  3: "delete",
  4: "end",
  5: "page-up",
  6: "page-down",
  7: "home",
  8: "end",
};

const keyByCode: { readonly [code: string]: KeyName | undefined } = {
  9: "tab",
  13: "enter",
  27: "escape",
  127: "backspace",
  57414: "enter",
};

/** `ESC [ 1 ; modifiers A`, `ESC [ 3 ; modifiers ~`, and the kitty protocol's `ESC [ code ; modifiers u`. */
function parseSequence(text: string): Key | null {
  const [, first = "", modifier = "1", event = "1", final = ""] =
    /^\x1b\[(\d*)(?::\d*)*(?:;(\d*)(?::(\d+))?)?(?:;[\d:]*)*([A-Za-z~])$/.exec(text) ?? [];
  if (final === "" || event === "3") return null;
  const modifiers = parseModifiers(Number(modifier || "1") - 1);
  if (final === "Z") return createKey("tab", { shift: true });
  if (final === "~") return createNamedKey(keyByTildeNumber[first], modifiers);
  if (final !== "u") return createNamedKey(keyByFinal[final], modifiers);
  const known = keyByCode[first];
  if (known !== undefined) return createKey(known, modifiers);
  const code = Number(first);
  // Codes from 57344 on are keys without text.
  if (!(code >= 32 && code < 57_344)) return null;
  const character = String.fromCodePoint(code);
  if (modifiers.ctrl === true || modifiers.alt === true) return createKey(character.toLowerCase(), modifiers);
  return { type: "text", text: modifiers.shift === true ? character.toUpperCase() : character };
}

function parseModifiers(bits: number): Modifiers {
  return { shift: (bits & 1) !== 0, alt: (bits & 2) !== 0, ctrl: (bits & 4) !== 0 };
}

function createNamedKey(name: KeyName | undefined, modifiers: Modifiers): Key | null {
  return name === undefined ? null : createKey(name, modifiers);
}
