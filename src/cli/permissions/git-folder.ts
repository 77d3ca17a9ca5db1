/**
 * What a repository makes Git run when it only reads. Its `.git/config` is a file like any other: whoever wrote the folder may
 * have written it, and it can name programs.
 *
 * 1. Lines whose Git commands only read run with the settings below, which turn off what can be turned off by its name.
 * 2. Programs of other names (filters, text conversions, external diffs) stay. A repository that names one asks.
 */
import { execFile } from "node:child_process";
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { mainWorktree } from "./project.js";
import { findProgram, isIn } from "./system-program.js";

const settings: readonly (readonly [name: string, value: string])[] = [
  ["core.fsmonitor", "false"],
  ["core.hooksPath", "/dev/null"],
  ["core.pager", "cat"],
  ["gpg.program", "false"],
  ["gpg.openpgp.program", "false"],
  ["gpg.ssh.program", "false"],
  ["gpg.x509.program", "false"],
  ["log.showSignature", "false"],
  // Git looks into a submodule by running itself there, with the settings of the submodule.
  ["diff.ignoreSubmodules", "dirty"],
  ["diff.submodule", "short"],
  ["status.submoduleSummary", "false"],
  ["submodule.recurse", "false"],
  // A folder can look like a repository without a .git that a person would see.
  ["safe.bareRepository", "explicit"],
];

/** Variables for a line whose Git commands only read. */
export const quietGit: { readonly [name: string]: string } = {
  GIT_CONFIG_COUNT: String(settings.length),
  ...Object.fromEntries(
    settings.flatMap(([name, value], at) => [
      [`GIT_CONFIG_KEY_${at}`, name],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ]),
  ),
  // No helper for a remote is started, also not to fetch what a partial clone lacks.
  GIT_ALLOW_PROTOCOL: "none",
  GIT_NO_LAZY_FETCH: "1",
  // Git does not write the index, after which it would run a hook.
  GIT_OPTIONAL_LOCKS: "0",
  GIT_PAGER: "cat",
};

/** Settings of a repository that name programs, by the ends of their names. */
const namesProgram =
  /^(filter\..*\.(clean|smudge|process)|diff\.(.*\.)?(command|textconv|external)|core\.(fsmonitor|hookspath|pager|sshcommand|askpass|gitproxy|alternaterefscommand)|pager\..*|gpg\.(.*\.)?program|submodule\..*\.ignore|merge\..*\.driver)$/i;
/** What the settings above, and the variables, turn off. */
const turnedOff =
  /^(core\.(fsmonitor|hookspath|pager|sshcommand|askpass|gitproxy|alternaterefscommand)|pager\..*|gpg\..*|merge\..*)$/i;
/** Git LFS as it installs itself. */
const wellKnown: ReadonlySet<string> = new Set([
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
const run = promisify(execFile);

/** Asks Git itself, which runs nothing for these questions. Both are real paths. */
export async function lookAtGit(folder: string, root: string): Promise<GitFolder> {
  const git = findProgram("git", root);
  if (git === null || git.isBelow) return { risk: "Git is not installed outside of the folder", isBelow: false };
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, LANG: "C", ...quietGit };
  const ask = async (...args: readonly string[]) =>
    (await run(git.path, args, { cwd: folder, env, timeout: timeoutMs, maxBuffer: 4 * 1024 * 1024 })).stdout;
  let listed: string;
  try {
    listed = await ask("config", "--list", "--show-scope", "--includes", "-z");
  } catch {
    return { risk: "Git does not say what its configuration is here", isBelow: false };
  }
  const risk = riskOf(listed);
  try {
    const paths = await ask("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir");
    const [top = "", common = ""] = paths.trimEnd().split("\n");
    return { risk: risk ?? submoduleRisk(top), isBelow: isBelow(root, top, common) };
  } catch {
    // There is no repository, so there is nothing of one to run or to read.
    return { risk, isBelow: true };
  }
}

/** @param listed scope and setting in turn, each ended by NUL: `local`, `core.pager\nless` */
function riskOf(listed: string): string | null {
  const parts = listed.split("\0");
  let isQuiet = false;
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [scope = "", setting = ""] = [parts[at], parts[at + 1]];
    const [name = "", value = ""] = setting.split("\n", 2);
    if (scope === "command" && name === "core.hookspath") isQuiet = true;
    if (scope !== "local" && scope !== "worktree") continue;
    const isProgram = namesProgram.test(name) && !wellKnown.has(`${name}\n${value}`);
    if (isProgram && !turnedOff.test(name)) return `this repository's configuration sets ${name}`;
  }
  return isQuiet ? null : "this version of Git cannot be told to run no programs";
}

/** Only a submodule that says so itself is looked into. */
function submoduleRisk(top: string): string | null {
  try {
    return /^\s*ignore\s*=/im.test(readFileSync(join(top, ".gitmodules"), "utf8"))
      ? "this repository's .gitmodules says how submodules are looked into"
      : null;
  } catch {
    return null;
  }
}

function isBelow(root: string, top: string, common: string): boolean {
  try {
    const real = realpathSync(common);
    // A worktree's repository is elsewhere, and it has to know the worktree.
    const home = mainWorktree(top) === top ? root : dirname(real);
    const inner = ["objects", "refs"].map((name) => realpathSync(join(real, name)));
    return (
      isIn(root, realpathSync(top)) &&
      [real, ...inner].every((path) => isIn(home, path)) &&
      !existsSync(join(real, "objects/info/alternates"))
    );
  } catch {
    return false;
  }
}
