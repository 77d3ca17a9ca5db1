/**
 * Builds the arguments of bubblewrap: everything that commands can see in the sandbox is listed here.
 *
 * 1. The file system starts empty, and ends up read-only. The system's folders are bound read-only, except for files that other
 *    users of this machine cannot read. The person's home is absent: commands have their own.
 * 2. A command can write its folder, its own home and `/tmp`, and so can other commands of the session at the same time. So that no
 *    command can replace the parent of a mount by a link, the parents of mounts are private, or are mounts themselves.
 * 3. Running as root gives no way out. Without capabilities, root cannot remount the system as writable. The kernel's settings in
 *    /proc/sys check only for user id 0, and `kernel.core_pattern` could start a program outside of the sandbox, so /proc is
 *    read-only.
 */
import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { isWithin } from "../files/root.js";
import type { FolderMounts } from "./folder-mounts.js";
import type { Bubblewrap } from "./probe.js";

/** The path of the commands' home inside the sandbox. It differs from the person's home, so nothing has to be mounted below it. */
export const commandHome = "/home/sandbox";
/** The path of the copied settings inside the sandbox. */
export const commandSettings = "/run/settings";

/** The path of the proxy's socket inside the sandbox, for a command with its own network. */
export const socketInside = "/run/proxy";

export type SandboxLayout = {
  /** The real path of the folder. */
  readonly root: string;
  /** The folder that is the home of commands; null for a temporary home. */
  readonly ownHome: string | null;
  /** A folder with copies of settings; null if there are none. */
  readonly settings: string | null;
  /** Files and folders that commands see read-only. */
  readonly shown: readonly string[];
  /** Further folders that commands can write. */
  readonly write: readonly string[];
  /** Whether this command can only read the folders that other commands can write. */
  readonly readOnly: boolean;
  /** The proxy's socket, for a command with its own network; null if commands share a network. */
  readonly socket: string | null;
};

/** The folder that commands of a session share, with `/tmp` and a temporary home. Null if each command has its own. */
export type SharedFolder = { readonly path: string } | null;

/** The system folders that commands can read. */
export const systemFolders: readonly string[] = [
  ...["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/snap"],
  // Lists of installed packages, certificates, and the number of processors.
  ...["/var/lib/dpkg", "/var/lib/rpm", "/var/lib/pacman", "/var/lib/ca-certificates", "/sys/devices/system"],
];

export async function createBubblewrapArguments(
  { root, ownHome, settings, shown, write, readOnly, socket }: SandboxLayout,
  folder: FolderMounts,
  shared: SharedFolder,
  { closesNamespaces }: Pick<Bubblewrap, "closesNamespaces">,
): Promise<readonly string[]> {
  const writable = [root, ...write];
  const visible = [...shown, ...folder.shown];
  const bind = readOnly ? "--ro-bind" : "--bind";
  return [
    ...["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"],
    ...(closesNamespaces ? ["--disable-userns"] : []),
    ...(shared === null ? ["--unshare-net"] : []),
    ...["--die-with-parent", "--new-session", "--cap-drop", "ALL"],
    ...(await createSystemArguments()),
    ...["--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc"],
    ...(shared === null ? ["--tmpfs", "/tmp"] : ["--bind", join(shared.path, "tmp"), "/tmp"]),
    ...([...writable, ...visible].some((path) => isWithin("/var/tmp", path)) ? [] : ["--symlink", "/tmp", "/var/tmp"]),
    ...privateFolders([...writable, ...visible], "/tmp"),
    ...(ownHome === null ? temporaryHome(shared) : ["--bind", ownHome, commandHome]),
    ...(settings === null ? [] : ["--ro-bind", settings, commandSettings]),
    ...(socket === null ? [] : ["--ro-bind", socket, socketInside]),
    ...visible.flatMap((path) => ["--ro-bind-try", resolveLinks(path), path]),
    ...writable.flatMap((path) => [bind, path, path]),
    ...folder.writable.flatMap(({ path }) => [bind, path, path]),
    ...folder.closed.flatMap(({ path }) => ["--ro-bind", path, path]),
    ...folder.hidden.filter((path) => [...writable, ...visible].some((one) => isWithin(one, path))).flatMap(hide),
    ...["--remount-ro", "/", "--chdir", root],
  ];
}

function temporaryHome(shared: SharedFolder): readonly string[] {
  return shared === null ? ["--tmpfs", commandHome] : ["--bind", join(shared.path, "home"), commandHome];
}

/** Other commands write to `/tmp`, so a path that is mounted below it gets its own parent, which they cannot replace. */
function privateFolders(paths: readonly string[], shared: string): readonly string[] {
  const names = paths
    .filter((path) => path !== shared && isWithin(shared, path))
    .map((path) => relative(shared, path).split(sep)[0] ?? "");
  return [...new Set(names)].flatMap((name) => ["--tmpfs", join(shared, name)]);
}

const hide = (path: string) => (isFolder(path) ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path]);

let system: readonly string[] | undefined;

async function createSystemArguments(): Promise<readonly string[]> {
  system ??= systemFolders.flatMap((path) => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return [];
    return found.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path];
  });
  return [...system, ...(await createMaskArguments())];
}

const maxEntries = 50_000;
let unreadable: Promise<readonly string[]> | undefined;

/**
 * Hides files that not every user of this machine can read, such as passwords and server keys. The system itself hides most of them
 * from users, but not from root, nor from members of a group that may read them.
 */
async function createMaskArguments(): Promise<readonly string[]> {
  unreadable ??= findUnreadable("/etc");
  // A file may have been deleted since, and nothing can be mounted over a missing file.
  return (await unreadable).filter((path) => existsSync(path)).flatMap(hide);
}

async function findUnreadable(top: string): Promise<readonly string[]> {
  const found: string[] = [];
  const queue = [top];
  for (let examined = 0; queue.length > 0; ) {
    if (examined > maxEntries)
      throw new Error(`The sandbox cannot hide the private files of ${top}: it has more than ${maxEntries} entries.`);
    const folder = queue.pop() ?? "";
    // Yields between two folders, so that other work can continue.
    const names = await readdir(folder).catch(() => []);
    for (const name of names) {
      examined += 1;
      const path = join(folder, name);
      const entry = lstatSync(path, { throwIfNoEntry: false });
      if (entry === undefined || entry.isSymbolicLink()) continue;
      const isOpen = entry.isDirectory() ? (entry.mode & 0o005) === 0o005 : (entry.mode & 0o004) !== 0;
      if (!isOpen) found.push(path);
      else if (entry.isDirectory()) queue.push(path);
    }
  }
  return found;
}

function resolveLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
