/**
 * Open folders, and the operations in them.
 *
 * 1. A folder is opened from the root, one name at a time, and no name is followed if it is a link. So the opened folder is within
 *    the root, whatever another process renames or links in the meantime.
 * 2. Linux: every operation in a folder goes through its descriptor (`/proc/self/fd`), and no path is resolved again.
 * 3. Elsewhere, Node has no such way. There, the path is used, and is resolved again after each opening and creation: if it is no
 *    longer the folder's path, nothing is done in the folder.
 */
import { closeSync, existsSync, fstat, open as openDescriptor, openSync, type Stats } from "node:fs";
import { constants, type FileHandle, lstat, mkdir, open, readlink, realpath } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { codeOf } from "./system-errors.js";

/** How a folder's entries are accessed: through the folder's descriptor, or by its path. */
export type FolderAccess = "descriptor" | "path";

export const defaultAccess: FolderAccess =
  process.platform === "linux" && existsSync("/proc/self/fd") ? "descriptor" : "path";

export type Folder = {
  readonly access: FolderAccess;
  /** The descriptor of the open folder. */
  readonly fd: number;
  /** The real path of the folder when it was opened. */
  readonly path: string;
};

/** Thrown if a name along the path is a link, or has become one. */
export class FolderReplacedError extends Error {}

const folderFlags =
  constants.O_RDONLY | constants.O_NONBLOCK | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);

/**
 * Opens a folder by its real path.
 *
 * @throws FolderReplacedError if a folder along the path has become a link since the path was resolved; a system error
 */
export async function openRootFolder(path: string, access: FolderAccess): Promise<Folder> {
  const folder: Folder = { access, fd: await openInThreadPool(path, folderFlags), path };
  try {
    // The system reports the path of the open folder. `open` refuses a link only as the last name of a path.
    if (access === "descriptor" && (await readlink(`/proc/self/fd/${folder.fd}`)) !== path)
      throw new FolderReplacedError(`${path} was replaced`);
    await assertNotReplaced(folder);
    return folder;
  } catch (error) {
    closeFolder(folder);
    throw error;
  }
}

export function closeFolder({ fd }: Folder): void {
  closeSync(fd);
}

const openInThreadPool = promisify(openDescriptor);
const statDescriptor = promisify(fstat);

/** The identity of an open folder, whatever its current path. */
export async function statFolder({ fd }: Folder): Promise<Stats> {
  return await statDescriptor(fd);
}

/** A path that reaches a name in the folder while the folder is open. */
export function pathIn({ access, fd, path }: Folder, name: string): string {
  return access === "descriptor" ? `/proc/self/fd/${fd}/${name}` : join(path, name);
}

/**
 * Opens a subfolder.
 *
 * @param options `sync`: blocks the event loop during the system calls, as in a walk of many folders. A round trip through the
 * thread pool takes several times as long, and far longer while other processes keep every processor busy.
 * @throws FolderReplacedError if the name is a link; a system error
 */
export async function openSubfolder(
  folder: Folder,
  name: string,
  { sync = false }: { readonly sync?: boolean } = {},
): Promise<Folder> {
  const path = join(folder.path, name);
  let fd: number;
  try {
    fd = sync ? openSync(pathIn(folder, name), folderFlags) : await openInThreadPool(pathIn(folder, name), folderFlags);
  } catch (error) {
    throw (await isLink(folder, name)) ? new FolderReplacedError(`${path} is a link`) : error;
  }
  const subfolder: Folder = { access: folder.access, fd, path };
  try {
    await assertNotReplaced(subfolder);
    return subfolder;
  } catch (error) {
    closeFolder(subfolder);
    throw error;
  }
}

/**
 * Opens a subfolder, and creates it if it does not exist.
 *
 * @throws as `openSubfolder` does
 */
export async function openOrCreateSubfolder(folder: Folder, name: string): Promise<Folder> {
  try {
    return await openSubfolder(folder, name);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
  await assertNotReplaced(folder);
  await mkdir(pathIn(folder, name)).catch((error: unknown) => {
    // Another process has created it, which is just as good.
    if (codeOf(error) !== "EEXIST") throw error;
  });
  return await openSubfolder(folder, name);
}

/**
 * Opens a regular file in a folder for reading. Never blocks, because pipes are refused.
 *
 * @returns null if the name is not a regular file: a folder, a link, a pipe, a socket or a device
 */
export async function openFile(folder: Folder, name: string): Promise<FileHandle | null> {
  const path = pathIn(folder, name);
  if (!(await lstat(path)).isFile()) return null;
  // It was a file a moment ago. If it has become a link, O_NOFOLLOW refuses it; if it has become a pipe, O_NONBLOCK does not wait.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  const handle = await open(path, flags);
  try {
    await assertNotReplaced(folder);
    if ((await handle.stat()).isFile()) return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
  await handle.close();
  return null;
}

/** Null if the name does not exist. */
export async function statIn(folder: Folder, name: string): Promise<Stats | null> {
  return await lstat(pathIn(folder, name)).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  });
}

async function isLink(folder: Folder, name: string): Promise<boolean> {
  return (await statIn(folder, name).catch(() => null))?.isSymbolicLink() === true;
}

/** @throws FolderReplacedError if the folder is accessed by its path, and the path now leads elsewhere */
export async function assertNotReplaced(folder: Folder): Promise<void> {
  const { access, path } = folder;
  if (access === "descriptor") return;
  const [opened, current, real] = await Promise.all([statFolder(folder), lstat(path), realpath(path)]);
  if (real !== path || current.ino !== opened.ino || current.dev !== opened.dev)
    throw new FolderReplacedError(`${path} was replaced`);
}
