/**
 * The conversation without a live screen: for screen readers and simple terminals.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createWorld, type World } from "../cli/pawl.js";
import { type Script, startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { openPawl } from "./pseudo-terminal.js";

async function talking(
  world: World,
  script: Script,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  const server = await startProviderServer("openai-chat", script);
  onTestFinished(() => server.close());
  const person = openPawl(world, ["--model", "openai-compatible/test", ...args], {
    rows: 40,
    env: { OPENAI_BASE_URL: server.baseURL, ...env },
  });
  await person.sees("Ready. Type a message and press Enter.");
  return { person, server };
}

const shell = (command: string) => ({ type: "answer", calls: [{ name: "shell", input: { command } }] }) as const;
const answer = (text: string) => ({ type: "answer", text }) as const;

/** What moves the cursor, erases, or colors. */
const controls = /\x1b\[/;

describe.each([
  ["--screen-reader", ["--screen-reader"], {}],
  ["TERM=dumb", [], { TERM: "dumb" }],
] as const)("%s", (_, args, env) => {
  test(
    "only appends: messages, tools in words, and questions as numbered lines",
    verifies("CHAT-1#plain"),
    async () => {
      const world = createWorld();
      const script = [shell("echo one > made"), shell("echo two > made"), answer("# Over\n\nAll **done**.")];
      const { person, server } = await talking(world, script, args, env);
      person.type("work\r");
      await person.answers("3\r", "shell echo one > made waits for your answer. Type a number and press Enter:");
      await person.sees("because >");
      person.type("not this\r");
      await person.answers("4\r", /denied by .*: not this[\s\S]*shell echo two > made waits for your answer/);
      await person.sees("now: echo two > made");
      person.type("echo three > made\r");
      await person.answers("1\r", "shell echo three > made waits for your answer");
      await person.sees(/Over\n+All done\.[\s\S]*Ready\./);
      expect(readFileSync(join(world.root, "made"), "utf8")).toBe("three\n");
      expect(JSON.stringify(server.requests[1]?.body.messages)).toContain("not this");
      const lines = await person.history();
      for (const expected of [
        "You: work",
        "Question: shell wants to run:",
        "    command: echo one > made",
        "  1 yes",
        "  2 no",
      ])
        expect(lines.map((line) => line.trimEnd())).toContain(expected);
      expect(lines.some((line) => line.startsWith("Tool, done: shell"))).toBe(true);
      person.type("/quit\r");
      expect(await person.ended).toMatchObject({ code: 0 });
      expect(person.bytes()).not.toMatch(controls);
    },
  );
});

test(
  "a field that is edited keeps its text with an empty line, and a question whose edit was refused is asked again",
  verifies("CHAT-1#plain"),
  async () => {
    const world = createWorld({ "a.txt": "one\n" });
    const edit = { name: "edit_file", input: { path: "a.txt", oldText: "one", newText: "two" } };
    const { person } = await talking(world, [{ type: "answer", calls: [edit] }, answer("Done.")], ["--screen-reader"]);
    person.type("work\r");
    await person.answers("4\r", /edit_file a\.txt waits for your answer/);
    await person.sees(/path > {2}now: a\.txt\s+Enter keeps it, "" empties it\./);
    person.type("\r");
    await person.sees("oldText >  now: one");
    person.type('""\r');
    await person.sees("newText >  now: two");
    person.type("three\r");
    await person.answers("1\r", /edit_file a\.txt waits for your answer[^?]*1 yes/);
    await person.sees(/Failed: The edited input[\s\S]*Question: edit_file wants to run:[\s\S]*5 always…/);
    await person.answers("1\r", /Nothing was answered[\s\S]*edit_file a\.txt waits for your answer/);
    await person.sees(/Done\.[\s\S]*Ready\./);
    expect(readFileSync(join(world.root, "a.txt"), "utf8")).toBe("two\n");
    person.type("/quit\r");
    await person.ended;
  },
);

test("a number that was typed before the question appeared is no answer", verifies("CHAT-1#plain"), async () => {
  const world = createWorld();
  const { person } = await talking(world, [shell("echo x > made")], ["--screen-reader"]);
  person.type("work\r1\r");
  await person.sees("shell echo x > made waits for your answer");
  expect(existsSync(join(world.root, "made"))).toBe(false);
  person.type("\x04");
  expect(await person.ended).toMatchObject({ code: 3 });
  expect(person.bytes()).toContain("1 question waits for your answer.");
});

test("NO_COLOR and a small terminal are kept to", verifies("CHAT-1#plain"), async () => {
  const world = createWorld();
  const person = openPawl(world, ["--model", "demo"], { env: { NO_COLOR: "1" } });
  await person.sees("ready");
  expect(person.bytes()).not.toMatch(/\x1b\[[\d;]*m/);
  const small = openPawl(world, ["--model", "demo"], { columns: 18, rows: 5 });
  await small.sees("Ready.");
  expect(small.bytes()).not.toMatch(controls);
});
