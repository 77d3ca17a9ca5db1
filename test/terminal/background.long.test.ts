/**
 * Processes in the background of a conversation, in a pseudo-terminal. The model is a local server that answers from a
 * script.
 */
import { randomInt } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { expect, onTestFinished, test, vi } from "vitest";
import { createWorld, type World } from "../cli/pawl.js";
import { startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { openPawl, type Person } from "./pseudo-terminal.js";
import { withoutSandbox } from "./without-sandbox.js";

/** @param env variables of each conversation */
async function serving(world: World, env: Readonly<Record<string, string>> = {}) {
  // In a sandbox the command knows no process id of this machine. So its process is found by a word of its own.
  const seconds = `600.${randomInt(1e9, 1e10)}`;
  const command = `echo served; sleep ${seconds}`;
  const server = await startProviderServer("openai-chat", [
    { type: "answer", calls: [{ name: "shell", input: { command, background: true } }] },
    { type: "answer", text: "It serves." },
    { type: "answer", text: "I know." },
  ]);
  onTestFinished(() => server.close());
  const open = async (...args: string[]): Promise<Person> => {
    const all = ["--model", "openai-compatible/test", "--yes", "--allow-shell", ...args];
    const person = openPawl(world, all, { env: { OPENAI_BASE_URL: server.baseURL, PAGER: "cat", ...env }, rows: 40 });
    await person.sees("ready");
    return person;
  };
  const person = await open();
  person.type("serve it\r");
  await person.sees(/It serves\.[\s\S]*ready/);
  const pid = await vi.waitFor(() => processOf(["sleep", seconds]));
  onTestFinished(() => {
    if (isAlive(pid)) process.kill(pid, "SIGKILL");
  });
  return { person, pid, open, sent: (at: number) => JSON.stringify(server.requests[at]?.body.messages) };
}

/** @throws Error if no process has this command line */
function processOf(words: readonly string[]): number {
  const found = readdirSync("/proc").find((name) => {
    try {
      return readFileSync(`/proc/${name}/cmdline`, "latin1") === words.map((word) => `${word}\0`).join("");
    } catch {
      return false;
    }
  });
  if (found === undefined) throw new Error(`No process is ${words.join(" ")}.`);
  return Number(found);
}

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

const gone = (pid: number) => vi.waitFor(() => expect(isAlive(pid)).toBe(false));

/** The guards of a process: shells that kill its commands when it dies. */
function guardsOf(parent: number): readonly number[] {
  return readdirSync("/proc").flatMap((name) => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      const isChild = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1] === String(parent);
      return isChild && readFileSync(`/proc/${name}/cmdline`, "latin1").includes("\0guard\0") ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

test("/ps shows what runs, gives its output and stops it; leaving stops all", verifies("CHAT-3#look"), async () => {
  const world = createWorld();
  const { person, pid, open } = await serving(world);
  await person.sees(/^ready · 1 process running/m);
  person.type("/ps\r");
  await person.sees(/1 {2}echo served; .* running for[\s\S]*processes ›/);
  person.type("stop\r");
  await person.sees("Stopped process 1.");
  await gone(pid);
  await person.sees("Process 1 in the background ended (stopped): echo served;");
  expect(await person.screen()).not.toMatch(/^ready .*process running/m);
  // The pager is cat, so the screen is drawn again below it.
  person.type("/ps 1\r");
  await person.sees(/^served$[\s\S]*^ready/m);
  person.type("/quit\r");
  await person.ended;
  const next = await open("--continue");
  next.type("/ps\r");
  await next.sees("No process of this session runs in the background.");
});

test("leaving stops what runs, and the next start says nothing of it", verifies("CHAT-3#look"), async () => {
  const world = createWorld();
  const { person, pid, open } = await serving(world);
  person.type("/quit\r");
  await person.ended;
  expect(await person.screen()).toContain("Stopped 1 process in the background.");
  await gone(pid);
  const next = await open("--continue");
  next.type("/ps\r");
  await next.sees("No process of this session runs in the background.");
  expect(await next.screen()).not.toContain("ran in the background");
});

test(
  "after a kill -9 the process is gone, and the person and the model are told",
  verifies("CHAT-1#kill"),
  async () => {
    const world = createWorld();
    const { person, pid, open, sent } = await serving(world);
    person.kill("SIGKILL");
    await person.ended;
    await gone(pid);
    const next = await open("--continue");
    await next.sees("Process 1 ran in the background and is gone: echo served;");
    next.type("go on\r");
    await next.sees(/I know\.[\s\S]*ready/);
    expect(sent(2)).toContain("Process 1 ran in the background and is gone");
    next.type("/ps\r");
    await next.sees("No process of this session runs in the background.");
  },
);

test("a process that outlived the program and its guard is found, and stopped", verifies("CHAT-1#kill"), async () => {
  const world = createWorld();
  const { person, pid, open } = await serving(world, withoutSandbox(world));
  const guards = guardsOf(person.pid);
  expect(guards.length).toBeGreaterThan(0);
  for (const guard of guards) process.kill(guard, "SIGKILL");
  person.kill("SIGKILL");
  await person.ended;
  expect(isAlive(pid)).toBe(true);
  const next = await open("--continue");
  await next.sees("Process 1 ran in the background and still runs: echo served;");
  next.type("/ps stop 1\r");
  await next.sees("Stopped process 1.");
  await gone(pid);
});
