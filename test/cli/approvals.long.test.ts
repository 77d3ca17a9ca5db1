/**
 * Waiting calls are listed and answered by other processes, which run nothing.
 */
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { createOpenAI } from "@ai-sdk/openai";
import { describe, expect, test } from "vitest";
import { createAgent, defineTool, type Tool } from "../../src/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { startProviderServer } from "../models/provider-server.js";
import { readList, startWireServer } from "../models/wire-server.js";
import { createOutputText, responses } from "../models/wires.js";
import { createDeferred } from "../support/agents.js";
import { verifies } from "../verifies.js";
import { createWorld, parseJsonLines, type World } from "./pawl.js";

const files = { "notes.txt": "colour\n" };
const replace = 'Replace "colour" with "color" in notes.txt';
const me = userInfo().username;

function notes({ root }: World): string {
  return readFileSync(join(root, "notes.txt"), "utf8");
}

/** A session of the command line that waits for an answer. */
async function park(world: World, sessionId = "s", options: readonly string[] = []) {
  const ended = await world.pawl(["run", replace, "--session", sessionId, "--park", ...options]);
  expect(ended).toMatchObject({ code: 3 });
  return ended;
}

async function answersIn({ pawl }: World, sessionId = "s") {
  const entries = parseJsonLines((await pawl(["sessions", "export", sessionId])).stdout);
  return entries.map(({ event }) => event).filter(({ type }) => type === "answered");
}

/** Starts a run of another program on the same file, until the run waits. */
async function runElsewhere(world: World, steps: readonly ScriptedStep[], tools: readonly Tool[], name = "shop") {
  const store = await openSqliteStore({ path: join(world.home, "sessions.db") });
  const agent = createAgent({ name, model: createScriptedModel(steps), tools, store });
  const result = await agent.run("Work", { sessionId: "s", runId: "r" });
  return { store, agent, result };
}

const anyInput = { type: "object" } as const;

describe("pawl run --park, if nobody can be asked", () => {
  test("leaves the call to be answered: 3, and how", verifies("CLI-2", "CLI-3"), async () => {
    const world = createWorld(files);
    const { stderr } = await park(world);
    expect(stderr).toContain("waiting for 1 answer");
    expect(stderr).toContain("pawl approvals s");
    expect(notes(world)).toBe("colour\n");
    expect((await world.pawl(["sessions"])).stdout).toMatch(/^s +waiting /m);
  });

  test("in JSON, the last line says so", verifies("CLI-2"), async () => {
    const world = createWorld(files);
    const { code, stdout } = await world.pawl(["run", replace, "--park", "--json"]);
    expect(code).toBe(3);
    expect(parseJsonLines(stdout).at(-1)).toMatchObject({ type: "suspended", approvals: [{ name: "edit_file" }] });
  });

  test(
    "without it the call is denied, with the reason, and the end says what would help",
    verifies("CLI-2"),
    async () => {
      const world = createWorld(files);
      const { code, stderr } = await world.pawl(["run", replace]);
      expect(code).toBe(0);
      expect(stderr).toMatch(/✗ Denied: .*nobody/);
      expect(stderr).toContain("let calls wait with --park");
      expect(notes(world)).toBe("colour\n");
    },
  );
});

describe("pawl approvals", () => {
  test("lists the whole call, control characters made visible", verifies("CLI-4#part-2", "SEC-6#shown"), async () => {
    const command = `echo safe\u001b[2K\r\u009brm -rf / \u202e${"x".repeat(3_000)} end`;
    const server = await startProviderServer("openai-chat", [
      { type: "answer", calls: [{ name: "shell", input: { command } }] },
    ]);
    const world = createWorld();
    const env = { OPENAI_BASE_URL: server.baseURL };
    const args = ["--model", "openai-compatible/test", "--allow-shell", "--park", "--session", "s"];
    expect(await world.pawl(["run", "work", ...args], { env })).toMatchObject({ code: 3 });
    await server.close();
    const { code, stdout, stderr } = await world.pawl(["approvals"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^s\/1\/1 {2}shell {2}needs approval, asked just now\n {2}session s of pawl · "work" · in /);
    expect(stdout).toContain("command: echo safe\\x1b[2K\\r\\x9brm -rf / \\u{202e}xxx");
    expect(stdout).toContain("xxx end\n");
    expect(stdout).not.toContain("\u009b");
    expect(stderr).toContain("pawl approve s/1/1");
    const [one, ...others] = parseJsonLines((await world.pawl(["approvals", "--json"])).stdout);
    expect(others).toEqual([]);
    expect(one).toMatchObject({ id: "s/1/1", sessionId: "s", name: "shell", input: { command }, why: "policy" });
    expect(one).toMatchObject({ inputHash: expect.stringMatching(/^[0-9a-f]{64}$/), askedAt: expect.any(Number) });
    expect(one.session).toMatchObject({ agent: "pawl", root: world.root });
  });

  test("lists all sessions, the longest waiting first; or one", verifies("CLI-4#part-2"), async () => {
    const world = createWorld(files);
    expect(await world.pawl(["approvals"])).toMatchObject({
      code: 0,
      stdout: "",
      stderr: expect.stringMatching(/^No call waits for an answer in .*sessions\.db\.\n$/),
    });
    await park(world, "first");
    await park(world, "second");
    const ids = parseJsonLines((await world.pawl(["approvals", "--json"])).stdout).map(({ id }) => id);
    expect(ids).toEqual(["first/1/1", "second/1/1"]);
    const one = await world.pawl(["approvals", "sec", "--json"]);
    expect(parseJsonLines(one.stdout).map(({ id }) => id)).toEqual(["second/1/1"]);
  });

  test(
    "shows the inner tool and input of a child, which is answered at the top",
    verifies("CLI-4#part-2"),
    async () => {
      const world = createWorld();
      const store = await openSqliteStore({ path: join(world.home, "sessions.db") });
      const paid: unknown[] = [];
      const pay = defineTool({
        name: "pay",
        description: "Pays.",
        input: anyInput,
        needsApproval: true,
        execute: (input) => {
          paid.push(input);
          return "paid";
        },
      });
      const child = createAgent({
        name: "clerk",
        model: createScriptedModel([{ calls: [{ name: "pay", input: { cents: 700 } }] }, { text: "Paid." }]),
        tools: [pay],
        store,
      });
      const parent = createAgent({
        name: "shop",
        model: createScriptedModel([{ calls: [{ name: "clerk", input: { task: "Pay." } }] }, { text: "Done." }]),
        tools: [child.asTool({ description: "Pays." })],
        store,
      });
      await parent.run("Work", { sessionId: "top" });
      const { stdout } = await world.pawl(["approvals"]);
      expect(stdout).toMatch(/pay {2}needs approval/);
      expect(stdout).toContain("of clerk");
      expect(stdout).toContain("for session top");
      expect(stdout).toContain("    cents: 700\n");
      const approved = await world.pawl(["approve", "top"]);
      expect(approved).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Approved .*\(pay\)\.\n$/) });
      expect(approved.stderr).toContain('The program of the agent "clerk", or its worker, continues the session.');
      expect(paid).toEqual([]);
      expect(await parent.session("top").resume()).toMatchObject({ status: "completed", text: "Done." });
      expect(paid).toEqual([{ cents: 700 }]);
      await store.close();
    },
  );
});

describe("pawl approve", () => {
  test(
    "records who decided, for the input that was shown, and runs nothing",
    verifies("CLI-4#part-2", "SEC-6#bound"),
    async () => {
      const world = createWorld(files);
      await park(world);
      const { code, stdout, stderr } = await world.pawl(["approve", "s"]);
      expect({ code, stdout }).toEqual({ code: 0, stdout: "Approved s/1/1 (edit_file).\n" });
      expect(stderr).toContain("    oldText: colour\n    newText: color\n");
      expect(stderr).toContain("or a running pawl worker, continues it. Otherwise: pawl resume s\n");
      expect(notes(world)).toBe("colour\n");
      expect(await world.pawl(["approvals"])).toMatchObject({ stdout: "" });
      expect(await world.pawl(["resume", "s"])).toMatchObject({ code: 0 });
      expect(notes(world)).toBe("color\n");
      expect(await answersIn(world)).toMatchObject([
        { answer: { type: "approve" }, by: me, inputHash: expect.stringMatching(/^[0-9a-f]{64}$/) },
      ]);
    },
  );

  test(
    "that comes second is told whose the first was, and changes nothing",
    verifies("CLI-4#part-2", "SEC-6#bound"),
    async () => {
      const world = createWorld(files);
      await park(world);
      const args = ["--note", "It is British", "--by", "ada"];
      expect(await world.pawl(["deny", "s/1/1", ...args])).toMatchObject({
        code: 0,
        stdout: "Denied s/1/1 (edit_file).\n",
      });
      const second = await world.pawl(["approve", "s"]);
      expect(second.code).toBe(2);
      expect(second.stdout).toBe(
        "Another answer came first, so this one changes nothing: s/1/1 was denied by ada just now: It is British.\n",
      );
      const same = await world.pawl(["deny", "s", "--json"]);
      expect(same.code).toBe(0);
      expect(parseJsonLines(same.stdout)).toMatchObject([{ status: "second", first: { type: "deny", by: "ada" } }]);
      const { stderr } = await world.pawl(["resume", "s"]);
      expect(stderr).toContain("Denied: It is British.");
      expect(stderr).not.toContain("nobody could be asked");
      expect(notes(world)).toBe("colour\n");
      // The same holds after the run has ended.
      expect(await world.pawl(["approve", "s"])).toMatchObject({ code: 2, stdout: second.stdout });
      expect(await answersIn(world)).toHaveLength(1);
    },
  );

  test("--input runs what was made of the input, and both are recorded", verifies("CLI-2", "SEC-6#bound"), async () => {
    const world = createWorld(files);
    await park(world);
    const input = { path: "notes.txt", oldText: "colour", newText: "hue", replaceAll: true };
    const { code, stdout } = await world.pawl(["approve", "s", "--input", JSON.stringify(input), "--resume"]);
    expect(code).toBe(0);
    expect(stdout).toContain("Approved with changes: s/1/1 (edit_file).\n");
    expect(notes(world)).toBe("hue\n");
    expect(await answersIn(world)).toMatchObject([{ answer: { type: "modify", input }, by: me }]);
  });

  test("--edit opens the person's editor; what is left as it is, is approved as it is", verifies("CLI-2"), async () => {
    const world = createWorld(files);
    const editor = join(world.base, "my editor");
    writeFileSync(editor, `#!/bin/sh\nsed -i.old 's/"color"/"hue"/' "$1"\n`);
    chmodSync(editor, 0o755);
    await park(world, "a");
    const edited = await world.pawl(["approve", "a", "--edit"], { env: { VISUAL: `'${editor}'`, EDITOR: "false" } });
    expect(edited).toMatchObject({ code: 0, stdout: expect.stringContaining("Approved with changes") });
    expect(await world.pawl(["resume", "a"])).toMatchObject({ code: 0 });
    expect(notes(world)).toBe("hue\n");

    writeFileSync(join(world.root, "notes.txt"), "colour\n");
    await park(world, "b");
    const failed = await world.pawl(["approve", "b", "--edit"], { env: { EDITOR: "false" } });
    expect(failed).toMatchObject({ code: 2, stderr: expect.stringContaining("No answer was sent") });
    const none = await world.pawl(["approve", "b", "--edit"]);
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining("Set EDITOR") });
    const unchanged = await world.pawl(["approve", "b", "--edit"], { env: { EDITOR: "true" } });
    expect(unchanged).toMatchObject({ code: 0, stdout: "Approved b/1/1 (edit_file).\n" });
  });

  test("an edit that does not fit the tool is no answer: the call waits as it was", verifies("CLI-2"), async () => {
    const world = createWorld(files);
    await park(world);
    const before = (await world.pawl(["approvals", "--json"])).stdout;
    const unfit = await world.pawl(["approve", "s", "--input", '{"path":7}']);
    expect(unfit.code).toBe(2);
    expect(unfit.stderr).toContain('does not match the schema of the tool "edit_file"');
    expect(unfit.stderr).toContain('- must have the property "oldText"\n');
    expect((await world.pawl(["approvals", "--json"])).stdout).toBe(before);
    expect(await world.pawl(["worker", "--once"])).toMatchObject({ code: 0 });
    expect(notes(world)).toBe("colour\n");
    expect(await world.pawl(["approve", "s"])).toMatchObject({ code: 0 });
  });

  test("that differs from the first one ends with 2, the same one with 0", verifies("CLI-4#part-2"), async () => {
    const world = createWorld(files);
    await park(world);
    const edit = (newText: string) => [
      "approve",
      "s/1/1",
      "--input",
      JSON.stringify({ path: "notes.txt", oldText: "colour", newText }),
    ];
    expect(await world.pawl(edit("hue"))).toMatchObject({ code: 0 });
    expect(await world.pawl(edit("hue"))).toMatchObject({ code: 0, stdout: expect.stringContaining("came first") });
    for (const different of [edit("shade"), ["approve", "s/1/1"], ["deny", "s/1/1"]])
      expect(await world.pawl(different)).toMatchObject({ code: 2, stdout: expect.stringContaining("came first") });
    expect(await world.pawl(["worker", "--once"])).toMatchObject({ code: 0 });
    expect(await world.pawl(edit("shade"))).toMatchObject({ code: 2 });
    expect(notes(world)).toBe("hue\n");
  });

  test("an id that names nothing is an error", verifies("CLI-4#part-2"), async () => {
    const world = createWorld(files);
    await park(world);
    for (const args of [
      ["approvals", "zzzz"],
      ["approvals", "zzzz", "--json"],
      ["approvals", "zzzz/1/1"],
    ])
      expect(await world.pawl(args)).toMatchObject({ code: 2, stderr: expect.stringContaining("no session") });
    expect(await world.pawl(["deny", "s"])).toMatchObject({ code: 0 });
    expect(await world.pawl(["approvals", "s"])).toMatchObject({ code: 0 });
    expect(await world.pawl(["steer", "zzzz", "Hello"])).toMatchObject({ code: 2 });
  });

  test("an answered call is not listed as waiting for you", async () => {
    const world = createWorld(files);
    await park(world);
    expect((await world.pawl(["agents"])).stdout).toContain("waits for you: edit_file");
    expect(await world.pawl(["steer", "s", "Be brief"])).toMatchObject({ code: 0 });
    expect((await world.pawl(["agents"])).stdout).toContain("waits for you: edit_file");
    expect(await world.pawl(["deny", "s"])).toMatchObject({ code: 0 });
    expect(await world.pawl(["agents"])).toMatchObject({
      stdout: expect.stringMatching(/^s +answered /),
      stderr: "To continue: pawl resume ID, or pawl worker.\n",
    });
    const shown = await world.pawl(["sessions", "show", "s"]);
    expect(shown.stderr).toContain(
      "The answer is stored, and no process has continued the run. To continue: pawl resume s",
    );
    expect(await world.pawl(["resume", "s"])).toMatchObject({ code: 0 });
    expect(await world.pawl(["agents"])).toMatchObject({ stdout: "" });
  });

  test("a session that had a shell says so when it is resumed without one", verifies("CLI-4#part-2"), async () => {
    const world = createWorld(files);
    await park(world, "s", ["--allow-shell"]);
    expect(await world.pawl(["approve", "s"])).toMatchObject({ code: 0 });
    const resumed = await world.pawl(["resume", "s"]);
    expect(resumed.code).toBe(0);
    expect(resumed.stderr).toContain(
      "This session had the tools shell, read_process and stop_process, which are missing now. Add --allow-shell.\n",
    );
    await park(world, "t");
    expect(await world.pawl(["approve", "t"])).toMatchObject({ code: 0 });
    expect((await world.pawl(["resume", "t"])).stderr).not.toContain("missing now");
  });

  test("counts for the input of its hash only", verifies("SEC-6#bound"), async () => {
    const world = createWorld(files);
    await park(world);
    const [{ inputHash }] = parseJsonLines((await world.pawl(["approvals", "--json"])).stdout);
    const other = await world.pawl(["approve", "s", "--hash", "0".repeat(12)]);
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining("has changed: its hash does not match") });
    expect(await world.pawl(["approve", "s", "--hash", "xyz"])).toMatchObject({ code: 2 });
    expect(await world.pawl(["approve", "s", "--hash", inputHash.slice(0, 12)])).toMatchObject({ code: 0 });
  });

  test("lists the calls that an id may name, and refuses what is not an answer", verifies("CLI-4#part-2"), async () => {
    const shell = (command: string) => ({ name: "shell", input: { command } });
    const server = await startProviderServer("openai-chat", [
      { type: "answer", calls: [shell("echo one >> made"), shell("echo two >> made")] },
      { type: "answer", text: "Done." },
    ]);
    const world = createWorld();
    const env = { OPENAI_BASE_URL: server.baseURL };
    const args = ["--model", "openai-compatible/test", "--allow-shell", "--park", "--session", "s"];
    expect(await world.pawl(["run", "work", ...args], { env })).toMatchObject({ code: 3 });
    const both = await world.pawl(["approve", "s"]);
    expect(both.code).toBe(2);
    expect(both.stderr).toMatch(
      /"s" matches 2 calls\. Give the id of one:\n {2}s\/1\/1 {2}shell .*\n {2}s\/1\/2 {2}shell /,
    );
    const none = await world.pawl(["approve", "s/1/3"]);
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('No call "s/1/3" waits') });
    const no = await world.pawl(["approve", "s/1/1", "--rerun"]);
    expect(no).toMatchObject({ code: 2, stderr: expect.stringContaining("--rerun cannot settle call s/1/1") });
    const two = await world.pawl(["approve", "s/1/1", "--rerun", "--failed"]);
    expect(two).toMatchObject({ code: 2, stderr: expect.stringContaining("Give only one of --rerun, --failed") });
    const bad = await world.pawl(["approve", "s/1/1", "--input", "{"]);
    expect(bad).toMatchObject({ code: 2, stderr: expect.stringContaining("is not valid JSON") });
    const first = await world.pawl(["approve", "s/1/2"]);
    expect(first).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("1 more call of this session waits: pawl approvals s"),
    });

    // A shell command was approved, so a worker without a shell leaves the session alone.
    const without = await world.pawl(["resume", "s"], { env });
    expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining("--allow-shell") });
    const left = await world.pawl(["worker", "--once"], { env });
    expect(left).toMatchObject({ code: 0, stdout: expect.stringMatching(/^s {2}refused: .*--allow-shell/) });
    expect(existsSync(join(world.root, "made"))).toBe(false);
    expect(await world.pawl(["deny", "s", "--resume", "--allow-shell"], { env })).toMatchObject({ code: 0 });
    await server.close();
    expect(readFileSync(join(world.root, "made"), "utf8")).toBe("two\n");
  });
});

describe("a question of recovery", () => {
  async function inDoubt(world: World) {
    const started = createDeferred();
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: anyInput,
      recover: "ask",
      execute: () => {
        started.resolve();
        return new Promise<string>(() => {});
      },
    });
    const store = await openSqliteStore({ path: join(world.home, "sessions.db") });
    const model = createScriptedModel([{ calls: [{ name: "pay", input: { cents: 5 } }] }, { text: "Done." }]);
    const agent = createAgent({ name: "shop", model, tools: [pay], store });
    void agent.run("Work", { sessionId: "s", runId: "r" });
    await started.promise;
    await agent.shutdown({ graceMs: 0 });
    const paid: string[] = [];
    const execute = () => {
      paid.push("paid");
      return "paid";
    };
    const next = agent.with({ tools: [{ ...pay, execute }] });
    expect(await next.session("s").resume()).toMatchObject({
      status: "awaiting_human",
      approvals: [{ why: "recovery" }],
    });
    return { store, agent: next, paid, model };
  }

  test("is told from an approval, and answered by running it again", verifies("CLI-4#part-2"), async () => {
    const world = createWorld();
    const { store, agent, paid } = await inDoubt(world);
    expect((await world.pawl(["approvals"])).stdout).toMatch(/^s\/1\/1 {2}pay {2}was interrupted, outcome unknown/);
    for (const verb of ["approve", "deny"])
      expect(await world.pawl([verb, "s"])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('pawl approve with --rerun, --result "…" or --failed'),
      });
    expect(await world.pawl(["approve", "s", "--rerun"])).toMatchObject({
      code: 0,
      stdout: "Will run again: s/1/1 (pay).\n",
    });
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
    expect(paid).toEqual(["paid"]);
    await store.close();
  });

  test.each([
    ["its result", ["approve", "s", "--result", "paid on Monday"], "paid on Monday"],
    ["counting it as failed", ["approve", "s", "--failed", "--note", "no trace of it"], "no trace of it"],
  ])("is answered by %s, which the model is told", verifies("CLI-4#part-2"), async (_, args, text) => {
    const world = createWorld();
    const { store, agent, paid, model } = await inDoubt(world);
    expect(await world.pawl(args)).toMatchObject({ code: 0 });
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
    expect(paid).toEqual([]);
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain(text);
    await store.close();
  });
});

describe("a call that runs elsewhere", () => {
  test("is given its result", verifies("CLI-4#part-2"), async () => {
    const world = createWorld();
    const ask = { name: "ask_ada", description: "Asks Ada.", input: anyInput } as const;
    const steps = [{ calls: [{ name: "ask_ada", input: { what: "tea?" } }] }, { text: "Done." }];
    const { store, agent, result } = await runElsewhere(world, steps, [ask]);
    expect(result.status).toBe("awaiting_human");
    expect((await world.pawl(["approvals"])).stdout).toContain("runs elsewhere, needs a result");
    expect(await world.pawl(["approve", "s"])).toMatchObject({ code: 2, stderr: expect.stringContaining("--result") });
    expect(await world.pawl(["approve", "s", "--result", "yes"])).toMatchObject({ code: 0 });
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
    expect(JSON.stringify(await agent.session("s").messages())).toContain('"yes"');
    await store.close();
  });
});

describe("an approval that expires", () => {
  test("says so, and is denied when its time is over", verifies("CLI-2"), async () => {
    const world = createWorld(files);
    await world.pawl(["run", replace, "--session", "s", "--park", "--expire-after", "2h"]);
    expect((await world.pawl(["approvals"])).stdout).toMatch(/expires in (2 h|1 h 59 min)/);
    await world.pawl(["abort", "s"]);
    await world.pawl(["run", replace, "--session", "t", "--park", "--expire-after", "1s"]);
    // The session is due when the approval has expired.
    const worker = world.start(["worker"], { input: "" });
    await worker.said(/✗ .*Denied: nobody answered before the approval expired/);
    worker.kill("SIGTERM");
    expect(await worker.ended).toMatchObject({ code: 0 });
    const second = await world.pawl(["approve", "t"]);
    expect(second).toMatchObject({ code: 2, stdout: expect.stringContaining("expired before it was answered") });
    expect(notes(world)).toBe("colour\n");
  });

  test.each(["soon", "0h", "10"])("does not take %s for a time", verifies("CLI-3"), async (time) => {
    const ended = await createWorld().pawl(["run", "x", "--expire-after", time]);
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining("e.g. 90s, 30m, 12h or 7d") });
  });
});

describe("a call that the model's provider runs", () => {
  test("is approved or denied like any other, and not changed", verifies("CLI-4#part-2", "HITL-1"), async () => {
    const request = { type: "mcp_approval_request", server_label: "shop", name: "refund", arguments: '{"cents":500}' };
    const asks = (id: string) => responses("resp_1", [{ ...request, id }]);
    const server = await startWireServer([
      asks("mcpr_1"),
      asks("mcpr_2"),
      responses("resp_2", [createOutputText("msg_1", "Refunded.")]),
    ]);
    const world = createWorld();
    const store = await openSqliteStore({ path: join(world.home, "sessions.db") });
    const provider = createOpenAI({ baseURL: `${server.origin}/v1`, apiKey: "sk-test" });
    const agent = createAgent({ name: "shop", model: provider("gpt-5"), store });
    expect(await agent.run("Refund.", { sessionId: "s", runId: "r" })).toMatchObject({ status: "awaiting_human" });

    const { stdout } = await world.pawl(["approvals"]);
    expect(stdout).toMatch(/^s\/1\/1 {2}mcp\.refund {2}is run by the provider, needs approval, asked just now\n/);
    expect(stdout).toContain("cents: 500");
    const changed = await world.pawl(["approve", "s/1/1", "--input", '{"cents":5}']);
    expect(changed.code).toBe(2);
    expect(changed.stderr).toContain("The model's provider holds its input");
    expect(await world.pawl(["deny", "s/1/1", "--note", "too dear"])).toMatchObject({ code: 0 });
    expect(await agent.session("s").resume()).toMatchObject({ status: "awaiting_human" });
    expect(await world.pawl(["approve", "s"])).toMatchObject({ code: 0 });
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed", text: "Refunded." });
    const answers = server.bodies.slice(1).map((body) => readList(body, "input").at(-1));
    expect(answers).toMatchObject([{ approve: false }, { approve: true }]);
    await store.close();
  });
});
