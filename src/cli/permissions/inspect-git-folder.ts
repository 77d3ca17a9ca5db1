/**
 * Finds which programs a repository makes Git run even when Git only reads. Its `.git/config` may have been written by the
 * author of the folder, and it can name programs.
 *
 * 1. Lines whose Git commands only read run with the settings below, which turn off everything that has a fixed name.
 * 2. Programs under other names (filters, text conversions, external diffs) stay on. In a repository that names one, commands
 *    ask, and the model is not given its branch.
 */
import { execFile } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { readdir, realpath } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { findProgram, isWithinFolder } from "./find-program.js";
import { findMainWorktree } from "./project-folder.js";

const quietSettings: readonly (readonly [name: string, value: string])[] = [
  ["core.fsmonitor", "false"],
  ["core.hooksPath", "/dev/null"],
  ["core.pager", "cat"],
  ["gpg.program", "false"],
  ["gpg.openpgp.program", "false"],
  ["gpg.ssh.program", "false"],
  ["gpg.x509.program", "false"],
  ["log.showSignature", "false"],
  // `remerge` repeats a merge, with the repository's merge drivers.
  ["log.diffMerges", "separate"],
  // Git inspects a submodule by running itself there, with the submodule's settings.
  ["diff.ignoreSubmodules", "dirty"],
  ["diff.submodule", "short"],
  ["status.submoduleSummary", "false"],
  ["submodule.recurse", "false"],
  // A folder can be a repository without a `.git` that a person would see.
  ["safe.bareRepository", "explicit"],
];

/** The environment variables for a line whose Git commands only read. */
export const quietGit: { readonly [name: string]: string } = {
  GIT_CONFIG_COUNT: String(quietSettings.length),
  ...Object.fromEntries(
    quietSettings.flatMap(([name, value], at) => [
      [`GIT_CONFIG_KEY_${at}`, name],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ]),
  ),
  // No remote helper is started, not even to fetch what a partial clone lacks.
  GIT_ALLOW_PROTOCOL: "none",
  GIT_NO_LAZY_FETCH: "1",
  // Git does not write the index; after writing it, Git would run a hook.
  GIT_OPTIONAL_LOCKS: "0",
  GIT_PAGER: "cat",
};

/** Settings of a repository that name programs, matched by the ends of their names. */
const programSetting =
  /^(filter\..*\.(clean|smudge|process)|diff\.(.*\.)?(command|textconv|external)|core\.(fsmonitor|hookspath|pager|sshcommand|askpass|gitproxy|alternaterefscommand)|pager\..*|gpg\.(.*\.)?program|submodule\..*\.ignore|merge\..*\.driver|(man|browser)\..*\.(cmd|path)|help\.browser|lfs\.(extension|customtransfer)\..*)$/i;
/** The settings that the list above and the variables turn off. */
const disabledSetting =
  /^(core\.(fsmonitor|hookspath|pager|sshcommand|askpass|gitproxy|alternaterefscommand)|pager\..*|gpg\..*)$/i;
/** Settings of a repository that name a file whose content Git may show. */
const fileSetting = /^(blame\.ignorerevsfile|mailmap\.file|core\.(excludesfile|attributesfile)|diff\.orderfile)$/i;
/** The settings that Git LFS installs. */
const trustedSettings: ReadonlySet<string> = new Set([
  "filter.lfs.clean\ngit-lfs clean -- %f",
  "filter.lfs.smudge\ngit-lfs smudge -- %f",
  "filter.lfs.process\ngit-lfs filter-process",
]);

export type GitFolder = {
  /** Why Git may run programs here although it only reads; null if it runs none. */
  readonly risk: string | null;
  /** Whether everything that Git reads is below the root. */
  readonly isBelow: boolean;
};

const timeoutMs = 5_000;
const execGit = promisify(execFile);

/** Asks Git itself, which runs no other program for these questions. @param folder a real path. @param root a real path */
export async function inspectGitFolder(folder: string, root: string): Promise<GitFolder> {
  const git = await openGit(folder, root);
  if ("refused" in git) return { risk: git.refused, isBelow: false };
  const { runGit, repositorySettings, risk } = git;
  try {
    const paths = await runGit("rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir");
    const [own = "", common = ""] = paths.trimEnd().split("\n");
    // This fails in a repository without a worktree, and in the folder `.git`.
    const top = (await runGit("rev-parse", "--path-format=absolute", "--show-toplevel")).trimEnd();
    return {
      risk: risk ?? (await findSubmoduleRisk(runGit, top)),
      isBelow: await isBelow(root, { top, own, common }, repositorySettings),
    };
  } catch (error) {
    // Without a repository, there is nothing to run or to read. After any other failure, assume that Git may read anything.
    return { risk, isBelow: isWithoutRepository(error) };
  }
}

type OpenGit = {
  /** Runs Git in the folder, with the settings that turn programs off, and returns its output. */
  readonly runGit: (...args: readonly string[]) => Promise<string>;
  /** The configuration that applies in the folder. */
  readonly repositorySettings: readonly Setting[];
  /** Why Git may run programs here although it only reads. */
  readonly risk: string | null;
};

/** Finds the Git that is installed on this machine, and reads a folder's configuration; `refused` says why that failed. */
async function openGit(
  folder: string,
  root: string,
  signal?: AbortSignal,
): Promise<OpenGit | { readonly refused: string }> {
  const git = findProgram("git", root);
  if (git === null || git.isBelow) return { refused: "Git is not installed outside of the folder" };
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, LANG: "C", ...quietGit };
  const limits = { timeout: timeoutMs, maxBuffer: 4 * 1024 * 1024, ...(signal === undefined ? {} : { signal }) };
  const runGit = async (...args: readonly string[]) =>
    (await execGit(git.path, args, { cwd: folder, env, ...limits })).stdout;
  try {
    const repositorySettings = parseSettings(
      await runGit("config", "--list", "--show-scope", "--show-origin", "--includes", "-z"),
    );
    return { runGit, repositorySettings, risk: findRisk(repositorySettings, root) };
  } catch {
    return { refused: "Git cannot list its configuration here" };
  }
}

/** The branch of a folder, and how many files differ from its last commit. */
export type GitState = {
  /** At most 100 characters, without blanks and control characters; empty if no branch is checked out. */
  readonly branch: string;
  /** Absent if it was not requested, or if Git took too long. */
  readonly changed?: number;
};

/**
 * Reads the state of a folder's repository, within 5 seconds. After that, or when the signal is aborted, Git is killed.
 * @param root a real path
 * @returns null if there is no repository, if Git could run programs that the repository names, or if Git took too long
 */
export async function readGitState(
  root: string,
  { countChanges, signal }: { readonly countChanges: boolean; readonly signal: AbortSignal },
): Promise<GitState | null> {
  let state: GitState | null = null;
  try {
    const git = await openGit(root, root, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]));
    if ("refused" in git || git.risk !== null) return null;
    const shown = await git.runGit("branch", "--show-current");
    state = { branch: shown.slice(0, maxBranchCharacters).replace(/[\p{C}\p{Z}]/gu, "") };
    if (!countChanges) return state;
    // An option, because .gitmodules overrides the setting, and Git would then run itself in a submodule.
    const status = await git.runGit("status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=dirty");
    return { ...state, changed: status.split("\n").length - 1 };
  } catch {
    // The result has what Git has reported so far.
    return state;
  }
}

const maxBranchCharacters = 100;

/** Git's messages are in English, because `openGit` sets LANG. */
function isWithoutRepository(error: unknown): boolean {
  const { code, stderr } = error as { readonly code?: unknown; readonly stderr?: unknown };
  return code === 128 && typeof stderr === "string" && stderr.startsWith("fatal: not a git repository");
}

type Setting = {
  /** The scope. `local` and `worktree` are settings of the repository itself. */
  readonly scope: string;
  /** The file with the setting, relative to the top of the worktree. */
  readonly origin: string;
  readonly name: string;
  readonly value: string;
};

/** @param listed scope, origin and setting in turn, each terminated by NUL: `local`, `file:.git/config`, `core.pager\nless` */
function parseSettings(listed: string): readonly Setting[] {
  const parts = listed.split("\0");
  const found: Setting[] = [];
  for (let at = 0; at + 2 < parts.length; at += 3) {
    const [scope = "", origin = "", setting = ""] = parts.slice(at, at + 3);
    const end = setting.indexOf("\n");
    const [name, value] = end === -1 ? [setting, ""] : [setting.slice(0, end), setting.slice(end + 1)];
    found.push({ scope, origin: origin.replace(/^file:/, ""), name, value });
  }
  return found;
}

/** Whether `git-lfs` is outside of the folder: `npx` puts the folder's `node_modules/.bin` first in PATH. */
function isLfsOfMachine(root: string): boolean {
  return findProgram("git-lfs", root)?.isBelow !== true;
}

function isRepositorySetting({ scope }: Setting): boolean {
  return scope === "local" || scope === "worktree";
}

function findRisk(all: readonly Setting[], root: string): string | null {
  const startingSetting = all.find(
    (setting) =>
      isRepositorySetting(setting) &&
      programSetting.test(setting.name) &&
      !(trustedSettings.has(`${setting.name}\n${setting.value}`) && isLfsOfMachine(root)) &&
      !disabledSetting.test(setting.name),
  );
  if (startingSetting !== undefined) return `this repository's configuration sets ${startingSetting.name}`;
  const isQuiet = all.some(({ scope, name }) => scope === "command" && name === "core.hookspath");
  return isQuiet ? null : "this version of Git cannot be configured to run no programs";
}

/** Git inspects only submodules whose `ignore` demands it. It reads .gitmodules from the first of three sources that has it. */
async function findSubmoduleRisk(runGit: OpenGit["runGit"], top: string): Promise<string | null> {
  const file = join(top, ".gitmodules");
  const sources = [
    ...(existsSync(file) ? [["--file", file]] : []),
    ["--blob", ":.gitmodules"],
    ["--blob", "HEAD:.gitmodules"],
  ];
  const risks = await Promise.all(sources.map((source) => findIgnoreRisk(runGit, source)));
  return risks.find((risk) => risk !== null) ?? null;
}

async function findIgnoreRisk(runGit: OpenGit["runGit"], source: readonly string[]): Promise<string | null> {
  try {
    await runGit("config", ...source, "--get-regexp", "^submodule\\..*\\.ignore$");
    return "this repository's .gitmodules configures how submodules are inspected";
  } catch (error) {
    // Git found no such setting, or no .gitmodules.
    const { code, stderr } = error as { readonly code?: unknown; readonly stderr?: unknown };
    if (code === 1 || String(stderr).startsWith("error: unable to resolve config blob")) return null;
    return "Git cannot read this repository's .gitmodules";
  }
}

type GitPaths = { readonly top: string; readonly own: string; readonly common: string };

async function isBelow(root: string, { top, own, common }: GitPaths, all: readonly Setting[]): Promise<boolean> {
  try {
    const [real, ownReal] = [await realpath(common), await realpath(own)];
    // A worktree's repository is elsewhere, and that repository must list the worktree.
    const home = findMainWorktree(top) === top ? root : dirname(real);
    const isPermitted = (path: string) => isWithinFolder(root, path) || isWithinFolder(home, path);
    const namedPaths = all.filter(isRepositorySetting).flatMap(({ origin, name, value }) => [
      resolve(top, origin),
      // `~` and `%(prefix)` point elsewhere.
      ...(fileSetting.test(name) ? [/^[~%:]/.test(value) ? "/" : resolve(top, value)] : []),
    ]);
    return (
      isWithinFolder(root, await realpath(top)) &&
      [real, ownReal].every((path) => isWithinFolder(home, path)) &&
      [...new Set(namedPaths)].every((path) => isPermitted(resolveOrMissing(path))) &&
      !existsSync(join(real, "objects/info/alternates")) &&
      (await areLinksAllowed(isPermitted, real)) &&
      (isWithinFolder(real, ownReal) || (await areLinksAllowed(isPermitted, ownReal)))
    );
  } catch {
    return false;
  }
}

/** Resolves a path. A missing file has no content to show, so its path is returned unresolved. */
function resolveOrMissing(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return path;
    throw error;
  }
}

/** Folders whose content Git never shows. */
const unreadFolders: ReadonlySet<string> = new Set(["hooks", "lfs", "modules", "annex"]);
const maxEntries = 100_000;

/** Whether all links in a repository point to permitted paths: its objects and references may be links, even one by one. */
async function areLinksAllowed(isPermitted: (path: string) => boolean, repository: string): Promise<boolean> {
  let remaining = maxEntries;
  const folders = [repository];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await readdir(folder, { withFileTypes: true });
    remaining -= entries.length;
    if (remaining < 0) return false;
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (entry.isSymbolicLink() && !isPermitted(resolveOrMissing(path))) return false;
      if (entry.isDirectory() && (folder !== repository || !unreadFolders.has(entry.name))) folders.push(path);
    }
  }
  return true;
}
