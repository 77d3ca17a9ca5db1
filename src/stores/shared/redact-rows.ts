/**
 * Applies a redaction to the rows of a session, as text for a database.
 */
import type { Event } from "../../core/machine/event.js";
import type { Redaction } from "../../ports/store.js";
import { checksumOf, checksumPrefixOf } from "./checksum.js";
import { checkFormat, decodeEntries, decodeState, type RowPosition, verifyCommitChecksum } from "./decode.js";
import { encodeEvents, encodeState } from "./encode.js";

/** A row of the log with the texts that a redaction may change. */
export type RedactableRow = {
  readonly seq: number;
  readonly v: number;
  readonly events: string;
  readonly eventsSum: number;
  readonly state: string;
  readonly stateSum: number;
};

/** The new texts of a row. */
export type RedactedRow = Omit<RedactableRow, "v">;

/** Returns a function that redacts rows one by one, in ascending order. It returns null for a row that does not change. */
export function createRowRedactor(
  { entries, state: redactState }: Pick<Redaction, "entries" | "state">,
  sessionPosition: Omit<RowPosition, "seq">,
): (row: RedactableRow) => RedactedRow | null {
  const replacements: ReadonlyMap<number, Event> = new Map(entries.map(({ seq, event }) => [seq, event]));
  return (row) => {
    const { seq } = row;
    const position = { ...sessionPosition, seq };
    checkFormat(row.v, position);
    const decoded = decodeEntries(verifyCommitChecksum(row.events, row.eventsSum, position), position);
    const state = decodeState(verifyCommitChecksum(row.state, row.stateSum, position), position);
    const redacted = redactState(state);
    if (redacted === state && !decoded.some((entry) => replacements.has(entry.seq))) return null;
    const events = encodeEvents(decoded.map((entry) => replacements.get(entry.seq) ?? entry.event));
    const stateText = encodeState(redacted);
    const prefix = checksumPrefixOf(sessionPosition.sessionId, seq);
    return {
      seq,
      events,
      eventsSum: checksumOf(events, prefix),
      state: stateText,
      stateSum: checksumOf(stateText, prefix),
    };
  };
}
