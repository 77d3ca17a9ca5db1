/**
 * Replaces the content of a file without losing another program's change. A reader sees either the old content or the new content,
 * and a crash leaves one of them.
 *
 * Each change goes through a draft, whose name is derived from the file's name:
 *
 * 1. The new content is written to a temporary file, and synced to the disk.
 * 2. The temporary file is linked as the draft. Only one process can create this link; the others wait until the draft is gone.
 * 3. The file is compared with the version that was read: the same file, with the same content. If it differs, the change is
 *    abandoned, and the tool reports it.
 * 4. The draft is renamed to the file. This replaces the content and frees the name of the draft in one step.
 *
 * A process that dies between 2 and 4 leaves a draft, which another process removes after some seconds. If its owner was only slow,
 * the owner's rename then fails, and the owner reports that its change was not made. A program that does not use drafts can still
 * write between 3 and 4; no portable system call closes that gap.
 */
import { createHash, randomBytes } from "node:crypto";
import type { Stats } from "node:fs";
import { access, constants, copyFile, link, open, rename, unlink } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { assertNotReplaced, type Folder, openFile, pathIn, statIn } from "./folder.js";
import { codeOf } from "./system-errors.js";
import { createNotRegularError } from "./text-file.js";

/** The content of a file when it was read. */
export type FileSnapshot = { readonly stats: Stats; readonly bytes: Buffer };

/** Thrown if the file has changed, or another process is changing it. Nothing was written. */
export class FileChangedError extends Error {}

export type Replacement = {
  readonly folder: Folder;
  readonly name: string;
  /** The path for messages. */
  readonly displayPath: string;
  readonly content: string | Buffer;
  /** The file is replaced only if it still matches this snapshot. Without a snapshot, any content is replaced. */
  readonly snapshot?: FileSnapshot;
  readonly signal: AbortSignal;
};

/**
 * Writes the file. An existing file keeps its mode.
 *
 * @throws FileChangedError; Error if the path is not a regular file, or the file is not writable; a system error
 */
export async function replaceFile(
  replacement: Replacement,
): Promise<{ readonly bytes: number; readonly isNew: boolean }> {
  const { folder, name, displayPath } = replacement;
  const existing = await statRegularFile(folder, name, displayPath);
  await assertNotReplaced(folder);
  if (existing !== null) await assertWritable(folder, name, existing, displayPath);
  const { content } = replacement;
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  const temporaryName = `${toHiddenStem(name)}.${randomBytes(6).toString("hex")}.tmp`;
  await writeNewFile(folder, temporaryName, bytes, existing?.mode);
  try {
    await assertNotReplaced(folder);
    const isNew = await publish(replacement, temporaryName);
    return { bytes: bytes.length, isNew };
  } finally {
    await unlink(pathIn(folder, temporaryName)).catch(() => {});
  }
}

/** A rename needs only permission on the folder, and the superuser is never refused. So the file's own mode is checked. */
async function assertWritable(folder: Folder, name: string, { mode }: Stats, displayPath: string): Promise<void> {
  const isWritable = (mode & 0o222) !== 0;
  if (isWritable && (await canWrite(folder, name))) return;
  throw new Error(
    `${displayPath} cannot be written: ${isWritable ? "permission denied" : "it is read-only"} (mode ${(mode & 0o777).toString(8).padStart(4, "0")}). ` +
      "Change its permissions first.",
  );
}

async function canWrite(folder: Folder, name: string): Promise<boolean> {
  return await access(pathIn(folder, name), constants.W_OK).then(
    () => true,
    () => false,
  );
}

async function publish(
  { folder, name, displayPath, snapshot, signal }: Replacement,
  temporaryName: string,
): Promise<boolean> {
  const draft = `${toHiddenStem(name)}.${createHash("sha256").update(name).digest("hex").slice(0, 8)}.draft`;
  const draftStats = await acquireDraft(folder, temporaryName, draft, displayPath, signal);
  const ownsDraft = async () => (await statIn(folder, draft))?.ino === draftStats.ino;
  try {
    const existing = await statRegularFile(folder, name, displayPath);
    if (snapshot !== undefined && !(await matchesSnapshot(folder, name, existing, snapshot)))
      throw new FileChangedError(`${displayPath} was changed by another program during the edit. Read it again.`);
    await assertNotReplaced(folder);
    if (!(await ownsDraft())) throw createBusyError(displayPath);
    await rename(pathIn(folder, draft), pathIn(folder, name)).catch((error: unknown) => {
      throw codeOf(error) === "ENOENT" ? createBusyError(displayPath) : error;
    });
    return existing === null;
  } catch (error) {
    if (await ownsDraft()) await unlink(pathIn(folder, draft)).catch(() => {});
    throw error;
  }
}

/** The prefix of the names of drafts and temporary files: at most 180 bytes of the file's own name. */
function toHiddenStem(name: string): string {
  return `.${name.slice(0, 60)}`;
}

/** Creates a file and syncs it to the disk. On failure, the file is removed. */
async function writeNewFile(folder: Folder, name: string, bytes: Buffer, mode: number | undefined): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
  const path = pathIn(folder, name);
  const handle = await open(path, flags);
  try {
    await handle.writeFile(bytes);
    if (mode !== undefined) await handle.chmod(mode & 0o777);
    await handle.sync();
  } catch (error) {
    await unlink(path);
    throw error;
  } finally {
    await handle.close();
  }
}

/** A draft that is unchanged for this long is abandoned: an owner needs only a few milliseconds. */
const staleDraftMs = 3_000;
const maxWaitMs = 10_000;

/** Returns the draft's own stats. @throws FileChangedError if other processes keep holding the draft, or remove it */
async function acquireDraft(
  folder: Folder,
  temporaryName: string,
  draft: string,
  displayPath: string,
  signal: AbortSignal,
): Promise<Stats> {
  const path = pathIn(folder, draft);
  const began = performance.now();
  let [lastSnapshot, unchangedSince] = ["", began];
  while (!(await linkExclusively(pathIn(folder, temporaryName), path))) {
    const now = performance.now();
    const stats = await statIn(folder, draft);
    const snapshot = stats === null ? "" : `${stats.ino} ${stats.ctimeMs} ${stats.size}`;
    if (snapshot !== lastSnapshot) [lastSnapshot, unchangedSince] = [snapshot, now];
    else if (lastSnapshot !== "" && now - unchangedSince > staleDraftMs) await unlink(path).catch(() => {});
    if (now - began > maxWaitMs) throw createBusyError(displayPath);
    await delay(2 + Math.random() * 10, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
  const draftStats = await statIn(folder, draft);
  if (draftStats === null) throw createBusyError(displayPath);
  return draftStats;
}

/** Links a file to a second name. Returns false if that name exists. */
async function linkExclusively(path: string, target: string): Promise<boolean> {
  try {
    await link(path, target);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    if (!linkUnsupportedCodes.has(codeOf(error))) throw error;
  }
  try {
    await copyFile(path, target, constants.COPYFILE_EXCL);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

/** The error codes of file systems without hard links. */
const linkUnsupportedCodes: ReadonlySet<string> = new Set([
  "EPERM",
  "ENOTSUP",
  "EOPNOTSUPP",
  "ENOSYS",
  "EMLINK",
  "EINVAL",
]);

function createBusyError(displayPath: string): FileChangedError {
  return new FileChangedError(
    `${displayPath} is being changed by another program, so nothing was written. Read it again, then repeat the change.`,
  );
}

/** @throws Error if the path exists and is not a regular file */
async function statRegularFile(folder: Folder, name: string, displayPath: string): Promise<Stats | null> {
  const stats = await statIn(folder, name);
  if (stats?.isDirectory() === true) throw new Error(`${displayPath} is a folder.`);
  if (stats !== null && !stats.isFile()) throw createNotRegularError(displayPath);
  return stats;
}

/** Whether the file is the same, with the same content. Times are not sufficient: two quick writes may have the same time. */
async function matchesSnapshot(
  folder: Folder,
  name: string,
  existing: Stats | null,
  snapshot: FileSnapshot,
): Promise<boolean> {
  if (existing === null || existing.ino !== snapshot.stats.ino || existing.dev !== snapshot.stats.dev) return false;
  if (existing.size !== snapshot.bytes.length) return false;
  const handle = await openFile(folder, name);
  if (handle === null) return false;
  try {
    return (await handle.readFile()).equals(snapshot.bytes);
  } finally {
    await handle.close();
  }
}
