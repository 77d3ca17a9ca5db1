/**
 * `/mcp` and its verbs, with real servers: one that ends at its start until its settings are there, and one with a library.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { createWorld } from "../cli/pawl.js";
import { verifies } from "../verifies.js";
import { startConversation, usePager } from "./conversation.js";
import { openPawl } from "./pseudo-terminal.js";

const working = resolve(import.meta.dirname, "../fixtures/mcp-server.mjs");
const secret = "hunter2hunter2";

/** Says how many times it was started, and works once there is a file of settings. */
const program = `
import { appendFileSync, existsSync, readFileSync } from "node:fs";
appendFileSync("starts", "x");
console.error("start " + readFileSync("starts", "utf8").length + ", the token is " + process.env.TOKEN);
if (!existsSync("settings")) { console.error("settings: no such file"); process.exit(1); }
await import(${JSON.stringify(working)});
`;

async function worldWithServer(): Promise<ReturnType<typeof createWorld>> {
  const world = createWorld({ "serve.mjs": program });
  const flags = ["--env", `TOKEN=${secret}`, "--", process.execPath, "serve.mjs"];
  expect((await world.pawl(["mcp", "add", "notes", ...flags])).code).toBe(0);
  return world;
}

test("a server that could not be started is started again, and the same session has its tools", {
  ...verifies("CHAT-3#look", "CHAT-4#servers"),
}, async () => {
  const world = await worldWithServer();
  const look = { name: "mcp__notes__look", input: {} };
  const script = [
    { type: "answer", text: "Nothing to look at." },
    { type: "answer", calls: [look] },
    { type: "answer", text: "Looked." },
  ] as const;
  const { person, server } = await startConversation(world, script, ["--yes"], { PAGER: "cat" });
  await person.sees(/MCP server notes:[\s\S]*cannot be reached/);
  person.type("first\r");
  await person.sees(/Nothing to look at\.[\s\S]*ready/);
  person.type("/mcp restart notes\r");
  await person.sees(/Starting notes again…[\s\S]*cannot be reached/);
  await usePager(person, "/mcp log\r");
  await person.sees(/start 2, the token is \[redacted\]\s+settings: no such file/);
  writeFileSync(join(world.root, "settings"), "");
  person.type("/mcp restart\r");
  await person.sees(/notes runs: \d+ tools\./);
  person.type("second\r");
  await person.sees(/Looked\.[\s\S]*ready/);
  person.type("/mcp log\r");
  await person.sees(/start 3/);
  const [before, after] = server.requests.map(({ body }) => JSON.stringify(body));
  expect(before).not.toContain(look.name);
  expect(after).toContain("first");
  expect(after).toContain(look.name);
  expect(await person.screen()).not.toContain(secret);
});

async function worldWithLibrary(): Promise<ReturnType<typeof createWorld>> {
  const world = createWorld({ "AGENTS.md": "The rules of the folder." });
  const command = ["mcp", "add", "notes", "--", process.execPath, working, "library"];
  expect((await world.pawl(command)).code).toBe(0);
  return world;
}

async function startWithLibrary(script: Parameters<typeof startConversation>[1]) {
  return startConversation(await worldWithLibrary(), script, ["--yes"]);
}

test("a tool that a server adds is offered once the person has seen and accepted it", {
  ...verifies("PROT-6#lists", "CHAT-3#look"),
}, async () => {
  const { person, server } = await startWithLibrary([
    { type: "answer", calls: [{ name: "mcp__notes__change", input: {} }] },
    { type: "answer", text: "It has changed." },
    { type: "answer", text: "Seen." },
  ]);
  person.type("go\r");
  await person.sees(/It has changed\.[\s\S]*ready/);
  person.type("/mcp\r");
  await person.sees(/1 new tool, which the model does not see: extra\. To look: \/mcp accept notes/);
  person.type("/mcp accept\r");
  await person.sees(
    /extra \(new\)\s+Looks further\.[\s\S]*echo \(changed\)\s+Sends everything[\s\S]*› leave them as they are/,
  );
  person.type("\x1b[B\r");
  await person.sees(/Accepted 2 tools of notes\.[\s\S]*ready/);
  person.type("again\r");
  await person.sees(/Seen\.[\s\S]*ready/);
  const offered = server.requests.map(({ body }) => JSON.stringify(body.tools).includes("mcp__notes__extra"));
  expect(offered).toEqual([false, false, true]);
});

test("a resource joins the next message, and a prompt is sent once the person has seen it", {
  ...verifies("PROT-6#resources", "PROT-6#prompts", "CHAT-3#look"),
}, async () => {
  const { person, server } = await startWithLibrary([
    { type: "answer", text: "Read." },
    { type: "answer", text: "Reviewed." },
  ]);
  person.type("/mcp read notes\r");
  await person.sees(/read from notes[\s\S]*today notes:\/\/today/);
  person.type("\r");
  await person.sees("notes://today is attached to your next message: 1 line.");
  person.type("what is it?\r");
  await person.sees(/Read\.[\s\S]*ready/);
  person.type("/notes:review\r");
  await person.sees("Write: /mcp prompt notes review what [how]");
  person.type("/notes:review 'the plan' well\r");
  await person.sees(/Review the plan well and @AGENTS\.md\.[\s\S]*› send nothing/);
  person.type("\r");
  await person.sees("Nothing was sent.");
  person.type("/notes:review 'the plan' well\r");
  await person.sees(/Nothing was sent\.[\s\S]*› send nothing/);
  person.type("\x1b[B\r");
  await person.sees(/Reviewed\.[\s\S]*ready/);
  const [read, reviewed] = server.requests.map(({ body }) => JSON.stringify((body.messages as unknown[]).at(-1)));
  expect(read).toContain("The text of notes://today.");
  expect(reviewed).toContain("Review the plan well and @AGENTS.md.");
  // What a server writes names no files of the folder.
  expect(reviewed).not.toContain("as it is now");
});

test("@ and / complete resources and prompts, and @server:uri reads the resource when it is sent", {
  ...verifies("PROT-6#resources", "PROT-6#prompts", "CHAT-1#paths"),
}, async () => {
  const { person, server } = await startWithLibrary([{ type: "answer", text: "Read." }]);
  person.type("/not");
  await person.sees("/notes:review");
  person.type("\t");
  await person.sees("/notes:review what [how] · a prompt of notes");
  person.type("\x15/help\r");
  await person.sees(/Prompts of MCP servers\s+\/notes:review what \[how\]/);
  person.type("@gone");
  person.type("\x15explain @tod");
  await person.sees("notes:notes://today");
  person.type("\t");
  await person.sees("> explain @notes:notes://today");
  person.type("and @notes:notes://lost\r");
  await person.sees(/@notes:notes:\/\/lost cannot be read, so nothing was\s+sent: There is no such\s+note\./);
  person.type("explain @notes:notes://today\r");
  await person.sees(/\+ The resource notes:\/\/today[\s\S]*Read\.[\s\S]*ready/);
  expect(server.requests).toHaveLength(1);
  expect(JSON.stringify(server.requests[0]?.body.messages)).toContain("The text of notes://today.");
});

test("pawl run reads @server:uri, and starts no run if it cannot", verifies("PROT-6#resources"), async () => {
  const world = await worldWithLibrary();
  const run = (task: string) => world.pawl(["run", "--model", "demo", "--json", task]);
  expect(await run("Explain @notes:notes://today")).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("The text of notes://today."),
  });
  const refused = await run("Explain @notes:notes://lost");
  expect(refused.code).toBe(2);
  expect(refused.stdout).not.toContain("run_started");
  expect(refused.stderr).toContain("@notes:notes://lost cannot be read, so nothing was sent");
});

/** What is kept of a log begins in the middle of the token. */
const talkative = `
console.error("token " + process.env.TOKEN);
for (let line = 0; line < 63; line += 1) console.error("x".repeat(1_023));
console.error("the last line".padEnd(1_015));
`;

test("a long log begins with a whole line: no half of a secret is left in it", verifies("SEC-14"), async () => {
  const world = createWorld({ "serve.mjs": talkative });
  const flags = ["--env", `TOKEN=${secret}`, "--", process.execPath, "serve.mjs"];
  expect((await world.pawl(["mcp", "add", "notes", ...flags])).code).toBe(0);
  const paged = join(world.root, "paged");
  const pager = join(world.root, "pager.sh");
  writeFileSync(pager, `#!/bin/sh\ncat > "${paged}"\n`, { mode: 0o755 });
  const { person } = await startConversation(world, [], [], { PAGER: pager });
  person.type("/mcp log\r");
  await expect.poll(() => existsSync(paged) && readFileSync(paged, "utf8")).toContain("the last line");
  expect(readFileSync(paged, "utf8")).toMatch(/^x{1023}\n/);
});

test("a name and a word that are wrong are told", verifies("CHAT-3#look"), async () => {
  const world = await worldWithServer();
  const { person } = await startConversation(world, []);
  person.type("/mcp restart nots\r");
  await person.sees('There is no MCP server "nots" here. There are: notes.');
  person.type("/mcp stop notes\r");
  await person.sees('not "stop notes".');
});

/** It never answers, and ends only with its connection. */
const silent = `process.stdin.resume().on("end", () => process.exit(0)); console.error("begun");`;

async function worldWithSilentServer(): Promise<ReturnType<typeof createWorld>> {
  const world = createWorld({ "serve.mjs": silent });
  expect((await world.pawl(["mcp", "add", "notes", "--", process.execPath, "serve.mjs"])).code).toBe(0);
  return world;
}

const went = /it had\s+not\s+answered\s+when\s+you\s+skipped\s+the\s+wait[\s\S]*\/mcp\s+restart\s+notes[\s\S]*ready/;

test("a server that does not answer keeps nobody: Esc and Ctrl-C go on without it, at the start and later", {
  ...verifies("CHAT-3#look", "CHAT-1#keys"),
}, async () => {
  for (const key of ["\x1b", "\x03"]) {
    const world = await worldWithSilentServer();
    const person = openPawl(world, ["--model", "demo"], { rows: 40, env: { PAGER: "cat" } });
    await person.sees("starting notes… · esc skips the wait");
    person.type("a draft");
    await person.sees("a draft");
    person.type("\x15");
    await person.seesNoMore("a draft");
    person.type(key);
    await person.sees(went);
    person.type("/mcp restart\r");
    await person.sees(/start of notes/);
    person.type("\x1b");
    await person.sees(/you have stopped\s+its start[\s\S]*ready/);
    person.type("/mcp restart\r");
    await person.sees(/start of notes/);
    person.type("\x04");
    expect(await person.ended).toMatchObject({ code: 0 });
  }
});

test(
  "without a live screen, Ctrl-C goes on without a server that does not answer",
  verifies("CHAT-3#look"),
  async () => {
    const person = openPawl(await worldWithSilentServer(), ["--model", "demo", "--screen-reader"], { rows: 40 });
    await person.sees("starting notes… Ctrl-C skips the wait.");
    person.type("\x03");
    await person.sees(/skipped the wait[\s\S]*Ready\./);
  },
);
