/**
 * Replaces the content of a file, so that nobody's change is lost. A reader sees the old content or the new one, and a
 * crash leaves one of them.
 *
 * Each change goes through a draft, whose name follows from the file's name:
 *
 * 1. The new content is written to a file of its own, and synced to the disk.
 * 2. That file is linked as the draft. Only one process can do so; the others wait until the draft is gone.
 * 3. The file is compared with what its reader has seen: the same file, with the same content. If it differs, the change
 *    is given up, and the tool says so.
 * 4. The draft is renamed to the file. This replaces the content and frees the name of the draft in one step.
 *
 * A process that dies between 2 and 4 leaves a draft. After some seconds another one removes it. If its owner was only
 * slow, the owner's rename then fails, and the owner says that its change was not made. A program that does not know of
 * drafts can still write between 3 and 4; no portable call closes that gap.
 */
import { createHash, randomBytes } from "node:crypto";
import type { Stats } from "node:fs";
import { access, constants, copyFile, link, open, rename, unlink } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { assertInPlace, type Folder, openFile, pathIn, statIn } from "./folder.js";
import { codeOf } from "./system-errors.js";
import { notRegular } from "./text-file.js";

/** What the content of a file was when it was read. */
export type Seen = { readonly stats: Stats; readonly bytes: Buffer };

/** Thrown if the file is not as it was seen, or another process is changing it. Nothing was written. */
export class ChangedError extends Error {}

export type Replacement = {
  readonly folder: Folder;
  readonly name: string;
  /** The path for messages. */
  readonly shown: string;
  readonly content: string | Buffer;
  /** The file is replaced only if it is still like this; without it, whatever is there is replaced. */
  readonly seen?: Seen;
  readonly signal: AbortSignal;
};

/**
 * Writes the file. It keeps its mode if it exists.
 *
 * @throws ChangedError; Error if there is something that is not a regular file, or a file that may not be written; a system error
 */
export async function replaceFile(
  replacement: Replacement,
): Promise<{ readonly bytes: number; readonly isNew: boolean }> {
  const { folder, name, shown } = replacement;
  const existing = await regularOrNone(folder, name, shown);
  await assertInPlace(folder);
  if (existing !== null) await assertMayWrite(folder, name, existing, shown);
  const { content } = replacement;
  const bytes = typeof content === "string" ? Buffer.from(content) : content;
  const own = `${stemOf(name)}.${randomBytes(6).toString("hex")}.tmp`;
  await writeNew(folder, own, bytes, existing?.mode);
  try {
    await assertInPlace(folder);
    const isNew = await publish(replacement, own);
    return { bytes: bytes.length, isNew };
  } finally {
    await unlink(pathIn(folder, own)).catch(() => {});
  }
}

/** A rename asks only the folder for permission, and the superuser is never refused. So the file's own mode is looked at. */
async function assertMayWrite(folder: Folder, name: string, { mode }: Stats, shown: string): Promise<void> {
  const isWritable = (mode & 0o222) !== 0;
  if (isWritable && (await isAccessible(folder, name))) return;
  throw new Error(
    `${shown} may not be written: ${isWritable ? "permission denied" : "it is read-only"} (mode ${(mode & 0o777).toString(8).padStart(4, "0")}). ` +
      "Its permissions must change first.",
  );
}

async function isAccessible(folder: Folder, name: string): Promise<boolean> {
  return await access(pathIn(folder, name), constants.W_OK).then(
    () => true,
    () => false,
  );
}

async function publish({ folder, name, shown, seen, signal }: Replacement, own: string): Promise<boolean> {
  const draft = `${stemOf(name)}.${createHash("sha256").update(name).digest("hex").slice(0, 8)}.draft`;
  const taken = await takeDraft(folder, own, draft, shown, signal);
  const isOurs = async () => (await statIn(folder, draft))?.ino === taken.ino;
  try {
    const existing = await regularOrNone(folder, name, shown);
    if (seen !== undefined && !(await isAsSeen(folder, name, existing, seen)))
      throw new ChangedError(`${shown} was changed by another program during the edit. Read it again.`);
    await assertInPlace(folder);
    if (!(await isOurs())) throw beingChanged(shown);
    await rename(pathIn(folder, draft), pathIn(folder, name)).catch((error: unknown) => {
      throw codeOf(error) === "ENOENT" ? beingChanged(shown) : error;
    });
    return existing === null;
  } catch (error) {
    if (await isOurs()) await unlink(pathIn(folder, draft)).catch(() => {});
    throw error;
  }
}

/** The beginning of the names beside a file: at most 180 bytes of its own name. */
function stemOf(name: string): string {
  return `.${name.slice(0, 60)}`;
}

/** Creates a file and syncs it to the disk. If that fails, the file is removed. */
async function writeNew(folder: Folder, name: string, bytes: Buffer, mode: number | undefined): Promise<void> {
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

/** A draft that stays the same for this long was left behind. Its owner needs a few milliseconds. */
const leftBehindMs = 3_000;
const mostWaitMs = 10_000;

/** Returns the draft's own stats. @throws ChangedError if others hold the draft all the time, or take it away */
async function takeDraft(
  folder: Folder,
  own: string,
  draft: string,
  shown: string,
  signal: AbortSignal,
): Promise<Stats> {
  const path = pathIn(folder, draft);
  const began = performance.now();
  let [held, heldSince] = ["", began];
  while (!(await linkNew(pathIn(folder, own), path))) {
    const now = performance.now();
    const stats = await statIn(folder, draft);
    const seen = stats === null ? "" : `${stats.ino} ${stats.ctimeMs} ${stats.size}`;
    if (seen !== held) [held, heldSince] = [seen, now];
    else if (held !== "" && now - heldSince > leftBehindMs) await unlink(path).catch(() => {});
    if (now - began > mostWaitMs) throw beingChanged(shown);
    await delay(2 + Math.random() * 10, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
  const taken = await statIn(folder, draft);
  if (taken === null) throw beingChanged(shown);
  return taken;
}

/** Gives a file a second name if nothing has that name. False if something has. */
async function linkNew(path: string, target: string): Promise<boolean> {
  try {
    await link(path, target);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    if (!withoutLinks.has(codeOf(error))) throw error;
  }
  try {
    await copyFile(path, target, constants.COPYFILE_EXCL);
    return true;
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

/** What a file system says that cannot give a file two names. */
const withoutLinks: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EINVAL"]);

function beingChanged(shown: string): ChangedError {
  return new ChangedError(
    `${shown} is being changed by another program, so nothing was written. Read it again, then repeat the change.`,
  );
}

/** @throws Error if there is something that is not a regular file */
async function regularOrNone(folder: Folder, name: string, shown: string): Promise<Stats | null> {
  const stats = await statIn(folder, name);
  if (stats?.isDirectory() === true) throw new Error(`${shown} is a folder.`);
  if (stats !== null && !stats.isFile()) throw notRegular(shown);
  return stats;
}

/** Whether it is the same file with the same content. Times are not enough: two quick writes may have the same. */
async function isAsSeen(folder: Folder, name: string, existing: Stats | null, seen: Seen): Promise<boolean> {
  if (existing === null || existing.ino !== seen.stats.ino || existing.dev !== seen.stats.dev) return false;
  if (existing.size !== seen.bytes.length) return false;
  const handle = await openFile(folder, name);
  if (handle === null) return false;
  try {
    return (await handle.readFile()).equals(seen.bytes);
  } finally {
    await handle.close();
  }
}
