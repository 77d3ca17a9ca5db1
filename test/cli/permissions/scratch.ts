/**
 * A scratch folder in which lines of a shell are run, and what was seen after each.
 *
 * The lines are hostile, and the tests may run as root: they run in bubblewrap, without capabilities and with nothing but the
 * scratch folder to write. Without bubblewrap they are not run at all.
 */
import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { quietGit } from "../../../src/cli/permissions/inspect-git-folder.js";
import { onlyReadsGit } from "../../../src/cli/permissions/quiet-git-shell.js";

export type LineEffects = {
  /** The canary was started. */
  readonly ran: boolean;
  /** The victim is gone, or empty. */
  readonly deleted: boolean;
  /** Another file changed, or is new, outside of Git's own. */
  readonly wrote: boolean;
  /** The text of a file outside of the folder is in the output. */
  readonly readOutside: boolean;
  /** The text of `.env` is in the output. */
  readonly readClosed: boolean;
};

export type Scratch = {
  /** Holds `root`, and beside it `bin`, `home` and `outside`. */
  readonly base: string;
  readonly root: string;
  readonly run: (line: string) => Promise<LineEffects>;
};

const files: { readonly [path: string]: string } = {
  "bin/canary": '#!/bin/sh\necho "$0 $*" >> "$(dirname "$0")/../log"\n',
  "home/.gitconfig": "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n",
  "home/x": "at home\n",
  "outside/secret.txt": "OUTSIDE-SECRET\n",
  "root/.env": "CLOSED-SECRET\n",
  "root/x.env": "nothing\n",
  "root/a.txt": "one\ntwo b:c\n",
  "root/b.txt": "one\nthree\n",
  "root/victim.txt": "still here\n",
  "root/tracked.txt": "tracked\n",
  "root/list.txt": "victim.txt\n",
  "root/names.txt": "../outside/secret.txt\0",
  "root/big.txt": "some line of text\n".repeat(6_000),
  "root/src/x.js": "// one\n",
  "root/package.json": '{ "name": "x", "scripts": { "test": "true", "build": "true", "delete": "rm victim.txt" } }\n',
  "root/sub/package.json": '{ "name": "y", "scripts": { "test": "canary" } }\n',
  "root/sub/Makefile": "all:\n\tcanary\n",
  "root/Makefile": "all:\n\tcanary\n",
  "root/evil.mk": "all:\n\tcanary\n",
  "root/delete.mk": "all:\n\trm victim.txt\n",
  "root/evil.sh": "#!/bin/sh\ncanary\n",
  "root/delete.sh": "#!/bin/sh\nrm victim.txt\n",
  "root/evil.js": 'require("child_process").execSync("canary");\n',
  "root/evil.py": 'import os; os.system("canary")\n',
  "root/py/evil.py": 'import os; os.system("canary")\n',
  "root/evil.pm": 'system("canary"); 1;\n',
  "root/bin/tool": "#!/bin/sh\ncanary\n",
  "root/rgrc": "--pre=canary\n",
  "root/names.opt": "../outside/secret.txt\n",
  "root/packages/pkg/x.js": "// two\n",
  "root/node_modules/@acme/y.js": "// three\n",
};

const execute = promisify(execFile);

/** Makes a scratch folder as a template, and runs each line in a copy of it that no other line has changed. */
export function createScratch(): Scratch & { readonly remove: () => void } {
  const base = mkdtempSync(join(tmpdir(), "pawl-corpus-"));
  const template = join(base, "template");
  const root = join(template, "root");
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(template, path, ".."), { recursive: true });
    writeFileSync(join(template, path), text);
    if (/^#!/.test(text)) chmodSync(join(template, path), 0o755);
  }
  symlinkSync("../outside", join(root, "link"));
  for (const name of ["link-file", "lsecret", "[x]z", "[z", "é"])
    symlinkSync("../outside/secret.txt", join(root, name));
  symlinkSync("../../../outside/secret.txt", join(root, "packages/pkg/link-file"));
  symlinkSync("../../packages/pkg", join(root, "node_modules/@acme/pkg"));
  symlinkSync("packages/pkg", join(root, "short"));
  const git = (...args: readonly string[]) =>
    execFileSync("git", args, { cwd: root, env: createEnvironment(template), stdio: "pipe" });
  git("init", "-q", "--template=");
  git("add", "a.txt", "tracked.txt", "package.json");
  git("commit", "-qm", "one");
  writeFileSync(join(root, "a.txt"), "one\ntwo b:c\nfour\n");
  git("commit", "-qam", "two");
  writeFileSync(join(root, "a.txt"), "one\ntwo b:c\nfive\n");
  execFileSync("tar", ["-cf", "x.tar", "b.txt"], { cwd: root });
  git("init", "-q", "--template=", "--bare", "bare");
  git("--git-dir=bare", "config", "core.bare", "false");
  git("--git-dir=bare", "config", "core.worktree", ".");
  git("--git-dir=bare", "config", "core.fsmonitor", "canary");
  createMergedRepository(join(root, "merged"), template);
  let copyCount = 0;
  const unchanged: { readonly copy: string; readonly stamps: string }[] = [];
  async function makeCopy() {
    copyCount += 1;
    const copy = join(base, `copy-${copyCount}`);
    await execute("cp", ["-a", template, copy]);
    return { copy, stamps: stampsOf(copy) };
  }
  return {
    base: template,
    root,
    remove: () => rmSync(base, { recursive: true, force: true }),
    async run(line) {
      const { copy, stamps } = unchanged.pop() ?? (await makeCopy());
      const before = snapshot(copy);
      const quiet = (await onlyReadsGit(line, join(copy, "root"))) ? quietGit : {};
      const output = await runIsolated(line, copy, quiet);
      const after = snapshot(copy);
      const victim = "root/victim.txt";
      const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
        (path) => path !== victim && path !== "log" && before.get(path) !== after.get(path),
      );
      const effects = {
        ran: after.has("log"),
        deleted: (after.get(victim) ?? "") === "",
        wrote: changed.length > 0,
        readOutside: output.includes("OUTSIDE-SECRET"),
        readClosed: output.includes("CLOSED-SECRET"),
      };
      if (stampsOf(copy) === stamps) unchanged.push({ copy, stamps });
      else await execute("rm", ["-rf", copy]);
      return effects;
    },
  };
}

/** What tells whether anything in a folder was written, made, removed, or made accessible to others. */
function stampsOf(folder: string): string {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted();
  return ["", ...paths]
    .map((path) => {
      const { ino, mode, size, ctimeMs } = lstatSync(join(folder, path));
      return `${path} ${ino} ${mode} ${size} ${ctimeMs}`;
    })
    .join("\n");
}

/** A repository whose last commit is a merge, with a merge driver that starts the canary. */
function createMergedRepository(folder: string, base: string): void {
  mkdirSync(folder);
  const git = (...args: readonly string[]) =>
    execFileSync("git", args, { cwd: folder, env: createEnvironment(base), stdio: "pipe" });
  const commit = (text: string) => {
    writeFileSync(join(folder, "t"), text);
    git("add", "-A");
    git("commit", "-qm", text);
  };
  git("init", "-q", "--template=");
  writeFileSync(join(folder, ".gitattributes"), "* merge=evil\n");
  commit("base");
  git("checkout", "-qb", "other");
  commit("theirs");
  git("checkout", "-q", "main");
  commit("ours");
  git("merge", "-q", "-s", "ours", "other");
  git("config", "merge.evil.driver", "canary; true");
  git("config", "log.diffMerges", "remerge");
}

function createEnvironment(base: string): NodeJS.ProcessEnv {
  return {
    PATH: `${join(base, "bin")}:${process.env.PATH}`,
    HOME: join(base, "home"),
    LANG: "C.UTF-8",
    FILTER_BRANCH_SQUELCH_WARNING: "1",
    npm_config_update_notifier: "false",
    npm_config_offline: "true",
  };
}

function createIsolationArguments(base: string): readonly string[] {
  return [
    ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--bind", base, base],
    ...["--unshare-all", "--cap-drop", "ALL", "--die-with-parent", "--chdir", join(base, "root"), "--"],
  ];
}

/** Whether lines can be run where they can do no harm. */
export function canIsolate(): boolean {
  const base = mkdtempSync(join(tmpdir(), "pawl-corpus-"));
  mkdirSync(join(base, "root"));
  const { status } = spawnSync("bwrap", [...createIsolationArguments(base), "true"], { stdio: "ignore" });
  rmSync(base, { recursive: true });
  return status === 0;
}

/** Runs a line as the tool does: in bash, and without programs of the repository if its Git commands only read. */
function runIsolated(line: string, base: string, quiet: typeof quietGit): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn("bwrap", [...createIsolationArguments(base), "bash", "-c", line], {
      env: { ...createEnvironment(base), ...quiet },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (output += data));
    const killGroup = () => child.pid !== undefined && process.kill(-child.pid, "SIGKILL");
    const timer = setTimeout(killGroup, 20_000);
    child.once("close", () => {
      clearTimeout(timer);
      resolve(output);
    });
  });
}

/** The text of each file, without what Git and npm keep for themselves. */
function snapshot(base: string): ReadonlyMap<string, string> {
  const contents = new Map<string, string>();
  const folders = [base];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop())
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) {
        if (!/^(\.git|bare|home)$/.test(entry.name)) folders.push(path);
        if (folder.endsWith("root")) contents.set(`${relative(base, path)}/`, "");
      } else contents.set(relative(base, path), entry.isFile() ? readFileSync(path, "utf8") : "");
    }
  return contents;
}
