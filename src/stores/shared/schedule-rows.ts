/**
 * Schedules as JSON in database rows.
 */
import { parseJson } from "../../core/data/json.js";
import type { Json } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import type { PostedRun, ScheduleRow, SlotRow } from "../../ports/schedule-store.js";
import { corruptError, verifyChecksum } from "./decode.js";
import { maxEntryDepth } from "./encode.js";
import { outsideSessions } from "./signal-rows.js";

/** The columns of a schedule, as a database returns them. */
export type ScheduleColumns = {
  readonly id: string;
  readonly rev: number;
  readonly slot: number | null;
  readonly dueAt: number | null;
  readonly session: string | null;
  readonly last: string | null;
  readonly body: string;
  readonly bodySum: number;
};

/** Decodes a schedule. A damaged row has an `error` instead of a body. @param file the store's name in messages */
export function decodeSchedule(columns: ScheduleColumns, file: string): ScheduleRow {
  try {
    return decodeReadable(columns, file);
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    const { id, rev, slot, dueAt, session } = columns;
    return { id, rev, slot, dueAt, body: null, ...(session === null ? {} : { sessionId: session }), error };
  }
}

/** @throws PawlError `store_corrupt` */
function decodeReadable(columns: ScheduleColumns, file: string): ScheduleRow {
  const { id, rev, slot, dueAt, session, last, body, bodySum } = columns;
  const position = outsideSessions(file, `the schedule ${id}`);
  return {
    id,
    rev,
    slot,
    dueAt,
    body: parse(verifyChecksum(body, bodySum, position), file, id),
    ...(session === null ? {} : { sessionId: session }),
    ...(last === null ? {} : { last: parse(last, file, id) as PostedRun }),
  };
}

/** @throws PawlError `store_corrupt` */
export function decodeSlot(text: string, file: string, id: string): SlotRow {
  const slot = parse(text, file, id) as Partial<SlotRow> | null;
  if (typeof slot !== "object" || typeof slot?.slot !== "number" || typeof slot.outcome !== "string")
    throw corruptError(outsideSessions(file, `a slot of the schedule ${id}`), "it does not parse");
  return slot as SlotRow;
}

function parse(text: string, file: string, id: string): Json {
  const parsed = parseJson(text, { maxDepth: maxEntryDepth });
  if (!parsed.ok) throw corruptError(outsideSessions(file, `the schedule ${id}`), "it does not parse");
  return parsed.value;
}
