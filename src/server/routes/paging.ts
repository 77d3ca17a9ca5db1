/**
 * Pages: a cursor is opaque to clients.
 */
import { type Cursor, invalidCursor, parseCursor } from "../../stream/cursor.js";
import { fromBase64url, toBase64url } from "../base64url.js";
import type { Asked } from "../route.js";
import type { ServerContext } from "../server-context.js";
import { ServerError } from "../server-error.js";

export function cursorOf(place: object): string {
  return toBase64url(new TextEncoder().encode(JSON.stringify(place)));
}

/** @throws ServerError `bad_cursor` */
export function placeIn<Place extends object>(
  cursor: unknown,
  kinds: { readonly [Key in keyof Place]: "string" | "number" },
): Place | undefined {
  if (cursor === undefined) return undefined;
  try {
    const place = JSON.parse(new TextDecoder().decode(fromBase64url(String(cursor)))) as Place;
    const names = Object.keys(kinds) as (keyof Place)[];
    if (names.every((name) => isPart(place[name], kinds[name]))) return place;
  } catch {
    // Falls through: it is no cursor of this server.
  }
  throw new ServerError("bad_cursor", "The cursor is none that this server has given. Begin without one.");
}

/** Whether the server can have put this value into a cursor: a client may have made it by hand. */
function isPart(value: unknown, kind: "string" | "number"): boolean {
  if (kind === "number") return Number.isSafeInteger(value) && Number(value) >= 0;
  return typeof value === "string" && value.length <= 1_000 && !/\0|\p{Surrogate}/u.test(value);
}

/** The place of a session in lists: those that changed last come first. */
type SessionPlace = { readonly updatedAt: number; readonly sessionId: string };

/** @throws ServerError `bad_cursor` */
export const sessionPlaceIn = (cursor: unknown): SessionPlace | undefined =>
  placeIn<SessionPlace>(cursor, { updatedAt: "number", sessionId: "string" });

/** The entries of a page: those behind `after`, as many as are asked for and as a page may have. */
export function pageIn({ query }: Asked, { settings: { limits } }: ServerContext): EntryPage {
  const { after = 0, limit = 100 } = query as Partial<EntryPage>;
  return { after, limit: Math.min(limit, limits.maxPage) };
}

type EntryPage = { readonly after: number; readonly limit: number };

/** The cursor that a client gives; null for the beginning. @throws ServerError `bad_cursor` */
export function eventCursor(given: string | null | undefined): Cursor | null {
  if (given === null || given === undefined || given === "" || given === "0") return null;
  const cursor = parseCursor(given);
  if (cursor === null) throw new ServerError("bad_cursor", invalidCursor(given));
  return cursor;
}
