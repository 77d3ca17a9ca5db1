/**
 * A rule that closes a path closes it to every tool and every way by which a file reaches the model.
 */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Script, startProviderServer } from "../../models/provider-server.js";
import { openPawl } from "../../terminal/pseudo-terminal.js";
import { verifies } from "../../verifies.js";
import { createWorld, type World } from "../pawl.js";

const canary = "CLOSED-CANARY";
const closed = ["--deny", "read_file(secret/**)"];
const done = { type: "answer", text: "Done." } as const;
const calls = (name: string, input: Readonly<Record<string, string | number>>) =>
  ({ type: "answer", calls: [{ name, input }] }) as const;

const skill = (name: string) => `---\nname: ${name}\ndescription: How to ${name}.\n---\nText of ${name}.\n`;

/** With the canary where a cut output leaves it out. */
const long = Array.from({ length: 9_000 }, (_, at) => (at === 4_500 ? canary : `line ${at}`)).join("\n");

function world(): World {
  return createWorld({
    "secret/key.txt": `${canary}\n`,
    "secret/long.txt": long,
    "open.txt": "open\n",
    "AGENTS.md": `Rules of the folder: ${canary}\n`,
    ".pawl/skills/deploy/SKILL.md": skill("deploy"),
    ".pawl/skills/deploy/keys.md": `${canary}\n`,
  });
}

/** Runs `pawl run`, and gives what the model was sent. */
async function sentBy(made: World, script: Script, words: readonly string[]) {
  const server = await startProviderServer("openai-chat", script);
  onTestFinished(() => server.close());
  const env = { OPENAI_BASE_URL: server.baseURL };
  const ended = await made.pawl(["run", "--model", "openai-compatible/test", "--allow-shell", "--yes", ...words], {
    env,
  });
  return { ...ended, sent: JSON.stringify(server.requests.map(({ body }) => body)) };
}

/** A person's own server, so nobody is asked whether to trust it. */
function addServer(made: World): void {
  const file = join(made.base, ".config/pawl/mcp.json");
  mkdirSync(dirname(file), { recursive: true });
  const path = fileURLToPath(new URL("../../fixtures/mcp-server.mjs", import.meta.url));
  writeFileSync(file, JSON.stringify({ mcpServers: { odd: { command: process.execPath, args: [path] } } }));
}

describe("a path that a rule closes", verifies("CHAT-2#rules"), () => {
  test("is a file that no @path brings into a message, and the person is told", async () => {
    const bare = ["--no-context-files"];
    const open = await sentBy(world(), [done], [...bare, "Read @secret/key.txt"]);
    expect(open.sent).toContain(canary);
    const { sent, stderr } = await sentBy(world(), [done], [...bare, ...closed, "Read @secret/key.txt and @open.txt"]);
    expect(sent).not.toContain(canary);
    expect(sent).toContain("The file open.txt, as it is now");
    expect(stderr).toContain("@secret/key.txt was not attached: a permission rule forbids it.");
  });

  test("is a file that no @path of a conversation brings, nor one of a command of the folder", async () => {
    const made = world();
    mkdirSync(join(made.base, ".config/pawl/commands"), { recursive: true });
    writeFileSync(join(made.base, ".config/pawl/commands/look.md"), "Look at $ARGUMENTS\n");
    const server = await startProviderServer("openai-chat", [done, done]);
    onTestFinished(() => server.close());
    const words = ["--model", "openai-compatible/test", "--no-context-files", ...closed];
    const person = openPawl(made, words, { env: { OPENAI_BASE_URL: server.baseURL } });
    await person.sees("ready");
    person.type("See @secret/key.txt\r");
    await person.sees(/a permission rule forbids it[\s\S]*Done\.[\s\S]*ready/);
    person.type("/look @secret/../secret/key.txt\r");
    await person.sees(/Look at @secret\/\.\.[\s\S]*Done\.[\s\S]*ready/);
    person.type("\x04");
    await person.ended;
    expect(server.requests).toHaveLength(2);
    expect(JSON.stringify(server.requests.map(({ body }) => body))).not.toContain(canary);
  });

  test("is no AGENTS.md that the agent goes by", async () => {
    expect((await sentBy(world(), [done], ["Go"])).sent).toContain(canary);
    const { code, sent, stderr } = await sentBy(world(), [done], ["--deny", "read_file(AGENTS.md)", "Go"]);
    expect(code).toBe(0);
    expect(sent).not.toContain(canary);
    expect(stderr).not.toContain("AGENTS.md");
  });

  test("is no file of a skill, and no skill if it is its SKILL.md", async () => {
    const read = [calls("read_skill", { name: "deploy", file: "keys.md" }), done];
    const agents = ["--deny", "read_file(AGENTS.md)"];
    expect((await sentBy(world(), read, [...agents, "Go"])).sent).toContain(canary);
    const file = await sentBy(world(), read, [...agents, "--deny", "read_file(**/keys.md)", "Go"]);
    expect(file.sent).toContain("How to deploy.");
    expect(file.sent).toContain("does not allow it");
    expect(file.sent).not.toContain(canary);
    const whole = await sentBy(world(), read, [...agents, "--deny", "read_file(.pawl/skills/**)", "Go"]);
    expect(whole.sent).not.toContain("How to deploy.");
    expect(whole.sent).not.toContain(canary);
  });

  test("is nothing of which an earlier output is read again", async () => {
    const made = world();
    const bare = ["--no-context-files"];
    const cat = [calls("shell", { command: "cat secret/long.txt" }), done];
    const first = await sentBy(made, cat, [...bare, "--session", "s", "Go"]);
    expect(first.sent).not.toContain(canary);
    const [, output] = /output (\d+)/.exec(first.sent) ?? [];
    const readings = [
      calls("read_output", { output: Number(output), fromLine: 4_400 }),
      calls("search_output", { output: Number(output), text: canary.slice(0, 6) }),
    ];
    const again = [...readings, done];
    const shut = await sentBy(made, again, [...bare, ...closed, "--session", "s", "More"]);
    expect(shut.sent.split(`denies the call that gave output ${output}`).length).toBeGreaterThan(2);
    expect(shut.sent).not.toContain(canary);
    const open = await sentBy(made, again.slice(1), [...bare, "--session", "s", "More"]);
    expect(open.sent).toContain(canary);
  });

  test("is no path in the input of a server's tool", async () => {
    const made = world();
    addServer(made);
    for (const path of [
      "secret/key.txt",
      join(made.root, "secret/key.txt"),
      `file://${join(made.root, "secret/key.txt")}`,
    ]) {
      const script = [calls("mcp__odd__echo", { nested: path }), done];
      const { sent } = await sentBy(made, script, ["--no-context-files", ...closed, "Go"]);
      expect(sent, path).toContain("The rule read_file(secret/**) (of this command) denies this");
    }
  });
});
