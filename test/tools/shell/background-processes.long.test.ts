/**
 * Commands that run in the background, and what a later process can tell of them.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Json } from "../../../src/core/index.js";
import type { ToolContext } from "../../../src/ports/tool.js";
import {
  type BackgroundProcess,
  type CommandSandbox,
  createBackgroundProcesses,
  createShellTool,
} from "../../../src/tools/index.js";
import { readProcessIdentity } from "../../../src/tools/shell/process-identity.js";
import { verifies } from "../../verifies.js";
import { awaitToolOutput, createTempFolder, createToolContext } from "../folder.js";

/** Tools with a session's data, and what was told of the ends. */
function background(sandbox: "off" | CommandSandbox = "off") {
  const root = createTempFolder();
  const ended: BackgroundProcess[] = [];
  const processes = createBackgroundProcesses({ onEnd: (process) => ended.push(process) });
  onTestFinished(() => processes.stopAll());
  const shell = createShellTool({
    root,
    sandbox,
    killGraceMs: 200,
    maxOutputBytes: 2_000,
    background: processes,
  });
  const values: { [key: string]: Json } = {};
  const data: ToolContext["data"] = {
    get: (key) => values[key],
    all: () => ({ ...values }),
    set(key, value) {
      values[key] = JSON.parse(JSON.stringify(value)) as Json;
    },
    delete(key) {
      delete values[key];
    },
    update: () => {},
  };
  const context = { ...createToolContext(), data };
  const call = async (name: string, input: object) => {
    const tool = [shell, ...processes.tools].find((one) => one.name === name);
    try {
      return String(await awaitToolOutput(tool?.execute?.(input as never, context)));
    } catch (error) {
      return String(error);
    }
  };
  return {
    root,
    processes,
    ended,
    values,
    call,
    start: (command: string) => call("shell", { command, background: true }),
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

/** A process of a later clock tick than another one: the system tells when a process started in ticks of 10 ms. */
function startedLaterThan(pid: number): ChildProcess {
  for (;;) {
    const later = spawn("sleep", ["600"], { detached: true });
    onTestFinished(() => void later.kill("SIGKILL"));
    if (readProcessIdentity(later.pid ?? 0).startedAt > readProcessIdentity(pid).startedAt) return later;
  }
}

async function fileIn(root: string, name: string): Promise<string> {
  await vi.waitFor(() => expect(existsSync(join(root, name)) && readFileSync(join(root, name), "utf8")).toBeTruthy());
  return readFileSync(join(root, name), "utf8").trim();
}

describe("a command in the background", verifies("SEC-7"), () => {
  test("runs on, is read, and is stopped with all that it has started", async () => {
    const { root, processes, call, start, ended } = background();
    expect(await start("echo hello; sleep 600 & echo $! > child; wait")).toMatch(
      /^Started in the background as process 1\./,
    );
    const child = Number(await fileIn(root, "child"));
    await vi.waitFor(async () =>
      expect(await call("read_process", { process: 1 })).toBe("hello\n(process 1: still running; not sandboxed)"),
    );
    expect(processes.list()).toMatchObject([{ number: 1, sessionId: "session", ended: null }]);
    expect(isAlive(child)).toBe(true);
    expect(await call("stop_process", { process: 1 })).toBe("hello\n(process 1: stopped; not sandboxed)");
    await vi.waitFor(() => expect(isAlive(child)).toBe(false));
    expect(ended).toMatchObject([{ number: 1, ended: "stopped" }]);
    expect(await call("read_process", { process: 2 })).toContain("There is no process 2.");
  });

  test("tells how it ended, and of a long output keeps the beginning and the end", async () => {
    const { processes, start, call, ended } = background();
    await start("yes line | head -5000; exit 3");
    await vi.waitFor(() => expect(ended).toHaveLength(1));
    expect(await call("read_process", { process: 1 })).toMatch(
      /^line\n[\s\S]*\[… (\d+ lines \(\d+ bytes\)) left out …\][\s\S]*line\n\(process 1: exit code 3; not sandboxed; \1 of the output were not kept\)$/,
    );
    expect(processes.output("session", 1)?.length).toBeLessThan(2_200);
    expect(processes.output("other", 1)).toBeNull();
  });

  test("is one of ten at most, and ended ones are forgotten at last", async () => {
    const { processes, start } = background();
    for (let count = 0; count < 10; count += 1) await start("sleep 600");
    expect(await start("sleep 600")).toContain("10 processes already run in the background");
    await processes.stopAll();
    expect(processes.list().filter(({ ended }) => ended === null)).toEqual([]);
    for (let count = 0; count < 15; count += 1) {
      await start("true");
      await vi.waitFor(() => expect(processes.list().at(-1)?.ended).toBe("exit code 0"));
    }
    expect(processes.list().length).toBeLessThanOrEqual(21);
    expect(processes.list().at(-1)?.number).toBe(25);
  });

  test("stands in the session's data, and a later process knows it from another one with its id", async () => {
    const { values, start, processes } = background();
    await start("sleep 600");
    const record = values["process 1"] as { readonly [name: string]: Json };
    const pid = Number(record.pid);
    expect(record).toMatchObject({ number: 1, sessionId: "session", command: "sleep 600" });
    // While the program runs, the process is none of an earlier one; nor is it one of another session.
    expect(processes.earlier("session", values)).toEqual([]);
    const later = createBackgroundProcesses();
    expect(later.earlier("fork", values)).toEqual([]);
    const look = (changes: object) =>
      later.earlier("session", { "process 1": { ...record, ...changes } as Json })[0] ?? null;
    expect(look({})).toMatchObject({ number: 1, command: "sleep 600", pid, fate: "running" });
    const bystander = startedLaterThan(pid);
    const { surroundings } = readProcessIdentity(process.pid);
    for (const [changes, fate] of [
      // Its id was given to another process.
      [{ pid: bystander.pid }, "gone"],
      [{ host: "another" }, "unknown"],
      [{ surroundings: surroundings.replace(/^\S+/, "another-boot") }, "gone"],
      [{ surroundings: surroundings.replace(/ .*$/, " pid:[1]") }, "unknown"],
    ] as const) {
      expect(look(changes)?.fate).toBe(fate);
      expect(look(changes)?.stop()).toBe(false);
    }
    expect(isAlive(bystander.pid ?? 0)).toBe(true);
    expect(isAlive(pid)).toBe(true);
    expect(look({})?.stop()).toBe(true);
    await vi.waitFor(() => expect(processes.list()[0]?.ended).toBe("killed by SIGKILL"));
    expect(look({})?.fate).toBe("gone");
    await start("sleep 600");
    expect(Object.keys(values)).toEqual(["process 2"]);
  });

  test("is not made up from what somebody else has put into the session's data", () => {
    const record = { number: 1, sessionId: "s", command: "c", ...readProcessIdentity(2) };
    const { earlier } = createBackgroundProcesses();
    for (const value of [null, 1, [], {}, { ...record, pid: 1 }, { ...record, pid: -2 }, { ...record, command: 1 }])
      expect(earlier("s", { "process 1": value as Json })).toEqual([]);
    expect(earlier("s", { "process 2": record as Json })).toEqual([]);
    expect(earlier("s", { "process 1": record as Json })).toHaveLength(1);
  });
});

test("a sandbox is told once that a command in the background has ended, also if it could not be started", async () => {
  let ends = 0;
  const createSandbox = (program: string): CommandSandbox => ({
    ...{ kind: "bubblewrap", reason: null, advice: "", hosts: [], describe: () => [], close: async () => {} },
    prepare: async () => ({
      program: [program],
      environment: (base) => base,
      filter: null,
      report: () => ({ refusals: [], notes: [] }),
      async end() {
        ends += 1;
      },
    }),
  });
  expect(await background(createSandbox("/no/such/program")).start("true")).toContain("ENOENT");
  expect(ends).toBe(1);
  const { start, ended } = background(createSandbox("true"));
  await start("true");
  await vi.waitFor(() => expect(ended).toMatchObject([{ ended: "exit code 0" }]));
  expect(ends).toBe(2);
});

test("the output of a command is shown while it runs", verifies("CHAT-1#view"), async () => {
  const root = createTempFolder();
  const shell = createShellTool({ root, sandbox: "off" });
  const command = "echo one; until [ -e go ]; do sleep 0.02; done; echo two";
  const output = shell.execute?.({ command }, createToolContext()) as AsyncIterable<string>;
  const iterator = output[Symbol.asyncIterator]();
  expect(await iterator.next()).toEqual({ done: false, value: "one\n" });
  spawn("touch", [join(root, "go")]);
  let last = await iterator.next();
  while (last.done !== true) last = await iterator.next();
  expect(last.value).toBe("one\ntwo\n(exit code 0; not sandboxed)");
});

test("of a long output the end is shown, in whole lines", async () => {
  const shell = createShellTool({ root: createTempFolder(), sandbox: "off" });
  const command = "seq 1 100000; sleep 600";
  const stop = new AbortController();
  const output = shell.execute?.({ command }, createToolContext(stop.signal)) as AsyncIterable<string>;
  const iterator = output[Symbol.asyncIterator]();
  let shown = "";
  while (!shown.endsWith("\n100000\n")) shown = (await iterator.next()).value;
  expect(shown.length).toBeLessThanOrEqual(16 * 1024 + 2);
  expect(shown).toMatch(/^…\n(\d+\n)+$/);
  stop.abort();
  await expect(iterator.next()).rejects.toThrow(
    /^The command was aborted; not sandboxed; \d+ lines \(\d+ bytes\) of the output were not kept\. Output so far:\n1\n2\n/,
  );
});
