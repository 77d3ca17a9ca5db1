/**
 * Pages: a cursor is opaque to clients.
 */
import { ServerError } from "../server-error.js";

export function cursorOf(place: object): string {
  return btoa(
    JSON.stringify(place).replace(/[^\0-\x7f]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`),
  )
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/** @throws ServerError `bad_cursor` */
export function placeIn<Place extends object>(
  cursor: unknown,
  kinds: { readonly [Key in keyof Place]: "string" | "number" },
): Place | undefined {
  if (cursor === undefined) return undefined;
  try {
    const place = JSON.parse(atob(String(cursor).replaceAll("-", "+").replaceAll("_", "/"))) as Place;
    const names = Object.keys(kinds) as (keyof Place)[];
    if (names.every((name) => typeof place[name] === kinds[name])) return place;
  } catch {
    // Falls through: it is no cursor of this server.
  }
  throw new ServerError("bad_cursor", "The cursor is none that this server has given. Begin without one.");
}

/** A place among the events of a session, as text; null for the beginning. @throws ServerError `bad_cursor` */
export function eventPlace(given: string | null | undefined): string | null {
  if (given === null || given === undefined || given === "" || given === "0") return null;
  if (/^\d{1,15}(?:\.\d{1,9})?$/.test(given)) return given;
  throw new ServerError(
    "bad_cursor",
    "A place among events is seq.index, as the ids of the stream are, for example 57.2.",
  );
}
