/**
 * Files of agents: what is read of them, and that those of a folder count only after trust.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseAgentFile } from "../../../src/cli/child-agents/agent-file.js";
import {
  describeMisspelledAgents,
  listConfiguredAgents,
  resolveAgents,
} from "../../../src/cli/child-agents/resolve-agents.js";
import { resolveConfiguration } from "../../../src/cli/configuration/resolve-configuration.js";
import { describeFile, formatTrust } from "../../../src/cli/trust/describe-file.js";
import { readFolderTrust, trustFiles } from "../../../src/cli/trust/trust.js";
import { verifies } from "../../verifies.js";

const parse = (text: string) => parseAgentFile({ name: "file", path: "file.md", real: "/file.md", text });
const write = (front: string, body = "You review.") => `---\n${front}\n---\n\n${body}\n`;

describe("A file of an agent", verifies("AGENT-4#files"), () => {
  test("gives the name, the description, the prompt and the limits", () => {
    const file = parse(
      write("name: reviewer\ndescription: Reviews changes.\nmodel: fast\nmaxTurns: 12\nmaxTokens: 9000\nbudget: $0.25"),
    );
    expect(file).toMatchObject({
      name: "reviewer",
      description: "Reviews changes.",
      tools: null,
      model: "fast",
      mode: "ask",
      limits: { maxSteps: 12, maxTokens: 9_000, maxCostUsd: 0.25 },
      prompt: "You review.",
      notes: [],
    });
  });

  test("takes the names that other programs have for tools, and reports those that Pawl does not have", () => {
    const { tools, notes } = parse(
      write('description: x\ntools: Read, Grep, Bash(git diff:*), "WebSearch", mcp__db__*, edit_file'),
    );
    expect(tools).toEqual([
      "read_file",
      "search_files",
      "shell",
      "mcp__db__*",
      "edit_file",
      "read_process",
      "stop_process",
    ]);
    expect(notes).toEqual([
      "There is no tool WebSearch.",
      "The patterns in parentheses are ignored: Bash(git diff:*). Calls ask unless a rule allows them.",
    ]);
    expect(parse(write("description: x\ntools: '*'")).tools).toBeNull();
    expect(parse(write("description: x\ntools:")).tools).toEqual([]);
    expect(parse(write("description: x\ntools: agent_other")).tools).toEqual([]);
  });

  test("takes tools away, and reports those that Pawl does not have", () => {
    const file = parse(
      write("description: x\ntools: Read, Bash\ndisallowedTools: [Write, Bash(git push:*), NotebookEdit, mcp__db]"),
    );
    expect(file.disallowedTools).toEqual(["write_file", "shell", "mcp__db", "read_process", "stop_process"]);
    expect(file.notes).toEqual([
      "There is no tool NotebookEdit.",
      "disallowedTools takes the whole tool away, not only what the pattern names: Bash(git push:*).",
    ]);
    expect(parse(write("description: x\ndisallowedTools: bash")).disallowedTools).toContain("shell");
    expect(parse(write("description: x")).disallowedTools).toEqual([]);
    expect(parse(write("description: x\ndisallowedTools:\n  - '*'")).disallowedTools).toEqual(["*"]);
  });

  test.each([
    ["acceptEdits", "edits", 0],
    ["plan", "read", 0],
    ["dontAsk", "deny", 0],
    ["default", "ask", 0],
    ["bypassPermissions", "ask", 1],
    ["everything", "ask", 1],
  ])("with permissionMode: %s has the mode %s", (word, mode, notes) => {
    const file = parse(write(`description: x\npermissionMode: ${word}`));
    expect(file.mode).toBe(mode);
    expect(file.notes).toHaveLength(notes);
  });

  test("has at most 400 columns of description in each request, whatever it says", () => {
    const { description } = parse(write(`description: |\n  ${"Use this agent. <example>\n  ".repeat(100)}`));
    expect(description.length).toBe(400);
    expect(description).not.toContain("\n");
  });

  test("names the keys that have no effect", () => {
    expect(parse(write("description: x\ncolor: red\nhooks:\n  PreToolUse: []\nisolation: worktree")).notes).toEqual([
      "These keys have no effect: hooks, isolation.",
    ]);
    expect(parse(write("description: x\ntool: Read\nmax-turns: 5")).notes).toEqual([
      "These keys have no effect: tool, max-turns. Did you mean tools?",
    ]);
    expect(parse(write("description: x\ntools: Reed")).notes).toEqual(["There is no tool Reed. Did you mean Read?"]);
  });

  test.each([
    ["background: maybe", "its background must be true or false"],
    ["maxTurns: many", "its maxTurns must be a number above 0, such as 20"],
    ["budget: -1", "its budget must be a number above 0, such as 0.5"],
  ])("with %s is off", (line, why) => {
    expect(() => parse(write(`description: x\n${line}`))).toThrow(why);
  });

  test("may have comments, lists that are not indented, and text over several lines", () => {
    const lines = [
      "# Looks.",
      "description: |",
      "  Looks:",
      "",
      "  # around",
      "tools: [",
      "  Read,",
      "]",
      "memory:",
      "- x",
    ];
    const { tools, notes, description } = parse(write(lines.join("\n")));
    expect({ tools, notes, description }).toEqual({
      tools: ["read_file"],
      notes: ["These keys have no effect: memory."],
      description: "Looks: # around",
    });
  });

  test.each([
    ["Just text.", "does not begin with front matter"],
    [write("name: x"), "no description"],
    [write("name: ../x\ndescription: x"), "its name must be"],
    [write(`name: ${"x".repeat(51)}\ndescription: x`), "its name must be"],
    [write("description: x", ""), "no text"],
    [write("description: x\nmaxTurns: many"), "its maxTurns must be a number"],
    [write("description: x\nbudget: -1"), "its budget must be a number"],
    [write("description: x\ndisallowedTools: Bash Write"), "its disallowedTools has Bash Write, which is not a name"],
    [write("description: x\ndisallowedTools: mcp__db__drop*"), "mcp__db__drop*, which is not a name"],
    [write("description: x\ntools : Read"), "its line tools : Read cannot be read"],
    [write('description: x\n"tools": Read'), 'its line "tools": Read cannot be read'],
    [write("description: x\npermissionMode:plan"), "its line permissionMode:plan cannot be read"],
    [write("  permissionMode: plan\ndescription: x"), "its line permissionMode: plan cannot be read"],
    [write("description: x\nmaxTurns: 1e300"), "its maxTurns must be at most"],
  ])("that cannot be used says why", (text, why) => {
    expect(() => parse(text)).toThrow(why);
  });
});

function world(files: Readonly<Record<string, string>>) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "pawl-agents-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const writeIn = (path: string, text: string) => {
    mkdirSync(dirname(join(base, path)), { recursive: true });
    writeFileSync(join(base, path), text);
  };
  mkdirSync(join(base, "root"));
  for (const [path, text] of Object.entries(files)) writeIn(path, text);
  const [root, home] = [join(base, "root"), join(base, "home")];
  const environment = { XDG_CONFIG_HOME: join(base, "config") };
  const brought = () => readFolderTrust(root, home);
  const trust = () => trustFiles(root, home, brought().files, "ada");
  const present = () => resolveAgents(brought(), environment);
  const names = () => present().list.map(({ name }) => name);
  return { base, root, place: { root, home, environment }, write: writeIn, brought, trust, present, names };
}

const scout = "root/.pawl/agents/scout.md";
const scoutText = write(
  "description: Looks.\ntools: Read\ndisallowedTools: Bash\npermissionMode: acceptEdits\nmodel: openai/big",
);

describe("Agents of a folder", verifies("AGENT-4#files", "SEC-17#settings"), () => {
  test("count only once their files are trusted, and the question says what trust does", () => {
    const { names, present, brought, trust, place } = world({ [scout]: scoutText });
    expect(names()).toEqual([]);
    expect(present().all).toMatchObject([{ name: "scout", off: "its file is not trusted: pawl trust" }]);
    expect(resolveConfiguration(place).warning).toMatch(/^Agents of .*\.pawl\/agents are not trusted.* off: scout\./);
    const [file] = brought().files;
    if (file === undefined) throw new Error("No file is brought.");
    expect(file).toMatchObject({ kind: "agent", name: ".pawl/agents/scout.md" });
    expect(file.effects).toEqual([
      "adds the agent scout, which the model may start with this text",
      "gives that agent these tools of the session: read_file",
      "takes these tools from that agent: shell, read_process, stop_process",
      "sends its conversation to the model openai/big",
      "lets that agent write files of this folder without asking",
    ]);
    expect(describeFile(file).join("\n")).toContain("You review.");
    expect(formatTrust(file)).toBe("Not trusted: the model cannot start it.");
    trust();
    expect(names()).toEqual(["scout"]);
    expect(resolveConfiguration(place).warning).toBeNull();
  });

  test("do not count any more after a change of one byte", () => {
    const { names, trust, write: change } = world({ [scout]: scoutText });
    trust();
    expect(names()).toEqual(["scout"]);
    change(scout, scoutText.replace("Looks", "Look"));
    expect(names()).toEqual([]);
  });

  test("are read from .claude/agents as well, and never from outside of the folder", () => {
    const { base, root, trust, names, present } = world({
      "root/.claude/agents/theirs.md": write("name: theirs\ndescription: x\nmemory: user"),
      [scout]: scoutText,
      "outside/evil.md": write("description: Evil."),
    });
    symlinkSync(join(base, "outside/evil.md"), join(root, ".pawl/agents/evil.md"));
    trust();
    expect(names()).toEqual(["scout", "theirs"]);
    expect(present().problems).toEqual([
      expect.stringContaining("evil.md is not an agent: it is not in the folder."),
      expect.stringContaining("theirs.md: These keys have no effect: memory."),
    ]);
  });

  test("give way to the first trusted one of the same name", () => {
    const { trust, present, brought, root, place } = world({
      [scout]: scoutText,
      "root/.claude/agents/scout.md": write("description: Another one."),
      "root/.pawl/agents/z.md": write("name: scout\ndescription: A third one."),
    });
    const { files } = brought();
    const theirs = files.filter(({ name }) => name === ".claude/agents/scout.md");
    trustFiles(root, place.home, theirs, "ada");
    // A file that is not trusted turns no other file off.
    expect(present().list).toMatchObject([{ name: "scout", description: "Another one." }]);
    expect(present().problems).toEqual([]);
    trust();
    expect(present().list).toMatchObject([{ name: "scout", description: "Looks." }]);
    expect(present().problems).toEqual([
      expect.stringMatching(/z\.md is off: .*\.pawl\/agents\/scout\.md has an agent with the same name\.$/),
      expect.stringMatching(/\.claude\/agents\/scout\.md is off: .*same name\.$/),
    ]);
  });

  test("give way to an agent of the person with the same name", () => {
    const { trust, present } = world({
      [scout]: scoutText,
      "config/pawl/agents/scout.md": write("description: Mine."),
    });
    trust();
    expect(present().list).toMatchObject([{ name: "scout", scope: "user", description: "Mine." }]);
    expect(present().problems).toEqual([
      expect.stringMatching(/\.pawl\/agents\/scout\.md is off: you have an agent with the same name\.$/),
    ]);
  });

  test("are off if the setting tools.off names their tools, and a name that is misspelled is reported", () => {
    const { trust, place } = world({
      [scout]: scoutText,
      "root/.pawl/agents/other.md": write("description: Another one."),
      "config/pawl/pawl.config.json": JSON.stringify({
        tools: { off: ["agent_scout", "agent_ohter", "agent_elsewhere"] },
      }),
    });
    trust();
    const configured = resolveConfiguration(place);
    const all = listConfiguredAgents(configured);
    expect(all.map(({ name, off }) => [name, off])).toEqual([
      ["other", null],
      ["scout", "the setting tools.off names its tool"],
    ]);
    expect(describeMisspelledAgents(configured, all)).toEqual([
      "The setting tools.off names agent_ohter, but there is no such agent. Do you mean agent_other?",
    ]);
  });
});
