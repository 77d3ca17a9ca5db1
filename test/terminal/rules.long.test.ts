/**
 * Rules as a person makes them in a conversation, and takes them back.
 */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createWorld, jsonLines, type World } from "../cli/pawl.js";
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

/** Keys answer a question only once it has been on the screen for a moment. */
async function answers(person: Person, key: string, question: string | RegExp) {
  await person.sees(question);
  await new Promise((done) => setTimeout(done, 450));
  person.type(key);
}

async function decisions(world: World) {
  const [session] = jsonLines((await world.pawl(["sessions", "--json"])).stdout);
  return jsonLines((await world.pawl(["sessions", "export", session.sessionId])).stdout).flatMap(({ event }) =>
    event.type === "tool_decided" ? [[event.decision.verdict, event.decision.rule?.pattern]] : [],
  );
}

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
      await answers(person, "a", "a always…");
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
      expect(jsonLines(stdout)).toMatchObject([
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
    await answers(person, "a", "a always…");
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
    await answers(person, "5\r", "5 always…");
    await answers(person, "4\r", '4 shell "mkdir one", exactly this, this session');
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
    person.type("once more\r");
    await answers(person, "n", "a always…");
    await person.sees(/Then not\.[\s\S]*ready/);
    person.type("\x04");
    await person.ended;
    expect(existsSync(join(world.root, "two"))).toBe(false);
    const forked = jsonLines((await world.pawl(["sessions", "--json"])).stdout)[0].sessionId;
    await world.pawl(["fork", forked]);
    expect((await world.pawl(["permissions"])).stdout).toContain("No rule has been kept");
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
