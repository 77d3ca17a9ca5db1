/**
 * The root of the file tools. No path from a model leads out of the root, and some paths within it are never written (SEC-8).
 *
 * A path is first resolved as far as it exists, following links within the root. The operation then follows the resolved path, name
 * by name and through no link (folder.ts), because links can change in between.
 */

import { realpathSync, statSync } from "node:fs";
import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, join, parse, relative, resolve, sep } from "node:path";
import { getErrorMessage } from "../../core/data/error-message.js";
import { PawlError } from "../../errors.js";
import { assertMaxLength, maxPathCharacters } from "../lib/input-bounds.js";
import {
  closeFolder,
  defaultAccess,
  type Folder,
  type FolderAccess,
  FolderReplacedError,
  openOrCreateSubfolder,
  openRootFolder,
  openSubfolder,
} from "./folder.js";
import { formatPath, formatRequestedPath } from "./format-path.js";
import { codeOf, explainSystemError } from "./system-errors.js";

export type Root = {
  /** The real path. */
  readonly path: string;
  /** Absolute paths that are never written, including everything below them. They need not exist. */
  readonly protect: readonly string[];
  readonly access: FolderAccess;
  readonly mayReach: MayReach;
};

/** Whether a file or folder may be read or written, by its real path. */
export type MayReach = (path: string, access: "read" | "write") => boolean;

export type ResolvedPath = {
  /** The real path, as far as it exists. */
  readonly absolute: string;
  /** Relative to the root, with `/` between names; `.` for the root itself. */
  readonly relative: string;
  /** The relative path as shown to a model: on one line, with escapes. */
  readonly displayPath: string;
};

/** Never written, at any depth: Git's history and hooks, and the configuration of agents. The author can protect more paths. */
export const protectedName = /^(\.git|\.pawl|\.mcp\.json|pawl\.config\.[a-z]+)$/i;

/** The names matched by `protectedName` that may be links to the actual files. */
const protectedLinkNames = [
  ".git",
  ".pawl",
  ".mcp.json",
  ...["ts", "mts", "cts", "js", "mjs", "cjs", "json"].map((end) => `pawl.config.${end}`),
];

/** @throws PawlError `bad_configuration` if the root is not a folder */
export function createRoot(
  path: string,
  protect: readonly string[] = [],
  access = defaultAccess,
  mayReach: MayReach = () => true,
): Root {
  let real: string;
  try {
    real = realpathSync(resolve(path));
    if (!statSync(real).isDirectory()) throw new Error("it is not a folder");
  } catch (cause) {
    const reason = getErrorMessage(cause);
    throw new PawlError("bad_configuration", `The root ${path} cannot be used: ${reason}. Use an existing folder.`, {
      cause,
    });
  }
  return {
    path: real,
    protect: protect.map((protectedPath) => resolveExistingPart(resolve(real, protectedPath))),
    access,
    mayReach,
  };
}

/** @throws Error if the path leads out of the root, is too long, or cannot be resolved */
export async function resolveInRoot(root: Root, path: string): Promise<ResolvedPath> {
  assertMaxLength("The path", path, maxPathCharacters);
  if (path.includes("\0")) throw new Error(`The path ${formatRequestedPath(path)} contains a NUL character.`);
  if (path === "~" || path.startsWith("~/"))
    throw new Error(`"~" is not expanded. Give ${JSON.stringify(path)} as a path relative to the root folder.`);
  const lexicalPath = resolve(root.path, path);
  const absolute = await resolveRealPath(lexicalPath, path).catch((error: unknown) => {
    // The model must not learn which paths exist outside the root.
    throw isWithin(root.path, lexicalPath) ? error : createOutsideError(path);
  });
  if (!isWithin(root.path, absolute)) throw createOutsideError(path);
  if (!root.mayReach(absolute, "read")) throw createUnreachableError(path);
  return toResolvedPath(absolute, relativePath(root, absolute));
}

/** Resolves a path that may be written. The file need not exist: its future name is checked. */
export async function resolveForWriting(root: Root, path: string): Promise<ResolvedPath> {
  const resolved = await resolveInRoot(root, path);
  await assertWritable(root, resolved, path);
  if (!root.mayReach(resolved.absolute, "write")) throw createUnreachableError(path);
  return resolved;
}

export function toResolvedPath(absolute: string, relativePath: string): ResolvedPath {
  return { absolute, relative: relativePath, displayPath: formatPath(relativePath) };
}

/**
 * Opens the folder that contains a file, passes it on together with the file's name, and closes it.
 *
 * @param options `make`: create missing folders
 * @throws Error with a readable message, also for errors that `use` throws
 */
export async function withParentFolder<Result>(
  root: Root,
  resolved: ResolvedPath,
  use: (folder: Folder, name: string) => Promise<Result>,
  { make = false }: { readonly make?: boolean } = {},
): Promise<Result> {
  if (resolved.relative === ".") throw new Error(`${resolved.displayPath} is a folder.`);
  return await openFolderAt(root, resolved, dirname(resolved.relative), make, (folder) =>
    use(folder, basename(resolved.relative)),
  );
}

/** Opens a folder, passes it on, and closes it. @throws Error with a readable message, also for errors that `use` throws */
export async function withOpenFolder<Result>(
  root: Root,
  resolved: ResolvedPath,
  use: (folder: Folder) => Promise<Result>,
): Promise<Result> {
  return await openFolderAt(root, resolved, resolved.relative, false, use);
}

async function openFolderAt<Result>(
  root: Root,
  { displayPath }: ResolvedPath,
  path: string,
  make: boolean,
  use: (folder: Folder) => Promise<Result>,
): Promise<Result> {
  let folder: Folder | undefined;
  try {
    folder = await openRootFolder(root.path, root.access);
    for (const name of path === "." ? [] : path.split("/")) {
      const inner: Folder = make ? await openOrCreateSubfolder(folder, name) : await openSubfolder(folder, name);
      closeFolder(folder);
      folder = inner;
    }
    return await use(folder);
  } catch (error) {
    if (error instanceof FolderReplacedError)
      throw new Error(`A folder in the path ${displayPath} was replaced by a link in the meantime. Try again.`, {
        cause: error,
      });
    throw explainSystemError(error, displayPath);
  } finally {
    if (folder !== undefined) closeFolder(folder);
  }
}

/** Whether `path` is `folder` or lies below it. Both must be absolute and normalized. */
export function isWithin(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

function relativePath(root: Root, absolute: string): string {
  const path = relative(root.path, absolute).split(sep).join("/");
  return path === "" ? "." : path;
}

/**
 * Checks both the requested path and the real path: a protected name may itself be a link into the root. The target of such a link
 * is also protected, if the link is in a folder above the file.
 */
async function assertWritable(root: Root, resolved: ResolvedPath, requestedPath: string): Promise<void> {
  const names = [...resolved.relative.split("/"), ...relativePath(root, resolve(root.path, requestedPath)).split("/")];
  const isProtected =
    names.some((name) => protectedName.test(name)) ||
    root.protect.some(
      (path) => isWithin(path, resolved.absolute) || isWithin(path, resolve(root.path, requestedPath)),
    ) ||
    (await isReachedByProtectedLink(root, resolved.absolute));
  if (isProtected)
    throw new Error(
      `${formatRequestedPath(requestedPath)} is protected: these tools never write configuration, hooks or stores.`,
    );
}

async function isReachedByProtectedLink(root: Root, absolute: string): Promise<boolean> {
  for (let folder = dirname(absolute); isWithin(root.path, folder); folder = dirname(folder)) {
    const targets = await Promise.all(protectedLinkNames.map((name) => resolveLinkTarget(join(folder, name))));
    if (targets.some((target) => target !== null && isWithin(target, absolute))) return true;
    if (folder === root.path) break;
  }
  return false;
}

/** The real path of a link's target; null if the path is not a link, or the target does not exist. */
async function resolveLinkTarget(path: string): Promise<string | null> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await realpath(path) : null;
  } catch {
    return null;
  }
}

/** Follows links as far as the path exists, and appends the rest of the path unchanged. */
async function resolveRealPath(path: string, requestedPath: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw explainSystemError(error, formatRequestedPath(requestedPath));
  }
  const existing = await findDeepestExisting(path);
  // Creating a file would follow a link whose target is missing, possibly out of the root.
  const real = await realpath(existing).catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw explainSystemError(error, formatRequestedPath(requestedPath));
    throw new Error(`${formatRequestedPath(requestedPath)} is a link whose target does not exist.`);
  });
  return join(real, relative(existing, path));
}

/** The longest prefix of a path that exists, found by bisection: a path may have thousands of names. */
async function findDeepestExisting(path: string): Promise<string> {
  const ends: number[] = [];
  for (let end = path.indexOf(sep, 1); end !== -1; end = path.indexOf(sep, end + 1)) ends.push(end);
  let [exists, missing] = [-1, ends.length];
  while (missing - exists > 1) {
    const middle = Math.floor((exists + missing) / 2);
    const isMissing = await lstat(path.slice(0, ends[middle])).then(
      () => false,
      (error: unknown) => codeOf(error) === "ENOENT",
    );
    if (isMissing) missing = middle;
    else exists = middle;
  }
  const end = ends[exists];
  const folder = end === undefined ? parse(path).root : path.slice(0, end);
  // The whole path may itself be a link whose target is missing.
  if (missing < ends.length) return folder;
  return await lstat(path).then(
    () => path,
    () => folder,
  );
}

export function resolveExistingPart(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(resolveExistingPart(parent), basename(path));
  }
}

function createUnreachableError(path: string): Error {
  return new Error(`${formatRequestedPath(path)} may not be used: the owner of these tools does not allow it.`);
}

function createOutsideError(path: string): Error {
  return new Error(
    `${formatRequestedPath(path)} leads out of the root folder, where these tools have no access. Give a path within the root.`,
  );
}
