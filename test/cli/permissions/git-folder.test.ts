/**
 * Repositories that somebody else made: what Git would run there, or read from elsewhere, is asked about.
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { quietGit, readGitState } from "../../../src/cli/permissions/inspect-git-folder.js";
import { createPermissions } from "../../../src/cli/permissions/permissions.js";
import { verifies } from "../../verifies.js";

type Folder = {
  readonly root: string;
  readonly outside: string;
  readonly git: (...args: readonly string[]) => string;
  readonly write: (path: string, text: string) => void;
  readonly verdict: (command: string, deny?: readonly string[]) => Promise<string>;
};

/** A repository with one commit, and a folder next to it. */
function createFolder(): Folder {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "pawl-git-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [root, outside] = [join(base, "root"), join(base, "outside")];
  for (const path of [root, outside]) mkdirSync(path);
  const env = { PATH: process.env.PATH, HOME: base, LANG: "C" };
  const git = (...args: readonly string[]) =>
    execFileSync("git", args, { cwd: root, env, encoding: "utf8", stdio: "pipe" });
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write("../.gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n");
  git("init", "-q");
  write("t", "one\n");
  git("add", ".");
  git("commit", "-qm", "one");
  return {
    root,
    outside,
    git,
    write,
    async verdict(command, deny = []) {
      const permissions = createPermissions({
        allowAll: false,
        root,
        home: join(base, "home"),
        environment: { XDG_CONFIG_HOME: join(base, "config") },
        deny,
      });
      return (await permissions.decide({ tool: "shell", readOnly: false, input: { command } })).verdict;
    },
  };
}

test.each(["git log --help", "git status --hel"])(
  "%s asks: the viewer of manuals is configured",
  verifies("CHAT-2#rules"),
  async (line) => {
    const { verdict } = createFolder();
    expect(await verdict("git status")).toBe("allow");
    expect(await verdict(line)).toBe("ask");
  },
);

describe("a repository with a merge driver", verifies("CHAT-2#rules"), () => {
  function merged() {
    const folder = createFolder();
    const { git, write } = folder;
    write(".gitattributes", "* merge=evil\n");
    git("add", ".");
    git("commit", "-qm", "attributes");
    git("checkout", "-qb", "other");
    write("t", "theirs\n");
    git("commit", "-qam", "theirs");
    git("checkout", "-q", "main");
    write("t", "ours\n");
    git("commit", "-qam", "ours");
    git("merge", "-q", "-s", "ours", "other");
    return folder;
  }

  test.each(["git show --remerge-diff", "git log -p -m -1", "git status"])("asks before %s", async (line) => {
    const { git, verdict } = merged();
    expect(await verdict("git status")).toBe("allow");
    git("config", "merge.evil.driver", "touch PWNED; true");
    git("config", "log.diffMerges", "remerge");
    expect(await verdict(line)).toBe("ask");
  });

  test("of the person's own configuration asks only where a merge would be repeated", async () => {
    const { root, git, verdict } = merged();
    git("config", "--global", "merge.evil.driver", "touch PWNED; true");
    git("config", "log.diffMerges", "remerge");
    for (const line of ["git show --remerge-diff", "git show --remerge", "git log -p --diff-merges remerge"])
      expect(await verdict(line), line).toBe("ask");
    expect(await verdict("git log -p -m -1")).toBe("allow");
    const env = { PATH: process.env.PATH, HOME: dirname(root), ...quietGit };
    execFileSync("git", ["log", "-p", "-m", "-1"], { cwd: root, env });
    expect(existsSync(join(root, "PWNED"))).toBe(false);
  });
});

describe("a repository that reads from elsewhere", verifies("CHAT-2#rules"), () => {
  /** Another repository next to the folder, and the id of its commit. */
  function withOther() {
    const folder = createFolder();
    const { outside, git } = folder;
    git("init", "-q", outside);
    writeFileSync(join(outside, "s"), "OUTSIDE-SECRET\n");
    git("-C", outside, "add", ".");
    git("-C", outside, "commit", "-qm", "secret");
    return { ...folder, commit: git("-C", outside, "rev-parse", "HEAD").trim(), theirs: join(outside, ".git/objects") };
  }

  test("asks if it has no worktree, whose alternates are not looked at otherwise", async () => {
    const { git, write, verdict, commit, theirs } = withOther();
    write(".git/objects/info/alternates", `${theirs}\n`);
    expect(await verdict(`git show ${commit}`)).toBe("ask");
    git("config", "core.bare", "true");
    expect(git("show", commit)).toContain("OUTSIDE-SECRET");
    expect(await verdict(`git show ${commit}`)).toBe("ask");
  });

  test.each(["objects", "packs", "loose objects", "references"])(
    "asks if its %s are links that lead out",
    async (what) => {
      const { root, outside, git, verdict, commit, theirs } = withOther();
      if (what === "objects") {
        renameSync(join(root, ".git/objects"), join(outside, "objects"));
        symlinkSync(join(outside, "objects"), join(root, ".git/objects"));
      }
      if (what === "packs") {
        git("-C", outside, "repack", "-adq");
        rmSync(join(root, ".git/objects/pack"), { recursive: true });
        symlinkSync(join(theirs, "pack"), join(root, ".git/objects/pack"));
        expect(git("show", commit)).toContain("OUTSIDE-SECRET");
      }
      if (what === "loose objects") symlinkSync(join(theirs, commit.slice(0, 2)), join(root, ".git/objects/zz"));
      if (what === "references")
        symlinkSync(join(outside, ".git/refs/heads/main"), join(root, ".git/refs/heads/their"));
      expect(await verdict("git log -1")).toBe("ask");
    },
  );

  test.each([
    ["blame.ignoreRevsFile", "git blame t"],
    ["mailmap.file", "git log -1"],
    ["core.excludesFile", "git status"],
    ["core.attributesFile", "git diff"],
    ["diff.orderFile", "git diff"],
    ["include.path", "git remote -v"],
  ])("asks if its setting %s names a file outside, and not if the file is in the folder", async (name, line) => {
    const { outside, git, write, verdict } = createFolder();
    writeFileSync(join(outside, "file"), '[remote "x"]\n\turl = https://ada:OUTSIDE-SECRET@example.org\n');
    write("file", name === "include.path" ? '[remote "x"]\n\turl = https://example.org\n' : "");
    git("config", name, name === "include.path" ? "../file" : "file");
    expect(await verdict(line)).toBe("allow");
    for (const path of [join(outside, "file"), name === "include.path" ? "../../outside/file" : "../outside/file"]) {
      git("config", name, path);
      expect(await verdict(line), path).toBe("ask");
    }
  });

  test("runs in a worktree that its repository knows, and where there is no repository", async () => {
    const { root, git, verdict } = createFolder();
    git("worktree", "add", "-q", join(root, "../tree"));
    const at = (folder: string) =>
      createPermissions({
        allowAll: false,
        root: realpathSync(folder),
        home: join(root, "../home"),
        environment: { XDG_CONFIG_HOME: join(root, "../config") },
      }).decide({ tool: "shell", readOnly: false, input: { command: "git log -1" } });
    expect(await at(join(root, "../tree"))).toMatchObject({ verdict: "allow" });
    rmSync(join(root, ".git"), { recursive: true });
    expect(await verdict("git log -1")).toBe("allow");
  });
});

test.each(["git status -vv", "git status -v -v", "git status --verb --verbose", "git status -svv"])(
  "%s asks if a rule closes a path: it shows changes",
  verifies("CHAT-2#rules"),
  async (line) => {
    const { verdict } = createFolder();
    expect(await verdict(line)).toBe("allow");
    expect(await verdict("git status -s", ["read_file(t)"])).toBe("allow");
    expect(await verdict(line, ["read_file(t)"])).toBe("ask");
  },
);

describe("a repository with a submodule", verifies("CHAT-2#rules"), () => {
  /** A filter in the submodule's own configuration runs if Git looks into the submodule. */
  function withSubmodule(gitmodules: string) {
    const folder = createFolder();
    const { root, outside, git, write } = folder;
    git("init", "-q", outside);
    writeFileSync(join(outside, "s"), "s\n");
    git("-C", outside, "add", ".");
    git("-C", outside, "commit", "-qm", "s");
    git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", outside, "sub");
    write(".gitmodules", `${gitmodules}\n`);
    git("add", ".");
    git("commit", "-qm", "sub");
    git("-C", "sub", "config", "filter.x.clean", `touch ${join(root, "PWNED")}; cat`);
    write(".git/modules/sub/info/attributes", "* filter=x\n");
    // Of the same size, so that Git compares the content.
    write("sub/s", "t\n");
    return folder;
  }
  const hasRun = ({ root }: Folder) => existsSync(join(root, "PWNED"));
  const lines = '[submodule "sub"]\n\tpath = sub\n\turl = ../outside';

  test.each([
    ["a line of its own", `${lines}\n\tignore = none`, []],
    ["the line of its section", `${lines}\n[submodule "sub"] ignore = none`, []],
    ["a file that only the index has", `${lines}\n\tIgnore=none`, ["rm .gitmodules"]],
    [
      "a file that only the last commit has",
      `${lines}\n\tignore = none`,
      ["rm .gitmodules", "git rm -q --cached .gitmodules"],
    ],
    ["a file that Git cannot read", `${lines}\n\tignore = none`, ["printf '[' >> .gitmodules"]],
  ])("asks if .gitmodules has Git look into it, by %s", async (_where, gitmodules, commands) => {
    const folder = withSubmodule(gitmodules);
    for (const command of commands) execFileSync("sh", ["-c", command], { cwd: folder.root });
    expect(await folder.verdict("git status")).toBe("ask");
    await readGitState(folder.root, { countChanges: true, signal: AbortSignal.timeout(60_000) });
    expect(hasRun(folder)).toBe(false);
  });

  test("runs where .gitmodules leaves that to Pawl", async () => {
    const folder = withSubmodule(lines);
    expect(await folder.verdict("git status")).toBe("allow");
    expect(hasRun(folder)).toBe(false);
    folder.git("status");
    expect(hasRun(folder), "it runs without Pawl").toBe(true);
  });
});

describe("a repository with Git LFS", verifies("CHAT-2#rules"), () => {
  function withLfs() {
    const folder = createFolder();
    folder.git("config", "filter.lfs.clean", "git-lfs clean -- %f");
    return folder;
  }

  test("asks if the folder itself has the program", async () => {
    const { root, write, verdict } = withLfs();
    expect(await verdict("git status")).toBe("allow");
    const program = "node_modules/.bin/git-lfs";
    write(program, "#!/bin/sh\n");
    chmodSync(join(root, program), 0o755);
    vi.stubEnv("PATH", `${dirname(join(root, program))}:${process.env.PATH}`);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await verdict("git status")).toBe("ask");
  });

  test.each(["lfs.extension.x.clean", "lfs.customtransfer.x.path"])(
    "asks if its setting %s names a program",
    async (name) => {
      const { git, verdict } = withLfs();
      git("config", name, "touch PWNED");
      expect(await verdict("git status")).toBe("ask");
    },
  );
});

describe("the state of a repository for the model", verifies("COST-3", "SEC-7"), () => {
  const signal = AbortSignal.timeout(60_000);

  test("is its branch and the number of changed files", async () => {
    const { root, git, write } = createFolder();
    expect(await readGitState(root, { countChanges: true, signal })).toEqual({ branch: "main", changed: 0 });
    write("t", "two\n");
    write("new/file", "\n");
    expect(await readGitState(root, { countChanges: true, signal })).toEqual({ branch: "main", changed: 2 });
    git("checkout", "-q", "-b", `long/${"x".repeat(150)}`);
    expect(await readGitState(root, { countChanges: false, signal })).toEqual({ branch: `long/${"x".repeat(95)}` });
    git("checkout", "-q", "--detach");
    expect(await readGitState(root, { countChanges: false, signal })).toEqual({ branch: "" });
  });

  test("is not read if reading it would run a program of the repository, or without one", async () => {
    const { root, git } = createFolder();
    git("config", "filter.x.clean", "touch PWNED");
    expect(await readGitState(root, { countChanges: true, signal })).toBeNull();
    rmSync(join(root, ".git"), { recursive: true });
    expect(await readGitState(root, { countChanges: true, signal })).toBeNull();
  });

  test("is given up at once when the run is aborted, and Git is killed", async () => {
    const { root } = createFolder();
    rmSync(join(root, ".git/HEAD"));
    execFileSync("mkfifo", [join(root, ".git/HEAD")]);
    const controller = new AbortController();
    const state = readGitState(root, { countChanges: true, signal: controller.signal });
    // Opened when Git has opened it as well, and waits for its end.
    const writer = await open(join(root, ".git/HEAD"), "w");
    onTestFinished(() => writer.close());
    controller.abort();
    expect(await state).toBeNull();
    const writeOn = async () => {
      for (;;) await writer.write("x");
    };
    await expect(writeOn(), "nobody reads any more").rejects.toMatchObject({ code: "EPIPE" });
  });
});
