/**
 * Writes the sessions of an export into a store.
 *
 * 1. The export is read twice: everything in it is checked before anything is written.
 * 2. While sessions are written, the import holds their leases, which do not expire. No worker can therefore drive half a session, and no
 *    session is due. The leases are released when all sessions are complete, the first session's last.
 * 3. The holder of these leases is named after the export's checksum. An interrupted import therefore continues when the same export is
 *    imported again, and any other import finds that the sessions exist.
 */
import { aFunction, anObject, checkOptions, type OptionTable } from "../../check-options.js";
import { PawlError } from "../../errors.js";
import type { Store } from "../../ports/store.js";
import { splitLines } from "./lines.js";
import { type ExportItem, readItems } from "./read-lines.js";
import {
  claimForImport,
  createImportHolders,
  createImportWriter,
  type ImportHolders,
  sessionExistsError,
} from "./write-session.js";

/** Options for an import. */
export type ImportOptions = {
  /** Opens the export: text or its UTF-8 bytes, in chunks of any length. Called twice, and must return the same content each time. */
  readonly read: () => AsyncIterable<string | Uint8Array>;
  /** Ends the import with an `AbortError`. It continues when the same export is imported again. */
  readonly signal?: AbortSignal;
};

/** The size of an export. */
export type ImportResult = {
  /** The number of sessions. */
  readonly sessions: number;
  /** The number of entries in their logs. */
  readonly entries: number;
};

const rules: OptionTable<ImportOptions> = { read: aFunction, signal: anObject };

/** The result of checking an export. */
type Plan = { readonly sum: string; readonly sessionIds: readonly string[]; readonly entries: number };

/**
 * Writes an export of `exportSessions` into a store. Workers see the sessions only when all of them are complete. If the process dies
 * before that, import the same export again: the import continues. No session is run.
 *
 * @throws PawlError `bad_input`, with the line number, if the export was changed or is incomplete; `session_busy` if a session with the
 * same id exists; `newer_format`, `older_format`; errors of the store
 */
export async function importSessions(store: Store, options: ImportOptions): Promise<ImportResult> {
  checkOptions("importSessions()", rules, options);
  const items = () => readItems(splitLines(abortable(options.read(), options.signal)));
  const plan = await readPlan(items());
  const holders = createImportHolders(plan.sum);
  if (!(await isFullyWritten(store, plan, holders))) await writeSessions(store, items(), plan, holders);
  await releaseSessions(store, plan, holders);
  return { sessions: plan.sessionIds.length, entries: plan.entries };
}

async function* abortable<Piece>(pieces: AsyncIterable<Piece>, signal?: AbortSignal): AsyncGenerator<Piece> {
  signal?.throwIfAborted();
  for await (const piece of pieces) {
    yield piece;
    signal?.throwIfAborted();
  }
}

async function readPlan(items: AsyncIterable<ExportItem>): Promise<Plan> {
  const sessionIds: string[] = [];
  let entries = 0;
  let sum = "";
  for await (const item of items) {
    if (item.type === "session") sessionIds.push(item.session.sessionId);
    else if (item.type === "entry") entries += 1;
    else if (item.type === "end") sum = item.sum;
  }
  return { sum, sessionIds, entries };
}

/** Whether an earlier import has written all sessions, so that only their release is left. @throws PawlError `session_busy` */
async function isFullyWritten(store: Store, { sessionIds }: Plan, holders: ImportHolders): Promise<boolean> {
  const [first] = sessionIds;
  // Schedules, signals and delayed messages may be written repeatedly.
  if (first === undefined) return false;
  if ((await store.describe(first))?.holder?.id === holders.written.id) return true;
  for (const sessionId of sessionIds) {
    const summary = await store.describe(sessionId);
    if (summary !== null && summary.holder?.id !== holders.writing.id) throw sessionExistsError(sessionId);
  }
  return false;
}

async function writeSessions(
  store: Store,
  items: AsyncIterable<ExportItem>,
  { sum, sessionIds }: Plan,
  holders: ImportHolders,
): Promise<void> {
  const writer = createImportWriter(store, holders.writing);
  for await (const item of items) {
    if (item.type !== "end") await writer.write(item);
    else if (item.sum !== sum)
      throw new PawlError("bad_input", "The export changed during the import. Import it again.");
  }
  const [first] = sessionIds;
  if (first !== undefined) await claimForImport(store, first, holders.written, holders.writing);
}

/** Releases the sessions. The first session is last: as long as it is held, the others are known to belong to this import. */
async function releaseSessions(store: Store, { sessionIds }: Plan, holders: ImportHolders): Promise<void> {
  const [first, ...others] = sessionIds;
  for (const sessionId of others) {
    const summary = await store.describe(sessionId);
    if (summary?.holder?.id !== holders.writing.id) continue;
    const { lease } = await claimForImport(store, sessionId, holders.writing, holders.writing);
    await store.release(lease);
  }
  if (first === undefined) return;
  const { lease } = await claimForImport(store, first, holders.written, holders.written);
  await store.release(lease);
}
