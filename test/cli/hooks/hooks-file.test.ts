/**
 * `hooks.json`: what it may contain, and when the hooks of a folder count.
 */
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { describeFile, formatTrust } from "../../../src/cli/trust/describe-file.js";
import { verifies } from "../../verifies.js";
import { call, createHookWorld, done, hooksFile } from "./hook-world.js";

const own = "config/pawl/hooks.json";
const folder = "root/.pawl/hooks.json";
const mark = hooksFile("PreToolUse", { command: "echo ran >> $PAWL_PROJECT_DIR/ran.txt" });

describe("A file of hooks", verifies("CHAT-6#file"), () => {
  test("is read in Claude Code's form, with comments, a description and Pawl's own keys", () => {
    const world = createHookWorld({
      [own]: `{ // mine
        "$schema": "https://json.schemastore.org/claude-code-settings.json",
        "description": "Looks at commands",
        "hooks": { "PreToolUse": [
          { "matcher": "Bash", "hooks": [
            { "type": "command", "command": "./check.sh", "timeout": 5, "if": "Bash(git push:*)", "onFailure": "closed", "async": false, "env": ["GH_TOKEN"] }
          ] },
          { "hooks": [{ "type": "command", "command": "cat" }] }
        ] } }`,
    });
    expect(world.list().map(({ matches: _, condition, ...hook }) => ({ ...hook, if: condition?.rule }))).toEqual([
      {
        ...{ event: "PreToolUse", matcher: "Bash", if: "shell(git push *)", command: "./check.sh", timeoutMs: 5_000 },
        ...{ onFailure: "closed", async: false, env: ["GH_TOKEN"], scope: "user", trustedHash: null, off: null },
        path: `${world.base}/${own}`,
      },
      {
        ...{ event: "PreToolUse", matcher: "", if: undefined, command: "cat", timeoutMs: 60_000 },
        ...{ onFailure: "open", async: false, env: [], scope: "user", trustedHash: null, off: null },
        path: `${world.base}/${own}`,
      },
    ]);
  });

  test.each<readonly [string, string]>([
    ["[]", "the file must be an object"],
    ["{", "it is not valid JSON"],
    ["{}", "hooks must be an object"],
    ['{"hook": {}}', "hook is unknown (did you mean hooks?)"],
    ['{"hooks": {"PreTooluse": []}}', "hooks.PreTooluse is not an event of Pawl. The events are SessionStart"],
    ['{"hooks": {"WorktreeCreate": []}}', "hooks.WorktreeCreate is not an event of Pawl. The events are SessionStart"],
    ['{"hooks": {"Stop": {}}}', "hooks.Stop must be a list"],
    [
      '{"hooks": {"Stop": [{"matchers": "x", "hooks": []}]}}',
      "hooks.Stop[0].matchers is unknown (did you mean matcher?)",
    ],
    [
      '{"hooks": {"Stop": [{"matcher": "x", "hooks": []}]}}',
      "hooks.Stop[0].matcher has no effect: Stop has nothing to match",
    ],
    ['{"hooks": {"PreToolUse": [{"matcher": "(a+)+$", "hooks": []}]}}', "hooks.PreToolUse[0].matcher must be names"],
    ...(
      [
        ['{"type": "prompt", "command": "x"}', '.type must be "command"'],
        ['{"type": "command", "comand": "x"}', ".comand is unknown (did you mean command?)"],
        ['{"type": "command"}', ".command must be a command line"],
        [
          '{"type": "command", "command": "x", "timeout": 601}',
          ".timeout must be seconds, more than 0 and at most 600",
        ],
        ['{"type": "command", "command": "x", "onFailure": "shut"}', '.onFailure must be "open" or "closed"'],
        ['{"type": "command", "command": "x", "async": "yes"}', ".async must be true or false"],
        [
          '{"type": "command", "command": "x", "async": true, "onFailure": "closed"}',
          '.onFailure cannot be "closed": a hook with async can block nothing',
        ],
        ['{"type": "command", "command": "x", "env": ["A B"]}', ".env must be a list of names of variables"],
        ['{"type": "command", "command": "x", "if": "shel(git *)"}', ".if is not a permission rule"],
      ] as const
    ).map(
      ([hook, why]) =>
        [
          `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x"}, ${hook}]}]}}`,
          `hooks.PreToolUse[0].hooks[1]${why}`,
        ] as const,
    ),
    [
      hooksFile("Notification", { command: "x", onFailure: "closed" }),
      '.onFailure cannot be "closed": Notification can block nothing',
    ],
    [hooksFile("Stop", { command: "x", if: "shell" }), ".if has no effect: Stop is not about a call"],
  ])("is refused with the place of what is wrong: %s", (text, why) => {
    const world = createHookWorld({ [own]: text });
    expect(world.list).toThrow(`${world.base}/${own} cannot be used: ${why.startsWith(".") ? "hooks." : why}`);
    expect(world.list).toThrow(why);
    const inFolder = createHookWorld({ [folder]: text });
    expect(inFolder.readTrust).toThrow(why);
  });
});

describe("The hooks of a folder", verifies("CHAT-6#trust"), () => {
  test("run nothing before the file is trusted, and nothing after it has changed", async () => {
    const world = createHookWorld({ [folder]: mark });
    const readNotes = () => world.start([call("read_file", { path: "notes.txt" }), done]).agent.run("Go.");
    await readNotes();
    expect(world.read("root/ran.txt")).toBeNull();
    expect(world.list()).toMatchObject([{ scope: "folder", off: "its file is not trusted: pawl trust" }]);
    world.trust();
    await readNotes();
    expect(world.read("root/ran.txt")).toBe("ran\n");
    world.write(folder, `${mark}\n`);
    await readNotes();
    expect(world.read("root/ran.txt")).toBe("ran\n");
    expect(world.list()).toMatchObject([{ off: "its file, or one that it runs, has changed: pawl trust" }]);
  });

  test("are shown with every command before they are trusted", () => {
    const world = createHookWorld({
      [folder]: hooksFile("PreToolUse", { command: "./check.sh", env: ["GH_TOKEN"] }, "Bash"),
    });
    const [file] = world.readTrust().files;
    expect(file).toMatchObject({ kind: "hooks", name: ".pawl/hooks.json" });
    if (file === undefined) return;
    expect(describeFile(file).join("\n")).toContain("runs at PreToolUse of Bash: ./check.sh (with GH_TOKEN)");
    expect(describeFile(file).join("\n")).toContain("as you, outside of the sandbox");
    expect(formatTrust(file)).toBe("Not trusted: no hook in it runs.");
  });

  test("are shown with their scripts, and after a change with what has changed in each", () => {
    const scripts = "root/.pawl/hooks";
    const world = createHookWorld({
      [folder]: hooksFile("PreToolUse", { command: "sh ./check.sh" }),
      "root/check.sh": "first\nsecond\u001b[31m\n",
      [`${scripts}/old.sh`]: "exit 0\n",
    });
    const shown = () => world.readTrust().files.flatMap((file) => describeFile(file));
    expect(shown()).toEqual(
      expect.arrayContaining([
        "  check.sh:",
        "    first",
        "    second\\x1b[31m",
        "  .pawl/hooks/old.sh:",
        "    exit 0",
      ]),
    );
    world.trust();
    world.write("root/check.sh", "first\nthird\n");
    world.write(`${scripts}/program`, "\0\0");
    rmSync(join(world.root, ".pawl/hooks/old.sh"));
    const changed = shown();
    expect(changed).toEqual(
      expect.arrayContaining([
        "  check.sh has changed:",
        "    - second\\x1b[31m",
        "    + third",
        "  .pawl/hooks/program, which is new:",
        expect.stringMatching(/^ {4}not shown, because it is not text or is too large: SHA-256 [0-9a-f]{64}$/),
        "  .pawl/hooks/old.sh is gone, or no longer run",
      ]),
    );
    expect(changed).not.toContain("    first");
  });

  test("whose script has the same lines in another order are shown with all of them", () => {
    const world = createHookWorld({
      [folder]: hooksFile("PreToolUse", { command: "sh ./check.sh" }),
      "root/check.sh": "exit 0\nrm -r build\n",
    });
    world.trust();
    world.write("root/check.sh", "rm -r build\nexit 0\n");
    expect(world.readTrust().files.flatMap((file) => describeFile(file))).toEqual(
      expect.arrayContaining([
        "  check.sh has changed:",
        "    (the same lines in another order)",
        "    rm -r build",
        "    exit 0",
      ]),
    );
  });

  test.each([
    ["a script that a command names", "root/check.sh", "sh ./check.sh"],
    ["a script that it names from the root", "root/check.sh", 'sh "$CLAUDE_PROJECT_DIR"/check.sh'],
    ["a script of a pipe", "root/scripts/check.sh", "(sh scripts/check.sh|cat)>/dev/null"],
    ["a script in a folder that it enters", "root/scripts/check.sh", "cd scripts && sh check.sh"],
    ["a script of an inner shell", "root/my scripts/check.sh", "bash -c 'sh \"$PWD/my scripts/check.sh\"'"],
    ["another file of .pawl/hooks", "root/.pawl/hooks/lib/common.sh", "true"],
  ])("stop when %s changes, also during the run", async (_, script, command) => {
    const world = createHookWorld({
      [script]: "exit 0\n",
      [folder]: hooksFile("PreToolUse", { command: `echo ran >> ../ran.txt; ${command}`, onFailure: "closed" }),
    });
    world.trust();
    const read = call("read_file", { path: "notes.txt" });
    const { agent, model } = world.start([read, read, done]);
    const change = agent.with({
      hooks: [
        ...(agent.options.hooks ?? []),
        { name: "change", afterToolCall: () => world.write(script, "echo stolen > stolen.txt\n") },
      ],
    });
    await change.run("Go.");
    expect(world.read("ran.txt")).toBe("ran\n");
    expect(world.read("root/stolen.txt")).toBeNull();
    expect(JSON.stringify(model.requests[2]?.messages)).toContain("has changed since it was trusted: pawl trust");
    expect(world.list()).toMatchObject([{ off: "its file, or one that it runs, has changed: pawl trust" }]);
  });

  test.runIf(process.platform === "linux")("are refused if a script is a link to a file without an end", () => {
    const world = createHookWorld({ [folder]: hooksFile("Stop", { command: "true" }) });
    mkdirSync(join(world.root, ".pawl/hooks"));
    // The system gives the map of a process' whole address space: hundreds of gigabytes.
    symlinkSync("/proc/self/pagemap", join(world.root, ".pawl/hooks/endless"));
    expect(() => world.list()).toThrow("has more than 512 MiB");
  });

  test("go on when a command writes its output to a file of the folder", async () => {
    const world = createHookWorld({ [folder]: hooksFile("PreToolUse", { command: "echo ran >> ran.txt" }) });
    world.trust();
    const read = call("read_file", { path: "notes.txt" });
    await world.start([read, read, done]).agent.run("Go.");
    expect(world.read("root/ran.txt")).toBe("ran\nran\n");
  });
});
