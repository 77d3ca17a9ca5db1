/**
 * The cursor of a stream with children, as a string: the session's own cursor, then one for each child whose call is open.
 *
 * `57.2~c1:12.1~c1-2:end`: after event 57.2 of the session, after event 12.1 of the child of its first call, and after
 * the end of the child of that child's second call. A child without a cursor has not sent anything yet. The path names calls
 * by their positions, because all open calls of a session belong to one step. The string is opaque to callers.
 */
import { PawlError } from "../../errors.js";
import { type Cursor, formatCursor, formatInvalidCursor, parseCursor } from "../../stream/cursor.js";

/** The cursor of a child: after an event, or after all of its run. */
export type ChildCursor = Cursor | "end";

export type FamilyCursor = {
  readonly cursor: Cursor;
  /** By path: `1` is the child of the session's first call, `1-2` the child of that child's second call. */
  readonly children: ReadonlyMap<string, ChildCursor>;
};

/** A tree of cursors. */
export type FamilyNode = {
  readonly cursor: Cursor;
  /** Whether the session's part is complete (`done`), continues (`streaming`) or is omitted. Omitted sessions have no cursor. */
  readonly part: "streaming" | "done" | "omitted";
  readonly children: ReadonlyMap<string, FamilyNode>;
};

/** The maximum number of sessions that are open at once in one stream, and so of positions in a cursor. */
export const maxOpenSessions = 4_096;
const maxCursor = 256 * 1_024;
const maxPathDepth = 64;

export function formatFamilyCursor(root: FamilyNode): string {
  const texts = [formatCursor(root.cursor)];
  addCursors(root, "", texts);
  return texts.join("~");
}

function addCursors({ children }: FamilyNode, prefix: string, texts: string[]): void {
  for (const [position, child] of children) {
    const path = `${prefix}${position}`;
    if (child.part === "done") texts.push(`c${path}:end`);
    else if (child.part === "streaming" && child.cursor.seq > 0) {
      texts.push(`c${path}:${formatCursor(child.cursor)}`);
      addCursors(child, `${path}-`, texts);
    }
  }
}

/** Parses a cursor. A plain cursor or an entry number is also valid: it has no children. @throws PawlError `bad_input` */
export function parseFamilyCursor(after: number | string): FamilyCursor {
  if (typeof after !== "string" || !after.includes("~")) return { cursor: readCursor(after), children: new Map() };
  if (after.length > maxCursor) throw cursorError(after);
  const [first = "", ...rest] = after.split("~", maxOpenSessions + 2);
  if (rest.length > maxOpenSessions) throw cursorError(after);
  const children = new Map<string, ChildCursor>();
  for (const text of rest) {
    const [, path, cursorText] = /^c([\d-]+):([\d.]+|end)$/.exec(text) ?? [];
    if (path === undefined || cursorText === undefined || !isCallPath(path)) throw cursorError(after);
    children.set(path, cursorText === "end" ? cursorText : readCursor(cursorText));
  }
  return { cursor: readCursor(first), children };
}

/** Parses the cursor of a stream of one session. @throws PawlError `bad_input` */
export function readCursor(after: number | string): Cursor {
  const cursor = parseCursor(after);
  if (cursor === null) throw new PawlError("bad_input", formatInvalidCursor(after));
  return cursor;
}

function isCallPath(path: string): boolean {
  const positions = path.split("-", maxPathDepth + 1);
  return positions.length <= maxPathDepth && positions.every((position) => /^[1-9]\d{0,8}$/.test(position));
}

function cursorError(after: string): PawlError {
  return new PawlError(
    "bad_input",
    `Invalid cursor ${JSON.stringify(after.slice(0, 100))}: expected the cursor of an item of a stream with children, unchanged.`,
  );
}
