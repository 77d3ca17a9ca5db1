/**
 * What the file tools have written, kept so that it can be taken back: the bytes before and after as blobs of the session,
 * and their hashes in the session's data, which is committed with the result of the call.
 *
 * 1. The bytes from before are in the store before the file changes.
 * 2. What cannot be kept (a file that is too large, or no room in the session's data) never fails a call.
 */
import { relative, resolve } from "node:path";
import type { AnyTool, Json, Store, ToolContext } from "../../index.js";
import { readFolderFile } from "../files/folder-file.js";

/** A change of a file by a call. The hashes name blobs of the session; null: there was no file. */
export type FileRecord = {
  readonly callKey: string;
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
};

/** The keys of the session's data: what can be taken back, and what was. The newest is last. */
export const recordKeys = { done: "files", undone: "files undone" } as const;
/** Of the session: the oldest are forgotten. */
const maxRecords = 100;

const fileWriters: ReadonlySet<string> = new Set(["write_file", "edit_file"]);

export function isFileWriter(tool: string): boolean {
  return fileWriters.has(tool);
}

/** The tool, if it writes files, with a record of each change; any other tool as it is. */
export function recordFileChanges(tool: AnyTool, root: string, store: Store): AnyTool {
  const { execute } = tool;
  if (!isFileWriter(tool.name) || execute === undefined) return tool;
  return {
    ...tool,
    execute: async (input, context) => {
      const path = pathOfInput(input, root);
      const before = path === null ? undefined : await storeFileContent(root, path, context.sessionId, store);
      const output = await execute(input, context);
      const after = path === null ? undefined : await storeFileContent(root, path, context.sessionId, store);
      if (path !== null && before !== undefined && after !== undefined)
        appendRecord({ callKey: context.idempotencyKey, path, before, after }, context);
      return output;
    },
  };
}

function pathOfInput(input: unknown, root: string): string | null {
  const path = typeof input === "object" && input !== null && "path" in input ? input.path : undefined;
  return typeof path === "string" ? relative(root, resolve(root, path)) : null;
}

/** The hash of a file's bytes, which are in the store then; null if there is no file, undefined if it cannot be kept. */
async function storeFileContent(
  root: string,
  path: string,
  sessionId: string,
  store: Store,
): Promise<string | null | undefined> {
  const file = readFolderFile(root, path);
  if (file.type === "file") return store.putBlob(sessionId, file.bytes);
  return file.type === "missing" ? null : undefined;
}

function appendRecord(change: FileRecord, { data }: ToolContext): void {
  try {
    data.update(recordKeys.done, (old) => [...readRecords(old), change].slice(-maxRecords));
  } catch {
    // There is no room left in the session's data: the change counts, and /undo says that it is not kept.
  }
}

/** The records among the session's data. Anybody may change it: what is no record is left out. */
export function readRecords(value: Json | undefined): readonly FileRecord[] {
  return Array.isArray(value) ? (value.filter(isRecord) as readonly unknown[] as readonly FileRecord[]) : [];
}

function isRecord(value: Json): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const { callKey, path, before, after } = value as { readonly [field: string]: Json | undefined };
  return typeof callKey === "string" && typeof path === "string" && [before, after].every(isHash);
}

function isHash(value: Json | undefined): boolean {
  return value === null || (typeof value === "string" && /^[0-9a-f]{64}$/.test(value));
}
