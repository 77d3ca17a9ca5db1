/**
 * The draft: the text that a person is writing, with a cursor, cut text, an undo history, and earlier messages.
 *
 * A long paste is represented by one character. It is shown as `[pasted 120 lines]` and sent in full.
 */

import { formatCount, sanitize, toOneLine } from "../terminal/text.js";
import { splitGraphemes } from "./line.js";

export type Draft = {
  readonly text: string;
  /** The offset of the cursor in `text`. */
  readonly cursor: number;
  readonly pastes: readonly string[];
  /** Cut text, the newest last. */
  readonly killed: readonly string[];
  /** Earlier states, which Ctrl-_ restores. */
  readonly undo: readonly DraftSnapshot[];
  /** Earlier messages, the newest last. `shown` is the index of the one that is shown. */
  readonly history: readonly string[];
  readonly shown: number | null;
  /** The draft that is set aside while an earlier message is shown. */
  readonly putAway: DraftSnapshot | null;
};

type DraftSnapshot = { readonly text: string; readonly cursor: number };

export const emptyDraft: Draft = {
  text: "",
  cursor: 0,
  pastes: [],
  killed: [],
  undo: [],
  history: [],
  shown: null,
  putAway: null,
};

const maxUndo = 200;
const maxKilled = 20;
const maxHistory = 200;
/** A longer paste is represented by one character. */
const longPasteThreshold = { lines: 10, characters: 1_000 } as const;

/** The first of the characters that represent pastes: U+F0000. */
const firstPaste = 0xf0000;
const maxPastes = 1_000;
const pastePattern = /[\u{f0000}-\u{f03e7}]/gu;

export function isEmpty({ text }: Draft): boolean {
  return text === "";
}

/** The whole text, with every paste expanded. */
export function expandPastes({ text, pastes }: Pick<Draft, "text" | "pastes">): string {
  return text.replace(pastePattern, (character) => pastes[(character.codePointAt(0) ?? 0) - firstPaste] ?? "");
}

/** The text with visible tabs and pastes, as the screen shows it. */
export function formatText(text: string, pastes: readonly string[]): string {
  return text.replaceAll("\t", "    ").replace(pastePattern, (character) => {
    const pasted = pastes[(character.codePointAt(0) ?? 0) - firstPaste] ?? "";
    const lines = pasted.replace(/\n$/, "").split("\n").length;
    return lines > 1 ? `[pasted ${lines} lines]` : `[pasted ${formatCount(pasted.length, "character")}]`;
  });
}

function withText(draft: Draft, text: string, cursor: number): Draft {
  const undo = [...draft.undo.slice(1 - maxUndo), { text: draft.text, cursor: draft.cursor }];
  return { ...draft, text, cursor, undo };
}

export function insert(draft: Draft, added: string): Draft {
  const text = sanitize(added).replace(pastePattern, "\ufffd");
  return withText(
    draft,
    draft.text.slice(0, draft.cursor) + text + draft.text.slice(draft.cursor),
    draft.cursor + text.length,
  );
}

/** Inserts pasted text, with its control characters made visible. */
export function paste(draft: Draft, pasted: string): Draft {
  const text = sanitize(pasted).replace(pastePattern, "\ufffd");
  const isLong = text.length > longPasteThreshold.characters || text.split("\n").length > longPasteThreshold.lines;
  if (!isLong || draft.pastes.length >= maxPastes) return insert(draft, text);
  const placeholder = String.fromCodePoint(firstPaste + draft.pastes.length);
  const next = withText(
    draft,
    draft.text.slice(0, draft.cursor) + placeholder + draft.text.slice(draft.cursor),
    draft.cursor + placeholder.length,
  );
  return { ...next, pastes: [...draft.pastes, text] };
}

/** Replaces the text between two offsets, and puts the cursor after it. */
export function replace(draft: Draft, start: number, end: number, by: string): Draft {
  const text = sanitize(by).replace(pastePattern, "\ufffd");
  return withText(draft, draft.text.slice(0, start) + text + draft.text.slice(end), start + text.length);
}

/** Replaces the whole text. */
export function write(draft: Draft, text: string): Draft {
  return paste({ ...withText(draft, "", 0), pastes: [] }, text);
}

/** Clears the draft, and adds its text to the earlier messages. */
export function submit(draft: Draft): { readonly text: string; readonly draft: Draft } {
  const text = expandPastes(draft);
  const { history } = remember(draft, text);
  return { text, draft: { ...emptyDraft, killed: draft.killed, history } };
}

/** Adds a text to the earlier messages, unless it is the last of them. */
export function remember(draft: Draft, text: string): Draft {
  if (text.trim() === "" || draft.history.at(-1) === text) return draft;
  return { ...draft, history: [...draft.history.slice(1 - maxHistory), text] };
}

export function clear(draft: Draft): Draft {
  return { ...emptyDraft, killed: draft.killed, history: draft.history };
}

type MoveUnit = "character" | "word" | "line" | "all";

/** The offset one character, word or line before the cursor. */
function findBefore({ text, cursor }: Draft, unit: MoveUnit): number {
  if (unit === "all") return 0;
  const head = text.slice(0, cursor);
  if (unit === "line") return head.lastIndexOf("\n") + 1;
  if (unit === "word") return head.search(/[\p{L}\p{N}_]*[^\p{L}\p{N}_]*$/u);
  return cursor - findLastCharacter(head).length;
}

function findAfter({ text, cursor }: Draft, unit: MoveUnit): number {
  if (unit === "all") return text.length;
  const tail = text.slice(cursor);
  if (unit === "line")
    return /$/m.test(tail) ? cursor + (tail.indexOf("\n") === -1 ? tail.length : tail.indexOf("\n")) : cursor;
  if (unit === "word") return cursor + (/^[^\p{L}\p{N}_]*[\p{L}\p{N}_]*/u.exec(tail)?.[0].length ?? 0);
  return cursor + (splitGraphemes(tail.slice(0, maxCharacterLength)).next().value ?? "").length;
}

/** Longer grapheme clusters count as several. */
const maxCharacterLength = 64;

function findLastCharacter(text: string): string {
  let last = "";
  const from = text.slice(-maxCharacterLength);
  for (const character of splitGraphemes(/^[\udc00-\udfff]/.test(from) ? from.slice(1) : from)) last = character;
  return last;
}

export function move(draft: Draft, direction: "back" | "on", unit: MoveUnit): Draft {
  return { ...draft, cursor: direction === "back" ? findBefore(draft, unit) : findAfter(draft, unit) };
}

/** Deletes the text between the cursor and the target of the move. Anything longer than a character can be restored with `yank`. */
export function remove(draft: Draft, direction: "back" | "on", unit: MoveUnit): Draft {
  const [from, to] =
    direction === "back" ? [findBefore(draft, unit), draft.cursor] : [draft.cursor, findAfter(draft, unit)];
  // At the end of a line, Ctrl-K joins it with the next one.
  const end = from === to && unit === "line" && direction === "on" ? Math.min(to + 1, draft.text.length) : to;
  if (from === end) return draft;
  const removed = draft.text.slice(from, end);
  const next = withText(draft, draft.text.slice(0, from) + draft.text.slice(end), from);
  return unit === "character" ? next : { ...next, killed: [...draft.killed.slice(1 - maxKilled), removed] };
}

/** Inserts the text that was cut last. */
export function yank(draft: Draft): Draft {
  const text = draft.killed.at(-1) ?? "";
  if (text === "") return draft;
  return withText(
    draft,
    draft.text.slice(0, draft.cursor) + text + draft.text.slice(draft.cursor),
    draft.cursor + text.length,
  );
}

export function undo(draft: Draft): Draft {
  const last = draft.undo.at(-1);
  return last === undefined ? draft : { ...draft, ...last, undo: draft.undo.slice(0, -1) };
}

/** The earlier messages as choices, the newest first. */
export function listEarlierMessages({ history }: Draft): readonly { readonly id: string; readonly text: string }[] {
  return history.map((text) => ({ id: text, text: toOneLine(text) })).toReversed();
}

/** Shows an older or a newer message. After the newest comes the draft itself. */
export function recall(draft: Draft, direction: "back" | "on"): Draft {
  const { history, shown } = draft;
  const at =
    shown === null ? (direction === "back" ? history.length - 1 : null) : shown + (direction === "back" ? -1 : 1);
  if (at === null || at < 0) return draft;
  const putAway = shown === null ? { text: expandPastes(draft), cursor: 0 } : draft.putAway;
  if (at >= history.length) return { ...write(draft, putAway?.text ?? ""), shown: null, putAway: null };
  return { ...write(draft, history[at] ?? ""), shown: at, putAway };
}
