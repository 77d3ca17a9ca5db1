/**
 * A position among the public events of a session: behind event `index` of entry `seq`.
 */
import type { PublicEvent } from "../../core/view/public-event.js";
import { PawlError } from "../../errors.js";

export type Cursor = {
  readonly seq: number;
  /** Counts from 1. Infinity: behind all events of the entry. */
  readonly index: number;
};

/** Behind all events of an entry. */
export function behindEntry(seq: number): Cursor {
  return { seq, index: Number.POSITIVE_INFINITY };
}

/** The cursor as text, as `parseCursor` reads it. */
export function cursorText({ seq, index }: Cursor): string {
  return Number.isFinite(index) ? `${seq}.${index}` : `${seq}`;
}

/** Behind one event. */
export function behindEvent({ seq, index }: PublicEvent): Cursor {
  return { seq, index };
}

/**
 * Reads a cursor: the number of an entry, or `seq.index` as text ("57.2").
 * @throws PawlError `bad_input`
 */
export function parseCursor(after: number | string): Cursor {
  if (typeof after === "number" && Number.isSafeInteger(after) && after >= 0) return behindEntry(after);
  const parts = typeof after === "string" ? /^(\d{1,15})(?:\.(\d{1,9}))?$/.exec(after) : null;
  if (parts === null)
    throw new PawlError(
      "bad_input",
      `${JSON.stringify(after)?.slice(0, 100)} is no position among a session's events. Give the number of an entry (57), or entry and index of an event ("57.2").`,
    );
  const [, seq, index] = parts;
  return { seq: Number(seq), index: index === undefined ? Number.POSITIVE_INFINITY : Number(index) };
}

export function isBehind({ seq, index }: PublicEvent, cursor: Cursor): boolean {
  return seq > cursor.seq || (seq === cursor.seq && index > cursor.index);
}

/** The last entry whose events the reader has got completely. */
export function lastWholeEntry({ seq, index }: Cursor): number {
  return index === Number.POSITIVE_INFINITY ? seq : seq - 1;
}
