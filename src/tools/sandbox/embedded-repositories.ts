/**
 * Finds repositories below the folder of commands. Their settings and hooks run when a person uses Git or an editor in them, and
 * `git status` of the folder's own repository runs Git in its submodules.
 */
import { type Dirent, lstatSync } from "node:fs";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { listEntries } from "./list-entries.js";

export type RepositoryWatch = {
  /** The `.git` files and folders that existed before the first command. @throws Error if they cannot be searched for */
  readonly findPresent: (signal?: AbortSignal) => Promise<readonly string[]>;
  /** Describes the repositories that commands have created since, each once and as part of a sentence. */
  readonly describeNew: () => Promise<readonly string[]>;
};

/**
 * Watches for repositories below a folder. Those that existed first can be closed; those that a command creates are reported, and
 * stay writable: the agent may remove its own clone again.
 */
export function watchRepositories(root: string): RepositoryWatch {
  const search = createRepositorySearch(root);
  let present: Promise<readonly string[]> | undefined;
  const reported = new Set<string>();
  return {
    async findPresent(signal) {
      // All commands share the search, so no single command stops it.
      present ??= search.find();
      const found = await present.catch((error: unknown) => {
        present = undefined;
        throw error;
      });
      signal?.throwIfAborted();
      return found;
    },
    async describeNew() {
      const before = new Set(await present?.catch(() => []));
      // The next command reports why its folder cannot be searched.
      const found = await search.find().catch(() => []);
      const created = found.filter((path) => !before.has(path) && !reported.has(path));
      for (const path of created) reported.add(path);
      return created.map(
        (path) => `the command created ${path.slice(root.length + 1)}, whose settings can name programs that Git runs`,
      );
    },
  };
}

type RepositorySearch = {
  /** Finds the paths of `.git` files and folders, except that of the folder itself. @throws Error as `listEntries` does */
  readonly find: () => Promise<readonly string[]>;
};

type Listing = {
  /** The time of the folder's last change, which no command can turn back. */
  readonly changedNs: bigint;
  readonly folders: readonly string[];
  readonly isWorktree: boolean;
};

/** Later folders are not searched. */
const maxFolders = 50_000;
/** How many folders are compared at a time. */
const batchSize = 200;
/** How long the clock of a file system may stand still. */
const clockTickMs = 100;

/** The search lists a folder again only if it has changed, which makes it cheap enough to run after each command. */
function createRepositorySearch(root: string): RepositorySearch {
  let known: ReadonlyMap<string, Listing> = new Map();

  async function find(): Promise<readonly string[]> {
    const listings = new Map<string, Listing>();
    const found: string[] = [];
    const queue = [root];
    let examined = 0;
    // A loop over an array also visits items that are added during the loop.
    for (const folder of queue) {
      examined += 1;
      if (examined > maxFolders) break;
      if (examined % batchSize === 0) await setImmediate();
      const changedNs = readChangeTime(folder);
      if (changedNs === null) continue;
      const earlier = known.get(folder);
      const listing = earlier?.changedNs === changedNs ? earlier : await list(folder, changedNs);
      if (Date.now() - Number(changedNs / 1_000_000n) > clockTickMs) listings.set(folder, listing);
      if (listing.isWorktree) found.push(join(folder, ".git"));
      for (const name of listing.folders) queue.push(join(folder, name));
    }
    known = listings;
    return found.filter((path) => dirname(path) !== root);
  }
  return { find };
}

/** Null if the folder is gone, or a command has made its parent unreadable. */
function readChangeTime(folder: string): bigint | null {
  try {
    return lstatSync(folder, { bigint: true }).ctimeNs;
  } catch {
    return null;
  }
}

async function list(folder: string, changedNs: bigint): Promise<Listing> {
  const entries = await listEntries(folder, isRelevant).catch((error: unknown) => {
    // A command has made the folder unreadable, or it is gone.
    if (error instanceof Error && "syscall" in error) return [];
    throw error;
  });
  const folders = entries.filter(({ name }) => name !== ".git").map(({ name }) => name);
  return { changedNs, folders, isWorktree: folders.length < entries.length };
}

const isRelevant = (entry: Dirent) => entry.name === ".git" || (entry.isDirectory() && entry.name !== "node_modules");
