/**
 * Which call a key answers, and what it says: in the conversation, without a live screen, in `pawl run` and in `/approve`.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAgent, defineTool } from "../../src/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { createWorld, parseJsonLines, type World } from "../cli/pawl.js";
import { type Script, startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { openPawl, type Person, type PersonOptions } from "./pseudo-terminal.js";

const answer = (text: string) => ({ type: "answer", text }) as const;

async function withModel(script: Script) {
  const server = await startProviderServer("openai-chat", script);
  onTestFinished(() => server.close());
  return { server, env: { OPENAI_BASE_URL: server.baseURL } };
}

const write = (path: string) => ({ name: "write_file", input: { path, content: `${path}\n` } });
const three = [
  { type: "answer", calls: ["new1.txt", "new2.txt", "new3.txt"].map(write) },
  answer("All done."),
] as const;

async function open(world: World, script: Script, args: readonly string[], options: PersonOptions = {}) {
  const { env } = await withModel(script);
  return openPawl(world, [...args, "--model", "openai-compatible/test"], { rows: 40, ...options, env });
}

const written = ({ root }: World) =>
  ["new1.txt", "new2.txt", "new3.txt"].filter((path) => existsSync(join(root, path)));

describe("several questions of one tool", () => {
  test.each([40, 80, 120])(
    "are asked one at a time, and the keys name the call they answer, at %i columns",
    verifies("CHAT-2#keys"),
    async (columns) => {
      const world = createWorld();
      const person = await open(world, three, [], { columns });
      await person.sees("ready");
      person.type("work\r");
      const ask = (name: string) => `? write_file ${name}, shown above`;
      const first = await person.sees(ask("new1.txt"));
      // A call that is just being decided may be on the screen by its name.
      expect(first).not.toContain("path: new2.txt");
      expect(first).not.toContain("path: new3.txt");
      await person.answers("y", ask("new1.txt"));
      const second = await person.sees(ask("new2.txt"));
      expect(second).not.toContain("path: new3.txt");
      expect(second.lastIndexOf("path: new2.txt")).toBeGreaterThan(second.lastIndexOf("path: new1.txt"));
      await person.answers("n", ask("new2.txt"));
      await person.sees(ask("new3.txt"));
      expect(existsSync(join(world.root, "new2.txt"))).toBe(false);
      await person.answers("y", ask("new3.txt"));
      await person.sees("All done.");
      expect(written(world)).toEqual(["new1.txt", "new3.txt"]);
    },
  );

  test("are asked one at a time without a live screen", verifies("CHAT-1#plain"), async () => {
    const world = createWorld();
    const person = await open(world, three, ["--screen-reader"]);
    await person.sees("Ready.");
    person.type("work\r");
    expect(await person.sees(/write_file new1\.txt.* waits for your answer/)).not.toMatch(/new[23]\.txt/);
    await person.answers("2\r", /write_file new1\.txt.* waits for your answer/);
    await person.answers("1\r", /write_file new2\.txt.* waits for your answer/);
    await person.answers("2\r", /write_file new3\.txt.* waits for your answer/);
    await person.sees("All done.");
    expect(written(world)).toEqual(["new2.txt"]);
  });

  test("name their call in the prompt of pawl run", verifies("CLI-2"), async () => {
    const world = createWorld();
    const person = await open(world, three, ["run", "work"]);
    for (const [name, key] of [
      ["new1.txt", "y"],
      ["new2.txt", "n"],
      ["new3.txt", "y"],
    ] as const) {
      await person.sees(new RegExp(`Allow write_file ${name}.*\\?`));
      person.type(`${key}\r`);
    }
    expect(await person.ended).toMatchObject({ code: 0 });
    expect(written(world)).toEqual(["new1.txt", "new3.txt"]);
  });
});

/** A session of the folder whose edit was interrupted, and of which its file does not tell whether it was made. */
async function interrupted(world: World): Promise<void> {
  const store = await openSqliteStore({ path: join(world.home, "sessions.db") });
  let started = () => {};
  const whenStarted = new Promise<void>((done) => {
    started = done;
  });
  const edit = defineTool({
    name: "edit_file",
    description: "Edits.",
    input: { type: "object" },
    recover: "ask",
    execute: () => {
      started();
      return new Promise<string>(() => {});
    },
  });
  const input = { path: "notes.txt", oldText: "one", newText: "one, two" };
  const model = createScriptedModel([{ calls: [{ name: "edit_file", input }] }]);
  const agent = createAgent({ name: "pawl", root: world.root, model, tools: [edit], store });
  void agent.run("Edit", { sessionId: "s" });
  await whenStarted;
  await agent.shutdown({ graceMs: 0 });
  await store.close();
}

async function resultOf(world: World): Promise<unknown> {
  const log = parseJsonLines((await world.pawl(["sessions", "export", "s"])).stdout).map(({ event }) => event);
  return log.find(({ type }) => type === "answered")?.answer;
}

const meanings = [
  ["d", { type: "result", output: { type: "text", text: "The person says that this call has done its work." } }],
  ["f", { type: "fail" }],
  ["a", { type: "rerun" }],
] as const;

describe("an interrupted call", () => {
  const files = { "notes.txt": "one, two\n" };

  test.each(meanings)(
    "is answered by %s in the conversation, and not by y or n",
    verifies("CHAT-2#keys"),
    async (key, expected) => {
      const world = createWorld(files);
      await interrupted(world);
      const person = await open(world, [answer("All done.")], ["--continue"]);
      const question = /d it is done {3}f it failed {3}a run it again/;
      await person.reads(question);
      person.type("y");
      await person.sees("> y");
      person.type("\x7fn");
      await person.sees("> n");
      person.type("\x7f");
      await person.seesNoMore("> n");
      await person.answers(key, question);
      await person.sees("All done.");
      expect(await resultOf(world)).toEqual(expected);
    },
  );

  test.each(meanings)(
    "is answered by %s in pawl resume, and not by y or n",
    verifies("CLI-2"),
    async (key, expected) => {
      const world = createWorld(files);
      await interrupted(world);
      const person = await open(world, [answer("All done.")], ["resume", "s"]);
      const prompt = "How did it end? [d]one (result)  [f]ailed (reason)  run it [a]gain >";
      await person.sees(prompt);
      await asksAgain(person, prompt, "y");
      await asksAgain(person, prompt, "n");
      person.type(`${key}\r`);
      expect(await person.ended).toMatchObject({ code: 0 });
      expect(await resultOf(world)).toEqual(expected);
    },
  );

  test("takes the result of a done call, and the reason of a failed one", verifies("CLI-2"), async () => {
    for (const [line, expected] of [
      ["done, as it says", { type: "result", output: { type: "text", text: "as it says" } }],
      ["f no trace of it", { type: "fail", note: "no trace of it" }],
    ] as const) {
      const world = createWorld(files);
      await interrupted(world);
      const person = await open(world, [answer("All done.")], ["resume", "s"]);
      await person.sees("How did it end?");
      person.type(`${line}\r`);
      expect(await person.ended).toMatchObject({ code: 0 });
      expect(await resultOf(world)).toEqual(expected);
    }
  });

  test("runs again for `a`: the edit is made once more", verifies("CHAT-2#keys"), async () => {
    const world = createWorld(files);
    await interrupted(world);
    const person = await open(world, [answer("All done.")], ["--continue"]);
    await person.answers("a", "a run it again");
    await person.sees("All done.");
    expect(readFileSync(join(world.root, "notes.txt"), "utf8")).toBe("one, two, two\n");
  });
});

/** Types an answer that is none, and waits for the prompt once more. */
async function asksAgain(person: Person, prompt: string, line: string): Promise<void> {
  person.type(`${line}\r`);
  await person.sees(new RegExp(`${prompt.replace(/[[\]().?]/g, "\\$&")} ${line}\\s+[\\s\\S]*${prompt.slice(0, 12)}`));
}
