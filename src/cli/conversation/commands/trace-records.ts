/**
 * Reads all records of one type from a session's trace, page by page.
 */
import type { Store } from "../../../index.js";
import { sessionTracePage, type TraceRecordOf } from "../../../inspect.js";

/** Records per page. */
const pageSize = 500;

export async function* readTraceRecords<Type extends "step" | "compaction">(
  store: Store,
  sessionId: string,
  type: Type,
): AsyncGenerator<TraceRecordOf<Type>, void, undefined> {
  for (let after: number | null = 0; after !== null; ) {
    const { records, next }: Awaited<ReturnType<typeof sessionTracePage>> = await sessionTracePage(store, sessionId, {
      type,
      after,
      limit: pageSize,
    });
    for (const record of records) if (record.type === type) yield record as TraceRecordOf<Type>;
    after = next;
  }
}
