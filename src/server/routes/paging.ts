/**
 * Paging, with cursors that are opaque to clients.
 */
import { type Cursor, formatInvalidCursor, parseCursor } from "../../stream/cursor.js";
import { fromBase64url, toBase64url } from "../base64url.js";
import type { RouteRequest } from "../route.js";
import type { ServerContext } from "../server-context.js";
import { ServerError } from "../server-error.js";

export function formatPageCursor(position: object): string {
  return toBase64url(new TextEncoder().encode(JSON.stringify(position)));
}

/** @throws ServerError `bad_cursor` */
export function parsePageCursor<Position extends object>(
  cursor: unknown,
  kinds: { readonly [Key in keyof Position]: "string" | "number" },
): Position | undefined {
  if (cursor === undefined) return undefined;
  try {
    const position = JSON.parse(new TextDecoder().decode(fromBase64url(String(cursor)))) as Position;
    const names = Object.keys(kinds) as (keyof Position)[];
    if (names.every((name) => isValidField(position[name], kinds[name]))) return position;
  } catch {
    // Falls through to the error below.
  }
  throw new ServerError(
    "bad_cursor",
    "Invalid cursor: it is not from this server. Request the first page, without a cursor.",
  );
}

/** Whether the server could have put this value into a cursor, because clients can forge cursors. */
function isValidField(value: unknown, kind: "string" | "number"): boolean {
  if (kind === "number") return Number.isSafeInteger(value) && Number(value) >= 0;
  return typeof value === "string" && value.length <= 1_000 && !/\0|\p{Surrogate}/u.test(value);
}

/** The position of a session in lists, which are sorted by the last change, newest first. */
type SessionPosition = { readonly updatedAt: number; readonly sessionId: string };

/** @throws ServerError `bad_cursor` */
export const parseSessionCursor = (cursor: unknown): SessionPosition | undefined =>
  parsePageCursor<SessionPosition>(cursor, { updatedAt: "number", sessionId: "string" });

/** Parses the entries of a page: `after`, and `limit` up to the maximum page size. */
export function parseEntryPage({ query }: RouteRequest, { settings: { limits } }: ServerContext): EntryPage {
  const { after = 0, limit = 100 } = query as Partial<EntryPage>;
  return { after, limit: Math.min(limit, limits.maxPage) };
}

type EntryPage = { readonly after: number; readonly limit: number };

/** Parses a client's cursor; null for the beginning. @throws ServerError `bad_cursor` */
export function parseEventCursor(given: string | null | undefined): Cursor | null {
  if (given === null || given === undefined || given === "" || given === "0") return null;
  const cursor = parseCursor(given);
  if (cursor === null) throw new ServerError("bad_cursor", formatInvalidCursor(given));
  return cursor;
}
