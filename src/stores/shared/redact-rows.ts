/**
 * What a redaction makes of the rows of a session, as text for a database.
 */
import type { Event } from "../../core/machine/event.js";
import type { Redaction } from "../../ports/store.js";
import { checksumOf, positionOf } from "./checksum.js";
import { encodeEvents, encodeState } from "./storable.js";
import { checkCommitSum, checkFormat, decodeEntries, decodeState, type RowPosition } from "./validate.js";

/** A row of the log, with the texts that a redaction may change. */
export type RedactableRow = {
  readonly seq: number;
  readonly v: number;
  readonly events: string;
  readonly eventsSum: number;
  readonly state: string;
  readonly stateSum: number;
};

/** The texts of a row that replace its present ones. */
export type RedactedRow = Omit<RedactableRow, "v">;

/** Returns what becomes of one row after the other, in ascending order; null for a row that stays as it is. */
export function createRowRedaction(
  { entries, state: redactState }: Pick<Redaction, "entries" | "state">,
  place: Omit<RowPosition, "seq">,
): (row: RedactableRow) => RedactedRow | null {
  const changed: ReadonlyMap<number, Event> = new Map(entries.map(({ seq, event }) => [seq, event]));
  return (row) => {
    const { seq } = row;
    const at = { ...place, seq };
    checkFormat(row.v, at);
    const found = decodeEntries(checkCommitSum(row.events, row.eventsSum, at), at);
    const state = decodeState(checkCommitSum(row.state, row.stateSum, at), at);
    const present = redactState(state);
    if (present === state && !found.some((entry) => changed.has(entry.seq))) return null;
    const events = encodeEvents(found.map((entry) => changed.get(entry.seq) ?? entry.event));
    const text = encodeState(present);
    const of = positionOf(place.sessionId, seq);
    return { seq, events, eventsSum: checksumOf(events, of), state: text, stateSum: checksumOf(text, of) };
  };
}
