/**
 * Finds the mounts for a folder's Git repository: commits work, but hooks and settings, which name programs that Git runs later for
 * the person, are read-only.
 *
 * 1. `.git` is its own mount, so a command cannot move it away and put another one in its place.
 * 2. A command may have written the `.git` file, so it is followed only to a repository that lists this folder as one of its
 *    worktrees.
 * 3. In a subfolder of a repository, the rest of the worktree is shown read-only. Otherwise Git would consider it deleted.
 */
import { lstatSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { readSmallFile } from "../files/git-excludes.js";
import { isWithin, resolveExistingPart } from "../files/root.js";
import { listEntries } from "./list-entries.js";

export type GitMounts = {
  /** Shown read-only, before anything else. */
  readonly shown: readonly string[];
  /** Writable. */
  readonly writable: readonly string[];
  /** Read-only within the writable mounts. */
  readonly closed: readonly string[];
  /** Links and pipes instead of files: they cannot be mounted, so they are compared after each command. */
  readonly unmountable: readonly string[];
  /** Files that would replace the closed files, and that no honest command creates. */
  readonly forbidden: readonly string[];
};

const noMounts: GitMounts = { shown: [], writable: [], closed: [], unmountable: [], forbidden: [] };

/** @param home the real path of the person's home, whose own repository is never shown */
export async function findGitMounts(root: string, home: string, signal?: AbortSignal): Promise<GitMounts> {
  for (let folder = root; ; folder = dirname(folder)) {
    const kind = readKind(join(folder, ".git"));
    if (folder !== root && isWithin(folder, home)) return noMounts;
    if (kind === "folder" || kind === "file") return await mountsIn(folder, root, kind, signal);
    if (kind !== null || dirname(folder) === folder) return noMounts;
  }
}

async function mountsIn(
  worktree: string,
  root: string,
  kind: "folder" | "file",
  signal: AbortSignal | undefined,
): Promise<GitMounts> {
  const own = join(worktree, ".git");
  const shown = worktree === root ? [] : [worktree];
  if (kind === "folder") return { shown, writable: [own], ...(await closedParts(own, signal)) };
  const common = findLinkedRepository(own);
  if (common === null) return { ...noMounts, shown, closed: [own] };
  const parts = await closedParts(common, signal);
  return { shown, writable: [common], ...parts, closed: [own, ...parts.closed] };
}

/** The maximum number of repositories below a folder. */
const maxEmbedded = 200;

/**
 * Finds the closed files of repositories below the folder, as in the folder's own repository.
 *
 * @param paths their `.git` files and folders
 * @throws Error if there are too many
 */
export async function findEmbeddedMounts(
  paths: readonly string[],
  root: string,
  signal?: AbortSignal,
): Promise<Pick<GitMounts, "closed" | "unmountable" | "forbidden">> {
  if (paths.length > maxEmbedded)
    throw new Error(
      `The sandbox cannot close the settings of more than ${maxEmbedded} repositories, and there are ${paths.length} below ${root}. Work in one of them.`,
    );
  const found = { closed: [] as string[], unmountable: [] as string[], forbidden: [] as string[] };
  for (const path of paths) {
    const kind = readKind(path);
    if (kind === "other") found.unmountable.push(path);
    if (kind === "file") found.closed.push(path);
    const repository = kind === "folder" ? path : kind === "file" ? findTarget(path) : null;
    // Commands cannot write a repository outside of the root. Those of submodules and worktrees belong to another repository.
    if (repository === null || !isWithin(root, repository) || (kind === "file" && belongsToOther(root, repository)))
      continue;
    const parts = await closedParts(repository, signal);
    found.closed.push(...parts.closed);
    found.unmountable.push(...parts.unmountable);
    found.forbidden.push(...parts.forbidden);
  }
  return found;
}

const belongsToOther = (root: string, repository: string) =>
  relative(root, repository).split(sep).slice(0, -1).includes(".git");

/** The folder that a `.git` file points to; null if there is none. */
function findTarget(file: string): string | null {
  const [, to = ""] = /^gitdir: (.+)$/m.exec(readText(file)) ?? [];
  const path = resolve(dirname(file), to);
  return to !== "" && readKind(path) === "folder" ? resolveExistingPart(path) : null;
}

/** The repository that a `.git` file points to, which all its worktrees share; null unless the repository points back at the file. */
function findLinkedRepository(file: string): string | null {
  try {
    const [, to = ""] = /^gitdir: (.+)$/m.exec(readText(file)) ?? [];
    const folder = realpathSync(resolve(dirname(file), to));
    const worktree = readWorktree(folder);
    if (worktree === dirname(file)) return folder;
    const common = realpathSync(resolve(folder, readText(join(folder, "commondir")).trim()));
    const back = readText(join(folder, "gitdir")).trim();
    // Commands may have written these files before they were closed, so each must agree with the others.
    const isOwn = dirname(folder) === join(common, "worktrees") && realpathSync(resolve(folder, back)) === file;
    return isOwn ? common : null;
  } catch {
    return null;
  }
}

/** The worktree in a repository's configuration, as submodules have it; null if the configuration has none. */
function readWorktree(repository: string): string | null {
  const path = readSetting(repository, "worktree");
  return path === null ? null : resolveExistingPart(resolve(repository, path));
}

/** Reads a setting of the section `core`, in the form that Git writes. */
function readSetting(repository: string, name: string): string | null {
  const setting = new RegExp(`^[ \\t]*${name}[ \\t]*=[ \\t]*"?([^"\\n]+?)"?[ \\t]*$`, "im");
  return setting.exec(readText(join(repository, "config")))?.[1] ?? null;
}

/** Empty if the path is not a readable file: a command may have put a pipe there, and reading a pipe would block. */
function readText(path: string): string {
  return readSmallFile(path)?.toString("utf8") ?? "";
}

const maxWorktrees = 500;
/** Folders below `.git/modules`. With more, a command does not start: it could create folders until the rest is not examined. */
const maxModuleFolders = 500;

/** Files of a repository and its submodules that other programs run, or that name programs. */
async function closedParts(
  repository: string,
  signal: AbortSignal | undefined,
): Promise<Pick<GitMounts, "closed" | "unmountable" | "forbidden">> {
  const modules = await findModules(join(repository, "modules"), signal);
  const all = [repository, ...modules];
  for (const each of all) {
    // Only an existing folder can be closed. Git creates the same folder from its template.
    try {
      mkdirSync(join(each, "hooks"), { recursive: true });
    } catch {
      // The path is a file or a link, or is read-only, so no command can put hooks there.
    }
  }
  const names = ["hooks", "config", "config.worktree", "info/attributes"];
  // Git in a worktree takes its settings from the repository that these files name.
  const pointers = ["commondir", "gitdir", "config.worktree"];
  const worktrees = (await Promise.all(all.map((each) => listWorktrees(each, signal)))).flat();
  const paths = [
    ...all.flatMap((each) => names.map((name) => join(each, name))),
    ...worktrees.flatMap((each) => pointers.map((name) => join(each, name))),
    ...findHookFolders(repository),
    // Git also runs in each submodule, with the settings of the repository that its `.git` file names.
    ...modules.flatMap((module) => {
      const worktree = readWorktree(module);
      return worktree === null ? [] : [join(worktree, ".git")];
    }),
  ];
  const existing = paths.filter((path) => readKind(path) !== null);
  return {
    closed: existing.filter((path) => readKind(path) !== "other"),
    unmountable: existing.filter((path) => readKind(path) === "other"),
    forbidden: all.map((each) => join(each, "commondir")).filter((path) => readKind(path) === null),
  };
}

/** The folder of `core.hooksPath` in the repository's own configuration, if it is inside the worktree. */
function findHookFolders(repository: string): readonly string[] {
  const path = readSetting(repository, "hooksPath");
  const worktree = dirname(repository);
  const folder = path === null ? worktree : resolve(worktree, path);
  return folder !== worktree && isWithin(worktree, folder) ? [folder] : [];
}

/** The repositories of submodules, including nested ones. */
async function findModules(top: string, signal: AbortSignal | undefined): Promise<readonly string[]> {
  const found: string[] = [];
  const queue = [top];
  // A loop over an array also visits items that are added during the loop.
  for (const folder of queue) {
    if (queue.length > maxModuleFolders)
      throw new Error(
        `The sandbox cannot close the settings of submodules: ${top} has more than ${maxModuleFolders} folders.`,
      );
    if (isFile(join(folder, "HEAD"))) found.push(folder);
    const inner = isFile(join(folder, "HEAD")) ? join(folder, "modules") : folder;
    for (const name of await listFolders(inner, signal)) queue.push(join(inner, name));
  }
  return found;
}

/** The folders in which a repository keeps the data of each linked worktree. */
async function listWorktrees(repository: string, signal: AbortSignal | undefined): Promise<readonly string[]> {
  const top = join(repository, "worktrees");
  const names = await listFolders(top, signal);
  if (names.length > maxWorktrees)
    throw new Error(
      `The sandbox cannot close the settings of worktrees: ${top} has more than ${maxWorktrees} folders.`,
    );
  return names.map((name) => join(top, name));
}

/** The names of the folders in a folder. */
async function listFolders(folder: string, signal: AbortSignal | undefined): Promise<readonly string[]> {
  try {
    const entries = await listEntries(folder, (entry) => entry.isDirectory(), signal);
    return entries.map(({ name }) => name);
  } catch (error) {
    // The folder does not exist, or a command has made it unreadable.
    if (error instanceof Error && "syscall" in error) return [];
    throw error;
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** Null if the path does not exist. `other` is a link, which may lead anywhere, or a pipe. */
function readKind(path: string): "folder" | "file" | "other" | null {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  if (found.isDirectory()) return "folder";
  return found.isFile() ? "file" : "other";
}
