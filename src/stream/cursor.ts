/**
 * A cursor: a position among the public events of a session. This file imports nothing, so Node and browsers share it.
 *
 * 1. A cursor points after event `index` of entry `seq`, or after all events of the entry (`index` is Infinity).
 * 2. Its text is `seq.index` ("57.2") or, after a whole entry, `seq` ("57"). `parseCursor` reads what `formatCursor` writes.
 * 3. Cursors have a total order, and it is the order of the log.
 */
export type Cursor = {
  readonly seq: number;
  /** Counts from 1. Infinity: after all events of the entry. */
  readonly index: number;
};

/** The position of a public event, or of anything else in the log. */
type LogPosition = { readonly seq: number; readonly index: number };

/** After one event. */
export function cursorAfter({ seq, index }: LogPosition): Cursor {
  return { seq, index };
}

/** After the event that precedes this one, so that this one comes next. */
export function cursorBefore({ seq, index }: LogPosition): Cursor {
  return index > 1 ? { seq, index: index - 1 } : afterEntry(seq - 1);
}

/** After all events of an entry. */
export function afterEntry(seq: number): Cursor {
  return { seq, index: Number.POSITIVE_INFINITY };
}

/** Before the first event of every session. */
export const startCursor: Cursor = Object.freeze(afterEntry(0));

/** Parses an entry number (57 or "57"), or the entry and index of an event ("57.2"). Null for anything else. */
export function parseCursor(value: unknown): Cursor | null {
  if (typeof value === "number") return Number.isSafeInteger(value) && value >= 0 ? afterEntry(value) : null;
  const parts = typeof value === "string" ? /^(\d{1,15})(?:\.(\d{1,9}))?$/.exec(value) : null;
  if (parts === null) return null;
  const [, seq, index] = parts;
  return index === undefined ? afterEntry(Number(seq)) : { seq: Number(seq), index: Number(index) };
}

export function formatCursor({ seq, index }: LogPosition): string {
  return Number.isFinite(index) ? `${seq}.${index}` : `${seq}`;
}

/** Negative if `a` comes before `b`, positive if it comes after, 0 if they are the same. */
export function compareCursors(a: LogPosition, b: LogPosition): number {
  if (a.seq !== b.seq) return a.seq - b.seq;
  return a.index === b.index ? 0 : a.index - b.index;
}

/** Whether an event or a cursor comes after a cursor. */
export function isAfter(position: LogPosition, cursor: Cursor): boolean {
  return position.seq > cursor.seq || (position.seq === cursor.seq && position.index > cursor.index);
}

/** The last entry whose events are all before the cursor. */
export function findLastWholeEntry({ seq, index }: Cursor): number {
  return index === Number.POSITIVE_INFINITY ? seq : seq - 1;
}

/** The error message for a value that is not a cursor. */
export function formatInvalidCursor(value: unknown): string {
  const quotedValue = JSON.stringify(value)?.slice(0, 100);
  return `Invalid cursor ${quotedValue}: expected an entry number (57) or "entry.index" ("57.2").`;
}
