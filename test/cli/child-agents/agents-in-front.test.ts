/**
 * Agents in files as tools of the folder's agent: what a child gets, and whose rules apply to it.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFolderAgent, type FolderAgentOptions, findMissingTools } from "../../../src/cli/agent/folder-agent.js";
import { silentModel } from "../../../src/cli/agent/passive-agent.js";
import { chooseAgentModels, withoutModels } from "../../../src/cli/child-agents/choose-agent-models.js";
import { resolveAgents } from "../../../src/cli/child-agents/resolve-agents.js";
import { type AgentSettings, toAgentSettings } from "../../../src/cli/configuration/agent-settings.js";
import { resolveConfiguration } from "../../../src/cli/configuration/resolve-configuration.js";
import { runCostCommand } from "../../../src/cli/conversation/commands/cost.js";
import { applyPlan, createPlan } from "../../../src/cli/conversation/commands/file-history.js";
import { runUndoCommand } from "../../../src/cli/conversation/commands/undo.js";
import { createView } from "../../../src/cli/conversation/view/view.js";
import { createPermissions, type PermissionOptions } from "../../../src/cli/permissions/permissions.js";
import { saveRule } from "../../../src/cli/permissions/save-rule.js";
import { type Line, toPlainText } from "../../../src/cli/screen/line.js";
import { readFolderTrust, trustFiles } from "../../../src/cli/trust/trust.js";
import {
  type Agent,
  createClient,
  createMemoryStore,
  deleteSession,
  type Json,
  type Model,
  type Price,
  type RunResult,
} from "../../../src/index.js";
import { modelRequests } from "../../../src/inspect.js";
import { createScriptedModel, type Script } from "../../../src/testing/index.js";
import {
  type BackgroundProcess,
  type BackgroundProcesses,
  createBackgroundProcesses,
} from "../../../src/tools/index.js";
import { verifies } from "../../verifies.js";

const front = (lines: string) => `---\ndescription: Looks around.\n${lines}\n---\nYou are the scout.\n`;
const callScout = (task = "Look.") => ({ calls: [{ name: "agent_scout", input: { task } }] });
const writeTo = (path: string) => ({ calls: [{ name: "write_file", input: { path, content: "new\n" } }] });
const done = { text: "Done." };
const price: Price = { input: 1, output: 5 };

type WorldOptions = {
  /** The lines of front matter of the file `scout.md`. */
  readonly file?: string;
  readonly rules?: Pick<PermissionOptions, "allow" | "deny">;
  readonly isTrusted?: boolean;
  readonly childPrice?: Price;
  readonly limits?: FolderAgentOptions["limits"];
  /** The names of tools of MCP servers. */
  readonly serverTools?: readonly string[];
  /** Given if there is a shell. */
  readonly background?: BackgroundProcesses;
};

function createWorld(parent: Script, child: Script, options: WorldOptions = {}) {
  const { file = "", rules = {}, isTrusted = true, childPrice, limits = {}, serverTools = [], background } = options;
  const base = realpathSync(mkdtempSync(join(tmpdir(), "pawl-in-front-")));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [root, home, config] = [join(base, "root"), join(base, "home"), join(base, "config")];
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  write("notes.txt", "The notes say blue.\n");
  write(".pawl/agents/scout.md", front(file));
  const environment = { XDG_CONFIG_HOME: config };
  if (isTrusted) trustFiles(root, home, readFolderTrust(root, home).files, "ada");
  const listAgents = () => resolveAgents(readFolderTrust(root, home), environment).list;
  const store = createMemoryStore();
  const parentModel = createScriptedModel(parent, { id: "parent-model" });
  const childModel = createScriptedModel(child, {
    id: "child-model",
    ...(childPrice === undefined ? {} : { price: childPrice }),
  });
  const permissions = createPermissions({ allowAll: false, root, home, environment, ...rules });
  const agent = createFolderAgent({
    ...{ store, home, root, permissions },
    model: parentModel,
    allowShell: background !== undefined,
    ...(background === undefined ? {} : { background, settings: withoutSandbox(root, home) }),
    contextFiles: false,
    limits,
    servers: {
      tools: serverTools.map((name) => ({
        name,
        description: "A tool.",
        input: { type: "object" },
        execute: () => "",
      })),
      versionOf: () => undefined,
    },
    agents: listAgents().map((found) => ({ file: found, model: { model: childModel as Model, timeouts: {} } })),
  });
  const listMissing = () =>
    findMissingTools({ store, home, root, allowShell: false, sessionId: "s", agents: listAgents() });
  const read = (path: string) => (existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : null);
  return { root, home, write, read, store, agent, permissions, parentModel, childModel, listAgents, listMissing };
}

function withoutSandbox(root: string, home: string): AgentSettings {
  const settings = toAgentSettings(resolveConfiguration({ root, home }));
  return { ...settings, sandbox: { ...settings.sandbox, mode: "off" } };
}

/** The open questions of a run, each with the session that asks. */
function requireQuestions(result: RunResult) {
  if (result.status !== "awaiting_human") throw new Error(`${result.status}: ${result.text}`);
  return result.approvals;
}

async function readResults(agent: Agent, sessionId = "s"): Promise<string> {
  const results: Json[] = [];
  for await (const event of agent.session(sessionId).events({ live: false, follow: false }))
    if (event.type === "tool_result") results.push(event.output as Json);
  return JSON.stringify(results);
}

describe("A call of an agent in a file", verifies("AGENT-4#files"), () => {
  test("runs it in a session of its own, with its prompt, its tools and its model", async () => {
    const { agent, store, root, parentModel, childModel } = createWorld(
      [callScout("What do the notes say?"), done],
      [{ calls: [{ name: "read_file", input: { path: "notes.txt" } }] }, { text: "They say blue." }],
      { file: "tools: Read, Write, Bash" },
    );
    expect(await agent.run("Go.", { sessionId: "s" })).toMatchObject({ status: "completed", text: "Done." });
    const [offered] = parentModel.requests[0]?.tools.filter(({ name }) => name === "agent_scout") ?? [];
    expect(offered?.description).toContain("Looks around.");
    const [first, second] = childModel.requests;
    expect(first?.tools.map(({ name }) => name).sort()).toEqual(["read_file", "write_file"]);
    expect(first?.systemPrompt).toMatch(/^You are the scout\./);
    expect(first?.systemPrompt).toContain(root);
    expect(JSON.stringify(first?.messages)).toContain("What do the notes say?");
    expect(JSON.stringify(first?.messages)).not.toContain("Go.");
    expect(JSON.stringify(second?.messages)).toContain("The notes say blue.");
    expect(await readResults(agent)).toContain("They say blue.");
    const [child] = await store.list({ parent: "s" });
    expect(child?.info).toMatchObject({ agent: "pawl/scout", model: "child-model", root, top: "s" });
  });

  test("makes at most the model calls that both the file and the setting allow", async () => {
    const looks = ["*.a", "*.b", "*.c", "*.d"].map((pattern) => ({
      calls: [{ name: "list_files", input: { pattern } }],
    }));
    const countSteps = async (maxTurns: number, maxSteps: number) => {
      const { agent, store } = createWorld([callScout(), done], [...looks, done], {
        file: `maxTurns: ${maxTurns}`,
        limits: { maxSteps },
      });
      await agent.run("Go.", { sessionId: "s", limits: { maxSteps: 10 } });
      const [child] = await store.list({ parent: "s" });
      const results = [];
      for await (const event of createClient({ store })
        .session(child?.sessionId ?? "")
        .events({ live: false, follow: false }))
        if (event.type === "tool_result") results.push(event);
      return results.length;
    };
    expect(await countSteps(9, 2)).toBe(2);
    expect(await countSteps(2, 9)).toBe(2);
  });

  test.each([
    ["mcp__docs__search", ["mcp__docs__search"]],
    ["mcp__docs", ["mcp__docs__search", "mcp__docs__search__delete"]],
    ["mcp__docs__*", ["mcp__docs__search", "mcp__docs__search__delete"]],
  ])("has, of the tools of MCP servers, those that %s names", async (tools, expected) => {
    const { agent, childModel } = createWorld([callScout(), done], [done], {
      file: `tools: ${tools}`,
      serverTools: ["mcp__docs__search", "mcp__docs__search__delete", "mcp__docs2__search"],
    });
    await agent.run("Go.", { sessionId: "s" });
    expect(childModel.requests[0]?.tools.map(({ name }) => name).sort()).toEqual(expected);
  });

  test.each([
    ["", "disallowedTools: Write, Edit, mcp__docs, read_skill", ["fetch_url", "list_files", "read_file"]],
    ["tools: Read, Write, mcp__docs", "disallowedTools: write_file, mcp__docs__search__delete", ["mcp__docs__search"]],
    ["", "disallowedTools: '*'", []],
  ])("has no tool that the file takes away (%s, %s)", async (tools, disallowed, expected) => {
    const { agent, childModel } = createWorld([callScout(), done], [done], {
      file: [tools, disallowed].filter((line) => line !== "").join("\n"),
      serverTools: ["mcp__docs__search", "mcp__docs__search__delete"],
    });
    await agent.run("Go.", { sessionId: "s" });
    const names = childModel.requests[0]?.tools.map(({ name }) => name) ?? [];
    expect(names).toEqual(expect.arrayContaining(expected));
    const taken = ["write_file", "edit_file", "mcp__docs__search__delete", "read_skill"];
    expect(names.filter((name) => taken.includes(name))).toEqual([]);
    if (expected.length === 0) expect(names).toEqual([]);
  });

  test("can have every tool of the session, but no agent", async () => {
    const { agent, parentModel, childModel } = createWorld([callScout(), done], [done]);
    await agent.run("Go.", { sessionId: "s" });
    const namesOf = (model: typeof parentModel) => model.requests[0]?.tools.map(({ name }) => name).sort() ?? [];
    const ofTheParent = ["agent_scout", "finish_plan", "read_agent", "remind_me", "stop_agent"];
    expect(namesOf(childModel)).toEqual(namesOf(parentModel).filter((name) => !ofTheParent.includes(name)));
  });

  test("is not possible while the file is not trusted", async () => {
    const { agent, parentModel, childModel } = createWorld([callScout(), done], [], { isTrusted: false });
    expect(await agent.run("Go.", { sessionId: "s" })).toMatchObject({ status: "completed" });
    expect(parentModel.requests[0]?.tools.map(({ name }) => name)).not.toContain("agent_scout");
    expect(childModel.requests).toEqual([]);
  });

  test("is off if the settings do not define the model that the file names", async () => {
    const { root, home } = createWorld([], [], { file: "model: fast" });
    const model = createScriptedModel([]);
    const { problems } = await chooseAgentModels(resolveConfiguration({ root, home }), {}, model);
    expect(problems).toEqual([
      expect.stringMatching(
        /^The agent scout cannot be used\. .*scout\.md names the model fast, which is not a name of the setting models\. Define it there, or write provider\/model or inherit\.$/,
      ),
    ]);
  });

  test("fails and says why if the model of the file cannot be used, and the session goes on", async () => {
    const { root, home, store, permissions } = createWorld([], [], { file: "model: nowhere/big" });
    const model = createScriptedModel([callScout(), done]);
    const { agents, problems } = await chooseAgentModels(resolveConfiguration({ root, home }), {}, model);
    expect(problems).toEqual([expect.stringMatching(/^The agent scout cannot be used\. .*nowhere/)]);
    const spare = createScriptedModel([done], { id: "spare" });
    const fallbacks = [{ model: spare }];
    const agent = createFolderAgent({ store, home, root, permissions, model, allowShell: false, agents, fallbacks });
    expect(await agent.run("Go.", { sessionId: "s" })).toMatchObject({ status: "completed", text: "Done." });
    expect(await readResults(agent)).toContain("nowhere/big cannot be used");
    expect(spare.requests).toEqual([]);
  });

  test("fails and says why if its budget needs a price that is not known, and the session goes on", async () => {
    const { root, home, store, permissions } = createWorld([], [], { file: "budget: 1", childPrice: price });
    const model = createScriptedModel([callScout(), done]);
    const { agents, problems } = await chooseAgentModels(resolveConfiguration({ root, home }), {}, model);
    expect(problems).toEqual([
      expect.stringMatching(
        /^The agent scout cannot be used\. .*scout\.md sets a budget, and the model .* has no known price\./,
      ),
    ]);
    const agent = createFolderAgent({ store, home, root, permissions, model, allowShell: false, agents });
    expect(await agent.run("Go.", { sessionId: "s" })).toMatchObject({ status: "completed", text: "Done." });
    expect(await readResults(agent)).toContain("sets a budget");
  });

  test("uses the session's model for a name of another program that the settings do not have", async () => {
    const { root, home } = createWorld([], [], { file: "model: sonnet" });
    const model = createScriptedModel([]);
    const { agents, problems } = await chooseAgentModels(resolveConfiguration({ root, home }), {}, model);
    expect(agents).toMatchObject([{ file: { name: "scout" }, model: null }]);
    expect(problems).toEqual([expect.stringContaining("it uses the session's model.")]);
  });

  test("is compacted in the context window that was given for the session's model", async () => {
    const { root, home, store, permissions, listAgents, write } = createWorld([], []);
    const paths = Array.from({ length: 5 }, (_, index) => `long${index}.txt`);
    for (const path of paths) write(path, "All of this is blue.\n".repeat(600));
    const model = createScriptedModel(({ systemPrompt = "", messages }) => {
      if (systemPrompt.startsWith("You are the scout.")) {
        const path = paths.pop();
        const usage = { inputTokens: Math.ceil(JSON.stringify(messages).length / 4), outputTokens: 10 };
        return path === undefined ? done : { calls: [{ name: "read_file", input: { path } }], usage };
      }
      const isParent = systemPrompt.startsWith("You are Pawl,");
      return isParent && messages.length === 1 ? callScout() : done;
    });
    const agent = createFolderAgent({
      ...{ store, home, root, permissions, model, contextWindow: 10_000 },
      allowShell: false,
      contextFiles: false,
      agents: withoutModels(listAgents()),
    });
    expect(await agent.run("Go.", { sessionId: "s" })).toMatchObject({ status: "completed" });
    const [child] = await store.list({ parent: "s" });
    const purposes = new Set<string | undefined>();
    for await (const { purpose } of modelRequests(store, child?.sessionId ?? "")) purposes.add(purpose);
    expect(purposes).toContain("compaction");
  });

  test("that waits for its agent is not resumed without the file, and the message says what to do", async () => {
    const { agent, root, listMissing } = createWorld([callScout(), done], [writeTo("a.txt"), done]);
    requireQuestions(await agent.run("Go.", { sessionId: "s" }));
    expect(await listMissing()).toEqual([]);
    rmSync(join(root, ".pawl/agents/scout.md"));
    await expect(listMissing()).rejects.toThrow(/has a pending call of the tool agent_scout,.*pawl trust/);
  });
});

test("The background processes of an agent end with its run, and those of the session go on", {
  ...verifies("AGENT-4#files"),
}, async () => {
  const start = { calls: [{ name: "shell", input: { command: "sleep 600", background: true } }] };
  let onEnd = (_: BackgroundProcess) => {};
  const ended = new Promise<BackgroundProcess>((resolve) => {
    onEnd = resolve;
  });
  const background = createBackgroundProcesses({ onEnd: (process) => onEnd(process) });
  onTestFinished(() => background.stopAll());
  const { agent, store } = createWorld([start, callScout(), done], [start, done], {
    rules: { allow: ["shell"] },
    background,
  });
  expect(await agent.run("Go.", { sessionId: "s" })).toMatchObject({ status: "completed" });
  const [child] = await store.list({ parent: "s" });
  expect(await ended).toMatchObject({ sessionId: child?.sessionId, ended: "stopped" });
  expect(background.list().filter((process) => process.ended === null)).toMatchObject([{ sessionId: "s" }]);
});

describe("The rules and the mode of the session that a person sees", verifies("AGENT-4#rules"), () => {
  test("apply to the agents that it calls: a child asks, and what is allowed above is allowed below", async () => {
    const { agent, store, read } = createWorld(
      [callScout(), callScout(), done],
      [writeTo("a.txt"), done, writeTo("b.txt"), done],
    );
    const [question] = requireQuestions(await agent.run("Go.", { sessionId: "s" }));
    const [child] = await store.list({ parent: "s" });
    expect(question).toMatchObject({ name: "write_file", sessionId: child?.sessionId });
    const session = agent.session("s");
    await session.setData({ set: { mode: { session: "s", is: "edits" } } });
    await session.answer(question?.callKey ?? "", { type: "approve" });
    // The second agent writes without a question.
    expect(await session.resume()).toMatchObject({ status: "completed", text: "Done." });
    expect([read("a.txt"), read("b.txt")]).toEqual(["new\n", "new\n"]);
  });

  test("deny below what they deny above", async () => {
    const { agent, permissions, read } = createWorld(
      [{ text: "Ready." }, callScout(), done],
      [writeTo("secret/a.txt"), done],
      { rules: { allow: ["write_file(**)"] } },
    );
    await agent.run("Hello.", { sessionId: "s" });
    const rule = { rule: "write_file(secret/**)" };
    await saveRule({ permissions, session: agent.session("s"), by: "ada" }, "session", "deny", rule);
    expect(await agent.run("Go.", { sessionId: "s" })).toMatchObject({ status: "completed" });
    expect(read("secret/a.txt")).toBeNull();
  });

  test("are not those that a child's own data names", async () => {
    const { agent, store } = createWorld([callScout(), done], [writeTo("a.txt"), writeTo("b.txt"), done]);
    const [question] = requireQuestions(await agent.run("Go.", { sessionId: "s" }));
    const id = (await store.list({ parent: "s" }))[0]?.sessionId ?? "";
    const session = agent.session("s");
    // Any client of the store can write it.
    const data = { mode: { session: id, is: "edits" }, permissions: { session: id, allow: [{ rule: "write_file" }] } };
    await createClient({ store }).session(id).setData({ set: data });
    await session.answer(question?.callKey ?? "", { type: "approve" });
    expect(requireQuestions(await session.resume())).toMatchObject([{ name: "write_file", input: { path: "b.txt" } }]);
  });

  test("may name agents: a rule for agent_* denies all of them", async () => {
    const { agent, childModel } = createWorld([callScout(), done], [], { rules: { deny: ["agent_*"] } });
    expect(await agent.run("Go.", { sessionId: "s" })).toMatchObject({ status: "completed" });
    expect(await readResults(agent)).toContain("agent_*");
    expect(childModel.requests).toEqual([]);
  });
});

describe("The permissionMode of a file", verifies("AGENT-4#rules"), () => {
  test("acceptEdits lets the agent write in the folder, and nothing else", async () => {
    const { agent, read } = createWorld(
      [callScout(), done],
      [writeTo("a.txt"), { calls: [{ name: "fetch_url", input: { url: "https://example.org" } }] }, done],
      { file: "permissionMode: acceptEdits" },
    );
    expect(requireQuestions(await agent.run("Go.", { sessionId: "s" }))).toMatchObject([{ name: "fetch_url" }]);
    expect(read("a.txt")).toBe("new\n");
  });

  test("dontAsk denies what would ask, and a rule that allows still counts", async () => {
    const { agent, read } = createWorld([callScout(), done], [writeTo("a.txt"), writeTo("b.txt"), done], {
      file: "permissionMode: dontAsk",
      rules: { allow: ["write_file(b.txt)"] },
    });
    expect(await agent.run("Go.", { sessionId: "s" })).toMatchObject({ status: "completed" });
    expect([read("a.txt"), read("b.txt")]).toEqual([null, "new\n"]);
  });

  test("dontAsk asks nobody for an answer either", async () => {
    const asking = { calls: [{ name: "ask_person", input: { question: "Which colour?" } }] };
    const { agent, childModel } = createWorld([callScout(), done], [asking, done], { file: "permissionMode: dontAsk" });
    expect(await agent.run("Go.", { sessionId: "s" })).toMatchObject({ status: "completed" });
    expect(JSON.stringify(childModel.requests[1]?.messages)).toContain("This agent does not ask");
  });

  test("an agent asks the person through the session that called it", async () => {
    const asking = { calls: [{ name: "ask_person", input: { question: "Which colour?", options: ["red", "blue"] } }] };
    const { agent, store, childModel } = createWorld([callScout(), done], [asking, done]);
    const [question] = requireQuestions(await agent.run("Go.", { sessionId: "s" }));
    expect(question).toMatchObject({ name: "ask_person", why: "tool", question: "Which colour?" });
    const child = createClient({ store }).session(question?.sessionId ?? "");
    await child.answer(question?.callKey ?? "", { type: "reply", value: "blue" });
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
    expect(JSON.stringify(childModel.requests[1]?.messages)).toContain("blue");
  });

  test("dontAsk says why it denies: no rule allows the call, or a rule asks about it", async () => {
    const { agent, store, permissions } = createWorld(
      [{ text: "Ready." }, callScout(), done],
      [writeTo("a.txt"), writeTo("b.txt"), done],
      { file: "permissionMode: dontAsk" },
    );
    await agent.run("Hello.", { sessionId: "s" });
    const session = agent.session("s");
    await saveRule({ permissions, session, by: "ada" }, "session", "ask", { rule: "write_file(b.txt)" });
    await agent.run("Go.", { sessionId: "s" });
    const [child] = await store.list({ parent: "s" });
    const outputs: string[] = [];
    const events = createClient({ store })
      .session(child?.sessionId ?? "")
      .events({ live: false, follow: false });
    for await (const event of events) if (event.type === "tool_result") outputs.push(JSON.stringify(event.output));
    expect(outputs).toEqual([
      expect.stringContaining("This agent does not ask, and no rule allows this"),
      expect.stringContaining("This agent does not ask, and the rule write_file(b.txt) asks about this"),
    ]);
  });

  test("plan leaves only tools that read", async () => {
    const { agent, childModel } = createWorld([callScout(), done], [done], { file: "permissionMode: plan" });
    await agent.run("Go.", { sessionId: "s" });
    expect(childModel.requests[0]?.tools.map(({ name }) => name).sort()).toEqual([
      "ask_person",
      "list_files",
      "read_file",
      "search_files",
      "todo",
    ]);
  });

  test("bypassPermissions grants nothing", async () => {
    const { agent } = createWorld([callScout(), done], [writeTo("a.txt"), done], {
      file: "permissionMode: bypassPermissions",
    });
    expect(requireQuestions(await agent.run("Go.", { sessionId: "s" }))).toMatchObject([{ name: "write_file" }]);
  });
});

test("a replay of a session with an agent in a file finds no difference", verifies("AGENT-4#files"), async () => {
  const { agent, root, home, store, permissions } = createWorld([callScout(), done], [{ text: "Seen." }], {
    file: "budget: 1",
    childPrice: price,
  });
  await agent.run("Go.", { sessionId: "s" });
  const agents = withoutModels(resolveAgents(readFolderTrust(root, home)).list);
  const present = createFolderAgent({
    ...{ store, home, root, permissions, model: silentModel, agents },
    allowShell: false,
    contextFiles: false,
  });
  expect(await present.session("s").replay({ policy: "recorded", prompt: "present" })).toMatchObject({
    difference: null,
  });
});

describe("What an agent in a file has written", verifies("CHAT-3#undo"), () => {
  test("is undone and redone with the run that called it, whoever wrote a file first", async () => {
    const { agent, store, root, home, read } = createWorld(
      [writeTo("both.txt"), callScout(), done, callScout(), done],
      [
        { calls: [{ name: "write_file", input: { path: "both.txt", content: "child\n" } }] },
        writeTo("child.txt"),
        done,
        writeTo("later.txt"),
        done,
      ],
      { rules: { allow: ["write_file(**)"] } },
    );
    await agent.run("Go.", { sessionId: "s" });
    await agent.run("Again.", { sessionId: "s" });
    const deps = { agent, store, sessionId: "s", root, home };
    const move = async (direction: "undo" | "redo", count = 1) => {
      const plan = await createPlan(deps, direction, count);
      if (plan === null) return null;
      expect(await applyPlan(plan, plan.files, deps)).toMatchObject({ failed: [] });
      return plan.files.map(({ path, state }) => `${path} ${state}`).sort();
    };
    const present = () => ["both.txt", "child.txt", "later.txt"].map(read);
    expect(present()).toEqual(["child\n", "new\n", "new\n"]);
    expect(await move("undo")).toEqual(["later.txt ready"]);
    expect(await move("undo")).toEqual(["both.txt ready", "child.txt ready"]);
    expect(present()).toEqual([null, null, null]);
    expect(await move("undo")).toBeNull();
    expect(await move("redo")).toEqual(["both.txt ready", "child.txt ready"]);
    expect(present()).toEqual(["child\n", "new\n", null]);
    expect(await move("redo")).toEqual(["later.txt ready"]);
    expect(await move("redo")).toBeNull();
    expect(present()).toEqual(["child\n", "new\n", "new\n"]);
    // Two runs at once are redone in their order.
    expect(await move("undo", 2)).toEqual(["both.txt ready", "child.txt ready", "later.txt ready"]);
    expect(await move("redo")).toEqual(["both.txt ready", "child.txt ready"]);
    expect(await move("redo")).toEqual(["later.txt ready"]);
  });

  test("is undone in the order of time if two agents write the same file at once", async () => {
    const { store, root, home, permissions, listAgents, read } = createWorld([], [], {
      rules: { allow: ["write_file(**)"] },
    });
    let release = () => {};
    const hasWritten = new Promise<void>((resolve) => {
      release = resolve;
    });
    const write = (content: string) => ({ calls: [{ name: "write_file", input: { path: "a.txt", content } }] });
    const scripted = createScriptedModel(({ messages }) => {
      if (messages.length > 1) return done;
      return write(JSON.stringify(messages).includes("first call") ? "late\n" : "early\n");
    });
    const childModel: Model = {
      ...scripted,
      async *stream(request, ...others) {
        // The agent of the first call writes after that of the second one.
        if (JSON.stringify(request.messages).includes("first call")) await hasWritten;
        else if (request.messages.length > 1) release();
        yield* scripted.stream(request, ...others);
      },
    };
    const model = createScriptedModel([
      { calls: [...callScout("first call").calls, ...callScout("second call").calls] },
      done,
    ]);
    const agent = createFolderAgent({
      ...{ store, home, root, permissions, model },
      allowShell: false,
      contextFiles: false,
      agents: listAgents().map((file) => ({ file, model: { model: childModel, timeouts: {} } })),
    });
    await agent.run("Go.", { sessionId: "s" });
    expect(read("a.txt")).toBe("late\n");
    const deps = { agent, store, sessionId: "s", root, home };
    for (const [direction, content] of [
      ["undo", null],
      ["redo", "late\n"],
      ["undo", null],
    ] as const) {
      const plan = await createPlan(deps, direction, 1);
      expect(plan?.files).toMatchObject([{ path: "a.txt", state: "ready" }]);
      if (plan !== null) await applyPlan(plan, plan.files, deps);
      expect(read("a.txt")).toBe(content);
    }
  });

  test("is undone only if the session's data has room to record that, however many files there are", async () => {
    const paths = Array.from({ length: 20 }, (_, index) => `${index}.txt`);
    const { agent, store, root, home, read } = createWorld(
      [callScout(), done],
      [{ calls: paths.flatMap((path) => writeTo(path).calls) }, done],
      { rules: { allow: ["write_file(**)"] } },
    );
    await agent.run("Go.", { sessionId: "s" });
    const session = agent.session("s");
    const fill = async (bytesLeft: number) => {
      const bytes = Buffer.byteLength(JSON.stringify({ ...(await session.data()), filler: "" }));
      await session.setData({ set: { filler: "x".repeat(64 * 1024 - bytes - bytesLeft) } });
    };
    const deps = { agent, store, sessionId: "s", root, home };
    const undo = async () => {
      const plan = await createPlan(deps, "undo", 1);
      if (plan === null) throw new Error("There is nothing to undo.");
      return applyPlan(plan, plan.files, deps);
    };
    await fill(10);
    await expect(undo()).rejects.toThrow("Cannot record which changes are undone");
    expect(paths.map(read)).toEqual(paths.map(() => "new\n"));
    // The hashes of these changes alone would take more.
    await session.setData({ unset: ["filler"] });
    await fill(1_000);
    expect((await undo()).restored).toHaveLength(20);
    expect(paths.map(read)).toEqual(paths.map(() => null));
    expect((await createPlan(deps, "redo", 1))?.files).toHaveLength(20);
  });

  test("does not keep the session's own files from being undone if the agent's session was deleted", async () => {
    const { agent, store, root, home, read } = createWorld(
      [writeTo("own.txt"), callScout(), done],
      [writeTo("child.txt"), done],
      { rules: { allow: ["write_file(**)"] } },
    );
    await agent.run("Go.", { sessionId: "s" });
    const [child] = await store.list({ parent: "s" });
    expect(await deleteSession(store, child?.sessionId ?? "", { now: Date.now() })).toBe(true);
    const said: string[] = [];
    const say = (lines: readonly Line[]) => void said.push(...lines.map(toPlainText));
    const deps = { agent, store, sessionId: "s", root, home, say, join: () => {} };
    await runUndoCommand({ ...deps, choose: async () => "ready" }, "");
    expect([read("own.txt"), read("child.txt")]).toEqual([null, "new\n"]);
    expect(said).toContain("Undid changes to 1 file: own.txt");
    await runCostCommand({ ...deps, columns: () => 80, state: () => createView().state() });
    expect(said.join("\n")).toMatch(/last run +tokens unknown\nsession /);
    await runCostCommand({ ...deps, columns: () => 80, state: () => ({ ...createView().state(), runId: "r" }) });
    expect(said.join("\n")).toMatch(/this run +tokens unknown\nsession /);
  });
});
