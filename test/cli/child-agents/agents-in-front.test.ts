/**
 * Agents in files as tools of the folder's agent: what a child gets, and whose rules apply to it.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFolderAgent, findMissingTools } from "../../../src/cli/agent/folder-agent.js";
import { chooseAgentModels, withoutModels } from "../../../src/cli/child-agents/choose-agent-models.js";
import { resolveAgents } from "../../../src/cli/child-agents/resolve-agents.js";
import { resolveConfiguration } from "../../../src/cli/configuration/resolve-configuration.js";
import { applyPlan, createPlan } from "../../../src/cli/conversation/commands/file-history.js";
import { createPermissions, type PermissionOptions } from "../../../src/cli/permissions/permissions.js";
import { saveRule } from "../../../src/cli/permissions/save-rule.js";
import { readFolderTrust, trustFiles } from "../../../src/cli/trust/trust.js";
import {
  type Agent,
  createClient,
  createMemoryStore,
  type Json,
  type Model,
  type RunResult,
} from "../../../src/index.js";
import { createScriptedModel, type Script } from "../../../src/testing/index.js";
import { verifies } from "../../verifies.js";

const front = (lines: string) => `---\ndescription: Looks around.\n${lines}\n---\nYou are the scout.\n`;
const callScout = (task = "Look.") => ({ calls: [{ name: "agent_scout", input: { task } }] });
const writeTo = (path: string) => ({ calls: [{ name: "write_file", input: { path, content: "new\n" } }] });
const done = { text: "Done." };

type WorldOptions = {
  /** The lines of front matter of the file `scout.md`. */
  readonly file?: string;
  readonly rules?: Pick<PermissionOptions, "allow" | "deny">;
  readonly isTrusted?: boolean;
};

function createWorld(parent: Script, child: Script, { file = "", rules = {}, isTrusted = true }: WorldOptions = {}) {
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
  const childModel = createScriptedModel(child, { id: "child-model" });
  const permissions = createPermissions({ allowAll: false, root, home, environment, ...rules });
  const agent = createFolderAgent({
    ...{ store, home, root, permissions },
    model: parentModel,
    allowShell: false,
    contextFiles: false,
    agents: listAgents().map((found) => ({ file: found, model: { model: childModel as Model, timeouts: {} } })),
  });
  const listMissing = () =>
    findMissingTools({ store, home, root, allowShell: false, sessionId: "s", agents: listAgents() });
  const read = (path: string) => (existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : null);
  return { root, home, write, read, store, agent, permissions, parentModel, childModel, listMissing };
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

  test("can have every tool of the session, but no agent", async () => {
    const { agent, parentModel, childModel } = createWorld([callScout(), done], [done]);
    await agent.run("Go.", { sessionId: "s" });
    const namesOf = (model: typeof parentModel) => model.requests[0]?.tools.map(({ name }) => name).sort() ?? [];
    const ofTheParent = ["agent_scout", "finish_plan"];
    expect(namesOf(childModel)).toEqual(namesOf(parentModel).filter((name) => !ofTheParent.includes(name)));
  });

  test("is not possible while the file is not trusted", async () => {
    const { agent, parentModel, childModel } = createWorld([callScout(), done], [], { isTrusted: false });
    expect(await agent.run("Go.", { sessionId: "s" })).toMatchObject({ status: "completed" });
    expect(parentModel.requests[0]?.tools.map(({ name }) => name)).not.toContain("agent_scout");
    expect(childModel.requests).toEqual([]);
  });

  test("fails and says why if the model of the file cannot be used, and the session goes on", async () => {
    const { root, home, store, permissions } = createWorld([], [], { file: "model: nowhere/big" });
    const { agents, problems } = await chooseAgentModels(resolveConfiguration({ root, home }), {});
    expect(problems).toEqual([expect.stringMatching(/^The agent scout cannot be used: .*nowhere/)]);
    const model = createScriptedModel([callScout(), done]);
    const agent = createFolderAgent({ store, home, root, permissions, model, allowShell: false, agents });
    expect(await agent.run("Go.", { sessionId: "s" })).toMatchObject({ status: "completed", text: "Done." });
    expect(await readResults(agent)).toContain("nowhere/big cannot be used");
  });

  test("uses the session's model for a name of another program that the settings do not have", async () => {
    const { root, home } = createWorld([], [], { file: "model: sonnet" });
    const { agents, problems } = await chooseAgentModels(resolveConfiguration({ root, home }), {});
    expect(agents).toMatchObject([{ file: { name: "scout" }, model: null }]);
    expect(problems).toEqual([expect.stringContaining("it uses the session's model.")]);
  });

  test("that waits for its agent is not resumed without the file, and the message says what to do", async () => {
    const { agent, root, listMissing } = createWorld([callScout(), done], [writeTo("a.txt"), done]);
    requireQuestions(await agent.run("Go.", { sessionId: "s" }));
    expect(await listMissing()).toEqual([]);
    rmSync(join(root, ".pawl/agents/scout.md"));
    await expect(listMissing()).rejects.toThrow(/has a call of the tool agent_scout to run.*pawl trust/);
  });
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
  const { agent, root, home, store, permissions } = createWorld([callScout(), done], [{ text: "Seen." }]);
  await agent.run("Go.", { sessionId: "s" });
  const agents = withoutModels(resolveAgents(readFolderTrust(root, home)).list);
  const model = createScriptedModel([]);
  const present = createFolderAgent({
    ...{ store, home, root, permissions, model, agents },
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
    const move = async (direction: "undo" | "redo") => {
      const plan = await createPlan(deps, direction, 1);
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
  });
});
