/**
 * What is special in the folder of commands: what other programs run later is read-only, and what is hidden is not there.
 *
 * 1. Only what exists can be mounted: a mount of a file that is not there would leave an empty one in the folder, for good. So what
 *    a command makes there is looked for afterwards, and told.
 * 2. A file that turns the settings of a repository into others is removed at once, and its command is stopped.
 */
import { type FSWatcher, lstatSync, readdirSync, readlinkSync, rmSync, watch } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isWithin, protectedName } from "../files/root.js";
import { findGitMounts } from "./git-mounts.js";

export type FolderMounts = {
  readonly shown: readonly string[];
  readonly writable: readonly string[];
  readonly closed: readonly string[];
  readonly hidden: readonly string[];
  /** Not mounted: compared after the command. */
  readonly watched: readonly string[];
  readonly forbidden: readonly string[];
};

/** What editors, shells and agents run, or read the names of programs from, when a person opens the folder. */
export const runLaterNames: readonly string[] = [
  ...[".git", ".pawl", "pawl.config.json", ".mcp.json"],
  ...[".envrc", ".exrc", ".nvim.lua", ".husky", ".githooks"],
  ...[".vscode", ".idea", ".zed", ".devcontainer", ".claude", ".codex", ".cursor", ".gemini"],
];

export type FolderOptions = {
  readonly root: string;
  /** The real path of the person's home. */
  readonly home: string;
  /** Absolute paths. */
  readonly hidden: readonly string[];
};

export function findFolderMounts({ root, home, hidden }: FolderOptions): FolderMounts {
  const git = findGitMounts(root, home);
  const names = [...new Set([...runLaterNames, ...readdirSync(root).filter((name) => protectedName.test(name))])];
  const paths = names.map((name) => join(root, name));
  // What `.git` needs is said by the repository.
  const closable = paths.filter((path) => basename(path) !== ".git" && isMountable(path));
  const isKnown = (path: string) => closable.includes(path) || [...git.writable, ...git.closed].includes(path);
  return {
    shown: git.shown,
    writable: git.writable,
    closed: unique([...git.closed, ...closable]),
    hidden: unique(hidden.filter(isMountable)),
    watched: unique([...paths.filter((path) => !isKnown(path)), ...git.links]),
    forbidden: git.forbidden,
  };
}

/** A link may lead anywhere, and a mount cannot hold it in its place. */
function isMountable(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && !found.isSymbolicLink();
}

const unique = (paths: readonly string[]) => [...new Set(paths)];

export type FolderWatch = {
  /** What a person and the model should know of: files that were made, or removed again. Each as part of a sentence. */
  readonly notes: () => readonly string[];
  readonly end: () => void;
};

/** @param stop called when the command has made a forbidden file */
export function watchFolder(root: string, { watched, forbidden }: FolderMounts, stop: () => void): FolderWatch {
  const before = new Map(watched.map((path) => [path, identify(path)]));
  const removed = new Set<string>();
  const removeForbidden = () => {
    for (const path of forbidden) {
      if (lstatSync(path, { throwIfNoEntry: false }) === undefined) continue;
      rmSync(path, { recursive: true, force: true });
      removed.add(path);
    }
    if (removed.size > 0) stop();
  };
  const watchers = unique(forbidden.map(dirname)).flatMap((folder) => watchNames(folder, removeForbidden));
  return {
    end() {
      for (const watcher of watchers) watcher.close();
      removeForbidden();
    },
    notes() {
      const made = watched.filter((path) => identify(path) !== before.get(path) && identify(path) !== "");
      const display = (path: string) => (isWithin(root, path) ? path.slice(root.length + 1) : path);
      return [
        ...made.map((path) => `the command has made or changed ${display(path)}, which other programs may run`),
        ...[...removed].map(
          (path) => `the command has made ${display(path)}, which was removed: Git would take its settings from there`,
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

/** Differs when another file or folder is there; empty if there is nothing. */
function identify(path: string): string {
  const found = lstatSync(path, { throwIfNoEntry: false, bigint: true });
  if (found === undefined) return "";
  const target = found.isSymbolicLink() ? readlinkSync(path) : "";
  return `${found.ino} ${found.mode} ${found.isFile() ? found.mtimeNs : ""} ${target}`;
}
