/**
 * The ignore rules that apply to a whole folder: the user's own excludes file, the repository's `info/exclude`, and the
 * `.gitignore` files of the folders above it. Git itself is not started, and the repository's configuration is not read.
 */
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { addIgnoreRules, type IgnoreRules, isIgnored, maxIgnoreBytes } from "./ignore-rules.js";

export type Excludes = {
  /** The rules that apply in the folder, except those of its own `.gitignore`. */
  readonly rules: IgnoreRules | null;
  /** The folder's path as the rules see it: empty, or with a trailing slash. */
  readonly prefix: string;
};

const maxFoldersAbove = 64;

/**
 * @param folder a real path. If rules of parent folders ignore the folder itself, they do not apply, because the caller has named
 * it.
 * @param root the folder whose `.gitignore` file is read first if `folder` is not in a repository
 */
export function loadExcludesAbove(folder: string, root: string): Excludes {
  const top = findRepositoryRoot(folder) ?? root;
  const names = relative(top, folder).split(sep).filter(Boolean);
  let rules: IgnoreRules | null = loadRepositoryRules(top, "");
  let prefix = "";
  for (const name of names) {
    rules = addRulesFromFile(rules, join(top, prefix, ".gitignore"), prefix);
    if (isIgnored(rules, prefix + name, true)) return { rules: loadUserRules(), prefix: "" };
    prefix += `${name}/`;
  }
  return { rules, prefix };
}

/** The rules of a repository and of the user. @param base the repository's folder: empty, or with a trailing slash */
export function loadRepositoryRules(folder: string, base: string): IgnoreRules | null {
  const gitDirectoryPath = findGitDirectory(join(folder, ".git"));
  const userRules = loadUserRules(base);
  return gitDirectoryPath === null
    ? userRules
    : addRulesFromFile(userRules, join(gitDirectoryPath, "info/exclude"), base);
}

function loadUserRules(base = ""): IgnoreRules | null {
  const path = findUserExcludesFile();
  const file = path === null ? null : readSmallFile(path, "follow links");
  return file === null ? null : addIgnoreRules(null, file, base);
}

function addRulesFromFile(rules: IgnoreRules | null, path: string, base: string): IgnoreRules | null {
  const file = readSmallFile(path);
  return file === null ? rules : addIgnoreRules(rules, file, base);
}

/** The nearest folder at or above this one that contains `.git`. */
function findRepositoryRoot(root: string): string | null {
  let folder = root;
  for (let count = 0; count < maxFoldersAbove; count += 1) {
    if (pathExists(join(folder, ".git"))) return folder;
    const parent = dirname(folder);
    if (parent === folder) return null;
    folder = parent;
  }
  return null;
}

/** The repository's data folder. In a worktree or a submodule, `.git` is a file that names it. */
function findGitDirectory(path: string): string | null {
  const text = readSmallFile(path)?.toString();
  if (text === undefined) return pathExists(path) ? path : null;
  const named = /^gitdir: (.+)$/m.exec(text)?.[1]?.trimEnd();
  if (named === undefined || named === "") return null;
  const gitDirectory = resolve(dirname(path), named);
  const commonDirectory = readSmallFile(join(gitDirectory, "commondir"))?.toString().trim();
  return commonDirectory === undefined || commonDirectory === ""
    ? gitDirectory
    : resolve(gitDirectory, commonDirectory);
}

/** The user's own `core.excludesFile`, or Git's default for it. */
function findUserExcludesFile(): string | null {
  const home = process.env.HOME ?? homedir();
  if (!isAbsolute(home)) return null;
  const configuration = process.env.XDG_CONFIG_HOME || join(home, ".config");
  const named = [join(home, ".gitconfig"), join(configuration, "git/config")]
    .map((path) => parseExcludesFile(readSmallFile(path, "follow links")?.toString() ?? ""))
    .find((path) => path !== undefined);
  if (named === undefined) return join(configuration, "git/ignore");
  return named.startsWith("~/") ? join(home, named.slice(2)) : isAbsolute(named) ? named : null;
}

function parseExcludesFile(text: string): string | undefined {
  let [section, found]: [string, string | undefined] = ["", undefined];
  for (const line of text.split(/\r?\n/)) {
    section = /^\s*\[([^\]]*)\]/.exec(line)?.[1]?.trim().toLowerCase() ?? section;
    const value = /^\s*excludesfile\s*=\s*("[^"]*"|[^#;]*)/i.exec(line)?.[1];
    if (section === "core" && value !== undefined) found = value.trim().replace(/^"(.*)"$/, "$1");
  }
  return found;
}

function pathExists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Null if the path is not a readable file, or the file is too large. Reading never waits for a pipe. */
export function readSmallFile(path: string, links?: "follow links"): Buffer | null {
  const noFollowFlag = links === undefined ? (constants.O_NOFOLLOW ?? 0) : 0;
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | noFollowFlag);
  } catch {
    return null;
  }
  try {
    const stats = fstatSync(file);
    if (!stats.isFile() || stats.size > maxIgnoreBytes) return null;
    const buffer = Buffer.alloc(stats.size);
    return buffer.subarray(0, readSync(file, buffer, 0, buffer.length, 0));
  } catch {
    return null;
  } finally {
    closeSync(file);
  }
}
