/**
 * A place in a stream with children, as text: the place of the session, then one for each child whose call is open.
 *
 * `57.2~c1:12.1~c1-2:end`: behind event 57.2 of the session, behind event 12.1 of the child of its first call, and behind
 * the end of the child of that child's second call. A child without a place has told nothing yet. The path names calls by
 * their positions, because all open calls of a session belong to one step. To callers the text is opaque.
 */
import { PawlError } from "../../errors.js";
import { type Cursor, formatCursor, formatInvalidCursor, parseCursor } from "../../stream/cursor.js";

/** The place of a child: behind an event, or behind all of its run. */
export type ChildPlace = Cursor | "end";

export type FamilyCursor = {
  readonly cursor: Cursor;
  /** By path: `1` is the child of the session's first call, `1-2` the child of that child's second call. */
  readonly children: ReadonlyMap<string, ChildPlace>;
};

/** A tree of places. */
export type FamilyNode = {
  readonly cursor: Cursor;
  /** Whether its part is told to the end, or goes on. Nothing is said of a session that is left out. */
  readonly part: "telling" | "told" | "omitted";
  readonly children: ReadonlyMap<string, FamilyNode>;
};

/** The most sessions that are open at once in one stream, and so the most places in a cursor. */
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
    if (child.part === "told") texts.push(`c${path}:end`);
    else if (child.part === "telling" && child.cursor.seq > 0) {
      texts.push(`c${path}:${formatCursor(child.cursor)}`);
      addCursors(child, `${path}-`, texts);
    }
  }
}

/** Reads a cursor. The place of an event, or the number of an entry, is one without children. @throws PawlError `bad_input` */
export function parseFamilyCursor(after: number | string): FamilyCursor {
  if (typeof after !== "string" || !after.includes("~")) return { cursor: readCursor(after), children: new Map() };
  if (after.length > maxCursor) throw cursorError(after);
  const [first = "", ...rest] = after.split("~", maxOpenSessions + 2);
  if (rest.length > maxOpenSessions) throw cursorError(after);
  const children = new Map<string, ChildPlace>();
  for (const text of rest) {
    const [, path, cursor] = /^c([\d-]+):([\d.]+|end)$/.exec(text) ?? [];
    if (path === undefined || cursor === undefined || !isCallPath(path)) throw cursorError(after);
    children.set(path, cursor === "end" ? cursor : readCursor(cursor));
  }
  return { cursor: readCursor(first), children };
}

/** Reads the cursor of a stream of one session. @throws PawlError `bad_input` */
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
