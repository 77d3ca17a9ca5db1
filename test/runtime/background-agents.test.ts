import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createAgent, createMemoryStore, defineTool, pendingApprovals, type Store } from "../../src/index.js";
import { crashTest } from "../../src/testing/crash-test.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";

const start = (task: string): ScriptedStep => ({ calls: [{ name: "researcher", input: { task } }] });
const read = (agent?: string): ScriptedStep => ({
  calls: [{ name: "read_agent", input: agent === undefined ? {} : { agent } }],
});

type Gate = { readonly opened: Promise<void>; readonly open: () => void };

function createGate(): Gate {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

type Setup = {
  readonly parent: readonly ScriptedStep[];
  readonly child: readonly ScriptedStep[];
  readonly store?: Store;
  readonly look?: () => string | Promise<string>;
  readonly wait?: () => Promise<void>;
  readonly ask?: boolean;
  readonly limits?: Parameters<typeof createAgent>[0]["limits"];
};

/** An editor whose researcher works in the background, and a tool of the editor with which a test holds it back. */
function createEditor({ parent, child, store = createMemoryStore(), look, wait, ask = false, limits = {} }: Setup) {
  const lookUp = defineTool({
    name: "look",
    description: "Looks something up.",
    input: z.object({}),
    needsApproval: ask,
    recover: "rerun",
    execute: look ?? (() => "found"),
  });
  const hold = defineTool({
    name: "hold",
    description: "Holds the run.",
    input: z.object({}),
    readOnly: true,
    execute: async () => {
      await wait?.();
      return "held";
    },
  });
  const childModel = createScriptedModel(child);
  const parentModel = createScriptedModel(parent);
  const researcher = createAgent({
    name: "researcher",
    model: childModel,
    tools: [lookUp],
    limits: { abortGraceMs: 0 },
  });
  const agent = createAgent({
    name: "editor",
    model: parentModel,
    tools: [hold, researcher.asTool({ description: "Researches.", background: true })],
    store,
    limits,
  });
  const findChildId = async () => (await store.list()).find(({ sessionId }) => sessionId !== "p")?.sessionId ?? "";
  return { agent, store, childModel, parentModel, findChildId };
}

type Editor = ReturnType<typeof createEditor>;

/** Resolves with the final event of the session's run number `count`. */
async function awaitEnd({ agent }: Editor, sessionId: string, count = 1) {
  let ended = 0;
  for await (const item of agent.session(sessionId).events()) {
    if (item.type === "final") ended += 1;
    if (item.type === "final" && ended === count) return item.result;
  }
  throw new Error("the stream ended");
}

const textsOf = (model: Editor["parentModel"], request: number) => JSON.stringify(model.requests[request]?.messages);

describe("an agent in the background", () => {
  test("the parent goes on, is told of the end in its next step, and reads the answer", async () => {
    const editor = createEditor({
      parent: [start("x"), { calls: [{ name: "hold" }] }, { text: "I go on." }],
      child: [{ calls: [{ name: "look" }] }, { text: "A catch." }],
      wait: async () => void (await awaitEnd(editor, await editor.findChildId())),
    });
    const { agent, parentModel, childModel } = editor;
    const result = await agent.run("Go.", { sessionId: "p" });
    expect(result).toMatchObject({ status: "completed", text: "I go on." });
    expect(textsOf(parentModel, 1)).toContain("works in the background as");
    expect(textsOf(parentModel, 2)).toContain("has ended (completed)");
    expect(textsOf(parentModel, 2)).not.toContain("A catch.");
    expect(childModel.requests).toHaveLength(2);
    // The child's usage counts for the run that was told.
    expect(result.usage).toEqual({ inputTokens: 50, outputTokens: 25 });
    expect((await agent.session("p").state()).background).toBeUndefined();
  });

  test("read_agent says what it does, and gives its answer", async () => {
    const begun = createGate();
    const gate = createGate();
    const steps: ScriptedStep[] = [start("x")];
    const editor = createEditor({
      parent: steps,
      child: [{ calls: [{ name: "look" }] }, { text: "A catch." }],
      look: async () => {
        begun.open();
        await gate.opened;
        return "found";
      },
    });
    steps.push({ text: "Later." });
    await editor.agent.run("Go.", { sessionId: "p" });
    const childId = await editor.findChildId();
    await begun.opened;
    steps.push(read(), read(childId), read("other"), { text: "It works." });
    await editor.agent.run("How far?", { sessionId: "p" });
    const seen = textsOf(editor.parentModel, 5);
    expect(seen).toContain(`${childId} (researcher): is at work`);
    expect(seen).toContain("and runs look");
    expect(seen).toContain("You have started no agent other in the background");
    steps.push(read(childId), { text: "It is a catch." });
    gate.open();
    // The end begins a run of its own, for the session was at rest.
    const told = await awaitEnd(editor, "p", 3);
    expect(told).toMatchObject({ status: "completed", text: "It is a catch." });
    expect(textsOf(editor.parentModel, 7)).toContain("Its answer:\\nA catch.");
  });

  test("stop_agent stops it, and the parent is told", async () => {
    const steps: ScriptedStep[] = [start("x"), { text: "Later." }];
    const editor = createEditor({
      parent: steps,
      child: [{ calls: [{ name: "look" }] }],
      look: () => new Promise(() => {}),
    });
    await editor.agent.run("Go.", { sessionId: "p" });
    const childId = await editor.findChildId();
    steps.push({ calls: [{ name: "stop_agent", input: { agent: childId } }, { name: "hold" }] }, { text: "Stopped." });
    steps.push({ text: "I see." });
    await editor.agent.run("Stop.", { sessionId: "p" });
    expect(await awaitEnd(editor, childId)).toMatchObject({ status: "aborted" });
    const state = await editor.agent.session("p").state();
    expect(JSON.stringify(editor.parentModel.requests.at(-1)?.messages)).toContain("is being stopped");
    expect(state.interrupted).toEqual([]);
  });

  test("stop_agent stops it, whatever ids the session and the run have", async () => {
    const sessionId = "\u4f1a\u8bdd".repeat(40);
    const steps: ScriptedStep[] = [start("x"), { text: "Later." }];
    const editor = createEditor({
      parent: steps,
      child: [{ calls: [{ name: "look" }] }],
      look: () => new Promise(() => {}),
    });
    await editor.agent.run("Go.", { sessionId });
    const [child] = await editor.store.list({ parent: sessionId });
    const childId = child?.sessionId ?? "";
    steps.push({ calls: [{ name: "stop_agent", input: { agent: childId } }] }, { text: "Stopped." });
    steps.push({ text: "I see." });
    await editor.agent.run("Stop.", { sessionId, runId: "stop" });
    expect(JSON.stringify(editor.parentModel.requests[3]?.messages)).toContain("is being stopped");
    expect(await awaitEnd(editor, childId)).toMatchObject({ status: "aborted" });
  });

  test("its questions are among those of the parent, and answered there", async () => {
    const editor = createEditor({
      parent: [start("x"), { text: "Later." }, { text: "Fine." }],
      child: [{ calls: [{ name: "look" }] }, { text: "A catch." }],
      ask: true,
    });
    const { agent, store } = editor;
    await agent.run("Go.", { sessionId: "p" });
    const childId = await editor.findChildId();
    for await (const item of agent.session(childId).events()) if (item.type === "suspended") break;
    const session = agent.session("p");
    const approvals = await session.pendingApprovals();
    expect(approvals).toMatchObject([{ name: "look", sessionId: childId }]);
    const listed = [];
    for await (const one of pendingApprovals(store)) listed.push(one.sessionId);
    expect(listed).toEqual([childId]);
    expect(await session.answer(approvals[0]?.callKey ?? "", { type: "approve" })).toBe("first");
    await agent.session(childId).resume();
    expect(await awaitEnd(editor, "p", 2)).toMatchObject({ text: "Fine." });
  });

  test("a part of the budget is kept for it until it ends", async () => {
    const editor = createEditor({
      parent: [start("x"), { calls: [{ name: "hold" }] }, { text: "Later." }, { calls: [{ name: "hold" }] }],
      child: [{ calls: [{ name: "look" }] }],
      look: () => new Promise(() => {}),
      limits: { maxTokens: 100 },
    });
    const result = await editor.agent.run("Go.", { sessionId: "p" });
    // Half of what was left after the first step.
    const { background } = await editor.agent.session("p").state();
    expect(background).toMatchObject([{ name: "researcher", reservedTokens: 42 }]);
    expect(result).toMatchObject({ status: "completed" });
    // 15 tokens of its own, and those 42.
    expect(await editor.agent.run("More.", { sessionId: "p", limits: { maxTokens: 43 } })).toMatchObject({
      status: "failed",
      reason: "max_tokens",
    });
  });

  test("a fork does not have it", async () => {
    const editor = createEditor({
      parent: [start("x"), { text: "Later." }],
      child: [{ calls: [{ name: "look" }] }],
      look: () => new Promise(() => {}),
    });
    await editor.agent.run("Go.", { sessionId: "p" });
    const fork = await editor.agent.session("p").fork();
    expect((await editor.agent.session("p").state()).background).toHaveLength(1);
    expect((await fork.state()).background).toBeUndefined();
  });
});

describe("a child session", () => {
  test("waits for the agents that it calls, because nobody would get their answers after its end", async () => {
    const store = createMemoryStore();
    const scout = createAgent({ name: "scout", model: createScriptedModel([{ text: "A catch." }]) });
    const leadModel = createScriptedModel([{ calls: [{ name: "scout", input: { task: "x" } }] }, { text: "Led." }]);
    const lead = createAgent({
      name: "lead",
      model: leadModel,
      tools: [scout.asTool({ description: "Scouts.", background: true })],
    });
    const agent = createAgent({
      name: "top",
      model: createScriptedModel([{ calls: [{ name: "lead", input: { task: "x" } }] }, { text: "Done." }]),
      tools: [lead.asTool({ description: "Leads." })],
      store,
    });
    const result = await agent.run("Go.", { sessionId: "p" });
    expect(JSON.stringify(leadModel.requests[1]?.messages)).toContain("A catch.");
    // Five model calls in three sessions, each of which counts.
    expect(result).toMatchObject({ text: "Done.", usage: { inputTokens: 50, outputTokens: 25 } });
    expect((await store.list()).every(({ activity, inbox }) => activity === "resting" && inbox === 0)).toBe(true);
  });
});

describe("limits of child sessions", () => {
  test("maxChildren blocks the calls above it, and the model is told", verifies("AGENT-4#caps"), async () => {
    const calls = [1, 2, 3].map((n) => ({ name: "researcher", input: { task: `${n}` } }));
    const editor = createEditor({
      parent: [{ calls }, { text: "Two, then." }],
      child: [],
      limits: { maxChildren: 2 },
    });
    await editor.agent.run("Go.", { sessionId: "p" });
    const results = editor.parentModel.requests[1]?.messages.at(-1);
    expect(JSON.stringify(results)).toContain("limits.maxChildren: 2");
    expect((await editor.store.list()).length).toBe(3);
    const outcomes: string[] = [];
    for await (const item of editor.agent.session("p").events({ follow: false }))
      if (item.type === "tool_result") outcomes.push(item.outcome);
    expect(outcomes.toSorted()).toEqual(["blocked", "ok", "ok"]);
  });

  test("maxChildrenAtOnce blocks what would start one more in the background", verifies("AGENT-4#caps"), async () => {
    const editor = createEditor({
      parent: [start("1"), start("2"), { text: "One, then." }],
      child: [{ calls: [{ name: "look" }] }],
      look: () => new Promise(() => {}),
      limits: { maxChildrenAtOnce: 1 },
    });
    await editor.agent.run("Go.", { sessionId: "p" });
    expect(textsOf(editor.parentModel, 2)).toContain("limits.maxChildrenAtOnce: 1");
    expect((await editor.agent.session("p").state()).background).toHaveLength(1);
  });

  test("maxChildren also ends a chain of runs that the ends of children begin", async () => {
    const steps: ScriptedStep[] = [];
    const work: ScriptedStep = { calls: [{ name: "look" }] };
    let started = 0;
    const editor = createEditor({
      parent: steps,
      child: [work, { text: "a" }, work, { text: "b" }],
      // A child that ended earlier would join the run that started it.
      look: async () => {
        started += 1;
        await awaitEnd(editor, "p", started);
        return "found";
      },
      limits: { maxChildren: 2 },
    });
    for (let run = 0; run < 3; run += 1) steps.push(start(`${run}`), { text: "Later." });
    await editor.agent.run("Go.", { sessionId: "p" });
    await awaitEnd(editor, "p", 3);
    expect(textsOf(editor.parentModel, 5)).toContain("limits.maxChildren: 2");
    expect(await editor.store.list()).toHaveLength(3);
    // A request of a person counts anew.
    steps.push({ text: "Yes?" });
    await editor.agent.run("More.", { sessionId: "p" });
    expect((await editor.agent.session("p").state()) as object).toMatchObject({ counters: { totalSteps: 1 } });
  });
});

test.for([true, false])(
  "whose version of the agent decides otherwise after a crash (background at first: %s) still ends",
  async (first) => {
    const store = createMemoryStore();
    let lives = 0;
    const report = await crashTest({
      agent: () => {
        const background = lives % 2 === 0 ? first : !first;
        lives += 1;
        const researcher = createAgent({ name: "researcher", model: createScriptedModel(() => ({ text: "Found." })) });
        return createAgent({
          name: "editor",
          model: createScriptedModel(({ modelCallIndex }) =>
            modelCallIndex === 1 ? start("Look.") : { text: "Done." },
          ),
          tools: [researcher.asTool({ description: "Researches.", background })],
        });
      },
      input: "Go.",
      store,
      reset() {
        lives = 0;
      },
      check({ result }) {
        expect(result).toMatchObject({ status: "completed", text: "Done." });
      },
    });
    expect(report.plays).toBeGreaterThan(8);
  },
);
