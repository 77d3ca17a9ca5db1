/**
 * Records of what the file tools have written, so that it can be undone. The bytes before and after are blobs of the session.
 * Their hashes are in the session's data, which is committed with the result of the call.
 *
 * 1. The bytes from before a change are in the store before the file changes.
 * 2. A change that cannot be recorded (the file is too large, or the session's data is full) never fails a call.
 */
import { relative, resolve } from "node:path";
import type { AnyTool, Json, Store, ToolContext } from "../../index.js";
import { readFolderFile } from "../files/folder-file.js";

/** One change to a file, made by one call. The hashes name blobs of the session; null means that there was no file. */
export type FileRecord = {
  readonly callKey: string;
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
  /** When the change was made, in epoch milliseconds. Calls of one step run at the same time. Records of pawl 0.1 do not have it. */
  readonly at?: number;
  /** The child session that made the change and has the blobs; absent for a change of the session itself. It is not stored. */
  readonly childId?: string;
  /** The call that started the child; absent for a change of the session itself. It is not stored. */
  readonly via?: string;
};

/** Keys in the session's data: changes that can be undone, and changes that were undone. The newest is last. */
export const recordKeys = { done: "files", undone: "files undone" } as const;
/** The maximum number of records of a session. The oldest are dropped. */
const maxRecords = 100;

const fileWriters: ReadonlySet<string> = new Set(["write_file", "edit_file"]);

export function isFileWriter(tool: string): boolean {
  return fileWriters.has(tool);
}

/** Wraps a tool that writes files, so that each change is recorded. Other tools are returned unchanged. */
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
        appendRecord({ callKey: context.idempotencyKey, path, before, after, at: Date.now() }, context);
      return output;
    },
  };
}

function pathOfInput(input: unknown, root: string): string | null {
  const path = typeof input === "object" && input !== null && "path" in input ? input.path : undefined;
  return typeof path === "string" ? relative(root, resolve(root, path)) : null;
}

/** Stores a file's bytes and returns their hash; null if there is no file, undefined if the file cannot be stored. */
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
    // The session's data is full: the file stays changed, and /undo reports that the change was not recorded.
  }
}

/** The changes of a child session that were undone: all of them, which that session has. */
export type UndoneChild = { readonly childId: string };

/** Reads the session's own records from its data. Any client can write that data, so invalid records are skipped. */
export function readRecords(value: Json | undefined): readonly FileRecord[] {
  return readUndone(value).filter(isOwnRecord);
}

/** Reads the list of undone changes from the session's data. Invalid ones are skipped. */
export function readUndone(value: Json | undefined): readonly (FileRecord | UndoneChild)[] {
  if (!Array.isArray(value)) return [];
  return value.filter((one) => isRecord(one) || isUndoneChild(one)) as readonly unknown[] as (
    | FileRecord
    | UndoneChild
  )[];
}

export function isOwnRecord(entry: FileRecord | UndoneChild): entry is FileRecord {
  return entry.childId === undefined;
}

type Fields = { readonly [field: string]: Json | undefined };

function isRecord(value: Json): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const { callKey, path, before, after, at, childId, via } = value as Fields;
  if (childId !== undefined || via !== undefined || !(at === undefined || typeof at === "number")) return false;
  return typeof callKey === "string" && typeof path === "string" && [before, after].every(isHash);
}

function isUndoneChild(value: Json): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return typeof (value as Fields).childId === "string";
}

function isHash(value: Json | undefined): boolean {
  return value === null || (typeof value === "string" && /^[0-9a-f]{64}$/.test(value));
}
