/**
 * Undoes and redoes the changes of file tools.
 *
 * 1. Only a file that is still as the tools left it is restored by default. Any other file is a conflict: it stays as it is,
 *    unless the person chooses it.
 * 2. Files are written as the file tools write them, so the same paths are allowed and a file changes as a whole. Only the file
 *    that was compared is replaced, even if the path now leads to another file.
 * 3. A kill in the middle leaves some files restored. The same command continues from there.
 */
import { getErrorMessage } from "../../../core/data/error-message.js";
import type { Store } from "../../../index.js";
import { restoreFile } from "../../../tools/files/restore-file.js";
import {
  type FamilyRecordsDeps,
  loadFamilyRecords,
  moveFamilyRecords,
  runIdOfRecord,
} from "../../agent/family-records.js";
import { decodeText, hashFolderFile, readFolderFile } from "../../files/folder-file.js";

export type Direction = "undo" | "redo";

/** The planned change of a file: `from` is the hash that it should have now, `to` the hash that it gets. */
export type FilePlan = {
  readonly path: string;
  readonly from: string | null;
  readonly to: string | null;
  /** The sessions that have the blobs: the session itself, or an agent that it called. */
  readonly sessions: { readonly from: string; readonly to: string };
  /** `ready`: the file is as the tools left it. `done`: it is already restored. `conflict`: something else has changed it. */
  readonly state: "ready" | "done" | "conflict";
};

export type Plan = {
  readonly direction: Direction;
  /** The runs that wrote these files, the newest first. */
  readonly runIds: readonly string[];
  readonly files: readonly FilePlan[];
};

/** @param count the number of runs that wrote files. @returns null if there is nothing to do */
export async function createPlan(
  deps: FamilyRecordsDeps & { readonly root: string },
  direction: Direction,
  count: number,
): Promise<Plan | null> {
  const { root, sessionId } = deps;
  const family = await loadFamilyRecords(deps);
  const records = direction === "undo" ? family.done : family.undone;
  const runIds = [...new Set(records.toReversed().map(runIdOfRecord))].slice(0, count);
  const selected = records.filter((record) => runIds.includes(runIdOfRecord(record)));
  if (selected.length === 0) return null;
  type Content = { readonly hash: string | null; readonly session: string };
  const byPath = new Map<string, { readonly before: Content; readonly after: Content }>();
  for (const { path, before, after, childId: session = sessionId } of selected)
    byPath.set(path, {
      before: byPath.get(path)?.before ?? { hash: before, session },
      after: { hash: after, session },
    });
  const files = [...byPath].map(([path, { before, after }]): FilePlan => {
    const [source, target] = direction === "undo" ? [after, before] : [before, after];
    const [from, to] = [source.hash, target.hash];
    const sessions = { from: source.session, to: target.session };
    const currentHash = hashFolderFile(root, path);
    return {
      path,
      from,
      to,
      sessions,
      state: currentHash === to ? "done" : currentHash === from ? "ready" : "conflict",
    };
  });
  return { direction, runIds, files };
}

/** The file's text before and after the change; null if there is no file or it is not text. */
export async function loadTexts(
  { path, to, sessions }: FilePlan,
  root: string,
  store: Store,
): Promise<{ readonly now: string | null; readonly later: string | null }> {
  const file = readFolderFile(root, path);
  return {
    now: file.type === "file" ? decodeText(file.bytes) : null,
    later: to === null ? null : await loadBlobText(store, sessions.to, to),
  };
}

/** The text of a blob; null if the blob is missing or not text. */
export async function loadBlobText(store: Store, sessionId: string, hash: string): Promise<string | null> {
  const bytes = await store.getBlob(sessionId, hash);
  return bytes === null ? null : decodeText(Buffer.from(bytes));
}

export type RestoreResult = { readonly restored: readonly string[]; readonly failed: readonly string[] };

/**
 * Writes the chosen files, and records that the runs are undone or redone.
 * @throws PawlError `bad_input` if that cannot be recorded; then no file is written
 */
export async function applyPlan(plan: Plan, chosen: readonly FilePlan[], deps: UndoDeps): Promise<RestoreResult> {
  await moveFamilyRecords(deps, plan.direction, plan.runIds, true);
  const [restored, failed]: [string[], string[]] = [[], []];
  for (const file of chosen) {
    try {
      await restore(file, deps);
      restored.push(file.path);
    } catch (error) {
      failed.push(`${file.path}: ${getErrorMessage(error)}`);
    }
  }
  await moveFamilyRecords(deps, plan.direction, plan.runIds);
  return { restored, failed };
}

type UndoDeps = FamilyRecordsDeps & { readonly root: string; readonly home: string };

async function restore({ path, from, to, state, sessions }: FilePlan, { root, home, store }: UndoDeps): Promise<void> {
  const content = to === null ? null : await store.getBlob(sessions.to, to);
  if (to !== null && content === null) throw new Error("its earlier content was not kept");
  // The file may have changed since it was shown. For a chosen conflict, any content is replaced.
  await restoreFile({ root, protect: [home], path, ...(state === "ready" ? { from } : {}), to: content });
}
