/**
 * A place in a stream with children, as text: the place of the session, then one for each child whose call is open.
 *
 * `57.2~c1:12.1~c1-2:end`: behind event 57.2 of the session, behind event 12.1 of the child of its first call, and behind
 * the end of the child of that child's second call. A child without a place has told nothing yet. The path names calls by
 * their positions, because all open calls of a session belong to one step. To callers the text is opaque.
 */
import { PawlError } from "../../errors.js";
import { type Cursor, formatCursor, invalidCursor, parseCursor } from "../../stream/cursor.js";

/** The place of a child: behind an event, or behind all of its run. */
export type ChildPlace = Cursor | "end";

export type FamilyCursor = {
  readonly place: Cursor;
  /** By path: `1` is the child of the session's first call, `1-2` the child of that child's second call. */
  readonly children: ReadonlyMap<string, ChildPlace>;
};

/** A tree of places. */
export type Placed = {
  readonly place: Cursor;
  /** Whether its part is told to the end, or goes on. Nothing is said of a session that is left out. */
  readonly part: "telling" | "told" | "omitted";
  readonly children: ReadonlyMap<string, Placed>;
};

/** The most sessions that are open at once in one stream, and so the most places in a cursor. */
export const mostOpenSessions = 4_096;
const longestCursor = 256 * 1_024;
const deepestPath = 64;

export function familyCursorText(root: Placed): string {
  const texts = [formatCursor(root.place)];
  addPlaces(root, "", texts);
  return texts.join("~");
}

function addPlaces({ children }: Placed, above: string, texts: string[]): void {
  for (const [position, child] of children) {
    const path = `${above}${position}`;
    if (child.part === "told") texts.push(`c${path}:end`);
    else if (child.part === "telling" && child.place.seq > 0) {
      texts.push(`c${path}:${formatCursor(child.place)}`);
      addPlaces(child, `${path}-`, texts);
    }
  }
}

/** Reads a cursor. The place of an event, or the number of an entry, is one without children. @throws PawlError `bad_input` */
export function parseFamilyCursor(after: number | string): FamilyCursor {
  if (typeof after !== "string" || !after.includes("~")) return { place: readCursor(after), children: new Map() };
  if (after.length > longestCursor) throw notCursor(after);
  const [first = "", ...rest] = after.split("~", mostOpenSessions + 2);
  if (rest.length > mostOpenSessions) throw notCursor(after);
  const children = new Map<string, ChildPlace>();
  for (const text of rest) {
    const [, path, place] = /^c([\d-]+):([\d.]+|end)$/.exec(text) ?? [];
    if (path === undefined || place === undefined || !isPath(path)) throw notCursor(after);
    children.set(path, place === "end" ? place : readCursor(place));
  }
  return { place: readCursor(first), children };
}

/** Reads the cursor of a stream of one session. @throws PawlError `bad_input` */
export function readCursor(after: number | string): Cursor {
  const cursor = parseCursor(after);
  if (cursor === null) throw new PawlError("bad_input", invalidCursor(after));
  return cursor;
}

function isPath(path: string): boolean {
  const positions = path.split("-", deepestPath + 1);
  return positions.length <= deepestPath && positions.every((one) => /^[1-9]\d{0,8}$/.test(one));
}

function notCursor(after: string): PawlError {
  return new PawlError(
    "bad_input",
    `Invalid cursor ${JSON.stringify(after.slice(0, 100))}: expected the cursor of an item of a stream with children, unchanged.`,
  );
}
