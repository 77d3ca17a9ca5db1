import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { createGate, createWorld, parseJsonLines, type World } from "./pawl.js";

const files = { "src/a.ts": "// TODO: one\n", "notes.txt": "colour\n" };
const replace = 'Replace "colour" with "color" in notes.txt';

function notes({ root }: World): string {
  return readFileSync(join(root, "notes.txt"), "utf8");
}

describe("on a terminal, a person is asked before a tool that is not read-only", () => {
  test("the whole call is shown; yes runs it", verifies("CLI-2", "SEC-5#command-line", "SEC-6#shown"), async () => {
    const world = createWorld(files);
    const running = world.startOnTerminal(["run", replace]);
    await running.said("[y]es");
    expect(notes(world)).toBe("colour\n");
    running.type("y\r");
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    const shown = plain(stdout);
    expect(shown).toContain("? edit_file wants to run:");
    expect(shown, "the question is all that shows the call").not.toContain("▸ edit_file");
    expect(shown).toContain("    path: notes.txt\n");
    expect(shown).toContain("    oldText: colour\n    newText: color\n");
    expect(shown).not.toContain("read_file wants to run");
    expect(notes(world)).toBe("color\n");
  });

  test("no denies it, with the reason for the model", verifies("CLI-2"), async () => {
    const world = createWorld(files);
    const running = world.startOnTerminal(["run", replace, "--session", "s"]);
    await running.said("[y]es");
    running.type("perhaps\r");
    await running.said(/perhaps[\s\S]*Not understood\. Type y, n, e or a;[\s\S]*\[y\]es/);
    running.type("no, it is British\r");
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    expect(plain(stdout)).toContain("✗ Denied: it is British.");
    expect(notes(world)).toBe("colour\n");
    const log = parseJsonLines((await world.pawl(["sessions", "export", "s"])).stdout).map(({ event }) => event);
    expect(log.find(({ type }) => type === "answered")).toMatchObject({
      answer: { type: "deny", note: "it is British" },
      by: userInfo().username,
      inputHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test("edit changes the input on the line, and runs what was made of it", verifies("CLI-2"), async () => {
    const world = createWorld();
    const running = world.startOnTerminal(["run", "run: echo one > made", "--allow-shell"]);
    await running.said("[y]es");
    running.type("e\r");
    await running.said("Input >");
    running.type("\u0015not json\r");
    await running.said(/This is not valid JSON[\s\S]*\[y\]es/);
    running.type("e\r");
    await running.said(/This is not valid JSON[\s\S]*Input >/);
    running.type('\u0015{"command":"echo two > made"}\r');
    expect((await running.ended).code).toBe(0);
    expect(readFileSync(join(world.root, "made"), "utf8")).toBe("two\n");
  });

  test("edit opens the person's editor if one is set", verifies("CLI-2"), async () => {
    const world = createWorld();
    const editor = join(world.base, "my editor");
    writeFileSync(editor, `#!/bin/sh\nsed -i.old 's/one/two/' "$1"\n`);
    chmodSync(editor, 0o755);
    const env = { EDITOR: `'${editor}'` };
    const running = world.startOnTerminal(["run", "run: echo one > made", "--allow-shell"], { env });
    await running.said("[y]es");
    running.type("e\r");
    const { code, stdout } = await running.ended;
    expect({ code, stdout: plain(stdout) }).toMatchObject({ code: 0 });
    expect(readFileSync(join(world.root, "made"), "utf8")).toBe("two\n");
  });

  test(
    "always keeps a rule, which asks no more for such calls, and for others still",
    verifies("CLI-2", "CHAT-2#rules"),
    async () => {
      const shell = (command: string) => ({ name: "shell", input: { command } });
      const server = await startProviderServer("openai-chat", [
        { type: "answer", calls: [shell("mkdir one")] },
        {
          type: "answer",
          calls: [shell("mkdir two"), { name: "write_file", input: { path: "a.txt", content: "a" } }],
        },
        { type: "answer", text: "Done." },
      ]);
      const world = createWorld();
      const env = { OPENAI_BASE_URL: server.baseURL };
      const args = ["run", "work", "--model", "openai-compatible/test", "--allow-shell", "--session", "s"];
      const running = world.startOnTerminal(args, { env });
      await running.said("[a]lways…");
      running.type("a\r");
      await running.said("by its number");
      running.type("1\r");
      await running.said(/write_file\S* wants to run/);
      running.type("n\r");
      expect((await running.ended).code).toBe(0);
      await server.close();
      for (const name of ["one", "two"]) expect(existsSync(join(world.root, name))).toBe(true);
      expect(existsSync(join(world.root, "a.txt"))).toBe(false);
      const log = parseJsonLines((await world.pawl(["sessions", "export", "s"])).stdout);
      const decided = log.flatMap(({ event }) => (event.type === "tool_decided" ? [event.decision] : []));
      expect(decided.map(({ verdict, rule }) => [verdict, rule?.pattern])).toEqual([
        ["ask", undefined],
        ["allow", "shell(mkdir *)"],
        ["ask", undefined],
      ]);
    },
  );

  test("control characters in what is asked for are made visible", verifies("SEC-6#shown"), async () => {
    const command = "echo safe\u001b[2K\r\u009brm -rf / \u202e";
    const server = await startProviderServer("openai-chat", [
      { type: "answer", text: "\u001b]0;title\u0007Let me.", calls: [{ name: "shell", input: { command } }] },
      { type: "answer", text: "Done." },
    ]);
    const world = createWorld();
    const env = { OPENAI_BASE_URL: server.baseURL, NO_COLOR: "1" };
    const args = ["run", "work", "--model", "openai-compatible/test", "--allow-shell"];
    const running = world.startOnTerminal(args, { env });
    await running.said("[y]es");
    running.type("n\r");
    const { stdout } = await running.ended;
    await server.close();
    expect(stdout).toContain("command: echo safe\\x1b[2K\\r\\x9brm -rf / \\u{202e}");
    expect(stdout).toContain("\\x1b]0;title\\x07Let me.");
    expect(stdout).not.toContain("\u001b]0;");
    expect(stdout).not.toContain("\u009b");
  });
});

describe("leaving a question", () => {
  test("by Ctrl-C ends the run", verifies("CLI-3"), async () => {
    const world = createWorld(files);
    const running = world.startOnTerminal(["run", replace, "--session", "s"]);
    await running.said("[y]es");
    running.type("\u0003");
    const { code, stdout } = await running.ended;
    expect(code).toBe(130);
    expect(plain(stdout)).toMatch(/aborted · .*\nTo continue: pawl run --session \w+ "Go on"\n$/);
    expect(notes(world)).toBe("colour\n");
  });

  test("by the end of input leaves it open: 3, and it is answered later", verifies("CLI-3"), async () => {
    const world = createWorld(files);
    const running = world.startOnTerminal(["run", replace, "--session", "s"]);
    await running.said("[y]es");
    running.type("\u0004");
    const { code, stdout } = await running.ended;
    expect(code).toBe(3);
    expect(plain(stdout)).toContain("waiting for 1 answer");
    expect((await world.pawl(["sessions"])).stdout).toMatch(/^s +waiting /m);

    const nobody = await world.pawl(["resume", "s", "--json"]);
    expect(nobody.code).toBe(3);
    expect(parseJsonLines(nobody.stdout).at(-1)).toMatchObject({
      type: "suspended",
      approvals: [{ name: "edit_file" }],
    });

    const again = world.startOnTerminal(["resume", "s"]);
    await again.said("[y]es");
    again.type("y\r");
    expect((await again.ended).code).toBe(0);
    expect(notes(world)).toBe("color\n");
  });

  test("what waits is allowed by --yes", verifies("CLI-2"), async () => {
    const world = createWorld(files);
    const running = world.startOnTerminal(["run", replace, "--session", "s"]);
    await running.said("[y]es");
    running.type("\u0004");
    await running.ended;
    expect((await world.pawl(["resume", "s", "--yes"])).code).toBe(0);
    expect(notes(world)).toBe("color\n");
  });
});

describe("what a terminal is shown", () => {
  test("colours, unless NO_COLOR is set", verifies("CLI-1"), async () => {
    const world = createWorld(files);
    const coloured = await world.startOnTerminal(["run", "List the files"]).ended;
    expect(coloured.stdout).toContain("\u001b[32mdone");
    const plainly = await world.startOnTerminal(["run", "List the files"], { env: { NO_COLOR: "1" } }).ended;
    expect(plainly.stdout).not.toMatch(/\u001b\[\d+m/);
  });

  test("progress for what takes longer than a second", verifies("CLI-1"), async () => {
    const world = createWorld();
    const gate = createGate(world.root);
    const running = world.startOnTerminal(["run", `run: ${gate.command}`, "--yes", "--allow-shell"]);
    await running.said(/… shell, \d+\.\d s/);
    gate.open();
    const { code, stdout } = await running.ended;
    expect(code).toBe(0);
    // The line of progress is erased before the next line.
    expect(stdout).toMatch(/… shell, \d+\.\d s[^\n]*\r\u001b\[2K[^\n]*✓/);
  });

  test("a task is asked for, not waited for", async () => {
    const { code, stdout } = await createWorld().startOnTerminal(["run"]).ended;
    expect(code).toBe(2);
    expect(plain(stdout)).toContain('There is no task. Give one, as in pawl run "List the files"');
  });
});

/** The text without colors and carriage returns. */
function plain(text: string): string {
  return text.replace(/\u001b\[[\d;]*[A-Za-z]/g, "").replace(/\r+\n/g, "\n");
}
