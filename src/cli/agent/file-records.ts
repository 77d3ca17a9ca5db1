/**
 * Records of the changes that the file tools make, so that they can be undone. The bytes before and after are blobs of the session.
 * Their hashes are in the session's data, which is committed with the result of the call.
 *
 * 1. The old bytes are in the store before the file changes.
 * 2. A change that cannot be recorded (the file is too large, or the session's data is full) never fails a call.
 * 3. What a hook after the call changes in the file, such as a formatter, is part of the call's change. If anything else has
 *    changed the file since the last call of Pawl that wrote it, a hook's change is not recorded.
 */

import { relative, resolve } from "node:path";
import { isJsonObject } from "../../core/data/is-object.js";
import { type AnyTool, createClient, type Json, type SessionData, type Store, type ToolContext } from "../../index.js";
import { hashFolderFile, readFolderFile } from "../files/folder-file.js";

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
/** The data key of the file hashes after hooks, which are keyed by call. A hook runs after the call's own record is committed. */
const hookedKey = "files after hooks";
/** The maximum number of records of a session. The oldest are dropped. */
const maxRecords = 100;

const fileWriters: ReadonlySet<string> = new Set(["write_file", "edit_file"]);

export function isFileWriter(tool: string): boolean {
  return fileWriters.has(tool);
}

/** A tool call, as a hook receives it. */
type HookedCall = { readonly name: string; readonly input: unknown };

type HookedSession = { readonly sessionId: string; readonly data: SessionData };

type FileRecorder = {
  /** Wraps a tool that writes files, so that each change is recorded. Other tools are returned unchanged. */
  readonly wrap: (tool: AnyTool) => AnyTool;
  /** Runs a hook after a call, and records what the hook changes in the file that the call has written. */
  readonly runHook: <Result>(call: HookedCall, session: HookedSession, run: () => Promise<Result>) => Promise<Result>;
};

/** The last change of a file by Pawl. */
type LastChange = { readonly callKey: string; readonly hash: string | null };

/** The files of this process whose last change is remembered. */
const maxRemembered = 1_000;

export function createFileRecorder(root: string, store: Store): FileRecorder {
  /** By session and path. */
  const lastChanges = new Map<string, LastChange>();
  /** The number of calls and hooks that may be changing a file now, by session and path. Calls of one step run at the same time. */
  const activeWork = new Map<string, number>();
  /** The hashes after hooks, by session. They may be newer than the data that a hook receives. */
  const hookedHashes = new Map<string, HookedHashes>();

  async function trackWork<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    activeWork.set(key, (activeWork.get(key) ?? 0) + 1);
    try {
      return await work();
    } finally {
      const remaining = (activeWork.get(key) ?? 1) - 1;
      if (remaining === 0) activeWork.delete(key);
      else activeWork.set(key, remaining);
    }
  }

  async function recordHookChange(key: string, path: string, { sessionId, data }: HookedSession): Promise<void> {
    const hash = await storeFileContent(root, path, sessionId, store);
    // Another call may have written the file during the hook. Then the change belongs to that call, which is the last one.
    const last = lastChanges.get(key);
    if (last === undefined || hash === undefined || hash === last.hash) return;
    setBounded(lastChanges, key, { ...last, hash });
    const hooked = { ...readHookedHashes(data), ...hookedHashes.get(sessionId), [last.callKey]: hash };
    const kept = Object.fromEntries(Object.entries(hooked).slice(-maxRecords));
    setBounded(hookedHashes, sessionId, kept);
    await createClient({ store })
      .session(sessionId)
      .setData({ set: { [hookedKey]: kept } });
  }

  return {
    wrap(tool) {
      const { execute } = tool;
      if (!isFileWriter(tool.name) || execute === undefined) return tool;
      return {
        ...tool,
        execute: async (input, context) => {
          const { sessionId, callKey } = context;
          const path = pathOfInput(input, root);
          if (path === null) return await execute(input, context);
          return await trackWork(toFileKey(sessionId, path), async () => {
            const before = await storeFileContent(root, path, sessionId, store);
            const output = await execute(input, context);
            const after = await storeFileContent(root, path, sessionId, store);
            if (before !== undefined && after !== undefined) {
              setBounded(lastChanges, toFileKey(sessionId, path), { callKey, hash: after });
              appendRecord({ callKey, path, before, after, at: Date.now() }, context);
            }
            return output;
          });
        },
      };
    },
    async runHook({ name, input }, session, run) {
      const path = isFileWriter(name) ? pathOfInput(input, root) : null;
      if (path === null) return await run();
      const key = toFileKey(session.sessionId, path);
      const last = lastChanges.get(key);
      const isOurs = last !== undefined && (activeWork.has(key) || hashFolderFile(root, path) === last.hash);
      if (!isOurs) return await run();
      try {
        return await trackWork(key, run);
      } finally {
        // If the change cannot be recorded, /undo reports that something else has changed the file.
        await recordHookChange(key, path, session).catch(() => {});
      }
    },
  };
}

const toFileKey = (sessionId: string, path: string) => `${sessionId} ${path}`;

/** Drops the oldest entry if there are too many. */
function setBounded<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  const [oldest] = map.keys();
  if (map.size >= maxRemembered && oldest !== undefined) map.delete(oldest);
  map.set(key, value);
}

type HookedHashes = { readonly [callKey: string]: string | null };

/** Any client can write the session's data, so invalid hashes are skipped. */
function readHookedHashes(data: SessionData): HookedHashes {
  const value = data[hookedKey];
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([, hash]) => isHash(hash))) as HookedHashes;
}

/** The changes of the session that can be undone, each with the hash after hooks. */
export function readDoneRecords(data: SessionData): readonly FileRecord[] {
  const hooked = readHookedHashes(data);
  return readRecords(data[recordKeys.done]).map((record) => {
    const after = Object.hasOwn(hooked, record.callKey) ? hooked[record.callKey] : undefined;
    return after === undefined ? record : { ...record, after };
  });
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

/** Marks all changes of a child session as undone. The records themselves are in the child session. */
export type UndoneChild = { readonly childId: string };

/** The records as the calls wrote them. Any client can write the session's data, so invalid records are skipped. */
function readRecords(value: Json | undefined): readonly FileRecord[] {
  return readUndone(value).filter(isOwnRecord);
}

/** Reads the list of undone changes from the session's data. Invalid ones are skipped. */
export function readUndone(value: Json | undefined): readonly (FileRecord | UndoneChild)[] {
  if (!Array.isArray(value)) return [];
  return value.filter((entry) => isRecord(entry) || isUndoneChild(entry)) as readonly unknown[] as (
    | FileRecord
    | UndoneChild
  )[];
}

export function isOwnRecord(entry: FileRecord | UndoneChild): entry is FileRecord {
  return entry.childId === undefined;
}

function isRecord(value: Json): boolean {
  if (!isJsonObject(value)) return false;
  const { callKey, path, before, after, at, childId, via } = value;
  if (childId !== undefined || via !== undefined || !(at === undefined || typeof at === "number")) return false;
  return typeof callKey === "string" && typeof path === "string" && [before, after].every(isHash);
}

function isUndoneChild(value: Json): boolean {
  return isJsonObject(value) && typeof value.childId === "string";
}

function isHash(value: Json | undefined): boolean {
  return value === null || (typeof value === "string" && /^[0-9a-f]{64}$/.test(value));
}
