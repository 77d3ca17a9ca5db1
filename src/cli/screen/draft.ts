/**
 * The draft: the text that a person is writing, with a cursor, what was cut, what can be undone, and earlier messages.
 *
 * A long paste stands in the text as one character. It is shown as `[pasted 120 lines]` and sent whole.
 */
import { oneLine, visible } from "../text.js";
import { graphemes } from "./line.js";

export type Draft = {
  readonly text: string;
  /** The index in `text` before which the cursor stands. */
  readonly cursor: number;
  readonly pastes: readonly string[];
  /** Texts that were cut, the newest last. */
  readonly killed: readonly string[];
  /** The states that Ctrl-_ goes back to. */
  readonly undo: readonly Saved[];
  /** Messages that were sent before, the newest last; and which of them is shown. */
  readonly history: readonly string[];
  readonly shown: number | null;
  /** The draft that is put away while an earlier message is shown. */
  readonly putAway: Saved | null;
};

type Saved = { readonly text: string; readonly cursor: number };

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

const mostUndo = 200;
const mostKilled = 20;
const mostHistory = 200;
/** A paste of more stands as one character. */
const longPaste = { lines: 10, characters: 1_000 } as const;

/** The characters that stand for pastes: U+F0000 is the first one. */
const firstPaste = 0xf0000;
const mostPastes = 1_000;
const anyPaste = /[\u{f0000}-\u{f03e7}]/gu;

export function isEmpty({ text }: Draft): boolean {
  return text === "";
}

/** The whole text, with every paste in its place. */
export function wholeText({ text, pastes }: Pick<Draft, "text" | "pastes">): string {
  return text.replace(anyPaste, (character) => pastes[(character.codePointAt(0) ?? 0) - firstPaste] ?? "");
}

/** The text as it is shown. */
export function shownText(text: string, pastes: readonly string[]): string {
  return text.replaceAll("\t", "    ").replace(anyPaste, (character) => {
    const pasted = pastes[(character.codePointAt(0) ?? 0) - firstPaste] ?? "";
    const lines = pasted.split("\n").length;
    return lines > 1 ? `[pasted ${lines} lines]` : `[pasted ${pasted.length.toLocaleString("en-US")} characters]`;
  });
}

function changed(draft: Draft, text: string, cursor: number): Draft {
  const undo = [...draft.undo.slice(1 - mostUndo), { text: draft.text, cursor: draft.cursor }];
  return { ...draft, text, cursor, undo };
}

export function insert(draft: Draft, added: string): Draft {
  const text = visible(added).replace(anyPaste, "\ufffd");
  return changed(
    draft,
    draft.text.slice(0, draft.cursor) + text + draft.text.slice(draft.cursor),
    draft.cursor + text.length,
  );
}

/** Adds a pasted text. Its control characters are made visible. */
export function paste(draft: Draft, pasted: string): Draft {
  const text = visible(pasted).replace(anyPaste, "\ufffd");
  const isLong = text.length > longPaste.characters || text.split("\n").length > longPaste.lines;
  if (!isLong || draft.pastes.length >= mostPastes) return insert(draft, text);
  const mark = String.fromCodePoint(firstPaste + draft.pastes.length);
  const next = changed(
    draft,
    draft.text.slice(0, draft.cursor) + mark + draft.text.slice(draft.cursor),
    draft.cursor + mark.length,
  );
  return { ...next, pastes: [...draft.pastes, text] };
}

/** Replaces the text between two places, and puts the cursor behind it. */
export function replace(draft: Draft, start: number, end: number, by: string): Draft {
  const text = visible(by).replace(anyPaste, "\ufffd");
  return changed(draft, draft.text.slice(0, start) + text + draft.text.slice(end), start + text.length);
}

/** Replaces the whole text. */
export function write(draft: Draft, text: string): Draft {
  return paste({ ...changed(draft, "", 0), pastes: [] }, text);
}

/** Empties the draft, and keeps its text among the earlier messages. */
export function take(draft: Draft): { readonly text: string; readonly draft: Draft } {
  const text = wholeText(draft);
  const isNew = text.trim() !== "" && draft.history.at(-1) !== text;
  const history = isNew ? [...draft.history.slice(1 - mostHistory), text] : draft.history;
  return { text, draft: { ...emptyDraft, killed: draft.killed, history } };
}

export function clear(draft: Draft): Draft {
  return { ...emptyDraft, killed: draft.killed, history: draft.history };
}

type Reach = "character" | "word" | "line" | "all";

/** The index before the cursor, one character, word or line away. */
function before({ text, cursor }: Draft, reach: Reach): number {
  if (reach === "all") return 0;
  const head = text.slice(0, cursor);
  if (reach === "line") return head.lastIndexOf("\n") + 1;
  if (reach === "word") return head.search(/[\p{L}\p{N}_]*[^\p{L}\p{N}_]*$/u);
  return cursor - lastCharacter(head).length;
}

function after({ text, cursor }: Draft, reach: Reach): number {
  if (reach === "all") return text.length;
  const tail = text.slice(cursor);
  if (reach === "line")
    return /$/m.test(tail) ? cursor + (tail.indexOf("\n") === -1 ? tail.length : tail.indexOf("\n")) : cursor;
  if (reach === "word") return cursor + (/^[^\p{L}\p{N}_]*[\p{L}\p{N}_]*/u.exec(tail)?.[0].length ?? 0);
  return cursor + (graphemes(tail.slice(0, nearby)).next().value ?? "").length;
}

/** Longer characters than this count as several. */
const nearby = 64;

function lastCharacter(text: string): string {
  let last = "";
  const from = text.slice(-nearby);
  for (const character of graphemes(/^[\udc00-\udfff]/.test(from) ? from.slice(1) : from)) last = character;
  return last;
}

export function move(draft: Draft, way: "back" | "on", reach: Reach): Draft {
  return { ...draft, cursor: way === "back" ? before(draft, reach) : after(draft, reach) };
}

/** Deletes what is between the cursor and another place. What is longer than a character can be put back with `yank`. */
export function remove(draft: Draft, way: "back" | "on", reach: Reach): Draft {
  const [from, to] = way === "back" ? [before(draft, reach), draft.cursor] : [draft.cursor, after(draft, reach)];
  // At the end of a line, Ctrl-K joins it with the next one.
  const end = from === to && reach === "line" && way === "on" ? Math.min(to + 1, draft.text.length) : to;
  if (from === end) return draft;
  const removed = draft.text.slice(from, end);
  const next = changed(draft, draft.text.slice(0, from) + draft.text.slice(end), from);
  return reach === "character" ? next : { ...next, killed: [...draft.killed.slice(1 - mostKilled), removed] };
}

/** Puts back what was cut last. */
export function yank(draft: Draft): Draft {
  const text = draft.killed.at(-1) ?? "";
  if (text === "") return draft;
  return changed(
    draft,
    draft.text.slice(0, draft.cursor) + text + draft.text.slice(draft.cursor),
    draft.cursor + text.length,
  );
}

export function undo(draft: Draft): Draft {
  const last = draft.undo.at(-1);
  return last === undefined ? draft : { ...draft, ...last, undo: draft.undo.slice(0, -1) };
}

/** The earlier messages, the newest first, as a list to choose from. */
export function earlierMessages({ history }: Draft): readonly { readonly id: string; readonly text: string }[] {
  return history.map((text) => ({ id: text, text: oneLine(text) })).toReversed();
}

/** Shows an older or a newer message. Behind the newest is the draft itself. */
export function recall(draft: Draft, way: "back" | "on"): Draft {
  const { history, shown } = draft;
  const at = shown === null ? (way === "back" ? history.length - 1 : null) : shown + (way === "back" ? -1 : 1);
  if (at === null || at < 0) return draft;
  const putAway = shown === null ? { text: wholeText(draft), cursor: 0 } : draft.putAway;
  if (at >= history.length) return { ...write(draft, putAway?.text ?? ""), shown: null, putAway: null };
  return { ...write(draft, history[at] ?? ""), shown: at, putAway };
}
