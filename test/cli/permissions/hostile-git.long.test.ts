/**
 * `pawl run` in a repository whose configuration names programs, outside the sandbox, with rules that allow Git to read: nothing
 * that the repository names runs. Each program leaves a canary.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { startProviderServer } from "../../models/provider-server.js";
import { verifies } from "../../verifies.js";
import { createWorld, parseJsonLines, type World } from "../pawl.js";

const author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgSign=false"];

function repository() {
  const world = createWorld({ "a.txt": "one\n", "b.txt": "two\n" });
  const { root, base } = world;
  const canaries = join(base, "canaries");
  mkdirSync(canaries);
  const program = (name: string) => {
    const path = join(base, "programs", name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `#!/bin/sh\n/usr/bin/touch '${join(canaries, name)}'\n/bin/cat\n`);
    chmodSync(path, 0o755);
    return path;
  };
  const git = (...args: readonly string[]) => execFileSync("git", [...author, ...args], { cwd: root, stdio: "pipe" });
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "One");
  writeFileSync(join(root, "a.txt"), "one\nchanged\n");
  return {
    world,
    git,
    program,
    set: (name: string, value: string) => git("config", name, value),
    ran: () => readdirSync(canaries).sort(),
  };
}

/** Programs that Pawl turns off by the names of their settings. */
function nameProgramsByName({ program, set, world: { root } }: ReturnType<typeof repository>): void {
  set("core.fsmonitor", program("fsmonitor"));
  set("core.pager", program("pager"));
  set("pager.status", program("pager-of-status"));
  set("pager.log", program("pager-of-log"));
  set("core.editor", program("editor"));
  set("core.askPass", program("askpass"));
  set("core.sshCommand", program("ssh"));
  set("core.alternateRefsCommand", program("alternates"));
  set("alias.st", `!${program("alias")}`);
  // An alias cannot take the place of a command of Git itself.
  set("alias.status", `!${program("alias-of-status")}`);
  set("gpg.program", program("gpg"));
  set("log.showSignature", "true");
  set("credential.helper", `!${program("credential")}`);
  set("sequence.editor", program("sequence"));
  set("core.hooksPath", join(root, ".hooks"));
  mkdirSync(join(root, ".hooks"));
  for (const hook of ["post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout"]) {
    const path = program(`hook-${hook}`);
    for (const folder of [".hooks", ".git/hooks"]) {
      writeFileSync(join(root, folder, hook), `#!/bin/sh\nexec ${path} < /dev/null\n`);
      chmodSync(join(root, folder, hook), 0o755);
    }
  }
}

/** The objects that a partial clone lacks are fetched when a command needs them. */
function makePartial({ set, git, program, world: { root } }: ReturnType<typeof repository>): void {
  set("extensions.partialClone", "origin");
  set("remote.origin.promisor", "true");
  set("remote.origin.url", "ssh://host.invalid/x");
  set("remote.origin.uploadpack", program("uploadpack"));
  const blob = git("rev-parse", "HEAD:b.txt").toString().trim();
  rmSync(join(root, ".git/objects", blob.slice(0, 2), blob.slice(2)));
}

const reading = [
  "git status",
  "git status -sb",
  "git log -p -1",
  "git diff",
  "git show --stat HEAD",
  "git blame a.txt",
  "git grep one",
  "git branch -vv",
  "git ls-files",
];
const rules = ["status", "log", "diff", "show", "blame", "grep", "branch", "ls-files"].flatMap((name) => [
  "--allow",
  `shell(git ${name} *)`,
]);

/** Runs the lines in one `pawl run` each, and gives the results of the calls. */
async function runLines(world: World, lines: readonly string[]) {
  mkdirSync(join(world.base, ".config/pawl"), { recursive: true });
  writeFileSync(join(world.base, ".config/pawl/pawl.config.json"), JSON.stringify({ shell: { sandbox: "off" } }));
  const calls = lines.map((command) => ({ type: "answer" as const, calls: [{ name: "shell", input: { command } }] }));
  const server = await startProviderServer("openai-chat", [...calls, { type: "answer", text: "Done." }]);
  onTestFinished(() => server.close());
  const words = [
    "run",
    "--json",
    "--model",
    "openai-compatible/test",
    "--allow-shell",
    "--session",
    "s",
    ...rules,
    "Look",
  ];
  const { code, stderr } = await world.pawl(words, { env: { OPENAI_BASE_URL: server.baseURL } });
  expect(code, stderr).toBe(0);
  expect(stderr).toContain("Commands are not sandboxed");
  return parseJsonLines((await world.pawl(["sessions", "show", "s", "--json"])).stdout)
    .filter(({ type }) => type === "tool_result")
    .map(({ isError, output }) => ({ isError, text: JSON.stringify(output) }));
}

describe(
  "with rules that let Git read, outside the sandbox, nothing of a hostile repository runs",
  verifies("SEC-7"),
  () => {
    test("by core.fsmonitor, pagers, aliases, hooks, gpg.program and credential.helper, and Git reads", async () => {
      const made = repository();
      nameProgramsByName(made);
      spawnSync("git", ["st"], { cwd: made.world.root });
      spawnSync("git", ["status"], { cwd: made.world.root });
      expect(made.ran(), "they would run without Pawl").toEqual(expect.arrayContaining(["alias", "fsmonitor"]));
      for (const name of made.ran()) rmSync(join(made.world.base, "canaries", name));
      const results = await runLines(made.world, reading);
      expect(made.ran()).toEqual([]);
      expect(results).toHaveLength(reading.length);
      expect(results.filter(({ isError }) => isError)).toEqual([]);
      expect(results[3]?.text).toContain("+changed");
      const others = await runLinesAgain(made.world, [
        "git st",
        "git -c core.pager=x log",
        "git fetch",
        "git commit -m x",
      ]);
      expect(others.every(({ isError }) => isError)).toBe(true);
      expect(made.ran()).toEqual([]);
    });

    test("by core.sshCommand or a remote's program, to fetch what a partial clone lacks", async () => {
      const made = repository();
      nameProgramsByName(made);
      makePartial(made);
      await runLines(made.world, ["git status", "git log -p -1", "git show HEAD:b.txt", "git grep two HEAD"]);
      expect(made.ran()).toEqual([]);
    });

    test.each([
      ["a filter", "filter.x.clean", "* filter=x\n"],
      ["a process of a filter", "filter.x.process", "* filter=x\n"],
      ["a text conversion", "diff.x.textconv", "* diff=x\n"],
      ["a driver of diffs", "diff.x.command", "* diff=x\n"],
      ["an external diff", "diff.external", ""],
    ])("by %s: the line asks instead, and no rule changes that", async (_what, name, attributes) => {
      const made = repository();
      made.set(name, made.program("named"));
      writeFileSync(join(made.world.root, ".gitattributes"), attributes);
      const results = await runLines(made.world, ["git status", "git diff", "git log -p -1"]);
      expect(results.map(({ isError }) => isError)).toEqual([true, true, true]);
      expect(results[1]?.text).toContain("needs an approval");
      expect(made.ran()).toEqual([]);
    });

    test("by the configuration of a submodule, or by an included file", async () => {
      const made = repository();
      const { root } = made.world;
      mkdirSync(join(root, "sub"));
      execFileSync("git", ["init", "-q"], { cwd: join(root, "sub") });
      writeFileSync(join(root, "sub/x"), "x\n");
      for (const args of [
        ["add", "."],
        ["commit", "-qm", "x"],
        ["config", "core.fsmonitor", made.program("of-submodule")],
      ])
        execFileSync("git", [...author, ...args], { cwd: join(root, "sub"), stdio: "pipe" });
      writeFileSync(join(root, ".gitmodules"), '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n');
      made.git("add", ".gitmodules", "sub");
      writeFileSync(join(root, "sub/x"), "changed\n");
      writeFileSync(
        join(root, ".included"),
        `[core]\n\tfsmonitor = ${made.program("included")}\n\tpager = ${made.program("included-pager")}\n`,
      );
      appendFileSync(join(root, ".git/config"), "[include]\n\tpath = ../.included\n");
      for (const name of made.ran()) rmSync(join(made.world.base, "canaries", name));
      await runLines(made.world, [...reading, "git diff --submodule=diff", "git status --ignore-submodules=none"]);
      expect(made.ran()).toEqual([]);
    });
  },
);

async function runLinesAgain(world: World, lines: readonly string[]) {
  return (await runLines(world, lines)).slice(-lines.length);
}
