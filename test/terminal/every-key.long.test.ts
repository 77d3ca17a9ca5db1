/**
 * Cells of the tables of keys and commands that no other test has, in a pseudo-terminal with a local server as the model.
 */
import { chmodSync, existsSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createGate, createWorld, type World } from "../cli/pawl.js";
import { type Script, startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { startConversation, usePager } from "./conversation.js";
import { openProgram, pawlCommand } from "./pseudo-terminal.js";

const answer = (text: string) => ({ type: "answer", text }) as const;
const shell = (command: string) => ({ type: "answer", calls: [{ name: "shell", input: { command } }] }) as const;

/** A run in which a command of the shell is at work. */
async function atWork(world: World, more: readonly ReturnType<typeof answer>[] = []) {
  const gate = createGate(world.root);
  const talk = await startConversation(world, [shell(gate.command), ...more], ["--yes", "--allow-shell"]);
  talk.person.type("work\r");
  await gate.begun({ ended: new Promise(() => {}) } as never);
  await talk.person.sees("esc stops");
  return { ...talk, gate };
}

async function asked(world: World, more: readonly ReturnType<typeof answer>[] = [], command = "echo x > made") {
  const talk = await startConversation(world, [shell(command), ...more]);
  talk.person.type("work\r");
  await talk.person.sees("y yes");
  return talk;
}

const root = resolve(import.meta.dirname, "../..");

describe("at rest", verifies("CHAT-1#keys"), () => {
  test("Esc closes a list; Ctrl-C twice leaves, and says how to go on", async () => {
    const { person } = await startConversation(createWorld(), [answer("One.")]);
    person.type("first message\r");
    await person.sees(/One\.[\s\S]*ready/);
    person.type("\x12");
    await person.sees("history ›");
    person.type("\x1b");
    await person.seesNoMore("history ›");
    person.type("\x03\x03");
    expect(await person.ended).toMatchObject({ code: 0 });
    expect(await person.screen()).toMatch(
      /Press Ctrl-C again to leave\.[\s\S]*To continue: pawl --continue, or pawl --session \w+$/,
    );
  });

  test("the files for agents are named once, and again when others apply", async () => {
    const world = createWorld({ "AGENTS.md": "Be brief." });
    const { person } = await startConversation(world, [answer("One."), answer("Two."), answer("Three.")]);
    person.type("first message\r");
    await person.sees(/Using .*AGENTS\.md[\s\S]*One\.[\s\S]*ready/);
    person.type("second message\r");
    await person.sees(/Two\.[\s\S]*ready/);
    expect((await person.screen()).match(/Using /g)).toHaveLength(1);
    renameSync(join(world.root, "AGENTS.md"), join(world.root, "CLAUDE.md"));
    person.type("third message\r");
    await person.sees(/Using .*CLAUDE\.md[\s\S]*Three\.[\s\S]*ready/);
  });

  test("who leaves a session that is not the latest of the folder is told its id alone", async () => {
    const world = createWorld();
    const { person } = await startConversation(world, [answer("One.")]);
    person.type("first message\r");
    await person.sees(/One\.[\s\S]*ready/);
    expect(await world.pawl(["run", "List the files", "--model", "demo"])).toMatchObject({ code: 0 });
    person.type("/quit\r");
    expect(await person.ended).toMatchObject({ code: 0 });
    expect(await person.screen()).toMatch(/To continue: pawl --session \w+$/);
  });

  test("Tab and Enter at once send the whole path, although the folder has not been read yet", async () => {
    const { person, server } = await startConversation(createWorld({ "notes.txt": "Old.\n" }), [answer("One.")]);
    person.type("Read @no\t\r");
    await person.sees(/One\.[\s\S]*ready/);
    expect(JSON.stringify(server.requests[0]?.body.messages)).toContain("Read @notes.txt");
  });

  test("Ctrl-D deletes in a draft, and leaves without one; nothing is there to go on with", async () => {
    const { person } = await startConversation(createWorld(), []);
    person.type("ab\x01\x04");
    await person.sees(/> b\nready/);
    person.type("\x03\x04");
    expect(await person.ended).toMatchObject({ code: 0 });
    expect(await person.screen()).not.toContain("To continue");
  });

  test("y n r e a and ? are text, and // begins a message with a slash", async () => {
    const { person, server } = await startConversation(createWorld(), [answer("One.")]);
    person.type("//ynrea?");
    await person.sees(/> \/\/ynrea\?\nready/);
    person.type("\r");
    await person.sees(/> \/ynrea\?[\s\S]*One\.[\s\S]*ready/);
    expect(JSON.stringify(server.requests[0]?.body.messages)).toContain('"/ynrea?"');
  });

  test("Ctrl-L draws the region anew; Ctrl-O shows the last output in the pager; /keys lists the keys", async () => {
    const world = createWorld();
    const pager = join(world.root, "pager.sh");
    writeFileSync(pager, `#!/bin/sh\ncat > "${join(world.root, "paged")}"\n`);
    chmodSync(pager, 0o755);
    const script: Script = [{ type: "answer", calls: [{ name: "list_files", input: {} }] }, answer("One.")];
    const { person } = await startConversation(world, script, [], { PAGER: pager });
    person.type("go\r");
    await person.sees(/One\.[\s\S]*ready/);
    const before = person.bytes().length;
    person.type("\x0c");
    await expect.poll(() => person.bytes().slice(before)).toContain("ready");
    await usePager(person, "\x0f");
    expect(existsSync(join(world.root, "paged"))).toBe(true);
    person.type("/keys\r");
    await person.sees(/Alt-↑\n +takes the last queued message back/);
  });
});

describe("at work", verifies("CHAT-1#keys"), () => {
  test("Ctrl-D asks how to leave: Esc stays, l leaves the run for later, and lines that are typed then go nowhere", async () => {
    const { person } = await atWork(createWorld());
    person.type("\x04");
    await person.sees(/s .*stop[\s\S]*l .*leave/i);
    person.type("\x1b");
    await person.sees("esc stops");
    person.type("\x04");
    await person.sees(/s .*stop/i);
    person.type("l");
    await person.sees("leaving: tools at work have 5 seconds to finish");
    person.type("ls for the shell\r");
    expect(await person.ended).toMatchObject({ code: 75 });
    expect(await person.screen()).toContain("To continue: pawl --continue");
    expect(await person.screen()).not.toContain("ls for the shell");
  });

  test("Ctrl-D and s stop the run first", async () => {
    const { person } = await atWork(createWorld());
    person.type("\x04");
    await person.sees(/s .*stop/i);
    person.type("s");
    expect(await person.ended).toMatchObject({ code: 0 });
  });

  test("Ctrl-Z is refused with a line, y n r e a are text, and commands for a session at rest wait", async () => {
    const { person, gate } = await atWork(createWorld(), [answer("Over.")]);
    person.type("\x1a");
    await person.sees(/cannot be suspended during a run/);
    person.type("ynrea?");
    await person.sees("> ynrea?");
    person.type("\x03");
    for (const name of ["new", "resume", "fork", "undo", "redo", "model", "effort low", "trust"]) {
      person.type(`/${name}\r`);
      await person.sees(`/${name.split(" ")[0]} has to wait until the run is over.`);
    }
    gate.open();
    await person.sees(/Over\.[\s\S]*ready/);
  });
});

describe("at a question", verifies("CHAT-2#keys"), () => {
  test("Tab and Esc go from a draft to the question; Enter sends the draft and answers nothing", async () => {
    const world = createWorld();
    const { person } = await asked(world, [answer("Over.")]);
    await person.reads("y yes");
    person.type("a draft");
    await person.sees("tab, then y yes");
    person.type("\t");
    await person.seesNoMore("tab, then");
    person.type("\t");
    await person.sees("tab, then y yes");
    person.type("\x1b");
    await person.seesNoMore("tab, then");
    person.type("\t\r");
    await person.sees("↳ you, before the next model call: a draft");
    expect(existsSync(join(world.root, "made"))).toBe(false);
    person.type("another draft\ty");
    await person.sees(/Over\.[\s\S]*ready/);
    expect(existsSync(join(world.root, "made"))).toBe(true);
  });

  test("Esc twice denies, and stops the run", async () => {
    const world = createWorld();
    const { person } = await asked(world);
    person.type("\x1b\x1b");
    await person.sees(/Press Esc again to deny this and stop the run\.[\s\S]*Stopped\.[\s\S]*ready/);
    expect(existsSync(join(world.root, "made"))).toBe(false);
  });

  test("Ctrl-C clears the draft, then stops the run", async () => {
    const { person } = await asked(createWorld());
    person.type("a draft");
    await person.sees("> a draft");
    person.type("\x03");
    await person.sees(/ {2}y yes/);
    person.type("\x03");
    await person.sees(/Stopped\.[\s\S]*ready/);
  });

  test("Ctrl-D leaves, and the question stays", async () => {
    const world = createWorld();
    const { person, env } = await asked(world);
    person.type("\x04");
    expect(await person.ended).toMatchObject({ code: 3 });
    expect((await world.pawl(["approvals"], { env })).stdout).toContain("echo x > made");
  });

  test("↑ and ↓ choose among the rules of always", async () => {
    const { person } = await asked(createWorld(), [], "npm test");
    await person.answers("a", "y yes");
    await person.sees(/› 1 /);
    const offers = (await person.screen()).match(/^ *(?:› )?\d /gm) ?? [];
    expect(offers.length).toBeGreaterThan(1);
    person.type("\x1b[B");
    await person.sees(/› 2 /);
    person.type("\x1b[B\x1b[A\x1b[A\x1b[A");
    await person.sees(/› 1 /);
    person.type("\x1b");
    await person.sees("y yes");
  });

  test("Ctrl-Z suspends as at rest", async () => {
    const world = createWorld();
    const server = await startProviderServer("openai-chat", [shell("echo x > made"), answer("Over.")]);
    onTestFinished(() => server.close());
    const person = openProgram(world, "sh", ["-i"], { env: { PS1: "$ ", OPENAI_BASE_URL: server.baseURL } });
    person.type(`${pawlCommand} --model openai-compatible/test\r`);
    await person.sees("ready");
    person.type("work\r");
    await person.sees("y yes");
    person.type("\x1a");
    await person.sees(/(?:Stopped|Suspended)[\s\S]*\$$/);
    person.type("fg\r");
    await person.answers("y", "y yes");
    await person.sees(/Over\.[\s\S]*ready/);
  });
});

test("/tools says which tools are off, and why", verifies("CHAT-3#look"), async () => {
  const world = createWorld();
  expect((await world.pawl(["config", "set", "tools.off", "fetch_url"])).code).toBe(0);
  const { person } = await startConversation(world, [], ["--yes"]);
  person.type("/tools\r");
  await person.sees(/edit_file +\w[\s\S]*shell +off: start pawl with --allow-shell\nfetch_url +off: tools\.off in/);
});

test("? at a question says why it asks, and answers nothing", verifies("CHAT-2"), async () => {
  const { person } = await asked(createWorld());
  await person.answers("?", "y yes");
  await person.sees(/it was not allowed in advance\.[\s\S]*y yes/);
});

test("/mcp shows the servers, their tools, and why one does not run", verifies("CHAT-3#look"), async () => {
  const world = createWorld();
  const works = ["mcp", "add", "works", "--", process.execPath, join(root, "test/fixtures/mcp-server.mjs")];
  for (const args of [works, ["mcp", "add", "broken", "--", "no-such-program"]])
    expect((await world.pawl(args)).code).toBe(0);
  const { person } = await startConversation(world, []);
  person.type("/mcp\r");
  await person.sees(
    /✓ \d+ tools\s+works[\s\S]*__look,[\s\S]*✗ not started\s+broken no-such-program[\s\S]*\/mcp\s+restart\s+broken/,
  );
});
