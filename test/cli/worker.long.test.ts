/**
 * A worker continues the sessions that are due, whoever started them, with its own permissions.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAgent, defineTool } from "../../src/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { startProviderServer } from "../models/provider-server.js";
import { findSampleValue, parsePrometheus } from "../support/prometheus.js";
import { verifies } from "../verifies.js";
import { createGate, createWorld, parseJsonLines, type World } from "./pawl.js";

const files = { "notes.txt": "colour\n" };
const replace = 'Replace "colour" with "color" in notes.txt';

async function statusOf({ pawl }: World, sessionId: string) {
  const all = parseJsonLines((await pawl(["sessions", "--json"])).stdout);
  return all.find((one) => one.sessionId === sessionId)?.status;
}

/** Starts a run whose process dies in its first command. The next attempt of the command ends at once. */
async function killAtWork(world: World, sessionId: string, env: Readonly<Record<string, string>> = {}) {
  const gate = createGate(world.root, `gate-${sessionId}`);
  const args = ["--session", sessionId, "--yes", "--allow-shell"];
  const running = world.start(["run", `run: ${gate.command}`, ...args], { env, input: "" });
  await gate.begun(running);
  running.kill("SIGKILL");
  await running.ended;
}

describe("pawl worker --once", () => {
  test("carries on what was answered and what was cut off, and ends", verifies("CLI-4#part-2"), async () => {
    const world = createWorld(files);
    await world.pawl(["run", replace, "--session", "answered", "--park"]);
    await world.pawl(["approve", "answered"]);
    await world.pawl(["run", replace, "--session", "waiting", "--park"]);
    await killAtWork(world, "cut-off");
    const { code, stdout, stderr } = await world.pawl(["worker", "--once"]);
    expect(code).toBe(0);
    expect(stderr).toContain("Continuing sessions that are due; calls that need approval wait for it.");
    expect(stdout).toMatch(/^answered {2}taken up$/m);
    expect(stdout).toMatch(/^answered {4}✓ .*notes\.txt/m);
    expect(stdout).toMatch(/^cut-off {2}Continuing after an interruption\.$/m);
    expect(stdout).not.toMatch(/^waiting/m);
    // Every line begins with its session.
    expect(stdout.split("\n").every((line) => line === "" || /^(answered|cut-off) {2}/.test(line))).toBe(true);
    expect(readFileSync(join(world.root, "notes.txt"), "utf8")).toBe("color\n");
    expect(await statusOf(world, "answered")).toBe("completed");
    expect(await statusOf(world, "cut-off")).toBe("completed");
    expect(await statusOf(world, "waiting")).toBe("awaiting_human");
    expect(await world.pawl(["worker", "--once"])).toMatchObject({ code: 0, stdout: "" });
  });

  test("in JSON, an event a line", verifies("CLI-4#part-2"), async () => {
    const world = createWorld(files);
    await world.pawl(["run", replace, "--session", "s", "--park"]);
    await world.pawl(["approve", "s"]);
    const lines = parseJsonLines((await world.pawl(["worker", "--once", "--json"])).stdout);
    expect(lines[0]).toEqual({ type: "taken", sessionId: "s", agent: "pawl" });
    expect(lines.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["approval_answered", "tool_result", "final"]),
    );
    expect(lines.at(-1)).toMatchObject({ type: "left", sessionId: "s", result: { status: "completed" } });
  });

  test(
    "asks for what it does itself: --yes of the run is not its own",
    verifies("SEC-5#command-line", "CLI-4#part-2"),
    async () => {
      const shell = (command: string) => ({ type: "answer", calls: [{ name: "shell", input: { command } }] }) as const;
      const world = createWorld();
      const gate = createGate(world.root);
      const server = await startProviderServer("openai-chat", [
        shell(gate.command),
        shell("echo second >> effects"),
        { type: "answer", text: "Done." },
      ]);
      const env = { OPENAI_BASE_URL: server.baseURL };
      const args = ["--model", "openai-compatible/test", "--session", "s", "--yes", "--allow-shell", "--park"];
      const running = world.start(["run", "work", ...args], { env, input: "" });
      await gate.begun(running);
      running.kill("SIGKILL");
      await running.ended;
      const { code, stdout } = await world.pawl(["worker", "--once", "--allow-shell"], { env });
      expect(code).toBe(0);
      expect(stdout).toContain("s    shell waits for an answer\n");
      expect(stdout).toContain("s  to answer: pawl approvals s\n");
      expect(existsSync(join(world.root, "effects"))).toBe(false);
      await world.pawl(["approve", "s"]);
      expect(await world.pawl(["worker", "--once", "--allow-shell"], { env })).toMatchObject({ code: 0 });
      await server.close();
      expect(readFileSync(join(world.root, "effects"), "utf8")).toBe("second\n");
    },
  );

  test(
    "refuses what it cannot carry on: a folder that is gone, another's agent",
    verifies("CLI-4#part-2"),
    async () => {
      const world = createWorld();
      mkdirSync(join(world.root, "sub"));
      writeFileSync(join(world.root, "sub", "notes.txt"), "colour\n");
      await world.pawl(["run", replace, "--session", "moved", "--park", "--root", "sub"]);
      await world.pawl(["approve", "moved"]);
      renameSync(join(world.root, "sub"), join(world.root, "elsewhere"));
      const store = await openSqliteStore({ path: join(world.home, "sessions.db") });
      const ask = defineTool({
        name: "ask",
        description: "Asks.",
        input: { type: "object" },
        needsApproval: true,
        execute: () => "",
      });
      const theirs = createAgent({
        name: "theirs",
        model: createScriptedModel([{ calls: [{ name: "ask" }] }]),
        tools: [ask],
        store,
      });
      await theirs.run("Work", { sessionId: "theirs" });
      await theirs.shutdown();
      await store.close();
      await world.pawl(["approve", "theirs"]);
      const { code, stdout } = await world.pawl(["worker", "--once"]);
      expect(code).toBe(0);
      expect(stdout).toMatch(/^moved {2}refused: .*folder/m);
      expect(stdout).toMatch(/^theirs {2}refused: .*belongs to the agent "theirs"/m);
      const refused = parseJsonLines((await world.pawl(["worker", "--once", "--json"])).stdout);
      expect(refused).toContainEqual(
        expect.objectContaining({ type: "refused", sessionId: "theirs", code: "agent_mismatch" }),
      );
      renameSync(join(world.root, "elsewhere"), join(world.root, "sub"));
      expect(await world.pawl(["worker", "--once"])).toMatchObject({ code: 0 });
      expect(readFileSync(join(world.root, "sub", "notes.txt"), "utf8")).toBe("color\n");
    },
  );
});

describe("pawl worker", () => {
  test(
    "goes on until SIGTERM or Ctrl-C: what runs settles, and it ends with 0",
    verifies("CLI-4#part-2", "REC-10"),
    async () => {
      for (const signal of ["SIGTERM", "SIGINT"] as const) {
        const world = createWorld();
        const gate = createGate(world.root);
        await world.pawl([
          "run",
          `run: ${gate.command}; echo ran >> effects`,
          "--session",
          "s",
          "--allow-shell",
          "--park",
        ]);
        await world.pawl(["approve", "s"]);
        const worker = world.start(["worker", "--allow-shell"], { input: "" });
        await gate.begun(worker);
        worker.kill(signal);
        await worker.said("Exiting: running tools have 5 s to finish.");
        gate.open();
        const { code, stdout } = await worker.ended;
        expect({ code, stdout }).toMatchObject({ code: 0 });
        expect(stdout).toMatch(/^s {2}interrupted \(shutdown\)/m);
        expect(readFileSync(join(world.root, "effects"), "utf8")).toBe("ran\n");
        // The result is recorded, so the next worker continues from it.
        expect(await world.pawl(["worker", "--once", "--allow-shell"])).toMatchObject({ code: 0 });
        expect(await statusOf(world, "s")).toBe("completed");
        expect(readFileSync(join(world.root, "effects"), "utf8")).toBe("ran\n");
      }
    },
  );

  test(
    "continues a session that is answered while it waits; one of two workers does it, once",
    verifies("CLI-4#part-2", "LOOP-8#between-processes"),
    async () => {
      const world = createWorld(files);
      await world.pawl(["run", replace, "--session", "s", "--park"]);
      const workers = [1, 2].map(() => world.start(["worker", "--json"], { input: "" }));
      await Promise.all(workers.map((one) => one.said("Waiting for sessions that are due")));
      await world.pawl(["approve", "s"]);
      await Promise.race(workers.map((one) => one.said('"type":"final"')));
      for (const one of workers) one.kill("SIGTERM");
      const ended = await Promise.all(workers.map((one) => one.ended));
      expect(ended).toMatchObject([{ code: 0 }, { code: 0 }]);
      const log = parseJsonLines((await world.pawl(["sessions", "export", "s"])).stdout).map(({ event }) => event);
      expect(log.filter(({ type }) => type === "tool_finished")).toHaveLength(1);
      expect(readFileSync(join(world.root, "notes.txt"), "utf8")).toBe("color\n");
    },
  );

  test(
    "gives a session the agents of the folder that are trusted by then, although it has continued others before",
    verifies("AGENT-4#files", "SEC-17#settings"),
    async () => {
      const world = createWorld({ ".pawl/agents/ann.md": "---\ndescription: Looks.\n---\nYou are ann.\n" });
      const server = await startProviderServer("openai-chat", ({ body }) =>
        JSON.stringify(body.messages).includes('"tool_call_id"')
          ? { type: "answer", text: "Done." }
          : { type: "answer", calls: [{ name: "write_file", input: { path: "a.txt", content: "a" } }] },
      );
      onTestFinished(() => server.close());
      const env = { OPENAI_BASE_URL: server.baseURL };
      for (const id of ["before", "after"])
        await world.pawl(["run", id, "--session", id, "--model", "openai-compatible/test", "--park"], { env });
      const begun = server.requests.length;
      const worker = world.start(["worker", "--json"], { env, input: "" });
      const continueSession = async (id: string) => {
        await world.pawl(["approve", id]);
        await worker.said(`"type":"left","sessionId":"${id}"`);
      };
      await continueSession("before");
      const { hash } = JSON.parse((await world.pawl(["trust", "--show", "--json"])).stdout) as {
        readonly hash: string;
      };
      await world.pawl(["trust", "--hash", hash]);
      await continueSession("after");
      worker.kill("SIGTERM");
      expect(await worker.ended).toMatchObject({ code: 0 });
      const offered = server.requests.slice(begun).map(({ body }) => JSON.stringify(body.tools).includes("agent_ann"));
      expect(offered).toEqual([false, true]);
    },
  );
});

describe("pawl worker --metrics-port", () => {
  test("serves what its sessions did to whoever has the token", verifies("SRV-6", "SEC-1#token"), async () => {
    const world = createWorld(files);
    await world.pawl(["run", replace, "--session", "s", "--park"]);
    const worker = world.start(["worker", "--metrics-port", "0"], { input: "" });
    let stderr = "";
    worker.child.stderr?.on("data", (text: string) => {
      stderr += text;
    });
    await worker.said(/Token, for this start only: \S+\n/);
    const [, url = "", token = ""] = /Metrics: (http:\/\/127\.0\.0\.1:\d+\/metrics)\. .*: (\S+)\n/.exec(stderr) ?? [];
    expect((await fetch(url)).status).toBe(401);
    expect((await fetch(new URL("/health", url))).status).toBe(200);
    const read = async () =>
      parsePrometheus(await (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).text());
    expect(findSampleValue(await read(), "pawl_approvals_waiting")).toBe(1);
    await world.pawl(["approve", "s"]);
    await expect.poll(async () => findSampleValue(await read(), "pawl_runs_total", { status: "completed" })).toBe(1);
    const figures = await read();
    expect(findSampleValue(figures, "pawl_approvals_waiting")).toBe(0);
    expect(findSampleValue(figures, "pawl_tool_calls_total", { agent: "pawl", tool: "edit_file", outcome: "ok" })).toBe(
      1,
    );
    expect(findSampleValue(figures, "pawl_steps_total", { agent: "pawl", model: "demo" })).toBe(1);
    worker.kill("SIGTERM");
    expect(await worker.ended).toMatchObject({ code: 0 });
    await expect(fetch(url)).rejects.toThrow();
  });

  test("takes a token of one's own, without which no other machine is let in", verifies("SEC-1"), async () => {
    const world = createWorld();
    const open = await world.pawl(["worker", "--once", "--metrics-port", "0", "--metrics-host", "0.0.0.0"]);
    expect(open).toMatchObject({ code: 2, stderr: expect.stringContaining("Set your own token") });
    const unused = await world.pawl(["worker", "--once", "--metrics-host", "0.0.0.0"]);
    expect(unused).toMatchObject({ code: 2, stderr: expect.stringContaining("Add --metrics-port") });
    const env = { PAWL_TOKEN: "a".repeat(43) };
    const given = await world.pawl(["worker", "--once", "--metrics-port", "0"], { env });
    expect(given).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Metrics: http:\/\/127\S+\/metrics\.$/m) });
  });

  test("counts the agents of a module, and those behind their tools", verifies("SRV-6"), async () => {
    const world = createWorld();
    const [pawl, sqlite, testing] = ["index.js", "stores/sqlite/index.js", "testing/index.js"].map((path) =>
      JSON.stringify(new URL(`../../dist/${path}`, import.meta.url).href),
    );
    writeFileSync(
      join(world.root, "agents.mjs"),
      `import { createAgent, createClient } from ${pawl};
      import { openSqliteStore } from ${sqlite};
      import { createScriptedModel } from ${testing};
      const store = await openSqliteStore({ path: "sessions.db" });
      const helper = createAgent({ name: "helper", model: createScriptedModel(() => ({ text: "Here." })) });
      const model = createScriptedModel(({ messages }) =>
        messages.length === 1 ? { calls: [{ name: "helper", input: { task: "Look" } }] } : { text: "Done." });
      await createClient({ store }).session("s").send("Go", { agent: "desk" });
      export default createAgent({ name: "desk", model, store, tools: [helper.asTool({ description: "Looks." })] });`,
    );
    const unused = await world.pawl(["worker", "--once", "--metrics-host", "0.0.0.0"]);
    expect(unused).toMatchObject({ code: 2, stderr: expect.stringContaining("Add --metrics-port") });
    const env = { PAWL_TOKEN: "a".repeat(43) };
    const worker = world.start(["worker", "agents.mjs", "--metrics-port", "0"], { env, input: "" });
    let stderr = "";
    worker.child.stderr?.on("data", (text: string) => {
      stderr += text;
    });
    await worker.said(/Metrics: \S+\/metrics\./);
    const [, url = ""] = /Metrics: (\S+)\./.exec(stderr) ?? [];
    const runsOf = async (agent: string) => {
      const answer = await fetch(url, { headers: { authorization: `Bearer ${env.PAWL_TOKEN}` } });
      return findSampleValue(parsePrometheus(await answer.text()), "pawl_runs_total", { agent, status: "completed" });
    };
    await expect.poll(() => runsOf("desk")).toBe(1);
    expect(await runsOf("helper")).toBe(1);
    worker.kill("SIGTERM");
    expect(await worker.ended).toMatchObject({ code: 0 });
  });
});

describe("pawl run", () => {
  test("SIGTERM lets what runs settle, and leaves the rest to a worker: 75", verifies("CLI-3", "REC-10"), async () => {
    const world = createWorld();
    const gate = createGate(world.root);
    const args = ["--session", "s", "--yes", "--allow-shell"];
    const running = world.start(["run", `run: ${gate.command}; echo ran >> effects`, ...args], { input: "" });
    await gate.begun(running);
    running.kill("SIGTERM");
    await running.said("Exiting");
    gate.open();
    expect(await running.ended).toMatchObject({ code: 75 });
    expect(await world.pawl(["worker", "--once"])).toMatchObject({ code: 0 });
    expect(await statusOf(world, "s")).toBe("completed");
    expect(readFileSync(join(world.root, "effects"), "utf8")).toBe("ran\n");
  });
});

describe("pawl fork", () => {
  const fork = async (world: World, ...args: readonly string[]) =>
    parseJsonLines((await world.pawl(["fork", ...args, "--json"])).stdout)[0];

  test(
    "makes a new session up to an entry, and leaves the first alone",
    verifies("CLI-4#part-2", "REC-6#fork"),
    async () => {
      const world = createWorld(files);
      await world.pawl(["run", replace, "--session", "s", "--yes"]);
      const numbered = (await world.pawl(["sessions", "show", "s", "--numbers"])).stdout;
      const at = /^ +(\d+) ▸ edit_file/m.exec(numbered)?.[1] ?? "";
      const forked = await fork(world, "s", "--at", at, "--id", "copy");
      expect(forked).toMatchObject({ type: "forked", sessionId: "copy", source: "s", at: Number(at) });
      expect(await statusOf(world, "copy")).toBe("aborted");
      expect(await statusOf(world, "s")).toBe("completed");
      const first = parseJsonLines((await world.pawl(["sessions", "export", "s"])).stdout).map(({ event }) => event);
      const copied = parseJsonLines((await world.pawl(["sessions", "export", "copy"])).stdout).map(
        ({ event }) => event,
      );
      expect(copied.slice(0, Number(at))).toEqual(first.slice(0, Number(at)));
      const plain = await world.pawl(["fork", "s"]);
      expect(plain).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) });
      expect(plain.stderr).toMatch(/To continue it: pawl run --session [0-9a-f]{8} "…"/);
      expect(await statusOf(world, plain.stdout.trim())).toBe("completed");
    },
  );

  test("continues in the same folder if it gets a task", verifies("CLI-4#part-2", "REC-6#fork"), async () => {
    const world = createWorld(files);
    mkdirSync(join(world.root, "sub"));
    writeFileSync(join(world.root, "sub", "notes.txt"), "colour\n");
    await world.pawl(["run", "List the files", "--session", "s", "--root", "sub"]);
    const { code, stdout } = await world.pawl(["fork", "s", "--input", replace, "--id", "t", "--yes"]);
    expect(code).toBe(0);
    expect(stdout).toContain("Replaced 1 occurrence in notes.txt");
    expect(readFileSync(join(world.root, "sub", "notes.txt"), "utf8")).toBe("color\n");
    expect(readFileSync(join(world.root, "notes.txt"), "utf8")).toBe("colour\n");
    expect(parseJsonLines((await world.pawl(["sessions", "--all", "--json"])).stdout)).toMatchObject([
      { sessionId: "t", info: { root: join(world.root, "sub"), model: "demo" } },
      { sessionId: "s" },
    ]);
  });

  test("is refused if there is no such entry, or if the id is taken", verifies("CLI-3"), async () => {
    const world = createWorld();
    await world.pawl(["run", "List the files", "--session", "s"]);
    const beyond = await world.pawl(["fork", "s", "--at", "999"]);
    expect(beyond).toMatchObject({ code: 2, stderr: expect.stringContaining("has no entry 999") });
    const taken = await world.pawl(["fork", "s", "--id", "s"]);
    expect(taken).toMatchObject({ code: 2, stderr: expect.stringContaining("already") });
  });
});
