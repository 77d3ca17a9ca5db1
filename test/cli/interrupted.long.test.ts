import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { createAgent, defineTool } from "../../src/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import { createGate, createWorld, parseJsonLines, type World } from "./pawl.js";

/** Starts a run whose shell command is under way and waits. */
async function startInShell(world: World, before = "echo ran >> effects") {
  const gate = createGate(world.root);
  const args = ["--session", "s", "--yes", "--allow-shell"];
  const running = world.start(["run", `run: ${before}; ${gate.command}`, ...args], { input: "" });
  await gate.begun(running);
  return { running, gate };
}

async function summaryOf({ pawl }: World) {
  return parseJsonLines((await pawl(["sessions", "--json"])).stdout)[0];
}

async function logOf({ pawl }: World): Promise<readonly { readonly type: string; readonly [key: string]: unknown }[]> {
  return parseJsonLines((await pawl(["sessions", "export", "s"])).stdout).map(({ event }) => event);
}

function effectsIn({ root }: World): number {
  const file = join(root, "effects");
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").length - 1 : 0;
}

describe("Ctrl-C", () => {
  test(
    "ends the run, waits for its end, and leaves a session that can go on",
    verifies("CLI-3", "LOOP-10"),
    async () => {
      const world = createWorld();
      const { running } = await startInShell(world);
      running.kill("SIGINT");
      const { code, stderr } = await running.ended;
      expect(code).toBe(130);
      expect(stderr).toContain("Aborting…");
      expect(stderr).toMatch(/aborted · 1 step .*\nTo continue: pawl run --session \w+ "Go on"\n$/);
      expect(await summaryOf(world)).toMatchObject({ status: "aborted", activity: "resting" });
      const next = await world.pawl(["run", "List the files", "--continue"]);
      expect(next).toMatchObject({ code: 0 });
    },
  );

  test("in JSON, the last line says so", async () => {
    const world = createWorld();
    const gate = createGate(world.root);
    const running = world.start(["run", `run: ${gate.command}`, "--json", "--yes", "--allow-shell"], { input: "" });
    await gate.begun(running);
    running.kill("SIGINT");
    const { code, stdout } = await running.ended;
    expect(code).toBe(130);
    expect(parseJsonLines(stdout).at(-1)).toMatchObject({
      type: "final",
      result: { status: "aborted", text: "Request aborted." },
    });
  });

  test("ends a model call that hangs", async () => {
    const server = await startProviderServer("openai-chat", [
      { type: "answer", text: "One two three four", ending: "hang" },
    ]);
    const world = createWorld();
    const env = { OPENAI_BASE_URL: server.baseURL };
    // As JSON, a delta is printed as soon as it comes.
    const running = world.start(["run", "hi", "--json", "--model", "openai-compatible/test"], { env, input: "" });
    await running.said(/One/);
    running.kill("SIGINT");
    expect((await running.ended).code).toBe(130);
    await server.requests[0]?.ended;
    await server.close();
    expect(await summaryOf(world)).toMatchObject({ status: "aborted" });
  });

  test("twice leaves at once; what was cut off is resumed", verifies("CLI-3"), async () => {
    const world = createWorld();
    // The command ignores SIGTERM, so the first Ctrl-C has to wait for it.
    const { running } = await startInShell(world, "trap '' TERM; echo ran >> effects");
    running.kill("SIGINT");
    await running.said("Aborting…");
    running.kill("SIGINT");
    expect(await running.ended).toMatchObject({ code: 130 });
    const resumed = await world.pawl(["resume", "s"]);
    expect(resumed.code).toBe(130);
    expect(resumed.stderr).toContain("aborted");
    expect(effectsIn(world)).toBe(1);
  });
});

describe("SIGTERM", () => {
  test(
    "lets what runs settle and keeps its result; the rest is interrupted and can be resumed",
    verifies("REC-10", "CLI-3"),
    async () => {
      const world = createWorld();
      const { running, gate } = await startInShell(world);
      running.kill("SIGTERM");
      await running.said("Exiting: running tools have 5 s to finish.");
      gate.open();
      const { code, stderr } = await running.ended;
      expect(code).toBe(75);
      expect(stderr).toContain("interrupted (shutdown)");
      expect(stderr).toContain("To continue: pawl resume s");
      expect(await summaryOf(world)).toMatchObject({ activity: "active", holder: null, progress: "interrupted" });
      const resumed = await world.pawl(["resume", "s", "--allow-shell"]);
      expect(resumed).toMatchObject({ code: 0, stdout: expect.stringContaining("opened") });
      expect(effectsIn(world)).toBe(1);
    },
  );

  test("does not wait longer than the grace; in JSON the last line is `interrupted`", verifies("REC-10"), async () => {
    const world = createWorld();
    const gate = createGate(world.root);
    const running = world.start(["run", `run: ${gate.command}`, "--session", "s", "--json", "--yes", "--allow-shell"], {
      input: "",
    });
    await gate.begun(running);
    running.kill("SIGTERM");
    const { code, stdout } = await running.ended;
    expect(code).toBe(75);
    expect(parseJsonLines(stdout).at(-1)).toMatchObject({
      type: "interrupted",
      result: { status: "interrupted", reason: "shutdown", resumable: true, sessionId: "s" },
    });
  });
});

describe("pawl resume", () => {
  test("of a finished run is refused, and says how to go on", verifies("REC-5"), async () => {
    const { pawl } = createWorld();
    await pawl(["run", "List the files", "--session", "s"]);
    const { code, stdout, stderr } = await pawl(["resume", "s"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("there is nothing to resume");
    expect(stderr).toContain('pawl run --session s "…"');
  });

  test("of a run that another process holds follows it and ends with its result", verifies("REC-5"), async () => {
    const world = createWorld();
    const { running, gate } = await startInShell(world);
    const follower = world.start(["resume", "s"], { input: "" });
    await follower.said(`Following the run in process ${running.child.pid}.`);
    gate.open();
    expect(await running.ended).toMatchObject({ code: 0 });
    expect(await follower.ended).toMatchObject({ code: 0, stdout: expect.stringContaining("opened") });
    expect(effectsIn(world)).toBe(1);
  });

  test(
    "takes over when the process that it follows dies, and runs nothing twice",
    verifies("REC-5", "REC-3"),
    async () => {
      const world = createWorld();
      const { running } = await startInShell(world);
      const follower = world.start(["resume", "s"], { input: "" });
      await follower.said("Following");
      running.kill("SIGKILL");
      const { code, stderr } = await follower.ended;
      expect({ code, stderr }).toMatchObject({ code: 0 });
      expect(stderr).toContain("Continuing after an interruption.");
      expect(effectsIn(world)).toBe(1);
    },
  );

  test("leaves the run alone when it only follows and is interrupted", async () => {
    const world = createWorld();
    const { running, gate } = await startInShell(world);
    const follower = world.start(["resume", "s"], { input: "" });
    await follower.said("Following");
    follower.kill("SIGINT");
    const left = await follower.ended;
    expect(left.code).toBe(130);
    expect(left.stderr).toContain(`The run continues in process ${running.child.pid}.`);
    gate.open();
    expect(await running.ended).toMatchObject({ code: 0 });
  });

  test("does not inherit what was allowed", verifies("SEC-5#command-line"), async () => {
    const world = createWorld();
    const gate = createGate(world.root);
    const shell = (command: string) => ({ type: "answer", calls: [{ name: "shell", input: { command } }] }) as const;
    const server = await startProviderServer("openai-chat", [
      shell(gate.command),
      shell("echo second >> effects"),
      { type: "answer", text: "Done." },
    ]);
    const env = { OPENAI_BASE_URL: server.baseURL };
    const args = ["--model", "openai-compatible/test", "--session", "s", "--yes", "--allow-shell"];
    const running = world.start(["run", "work", ...args], { env, input: "" });
    await gate.begun(running);
    running.kill("SIGTERM");
    await running.said("Exiting");
    gate.open();
    await running.ended;
    const { code, stderr } = await world.pawl(["resume", "s", "--allow-shell"], { env });
    await server.close();
    expect(code).toBe(0);
    expect(stderr).toContain("Using openai-compatible/test, as before.");
    expect(stderr).toContain("✗ Denied");
    expect(effectsIn(world)).toBe(0);
  });
});

describe("a session of another program in the same file", () => {
  test("is not resumed with the tools of pawl run, but can be ended", verifies("REC-5"), async () => {
    const world = createWorld();
    const store = await openSqliteStore({ path: join(world.home, "sessions.db") });
    const model = createScriptedModel([{ calls: [{ name: "shell", input: { command: "echo ran >> effects" } }] }]);
    const shell = defineTool({ name: "shell", description: "", input: { type: "object" }, execute: () => "" });
    const agent = createAgent({
      name: "other",
      model,
      tools: [shell],
      store,
      root: world.root,
      canExecuteTool: () => "ask",
    });
    expect(await agent.run("work", { sessionId: "s" })).toMatchObject({ status: "awaiting_human" });
    await store.close();
    const { code, stderr } = await world.pawl(["resume", "s", "--yes", "--allow-shell"]);
    expect(code).toBe(2);
    expect(stderr).toContain('was not started by pawl run but by the agent "other"');
    expect(stderr).toContain("agent.session(id).resume(), or with a worker: pawl worker MODULE");
    expect(effectsIn(world)).toBe(0);
    expect(await world.pawl(["abort", "s"])).toMatchObject({ code: 0, stdout: "Aborted s.\n" });
  });
});

describe("pawl run", () => {
  test("starts nothing new in a session whose run is not over", verifies("LOOP-8"), async () => {
    const world = createWorld();
    const { running } = await startInShell(world);
    running.kill("SIGKILL");
    await running.ended;
    for (const args of [["--continue"], ["--session", "s"]]) {
      const refused = await world.pawl(["run", "List the files", ...args]);
      expect(refused.code).toBe(2);
      expect(refused.stderr).toContain("First continue it (pawl resume s) or end it (pawl abort s).");
    }
    expect(await world.pawl(["abort", "s"])).toMatchObject({ code: 0 });
    expect(await world.pawl(["run", "List the files", "--continue"])).toMatchObject({ code: 0 });
  });
});

describe("pawl abort", () => {
  test("ends the run of another process, and waits until it has ended", verifies("CLI-4#part-1"), async () => {
    const world = createWorld();
    const { running } = await startInShell(world);
    const { code, stdout } = await world.pawl(["abort", "s"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Aborted s.\n" });
    expect(await running.ended).toMatchObject({ code: 130 });
    expect(await summaryOf(world)).toMatchObject({ status: "aborted" });
    expect((await logOf(world)).find(({ type }) => type === "abort_requested")).toMatchObject({ by: "pawl abort" });
  });

  test("ends a run whose process died, and runs nothing", verifies("CLI-4#part-1", "REC-8"), async () => {
    const world = createWorld();
    const { running } = await startInShell(world);
    running.kill("SIGKILL");
    await running.ended;
    expect(await summaryOf(world)).toMatchObject({ progress: "interrupted" });
    const { code, stdout } = await world.pawl(["abort", "s", "--json"]);
    expect(code).toBe(0);
    expect(parseJsonLines(stdout)[0]).toMatchObject({
      sessionId: "s",
      result: { status: "aborted", reason: "aborted" },
    });
    expect(effectsIn(world)).toBe(1);
    const results = (await logOf(world)).filter(({ type }) => type === "tool_finished");
    expect(results).toMatchObject([{ outcome: "interrupted" }]);
  });

  test("of a run that has ended changes nothing", async () => {
    const { pawl } = createWorld();
    await pawl(["run", "List the files", "--session", "s"]);
    const { code, stdout } = await pawl(["abort", "s"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Session s has no run in progress (completed).\n" });
  });
});

describe("a terminal that is closed", () => {
  test("lets what runs settle, and the process go", verifies("REC-10"), async () => {
    const world = createWorld();
    const gate = createGate(world.root);
    const args = ["run", `run: ${gate.command}`, "--session", "s", "--yes", "--allow-shell"];
    const running = world.startOnTerminal(args);
    await gate.begun(running);
    running.kill("SIGKILL");
    const isFree = async () => expect(await summaryOf(world)).toMatchObject({ progress: "interrupted", holder: null });
    await vi.waitFor(isFree, { timeout: 40_000, interval: 500 });
  });
});
