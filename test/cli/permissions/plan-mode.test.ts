/**
 * Plan mode: which calls it denies, whatever else allows them, and how a plan ends it.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFolderAgent, type FolderAgentOptions } from "../../../src/cli/agent/folder-agent.js";
import { parseAgentFile } from "../../../src/cli/child-agents/agent-file.js";
import { type AgentSettings, toAgentSettings } from "../../../src/cli/configuration/agent-settings.js";
import { resolveConfiguration } from "../../../src/cli/configuration/resolve-configuration.js";
import { runUndoCommand } from "../../../src/cli/conversation/commands/undo.js";
import { toStoredMode } from "../../../src/cli/permissions/mode.js";
import { createPermissions, type PermissionOptions } from "../../../src/cli/permissions/permissions.js";
import { saveRule } from "../../../src/cli/permissions/save-rule.js";
import { type Line, toPlainText } from "../../../src/cli/screen/line.js";
import { createMemoryStore, type Json, type RunResult } from "../../../src/index.js";
import { createDemoModel } from "../../../src/models/index.js";
import { createScriptedModel, type Script } from "../../../src/testing/index.js";
import { verifies } from "../../verifies.js";

const keys = verifies("CHAT-2#keys");

function createFolder(options: Partial<PermissionOptions> = {}) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "pawl-plan-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [root, home] = [join(base, "root"), join(base, "home")];
  mkdirSync(root);
  writeFileSync(join(root, "notes.txt"), "one\n");
  const environment = { XDG_CONFIG_HOME: join(base, "config"), HOME: base };
  return { base, root, home, permissions: createPermissions({ allowAll: false, root, home, environment, ...options }) };
}

const planning = (sessionId = "s") => ({ sessionId, data: { mode: toStoredMode(sessionId, "plan") } });
const call = (tool: string, input: Json = {}, readOnly = false) => ({ tool, input, readOnly });
const everything = ["edit_file", "write_file", "shell", "mcp__files__write", "outside(make)"];

describe("plan mode", () => {
  test("denies whatever can change something, also with --yes and under rules that allow it", keys, async () => {
    const worlds = [
      createFolder(),
      createFolder({ allowAll: true }),
      createFolder({ allow: everything.filter((rule) => !rule.startsWith("outside")) }),
    ];
    for (const { permissions } of worlds)
      for (const changing of [
        call("write_file", { path: "a.txt", content: "x" }),
        call("edit_file", { path: "notes.txt", oldText: "one", newText: "two" }),
        call("shell", { command: "touch a.txt" }),
        call("shell", { command: "make", outside: true, why: "it must" }),
        call("shell", { command: "ls", hosts: ["example.org"] }),
        call("mcp__files__write", { path: "a.txt" }),
      ])
        expect(await permissions.decide(changing, planning())).toMatchObject({
          verdict: "deny",
          why: expect.stringContaining("plan mode: nothing is changed"),
        });
  });

  test("lets everything run that only reads, and agents, under the rules that there are", keys, async () => {
    const { permissions } = createFolder({ deny: ["read_file(.env)"] });
    for (const reading of [
      call("read_file", { path: "notes.txt" }, true),
      call("todo", { items: [] }, true),
      call("shell", { command: "ls && git status" }),
      call("agent_scout", { task: "Look." }),
      call("stop_process", { process: 1 }),
    ])
      expect((await permissions.decide(reading, planning())).verdict).toBe("allow");
    expect((await permissions.decide(call("fetch_url", { url: "https://example.org/" }), planning())).verdict).toBe(
      "ask",
    );
    expect(await permissions.decide(call("read_file", { path: ".env" }, true), planning())).toMatchObject({
      verdict: "deny",
      rule: { rule: "read_file(.env)" },
    });
  });

  test("lets commands ask as ever where a sandbox keeps the folder read-only", keys, async () => {
    const { permissions } = createFolder();
    permissions.useSandbox({ kind: "bubblewrap", hosts: [] });
    const { decide } = permissions;
    expect((await decide(call("shell", { command: "npm test" }), planning())).verdict).toBe("ask");
    expect((await decide(call("shell", { command: "npm test", outside: true }), planning())).verdict).toBe("deny");
  });

  test("is not inherited by a fork", keys, async () => {
    const { permissions } = createFolder();
    const fork = { ...planning("origin"), sessionId: "fork" };
    expect((await permissions.decide(call("write_file", { path: "a.txt" }), fork)).verdict).toBe("ask");
  });
});

type MoreTools = Pick<FolderAgentOptions, "servers" | "allowShell" | "model">;

function createWorld(
  parent: Script,
  child: Script = [],
  options: Partial<PermissionOptions> = {},
  more: Partial<MoreTools> = {},
) {
  const { root, home, permissions } = createFolder(options);
  const store = createMemoryStore();
  const model = createScriptedModel(parent, { id: "parent" });
  const childModel = createScriptedModel(child, { id: "child" });
  const text = "---\ndescription: Writes.\npermissionMode: acceptEdits\n---\nYou write.\n";
  const file = parseAgentFile({ name: "writer", path: "writer.md", real: "/writer.md", text });
  const agent = createFolderAgent({
    ...{ store, home, root, permissions, model },
    allowShell: false,
    settings: withoutSandbox(root, home),
    contextFiles: false,
    agents: [{ file, model: { model: childModel, timeouts: {} } }],
    ...more,
  });
  const session = agent.session("s");
  const setMode = (mode: "edits" | "plan") =>
    session.setData({ set: { mode: toStoredMode("s", mode) } }, { by: "ada" });
  const exists = (path: string) => existsSync(join(root, path));
  return { agent, session, store, model, childModel, setMode, exists, permissions, root, home };
}

function withoutSandbox(root: string, home: string): AgentSettings {
  const settings = toAgentSettings(resolveConfiguration({ root, home }));
  return { ...settings, sandbox: { ...settings.sandbox, mode: "off" } };
}

const writeTo = (path: string) => ({ name: "write_file", input: { path, content: "new\n" } });
const showPlan = { calls: [{ name: "finish_plan", input: { steps: ["Write a.txt.", "Write b.txt."] } }] };
const hello = { text: "Hello." };
const done = { text: "Done." };

function requireQuestion(result: RunResult) {
  const [question] = result.status === "awaiting_human" ? result.approvals : [];
  if (question === undefined) throw new Error(`${result.status}: ${result.text}`);
  return question;
}

/** The question about the plan of a run, in a session that has had another run before plan mode. */
async function askForPlan({ agent, setMode }: Pick<ReturnType<typeof createWorld>, "agent" | "setMode">, task: string) {
  await agent.run("Hi", { sessionId: "s" });
  await setMode("plan");
  return requireQuestion(await agent.run(task, { sessionId: "s" }));
}

const answers = [
  ["start, and ask before changes", "ask"],
  ["start, and edit files without asking", "edits"],
] as const;

describe("a plan", () => {
  test.each(answers)(
    "that is accepted with %j ends plan mode, and its steps become the list",
    keys,
    async (value, then) => {
      const world = createWorld([
        hello,
        { calls: [writeTo("early.txt")] },
        showPlan,
        { calls: [writeTo("a.txt")] },
        done,
      ]);
      const { session, exists, model } = world;
      const question = await askForPlan(world, "Write two files.");
      expect(question).toMatchObject({
        name: "finish_plan",
        why: "tool",
        question: expect.stringContaining("2. Write b.txt."),
      });
      expect(exists("early.txt")).toBe(false);
      expect(JSON.stringify(model.requests[1]?.messages)).toContain("Plan mode is on");
      await session.answer(question.callKey, { type: "reply", value });
      const result = await session.resume();
      expect((await session.data()).todo).toEqual([
        { text: "Write a.txt.", status: "open" },
        { text: "Write b.txt.", status: "open" },
      ]);
      if (then === "ask") {
        expect(requireQuestion(result)).toMatchObject({ name: "write_file", why: "policy" });
        expect((await session.data()).mode).toBeUndefined();
      } else {
        expect(result).toMatchObject({ status: "completed" });
        expect(exists("a.txt")).toBe(true);
        expect((await session.data()).mode).toEqual({ session: "s", is: "edits" });
      }
    },
  );

  test("that is not accepted leaves plan mode on, and the model gets the reason", keys, async () => {
    const world = createWorld([hello, showPlan, { calls: [writeTo("a.txt")] }, done]);
    const { session, exists, model } = world;
    const question = await askForPlan(world, "Write two files.");
    await session.answer(question.callKey, { type: "decline", note: "only one file" });
    expect(await session.resume()).toMatchObject({ status: "completed", text: "Done." });
    expect(exists("a.txt")).toBe(false);
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toMatch(/only one file[\s\S]*nothing is changed before/);
  });

  test("that is as long as a plan can be is asked about", keys, async () => {
    const steps = Array.from({ length: 30 }, () => "x".repeat(300));
    const world = createWorld([hello, { calls: [{ name: "finish_plan", input: { steps } }] }]);
    const question = await askForPlan(world, "Plan.");
    expect(question.question).toContain(`30. ${"x".repeat(300)}`);
  });

  test("that is accepted ends plan mode also if the session's data has no room for its steps", keys, async () => {
    const world = createWorld([hello, showPlan, done]);
    const { session, model } = world;
    const question = await askForPlan(world, "Plan.");
    await session.setData({ set: { filler: "x".repeat(64 * 1024 - 60) } }, { by: "ada" });
    await session.answer(question.callKey, { type: "reply", value: answers[0][0] });
    expect(await session.resume()).toMatchObject({ status: "completed", text: "Done." });
    const { mode, todo } = await session.data();
    expect([mode, todo]).toEqual([undefined, undefined]);
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain(
      "plan mode has ended.\\nBegin with the first step.",
    );
  });

  test("is not shown again and again where nobody can be asked", keys, async () => {
    const { agent, setMode, model } = createWorld([hello, showPlan, done]);
    await agent.run("Hi", { sessionId: "s" });
    await setMode("plan");
    expect(await agent.run("Plan.", { sessionId: "s", interactive: false })).toMatchObject({ text: "Done." });
    expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain(
      "nobody can be asked in this run.\\nIf they say what is missing, change the plan and show it again. If nobody can be asked, end with the plan",
    );
  });

  test("is not among the calls whose changes /undo cannot take back", keys, async () => {
    const world = createWorld([hello, showPlan, { calls: [writeTo("a.txt")] }, done]);
    const { agent, session, store, root, home, exists } = world;
    const question = await askForPlan(world, "Write a file.");
    await session.answer(question.callKey, { type: "reply", value: answers[1][0] });
    expect(await session.resume()).toMatchObject({ status: "completed" });
    const said: string[] = [];
    const say = (lines: readonly Line[]) => void said.push(...lines.map(toPlainText));
    const context = { agent, store, sessionId: "s", root, home, say, join: () => {} };
    await runUndoCommand({ ...context, choose: async () => "ready" }, "");
    expect(exists("a.txt")).toBe(false);
    expect(said.join("\n")).not.toContain("Also ran");
  });

  test("is not asked about outside of plan mode", keys, async () => {
    const { agent, model } = createWorld([showPlan, done]);
    expect(await agent.run("Go", { sessionId: "s" })).toMatchObject({ status: "completed" });
    expect(JSON.stringify(model.requests[1]?.messages)).toContain("There is no plan mode now");
  });
});

describe("the demo model", () => {
  const replacing = 'Replace "one" with "two" in notes.txt';

  test("shows a plan for a change, and makes the change once it is accepted", keys, async () => {
    const world = createWorld([], [], {}, { model: createDemoModel() });
    const question = await askForPlan(world, replacing);
    expect(question).toMatchObject({
      name: "finish_plan",
      question: expect.stringContaining('1. Replace "one" with "two" in notes.txt.\n2. Show you the result.'),
    });
    await world.session.answer(question.callKey, { type: "reply", value: answers[1][0] });
    expect(await world.session.resume()).toMatchObject({ status: "completed" });
    expect(readFileSync(join(world.root, "notes.txt"), "utf8")).toBe("two\n");
  });

  test("changes nothing if the plan is not accepted, and reads without a plan", keys, async () => {
    const world = createWorld([], [], {}, { model: createDemoModel() });
    const question = await askForPlan(world, replacing);
    await world.session.answer(question.callKey, { type: "decline" });
    expect(await world.session.resume()).toMatchObject({
      status: "completed",
      text: expect.stringContaining("I changed nothing, because my plan was not accepted."),
    });
    expect(await world.agent.run("Read notes.txt", { sessionId: "s" })).toMatchObject({ status: "completed" });
    expect(
      requireQuestion(
        await world.agent.run("Read notes.txt, then write a summary of it to REPORT.md", { sessionId: "s" }),
      ),
    ).toMatchObject({
      question: expect.stringContaining("1. Write what I found to REPORT.md."),
    });
    expect(readFileSync(join(world.root, "notes.txt"), "utf8")).toBe("one\n");
  });
});

describe("plan mode holds for agents below", () => {
  test("whatever their files allow, and they have no plan of their own to show", keys, async () => {
    const callWriter = { calls: [{ name: "agent_writer", input: { task: "Write." } }] };
    const { agent, session, setMode, exists, childModel, permissions } = createWorld(
      [hello, callWriter, done],
      [{ calls: [writeTo("a.txt")] }, done],
    );
    await agent.run("Hi", { sessionId: "s" });
    await setMode("plan");
    await saveRule({ permissions, session, by: "ada" }, "session", "allow", { rule: "write_file(**)" });
    expect(await agent.run("Go", { sessionId: "s" })).toMatchObject({ status: "completed" });
    expect(exists("a.txt")).toBe(false);
    expect(JSON.stringify(childModel.requests[1]?.messages)).toContain("nothing is changed before");
    expect(childModel.requests[0]?.tools.map(({ name }) => name)).not.toContain("finish_plan");
  });
});

test("a question from before plan mode is not answered into a change", keys, async () => {
  const { agent, session, setMode, exists } = createWorld([{ calls: [writeTo("a.txt")] }, done]);
  const question = requireQuestion(await agent.run("Go", { sessionId: "s" }));
  await setMode("plan");
  await session.answer(question.callKey, { type: "approve" });
  expect(await session.resume()).toMatchObject({ status: "completed" });
  expect(exists("a.txt")).toBe(false);
});

test("a call that was allowed before plan mode does not start in it", keys, async () => {
  const started: string[] = [];
  const createServerTool = (name: string, execute: () => unknown) => ({
    ...{ name, description: "A tool.", input: { type: "object" } as const },
    execute,
  });
  const startPlanMode = { name: "mcp__x__wait", input: {} };
  const calls = [
    startPlanMode,
    writeTo("a.txt"),
    { name: "mcp__x__write", input: {} },
    { name: "shell", input: { command: "touch b.txt" } },
  ];
  const world = createWorld(
    [{ calls }, done],
    [],
    { allow: ["mcp__x__wait", "write_file", "mcp__x__write", "shell(touch *)"] },
    {
      allowShell: true,
      servers: {
        tools: [
          createServerTool("mcp__x__wait", async () => {
            await world.setMode("plan");
            return "The person has begun to plan.";
          }),
          createServerTool("mcp__x__write", () => {
            started.push("mcp__x__write");
            return "";
          }),
        ],
        versionOf: () => undefined,
      },
    },
  );
  // One call at a time: the others are allowed, and wait.
  const result = await world.agent.run("Go", { sessionId: "s", limits: { toolConcurrency: 1 } });
  expect(result).toMatchObject({ status: "completed" });
  expect(started).toEqual([]);
  expect([world.exists("a.txt"), world.exists("b.txt")]).toEqual([false, false]);
  const results = JSON.stringify(world.model.requests[1]?.messages);
  expect(results).toContain("The person has begun to plan.");
  expect(results.split("Now denied: plan mode: nothing is changed")).toHaveLength(4);
});
