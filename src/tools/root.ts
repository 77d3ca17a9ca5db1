/**
 * The root of the file tools. No path from a model leads out of the root, and some paths within it are never written
 * (SEC-8).
 *
 * A path is checked three times: by its text, by the real path of its deepest existing parent, and by the file that was
 * actually opened, because links can change in between.
 */
import { realpathSync, statSync } from "node:fs";
import { constants, type FileHandle, lstat, open, readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { PawlError } from "../errors.js";

export type Root = {
  /** The real path. */
  readonly path: string;
  /** Absolute paths that are never written, nor anything below them. They need not exist. */
  readonly protect: readonly string[];
};

export type FilePosition = {
  /** The real path, as far as it exists. */
  readonly absolute: string;
  /** Relative to the root, with `/` between names; `.` for the root itself. */
  readonly shown: string;
};

/**
 * Never written, at any depth: git's history and hooks, and the configuration of agents. The author can protect more.
 */
const protectedName = /^(\.git|\.pawl|pawl\.config\.[a-z]+)$/i;

/** @throws PawlError `bad_configuration` if the root is not a folder */
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

/** @throws Error if the path leads out of the root, or cannot be resolved */
export async function resolveInRoot(root: Root, path: string): Promise<FilePosition> {
  if (path.includes("\0")) throw new Error(`The path ${JSON.stringify(path)} contains a NUL character.`);
  if (path === "~" || path.startsWith("~/"))
    throw new Error(`"~" is not expanded. Give ${JSON.stringify(path)} as a path relative to the root folder.`);
  const resolved = resolve(root.path, path);
  const absolute = await realPathOf(resolved, path).catch((error: unknown) => {
    // The model must not learn what exists outside the root.
    throw isWithin(root.path, resolved) ? error : outside(path);
  });
  if (!isWithin(root.path, absolute)) throw outside(path);
  return { absolute, shown: show(root, absolute) };
}

/** Resolves a path that may be written. The file need not exist: its future name is checked. */
export async function resolveForWriting(root: Root, path: string): Promise<FilePosition> {
  const place = await resolveInRoot(root, path);
  assertWritable(root, place);
  return place;
}

/**
 * Opens a regular file for reading. It never blocks, because a pipe is refused.
 *
 * @throws Error if it is not a regular file, or lies outside the root
 */
export async function openToRead(root: Root, place: FilePosition): Promise<FileHandle> {
  await assertRegular(place);
  // The path is real, so its last name is a link only if somebody has just replaced the file. O_NOFOLLOW refuses that.
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

/** @throws Error if the opened file lies outside the root, because a folder of its path became a link */
export async function assertOpenedInRoot(root: Root, handle: FileHandle, place: FilePosition): Promise<void> {
  const opened = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => realpath(place.absolute));
  if (!isWithin(root.path, opened)) throw outside(place.shown);
}

/** @throws Error if the file does not exist, or is not a regular file */
export async function assertRegular(place: FilePosition): Promise<void> {
  const stats = await lstat(place.absolute).catch((error: unknown) => {
    throw explained(error, place.shown);
  });
  if (stats.isDirectory()) throw new Error(`${place.shown} is a folder.`);
  if (!stats.isFile()) throw notRegular(place);
}

/** Puts a system error about a path into words. */
export function explained(error: unknown, shown: string): Error {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const reason = systemErrors.get(code);
  if (reason !== undefined) return new Error(`${shown} ${reason}`, { cause: error });
  return error instanceof Error ? error : new Error(String(error));
}

const systemErrors: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "does not exist."],
  ["ENOTDIR", "is not a folder, or has a parent that is not a folder."],
  ["EACCES", "may not be accessed: permission denied."],
  ["EPERM", "may not be accessed: not permitted."],
  ["EISDIR", "is a folder."],
  ["ELOOP", "is a link that leads out of the root, or in a circle."],
  ["ENAMETOOLONG", "has a name that is too long."],
  ["ENOSPC", "cannot be written: no space is left."],
  ["EROFS", "cannot be written: the file system is read-only."],
]);

/** Whether `path` is `folder` or lies below it. Both must be absolute and normalised. */
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

/** Follows links as far as the path exists. The rest of the path is added as it is. */
async function realPathOf(resolved: string, path: string): Promise<string> {
  try {
    return await realpath(resolved);
  } catch (error) {
    if (!isMissing(error)) throw explained(error, path);
  }
  // Creating a file would follow a link whose target is missing, possibly out of the root.
  const isLink = await lstat(resolved).then(
    (stats) => stats.isSymbolicLink(),
    () => false,
  );
  if (isLink) throw new Error(`${path} is a link to something that does not exist.`);
  return join(await realPathOf(dirname(resolved), path), basename(resolved));
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
  return new Error(
    `${path} leads out of the root folder, and these tools may not leave it. Give a path within the root.`,
  );
}

function notRegular(place: FilePosition): Error {
  return new Error(`${place.shown} is not a regular file (a pipe, a socket, a device or a link).`);
}
