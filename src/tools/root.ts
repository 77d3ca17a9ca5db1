/**
 * The root of the file tools: no path that a model gives leads out of it, and some places in it are never written (SEC-8).
 *
 * A path is resolved in three steps: by its text, by the real path of its deepest existing parent, and once more by what was in fact
 * opened, since links can be changed in between.
 */
import { realpathSync, statSync } from "node:fs";
import { constants, type FileHandle, lstat, open, readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { PawlError } from "../errors.js";

export type Root = {
  /** The real path. */
  readonly path: string;
  /** Absolute paths that are never written, nor anything under them; they need not exist. */
  readonly protect: readonly string[];
};

/** A place in the root. */
export type FilePosition = {
  /** The real path, as far as it exists. */
  readonly absolute: string;
  /** From the root, with `/` between names; `.` for the root. */
  readonly shown: string;
};

/**
 * Names that are never written wherever they stand: the history and hooks of git, and what configures an agent.
 * What is protected besides is the caller's to say; files of secrets such as `.env` are not among them.
 */
const protectedName = /^(\.git|\.pawl|pawl\.config\.[a-z]+)$/i;

/** @throws PawlError `bad_configuration` where the root is no folder. */
export function createRoot(path: string, protect: readonly string[] = []): Root {
  let real: string;
  try {
    real = realpathSync(resolve(path));
    if (!statSync(real).isDirectory()) throw new Error("it is not a folder");
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PawlError("bad_configuration", `The root ${path} cannot be used: ${reason}. Name an existing folder.`, {
      cause,
    });
  }
  return { path: real, protect: protect.map((place) => realAsFarAsItExists(resolve(real, place))) };
}

/** @throws Error where the path leads out of the root, or cannot be resolved. */
export async function resolveInRoot(root: Root, path: string): Promise<FilePosition> {
  if (path.includes("\0")) throw new Error(`The path ${JSON.stringify(path)} contains a NUL character.`);
  if (path === "~" || path.startsWith("~/"))
    throw new Error(`"~" is not expanded: give ${JSON.stringify(path)} as a path from the root folder.`);
  const wanted = resolve(root.path, path);
  const absolute = await realPathOf(wanted, path).catch((error: unknown) => {
    // What there is outside is not told.
    throw isWithin(root.path, wanted) ? error : outside(path);
  });
  if (!isWithin(root.path, absolute)) throw outside(path);
  return { absolute, shown: show(root, absolute) };
}

/** A place that may be written. Also what does not exist yet is checked by the name that it would have. */
export async function resolveForWriting(root: Root, path: string): Promise<FilePosition> {
  const place = await resolveInRoot(root, path);
  assertWritable(root, place);
  return place;
}

/**
 * Opens a regular file for reading. Never blocks: a pipe is refused, not waited for.
 *
 * @throws Error where it is no regular file, or turns out to lie outside the root.
 */
export async function openToRead(root: Root, place: FilePosition): Promise<FileHandle> {
  await assertRegular(place);
  // The path is real, so its last name is no link unless somebody has just made it one.
  const handle = await open(place.absolute, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    await assertOpenedInRoot(root, handle, place);
    if (!(await handle.stat()).isFile()) throw notRegular(place);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** @throws Error where what was opened lies outside the root: a folder on the way became a link. */
export async function assertOpenedInRoot(root: Root, handle: FileHandle, place: FilePosition): Promise<void> {
  const opened = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => realpath(place.absolute));
  if (!isWithin(root.path, opened)) throw outside(place.shown);
}

/** @throws Error where it exists and is no regular file, or does not exist. */
export async function assertRegular(place: FilePosition): Promise<void> {
  const stats = await lstat(place.absolute).catch((error: unknown) => {
    throw explained(error, place.shown);
  });
  if (stats.isDirectory()) throw new Error(`${place.shown} is a folder.`);
  if (!stats.isFile()) throw notRegular(place);
}

/** What the system says of a path, in words. */
export function explained(error: unknown, shown: string): Error {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const reason = systemErrors.get(code);
  if (reason !== undefined) return new Error(`${shown} ${reason}`, { cause: error });
  return error instanceof Error ? error : new Error(String(error));
}

const systemErrors: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "does not exist."],
  ["ENOTDIR", "has something on its way that is not a folder."],
  ["EACCES", "may not be accessed: permission denied."],
  ["EPERM", "may not be accessed: not permitted."],
  ["EISDIR", "is a folder."],
  ["ELOOP", "is a link that leads out of the root, or in a circle."],
  ["ENAMETOOLONG", "is too long a name."],
  ["ENOSPC", "cannot be written: no space is left."],
  ["EROFS", "cannot be written: the file system is read-only."],
]);

/** Whether `path` is `folder` or lies under it. Both are absolute and normal. */
export function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

export function show(root: Root, absolute: string): string {
  const shown = relative(root.path, absolute).split(sep).join("/");
  return shown === "" ? "." : shown;
}

function assertWritable(root: Root, place: FilePosition): void {
  const names = place.shown.split("/");
  const isProtected =
    names.some((name) => protectedName.test(name)) || root.protect.some((path) => isWithin(path, place.absolute));
  if (isProtected)
    throw new Error(`${place.shown} is protected: configuration, hooks and stores are never written by these tools.`);
}

/** Follows links as far as the path exists; what does not exist is added by its text. */
async function realPathOf(wanted: string, path: string): Promise<string> {
  try {
    return await realpath(wanted);
  } catch (error) {
    if (!isMissing(error)) throw explained(error, path);
  }
  // A link whose target is missing would be followed when a file is created there.
  const isLink = await lstat(wanted).then(
    (stats) => stats.isSymbolicLink(),
    () => false,
  );
  if (isLink) throw new Error(`${path} is a link to something that does not exist.`);
  return join(await realPathOf(dirname(wanted), path), basename(wanted));
}

function realAsFarAsItExists(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realAsFarAsItExists(parent), basename(path));
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

function outside(path: string): Error {
  return new Error(`${path} leads out of the root folder, where these tools may not go. Give a path from the root.`);
}

function notRegular(place: FilePosition): Error {
  return new Error(`${place.shown} is not a regular file (a pipe, a socket, a device or a link).`);
}
