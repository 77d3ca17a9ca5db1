/**
 * Parses JSON while it is being written, and returns its value so far.
 *
 * 1. Each character is read once, and nothing recurses, so the cost is linear in the length of the text.
 * 2. A returned value never changes. Only open containers are copied; closed ones are frozen and shared.
 * 3. Nothing is guessed: a number, a word or a key counts when it is complete. A string may be incomplete.
 */
import { isDangerousKey } from "../../core/data/json.js";
import type { Json } from "../../core/data/message.js";

export type PartialJson = {
  /** Adds the next piece of the text. */
  readonly add: (text: string) => void;
  /** The value so far, frozen; undefined if there is none yet. */
  readonly value: () => Json | undefined;
};

type OpenArray = { readonly items: Json[] };
type OpenObject = { readonly members: { [key: string]: Json }; key: string };
type OpenContainer = OpenArray | OpenObject;

type Expected =
  | "start"
  | "fence"
  | "value"
  | "value or ]"
  | "key"
  | "key or }"
  | "colon"
  | "comma or end"
  | "text"
  | "escape"
  | "word"
  /** The value is complete, or the text is not JSON: the rest is ignored. */
  | "nothing";

const maxDepth = 256;
const escapes: { readonly [character: string]: string } = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

export function createPartialJson(): PartialJson {
  const open: OpenContainer[] = [];
  let expected: Expected = "start";
  let root: Json | undefined;
  /** The string that is being read. `pending` is the current escape or word. */
  let text = "";
  let pending = "";
  let isKey = false;

  function close(value: Json): void {
    const holder = open.at(-1);
    if (holder === undefined) root = value;
    else if ("items" in holder) holder.items.push(value);
    else holder.members[holder.key] = value;
    expected = holder === undefined ? "nothing" : "comma or end";
  }

  function begin(character: string): void {
    if (open.length === maxDepth) expected = "nothing";
    else if (character === "[") {
      open.push({ items: [] });
      expected = "value or ]";
    } else {
      open.push({ members: {}, key: "" });
      expected = "key or }";
    }
  }

  function end(character: string): void {
    const last = open.at(-1);
    if (last === undefined || (character === "]") !== "items" in last) expected = "nothing";
    else {
      open.pop();
      close(Object.freeze("items" in last ? last.items : last.members));
    }
  }

  function beginValue(character: string): void {
    if (character === '"') beginText(false);
    else if (character === "[" || character === "{") begin(character);
    else if (/[-0-9tfn]/.test(character)) {
      pending = character;
      expected = "word";
    } else expected = "nothing";
  }

  function beginText(forKey: boolean): void {
    text = "";
    isKey = forKey;
    expected = "text";
  }

  function endText(): void {
    const holder = open.at(-1);
    if (!isKey) close(text);
    else if (holder === undefined || "items" in holder || isDangerousKey(text)) expected = "nothing";
    else {
      holder.key = text;
      expected = "colon";
    }
  }

  /** Reads a string up to its end, an escape or an invalid character. Returns the index after what it has read. */
  function takeText(piece: string, from: number): number {
    for (let at = from; at < piece.length; at += 1) {
      const code = piece.charCodeAt(at);
      if (code !== 0x22 && code !== 0x5c && code >= 0x20) continue;
      text += piece.slice(from, at);
      if (code === 0x22) endText();
      else if (code === 0x5c) {
        pending = "";
        expected = "escape";
      } else expected = "nothing";
      return at + 1;
    }
    text += piece.slice(from);
    return piece.length;
  }

  function takeEscape(character: string): void {
    pending += character;
    const [kind = ""] = pending;
    const plain = escapes[kind];
    if (plain === undefined && kind !== "u") expected = "nothing";
    else if (plain !== undefined) {
      text += plain;
      expected = "text";
    } else if (pending.length > 1 && !/[0-9a-fA-F]/.test(character)) expected = "nothing";
    else if (pending.length === 5) {
      text += String.fromCharCode(Number.parseInt(pending.slice(1), 16));
      expected = "text";
    }
  }

  /** A word ends at the first character that cannot belong to it, which is then read again. */
  function takeWord(character: string): boolean {
    if (/[-+.0-9A-Za-z]/.test(character) && pending.length < maxWord) {
      pending += character;
      return true;
    }
    const value = parseWord(pending);
    if (value === undefined) expected = "nothing";
    else close(value);
    return false;
  }

  function takePunctuation(character: string): void {
    if (character === " " || character === "\n" || character === "\r" || character === "\t") return;
    const isComma = character === ",";
    if (expected === "value" || (expected === "value or ]" && character !== "]")) beginValue(character);
    else if (expected === "value or ]" || (expected === "key or }" && character === "}")) end(character);
    else if (expected === "colon") expected = character === ":" ? "value" : "nothing";
    else if (expected === "comma or end" && !isComma) end(character);
    else if (isComma && expected === "comma or end") expected = isInArray() ? "value" : "key";
    else if (character === '"') beginText(true);
    else expected = "nothing";
  }

  function isInArray(): boolean {
    const holder = open.at(-1);
    return holder !== undefined && "items" in holder;
  }

  /** Models often put JSON between code fences. */
  function takeStart(character: string): void {
    if (character === "`" && pending.length < 3) pending += character;
    else if (pending !== "") expected = pending === "```" && character !== "\n" ? "fence" : "value";
    else if (character.trim() !== "") beginValue(character);
  }

  function add(piece: string): void {
    for (let at = 0; at < piece.length && expected !== "nothing"; ) {
      const character = piece.charAt(at);
      if (expected === "text") at = takeText(piece, at);
      else if (expected === "word") at += takeWord(character) ? 1 : 0;
      else {
        at += 1;
        if (expected === "escape") takeEscape(character);
        else if (expected === "start") takeStart(character);
        else if (expected !== "fence") takePunctuation(character);
        else if (character === "\n") expected = "value";
      }
    }
  }

  function value(): Json | undefined {
    const isInText = (expected === "text" || expected === "escape") && !isKey;
    let inner: Json | undefined = isInText ? trimHalfCharacter(text) : undefined;
    for (let at = open.length - 1; at >= 0; at -= 1) {
      const holder = open[at];
      if (holder === undefined) break;
      if ("items" in holder) inner = Object.freeze(inner === undefined ? [...holder.items] : [...holder.items, inner]);
      else
        inner = Object.freeze(inner === undefined ? { ...holder.members } : { ...holder.members, [holder.key]: inner });
    }
    return inner ?? root;
  }

  return { add, value };
}

const maxWord = 64;

function parseWord(word: string): Json | undefined {
  if (word === "true" || word === "false") return word === "true";
  if (word === "null") return null;
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(word) ? finiteOrUndefined(Number(word)) : undefined;
}

function finiteOrUndefined(number: number): number | undefined {
  return Number.isFinite(number) ? number : undefined;
}

/** Drops the first half of a surrogate pair whose second half has not arrived yet. */
function trimHalfCharacter(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last < 0xdc00 ? text.slice(0, -1) : text;
}
