/**
 * Finds the mounts within the folder of commands: files that other programs run later are read-only, and hidden files are absent.
 *
 * 1. Only existing files can be mounted: mounting over a missing file would leave an empty file in the folder for good. So the
 *    folder is compared after each command, and new files are reported.
 * 2. A file that would replace the settings of a repository is removed at once, and the command that created it is stopped.
 */
import { type BigIntStats, type FSWatcher, lstatSync, readlinkSync, rmSync, watch } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isWithin, protectedName } from "../files/root.js";
import { findEmbeddedMounts, findGitMounts } from "./git-mounts.js";
import { listEntries } from "./list-entries.js";

export type FolderMounts = {
  /** Read-only, before anything else. */
  readonly shown: readonly string[];
  /** Writable, and protected from being moved. Parents come first. */
  readonly writable: readonly Mount[];
  /** Read-only within the writable mounts. */
  readonly closed: readonly Mount[];
  readonly hidden: readonly string[];
  /** Not mounted, but compared after the command. */
  readonly watched: readonly string[];
  /** Removed if a command creates one. */
  readonly forbidden: readonly string[];
};

/** A file or folder that is mounted over itself. */
export type Mount = {
  readonly path: string;
  /** The device and inode, as `stat -c %d:%i` prints them. They show whether the mounted file is the one that was examined. */
  readonly identity: string;
};

/** Files and folders whose contents editors, shells and agents run when a person opens the folder. */
export const runLaterNames: readonly string[] = [
  ...[".git", ".pawl", "pawl.config.json", ".mcp.json"],
  ...[".envrc", ".exrc", ".nvim.lua", ".husky", ".githooks"],
  ...[".vscode", ".idea", ".zed", ".devcontainer", ".claude", ".codex", ".cursor", ".gemini"],
];

export type FolderOptions = {
  readonly root: string;
  /** The real path of the person's home. */
  readonly home: string;
  /** The real paths of folders outside of the root that commands can write. */
  readonly write: readonly string[];
  /** Absolute paths. */
  readonly hidden: readonly string[];
  /** The `.git` files and folders of repositories below the root. */
  readonly repositories: readonly string[];
  readonly signal?: AbortSignal | undefined;
};

export async function findFolderMounts(options: FolderOptions): Promise<FolderMounts> {
  const { root, home, write, hidden: requestedHidden, repositories, signal } = options;
  const git = await findGitMounts(root, home, signal);
  const embedded = await findEmbeddedMounts(repositories, root, signal);
  const present = await listEntries(root, ({ name }) => protectedName.test(name), signal);
  const names = unique([...runLaterNames, ...present.map(({ name }) => name)]);
  const paths = names.map((name) => join(root, name));
  // findGitMounts has decided about `.git`.
  const closable = unique([...git.closed, ...embedded.closed, ...paths.filter((path) => basename(path) !== ".git")]);
  // A path in a hidden folder is hidden with the folder, and its parents must not be mounted as folders that cannot be moved.
  const hideable = unique(requestedHidden.filter((path) => findMount(path) !== null));
  const hidden = hideable.filter((path) => !hideable.some((other) => other !== path && isWithin(other, path)));
  const tops = [root, ...write, ...git.writable];
  const ancestors = unique([...closable, ...hidden].flatMap((path) => listAncestors(path, tops)));
  const writable = findMounts([...git.writable, ...ancestors.sort((a, b) => a.length - b.length)]);
  const hasMountedAncestors = (path: string) =>
    listAncestors(path, tops).every((one) => writable.some((mount) => mount.path === one));
  const closed = findMounts(closable.filter(hasMountedAncestors));
  const isKnown = (path: string) => [...writable, ...closed].some((mount) => mount.path === path);
  return {
    shown: git.shown,
    writable,
    closed,
    hidden,
    watched: unique([...paths, ...git.unmountable, ...embedded.unmountable]).filter((path) => !isKnown(path)),
    forbidden: unique([...git.forbidden, ...embedded.forbidden]),
  };
}

/**
 * The folders between a path and the mount around it. Each must be a mount: otherwise a command could rename it, and put another
 * folder in its place.
 */
function listAncestors(path: string, tops: readonly string[]): readonly string[] {
  const around = tops.filter((top) => top !== path && isWithin(top, path)).sort((a, b) => b.length - a.length);
  const [top] = around;
  const found: string[] = [];
  if (top !== undefined) for (let one = dirname(path); one !== top; one = dirname(one)) found.push(one);
  return found;
}

function findMounts(paths: readonly string[]): readonly Mount[] {
  return paths.flatMap((path) => findMount(path) ?? []);
}

/** Null if the path does not exist or is a link, which may lead anywhere, and which a mount cannot keep in place. */
function findMount(path: string): Mount | null {
  const found = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  return found === undefined || found.isSymbolicLink() ? null : { path, identity: formatIdentity(found) };
}

const formatIdentity = ({ dev, ino }: BigIntStats) => `${dev}:${ino}`;

const unique = (paths: readonly string[]) => [...new Set(paths)];

export type FolderWatch = {
  /** Files that were created, changed or removed again, each as part of a sentence. */
  readonly notes: () => readonly string[];
  readonly end: () => void;
};

/** @param stop called when the command has created a forbidden file */
export function watchFolder(root: string, { watched, forbidden }: FolderMounts, stop: () => void): FolderWatch {
  const before = new Map(watched.map((path) => [path, identify(path)]));
  const removed = new Set<string>();
  /** Paths that the command has made unreadable, or that cannot be removed. */
  const unremovable = new Set<string>();
  const remove = (path: string) => {
    try {
      if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
      rmSync(path, { recursive: true, force: true });
      removed.add(path);
    } catch {
      unremovable.add(path);
    }
    stop();
  };
  const watchers = forbidden.flatMap((path) => watchNames(dirname(path), () => remove(path)));
  return {
    end() {
      for (const watcher of watchers) watcher.close();
      for (const path of forbidden) remove(path);
    },
    notes() {
      const made = watched.filter((path) => identify(path) !== before.get(path) && identify(path) !== "");
      const display = (path: string) => (isWithin(root, path) ? path.slice(root.length + 1) : path);
      return [
        ...made.map((path) => `the command created or changed ${display(path)}, which other programs may run`),
        ...[...removed].map(
          (path) =>
            `the command created ${display(path)}, which was removed because Git would take its settings from there`,
        ),
        ...[...unremovable].map(
          (path) =>
            `${display(path)} could not be checked or removed, because the command locked its folder: check it before you use Git here`,
        ),
      ];
    },
  };
}

function watchNames(folder: string, onChange: () => void): readonly FSWatcher[] {
  try {
    const watcher = watch(folder, { persistent: false }, onChange);
    watcher.on("error", () => {});
    return [watcher];
  } catch {
    // Without a watcher, the file is removed when the command ends.
    return [];
  }
}

/** A string that changes when the file or folder is replaced or made unreadable; empty if the path does not exist. */
function identify(path: string): string {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false, bigint: true });
    if (found === undefined) return "";
    const target = found.isSymbolicLink() ? readlinkSync(path) : "";
    return `${found.ino} ${found.mode} ${found.isFile() ? found.mtimeNs : ""} ${target}`;
  } catch {
    return "unreadable";
  }
}
