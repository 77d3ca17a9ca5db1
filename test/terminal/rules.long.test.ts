/**
 * Rules as a person makes them in a conversation, and takes them back.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { detectSandbox } from "../../src/tools/index.js";
import { createWorld, parseJsonLines, type World } from "../cli/pawl.js";
import { type Script, startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { openPawl, type Person, type PersonOptions } from "./pseudo-terminal.js";

async function talking(world: World, script: Script, args: readonly string[] = [], options: PersonOptions = {}) {
  const server = await startProviderServer("openai-chat", script);
  onTestFinished(() => server.close());
  const env = { OPENAI_BASE_URL: server.baseURL, ...options.env };
  return openPawl(world, ["--model", "openai-compatible/test", ...args], { ...options, env });
}

const shells = (...commands: readonly string[]) =>
  ({ type: "answer", calls: commands.map((command) => ({ name: "shell", input: { command } })) }) as const;
const answer = (text: string) => ({ type: "answer", text }) as const;

async function decisions(world: World) {
  const [session] = parseJsonLines((await world.pawl(["sessions", "--json"])).stdout);
  return parseJsonLines((await world.pawl(["sessions", "export", session.sessionId])).stdout).flatMap(({ event }) =>
    event.type === "tool_decided" ? [[event.decision.verdict, event.decision.rule?.pattern]] : [],
  );
}

describe.runIf(detectSandbox() === "bubblewrap")("a command that wants more than its sandbox gives", () => {
  test(
    "names the hosts, or that it leaves, and a rule for either can be kept",
    verifies("BOX-2", "BOX-3"),
    async () => {
      const calls = [
        { command: "npm install", hosts: ["registry.npmjs.org"] },
        { command: "npm publish", outside: true, why: "It needs your npm token." },
      ].map((input) => ({ type: "answer", calls: [{ name: "shell", input }] }) as const);
      const person = await talking(createWorld(), [...calls, answer("Done.")]);
      await person.sees("ready");
      person.type("go\r");
      await person.answers("a", "It may reach registry.npmjs.org (npm) while it runs.");
      const hosts = await person.sees("esc back");
      expect(hosts).toContain("› 1 all commands reach npm");
      expect(hosts).toContain('  2 shell "npm install", exactly this, and all commands reach npm');
      person.type("\x1b");
      await person.answers("n", "a always…");
      const question = await person.sees(/wants to run OUTSIDE of the sandbox[\s\S]*a always…/);
      expect(question).toContain("    why: It needs your npm token.");
      expect(question).toContain("    Outside, it can read and write your files, and use the network.");
      await person.answers("a", "a always…");
      expect(await person.sees("esc back")).toContain('› 1 "npm publish" outside of the sandbox, exactly this');
      person.type("\x1b");
      await person.answers("n", "a always…");
      await person.sees(/Done\.[\s\S]*ready/);
      person.type("\x04");
      await person.ended;
    },
  );
});

describe("always", () => {
  test(
    "offers the narrowest rules, and the one that is picked answers other questions",
    verifies("CHAT-2#rules"),
    async () => {
      const world = createWorld();
      const script = [shells("mkdir one", "mkdir two"), answer("Made."), shells("mkdir three"), answer("Made three.")];
      const person = await talking(world, script);
      await person.sees("ready");
      person.type("make\r");
      await person.answers("a", "a always…");
      const screen = await person.sees("esc back");
      expect(screen).toContain('› 1 shell "mkdir" with any arguments');
      expect(screen).toContain('  2 shell "mkdir one", exactly this');
      expect(screen).toContain("t this session · p this folder · u everywhere");
      person.type("p");
      await person.sees(/Made\.[\s\S]*ready/);
      for (const name of ["one", "two"]) expect(existsSync(join(world.root, name))).toBe(true);
      person.type("again\r");
      await person.sees(/Made three\.[\s\S]*ready/);
      person.type("/permissions\r");
      await person.sees(/1 {2}allow {2}shell\(mkdir \*\) {2}\(yours, for this folder; /);
      person.type("\x04");
      await person.ended;
      expect(await decisions(world)).toEqual([
        ["ask", undefined],
        ["ask", undefined],
        ["allow", "shell(mkdir *)"],
      ]);
      const { stdout } = await world.pawl(["permissions", "--json"]);
      expect(parseJsonLines(stdout)).toMatchObject([
        {
          rule: "shell(mkdir *)",
          verdict: "allow",
          kind: "command",
          scope: "project",
          call: expect.stringMatching(/\/1\/1$/),
        },
      ]);
    },
  );

  test("shows why no rule can allow a line, and Esc goes back", verifies("CHAT-2#rules"), async () => {
    const world = createWorld();
    const person = await talking(world, [shells("ls > list"), answer("Then not.")]);
    await person.sees("ready");
    person.type("list\r");
    await person.answers("a", "a always…");
    await person.sees("No rule can allow this line");
    person.type("n");
    await person.sees(/Then not\.[\s\S]*ready/);
    person.type("\x04");
    await person.ended;
    expect(await decisions(world)).toEqual([["ask", undefined]]);
  });

  test("works by numbers without a live screen", verifies("CHAT-2#rules"), async () => {
    const world = createWorld();
    const person = await talking(world, [shells("mkdir one"), answer("Made.")], ["--screen-reader"]);
    await person.sees("Ready.");
    person.type("make\r");
    await person.answers("5\r", "5 always…");
    await person.answers("4\r", '4 shell "mkdir one", exactly this, this session');
    await person.sees("Made.");
    person.type("/permissions\r");
    await person.sees("allow  shell(mkdir one)  (of this session");
    person.type("/quit\r");
    await person.ended;
    expect(existsSync(join(world.root, "one"))).toBe(true);
  });
});

describe("a rule of a session", () => {
  test("is there after a resume, and taken away by its number counts no more", verifies("CHAT-2#rules"), async () => {
    const world = createWorld();
    const first = await talking(world, [answer("Hello.")]);
    await first.sees("ready");
    first.type("hello\r");
    await first.sees("Hello.");
    first.type("/permissions add allow shell(mkdir *) session\r");
    await first.sees("allow  shell(mkdir *)  (of this session");
    first.kill("SIGKILL");
    await first.ended;
    const script = [shells("mkdir one"), answer("Made."), shells("mkdir two"), answer("Then not.")];
    const person = await talking(world, script, ["--continue"]);
    await person.sees("ready");
    person.type("make\r");
    await person.sees("Made.");
    person.type("/permissions remove 1\r");
    await person.sees("Removed: allow");
    person.type("/permissions add deny shell(rmdir *)\r");
    await person.sees("deny   shell(rmdir *)  (of this session");
    person.type("/permissions remove shell(rmdir)\r");
    await person.sees("There is no such rule.");
    person.type("/permissions remove shell(rmdir *)\r");
    await person.sees("Removed: deny");
    person.type("/permissions\r");
    await person.sees("only read run; everything else\nasks.");
    person.type("once more\r");
    await person.answers("n", "a always…");
    await person.sees(/Then not\.[\s\S]*ready/);
    person.type("\x04");
    await person.ended;
    expect(existsSync(join(world.root, "two"))).toBe(false);
    const forked = parseJsonLines((await world.pawl(["sessions", "--json"])).stdout)[0].sessionId;
    await world.pawl(["fork", forked]);
    expect((await world.pawl(["permissions"])).stdout).toContain("No rules are stored");
  });
});

describe("pawl permissions", () => {
  test("adds, tests and removes; deny holds with --yes, and the log says why", verifies("CHAT-2#rules"), async () => {
    const world = createWorld({ ".env": "SECRET", "a.txt": "colour" });
    expect((await world.pawl(["permissions", "add", "deny", "edit_file(*.txt)"])).code).toBe(0);
    expect((await world.pawl(["permissions", "add", "deny", "read_file(**/.env*)", "--user"])).code).toBe(0);
    expect((await world.pawl(["permissions", "add", "allow", "shell(sh *)"])).stderr).toContain("choose what runs");
    expect((await world.pawl(["permissions", "test", "cat .env"])).stdout).toContain("This is denied.");
    const server = await startProviderServer("openai-chat", [
      {
        type: "answer",
        calls: [
          { name: "edit_file", input: { path: "a.txt", oldText: "colour", newText: "color" } },
          { name: "read_file", input: { path: ".env" } },
          { name: "search_files", input: { text: "SECRET" } },
          { name: "list_files", input: {} },
        ],
      },
      answer("Done."),
    ]);
    onTestFinished(() => server.close());
    const env = { OPENAI_BASE_URL: server.baseURL };
    expect((await world.pawl(["run", "work", "--yes", "--model", "openai-compatible/test"], { env })).code).toBe(0);
    expect(await decisions(world)).toEqual([
      ["deny", "edit_file(*.txt)"],
      ["deny", "read_file(**/.env*)"],
      ["allow", undefined],
      ["allow", undefined],
    ]);
    const sent = JSON.stringify(server.requests[1]?.body.messages);
    expect(sent).not.toMatch(/SECRET\W*\n|\.env:|\.env\\n/);
    expect((await world.pawl(["permissions", "remove", "edit_file(*.txt)"])).code).toBe(0);
    expect((await world.pawl(["permissions"])).stdout).not.toContain("edit_file");
  });

  test(
    "a file of rules that is half written stops every command that would go by it",
    verifies("CHAT-2#rules"),
    async () => {
      const world = createWorld();
      await world.pawl(["permissions", "add", "deny", "shell(rm *)", "--user"]);
      writeFileSync(join(world.base, ".config/pawl/permissions.json"), '{ "deny": ["shell(rm');
      const { code, stderr } = await world.pawl(["run", "hello", "--yes"]);
      expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot be read") });
    },
  );
});

describe("a rule for a tool of an MCP server", () => {
  const server = fileURLToPath(new URL("../fixtures/mcp-server.mjs", import.meta.url));
  const call = { type: "answer", calls: [{ name: "mcp__odd__echo", input: {} }] } as const;

  /** The server is a person's own, so nobody is asked whether to trust it. */
  function serverIs(world: World, ...args: readonly string[]): void {
    const file = join(world.base, ".config/pawl/mcp.json");
    mkdirSync(dirname(file), { recursive: true });
    const odd = { command: process.execPath, args: [server, ...args] };
    writeFileSync(file, JSON.stringify({ mcpServers: { odd } }));
  }

  async function leave(person: Person) {
    await person.sees(/Echoed\.[\s\S]*ready/);
    person.type("\x04");
    await person.ended;
  }

  test(
    "allows the version that the person saw: a changed tool asks again and says so, in the next session too",
    verifies("SEC-10", "CHAT-2#rules"),
    async () => {
      const world = createWorld();
      serverIs(world);
      const ask = async () => await talking(world, [call, answer("Echoed.")], ["echo it"]);
      const first = await ask();
      await first.answers("a", "a always…");
      await first.sees("mcp__odd__echo as it is now, whatever its input is");
      first.type("p");
      await leave(first);
      const same = await ask();
      await leave(same);

      serverIs(world, "changed");
      const changed = await ask();
      await changed.answers("y", /mcp__odd__echo has changed since you allowed it on[\s\S]*pawl mcp test odd/);
      await leave(changed);
      const renewing = await ask();
      await renewing.answers("a", "mcp__odd__echo has changed since");
      await renewing.sees("esc back");
      renewing.type("p");
      await leave(renewing);
      await leave(await ask());

      const listed = await world.pawl(["permissions"]);
      expect(listed.stdout).toMatch(/^allow {2}mcp__odd__echo@[0-9a-f]{8}… {2}\(yours, for this folder; .*\)\n$/);
      const [kept] = parseJsonLines((await world.pawl(["permissions", "--json"])).stdout);
      const [tested] = parseJsonLines((await world.pawl(["mcp", "test", "odd", "--json"])).stdout);
      expect(tested.tools).toContainEqual(expect.objectContaining({ name: "echo", rule: kept.rule }));
      expect((await world.pawl(["permissions", "remove", "mcp__odd__echo"])).stdout).toContain("Removed: allow");
      expect((await world.pawl(["permissions"])).stdout).toContain("No rules are stored.");
    },
  );

  test("that names no version, as 0.1 kept it, asks once more and is renewed", verifies("SEC-10"), async () => {
    const world = createWorld();
    serverIs(world);
    const added = await world.pawl(["permissions", "add", "allow", "mcp__odd__echo"]);
    expect(added.stdout).toMatch(/not for a particular version, so each tool still asks/);
    const denied = await runOnce(world, []);
    expect(denied.stderr.replace(/\s+/g, " ")).toContain(
      "nobody can be asked: The rule mcp__odd__echo (yours, for this folder) is not for a particular version of the tool.",
    );
    const person = await talking(world, [call, answer("Echoed.")], ["echo it"]);
    await person.answers("a", /The rule mcp__odd__echo \(yours, for this folder\) is not for a/);
    await person.sees("esc back");
    person.type("p");
    await leave(person);
    const rules = parseJsonLines((await world.pawl(["permissions", "--json"])).stdout);
    expect(rules).toMatchObject([{ rule: expect.stringMatching(/^mcp__odd__echo@[0-9a-f]{64}$/), scope: "project" }]);
    expect((await runOnce(world, [])).stderr).not.toContain("denied");
  });

  async function runOnce(world: World, args: readonly string[]) {
    const provider = await startProviderServer("openai-chat", [call, answer("Echoed.")]);
    onTestFinished(() => provider.close());
    const env = { OPENAI_BASE_URL: provider.baseURL };
    return await world.pawl(["run", "--model", "openai-compatible/test", ...args, "echo it"], { env });
  }
});
