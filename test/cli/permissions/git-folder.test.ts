/**
 * Repositories that somebody else made: what Git would run there, or read from elsewhere, is asked about.
 */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { quietGit } from "../../../src/cli/permissions/inspect-git-folder.js";
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
