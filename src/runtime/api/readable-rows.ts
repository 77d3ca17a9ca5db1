/**
 * Reads schedules or delayed messages for a list, by id, skipping those that the store cannot read.
 */
import { defined } from "../../core/data/defined.js";
import type { ScheduleRow, ScheduleStore } from "../../ports/schedule-store.js";

type ReadOptions = {
  /** Only the delayed messages of this session. Default: the schedules. */
  readonly sessionId?: string | undefined;
  /** Only rows after this id. */
  readonly after?: string | undefined;
  /** How many readable rows to return. Default: all. */
  readonly limit?: number;
};

/** Small, so that few whole inputs are in memory at a time. */
const rowsPerRead = 50;

export async function* readReadableRows(
  rows: Pick<ScheduleStore, "list">,
  { sessionId, after: start, limit = Number.POSITIVE_INFINITY }: ReadOptions,
): AsyncGenerator<ScheduleRow, void, undefined> {
  let after = start;
  let left = limit;
  for (;;) {
    const wanted = Math.min(left, rowsPerRead);
    const page = await rows.list({ ...defined({ sessionId, after }), limit: wanted });
    const readable = page.filter(({ error }) => error === undefined);
    yield* readable;
    left -= readable.length;
    if (page.length < wanted || left === 0) return;
    after = page.at(-1)?.id;
  }
}
