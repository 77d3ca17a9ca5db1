import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  createWorker,
  defineTool,
  PawlError,
  type Store,
} from "../../src/index.js";
import { traceSession } from "../../src/inspect.js";
import type { InputSchema } from "../../src/ports/tool.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";

const delegate = (task: string): ScriptedStep => ({ calls: [{ name: "researcher", input: { task } }] });

type Family = {
  readonly store?: Store;
  readonly parent: readonly ScriptedStep[];
  readonly child: readonly ScriptedStep[];
  readonly found?: () => string | Promise<string>;
  readonly ask?: boolean;
  readonly limits?: { readonly maxTokens: number };
};

function family({ store = createMemoryStore(), parent, child, found = () => "found", ask = false, limits }: Family) {
  const look = defineTool({
    name: "look",
    description: "Looks something up.",
    input: { type: "object" },
    needsApproval: ask,
    recover: "rerun",
    execute: found,
  });
  const childModel = createScriptedModel(child);
  const researcher = createAgent({ name: "researcher", model: childModel, tools: [look] });
  const parentModel = createScriptedModel(parent);
  const agent = createAgent({
    name: "editor",
    model: parentModel,
    tools: [researcher.asTool({ description: "Researches a question." })],
    store,
    ...(limits === undefined ? {} : { limits }),
  });
  return { agent, store, childModel, parentModel };
}

describe("an agent as a tool", verifies("TOOL-11"), () => {
  test("runs in a session of its own, and its answer is the call's result", async () => {
    const { agent, store, parentModel, childModel } = family({
      parent: [delegate("What is a pawl?"), { text: "It is a catch." }],
      child: [{ calls: [{ name: "look" }] }, { text: "A catch." }],
    });
    const result = await agent.run("Explain.", { sessionId: "p" });
    expect(result).toMatchObject({ status: "completed", text: "It is a catch." });
    expect(result.usage).toEqual({ inputTokens: 40, outputTokens: 20 });
    expect(parentModel.requests[1]?.messages.at(-1)).toMatchObject({ parts: [{ output: { text: "A catch." } }] });
    expect(childModel.requests[0]?.messages).toEqual([
      { role: "user", parts: [{ type: "text", text: "What is a pawl?" }] },
    ]);
    const sessions = await store.list();
    const child = sessions.find((one) => one.sessionId !== "p");
    expect(child?.info).toMatchObject({ agent: "researcher", parent: { sessionId: "p" }, top: "p" });
    expect(sessions.map((one) => one.holder)).toEqual([null, null]);
  });

  test("two children run side by side", async () => {
    let open = 0;
    let most = 0;
    let release = () => {};
    const both = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { agent } = family({
      parent: [{ calls: [1, 2].map((n) => ({ name: "researcher", input: { task: `${n}` } })) }, { text: "Both." }],
      child: [{ calls: [{ name: "look" }] }, { calls: [{ name: "look" }] }, { text: "A" }, { text: "B" }],
      found: async () => {
        open += 1;
        most = Math.max(most, open);
        if (open === 2) release();
        await both;
        return "x";
      },
    });
    expect(await agent.run("Go.")).toMatchObject({ status: "completed", text: "Both." });
    expect(most).toBe(2);
  });

  test("a child that fails is an error result, and the parent goes on", async () => {
    const { agent, parentModel } = family({ parent: [delegate("x"), { text: "Never mind." }], child: [] });
    expect(await agent.run("Go.")).toMatchObject({ status: "completed" });
    const last = parentModel.requests[1]?.messages.at(-1);
    expect(last).toMatchObject({ parts: [{ isError: true }] });
    expect(JSON.stringify(last)).toContain("did not finish (failed, model_error)");
  });

  test("its approvals show at the top, and are answered there", async () => {
    const { agent, store } = family({
      parent: [delegate("x"), { text: "Done." }],
      child: [{ calls: [{ name: "look", input: { q: 1 } }] }, { text: "Looked." }],
      ask: true,
    });
    const waiting = await agent.run("Go.", { sessionId: "p" });
    if (waiting.status !== "awaiting_human") throw new Error(waiting.status);
    expect(waiting.approvals).toMatchObject([{ name: "look", input: { q: 1 }, why: "policy" }]);
    expect((await store.list()).map((one) => one.holder)).toEqual([null, null]);
    const [approval] = await agent.session("p").pendingApprovals();
    expect(await agent.session("p").answer(approval?.callKey ?? "", { type: "approve" })).toBe("first");
    expect(await resultOf(agent, "p")).toMatchObject({ status: "completed", text: "Done." });
  });

  test("asks nobody if nobody can be asked in the run that called it", verifies("HITL-6"), async () => {
    const { agent, childModel } = family({
      parent: [delegate("x"), { text: "Done." }],
      child: [{ calls: [{ name: "look" }] }, { text: "I could not look." }],
      ask: true,
    });
    const result = await agent.run("Go.", { sessionId: "p", interactive: false });
    expect(result).toMatchObject({ status: "completed", text: "Done." });
    expect(JSON.stringify(childModel.requests[1]?.messages.at(-1))).toContain("nobody can");
  });

  test("an abort reaches it", async () => {
    let started = () => {};
    const running = new Promise<void>((resolve) => {
      started = resolve;
    });
    const { agent, store } = family({
      parent: [delegate("x")],
      child: [{ calls: [{ name: "look" }] }],
      found: () => {
        started();
        return new Promise(() => {});
      },
      limits: { maxTokens: 1_000_000 },
    });
    const controller = new AbortController();
    const result = agent.run("Go.", { sessionId: "p", signal: controller.signal, limits: { abortGraceMs: 200 } });
    await running;
    controller.abort();
    expect(await result).toMatchObject({ status: "aborted" });
    const child = (await store.list()).find((one) => one.sessionId !== "p");
    expect(["aborted", "tool_running"]).toContain(child?.status);
  });

  test("gets a share of what is left of the budget", async () => {
    const { agent, store } = family({
      parent: [{ ...delegate("x"), usage: { inputTokens: 100, outputTokens: 100 } }, { text: "Done." }],
      child: [{ text: "Cheap." }],
      limits: { maxTokens: 1_000 },
    });
    await agent.run("Go.", { sessionId: "p" });
    const child = (await store.list()).find((one) => one.sessionId !== "p");
    const state = (await store.load(child?.sessionId ?? ""))?.state;
    expect(state).toMatchObject({ limits: { maxTokens: 400 } });
  });

  test("parent and child are carried on by others, whichever died", async () => {
    const store = createMemoryStore();
    const first = family({
      store,
      parent: [delegate("x")],
      child: [{ calls: [{ name: "look" }] }],
      found: () => {
        void first.agent.shutdown({ graceMs: 0 });
        return new Promise(() => {});
      },
    });
    void first.agent.run("Go.", { sessionId: "p" });
    await until(
      async () => (await store.list()).length === 2 && (await store.list()).every((one) => one.holder === null),
    );

    const second = family({ store, parent: [{ text: "Done." }], child: [{ text: "Looked." }] });
    expect(await second.agent.session("p").resume()).toMatchObject({ status: "completed", text: "Done." });
  });

  test("a worker that has only the parent's agent carries both on", async () => {
    const store = createMemoryStore();
    const { agent } = family({ store, parent: [delegate("x"), { text: "Done." }], child: [{ text: "Looked." }] });
    const { agent: other } = family({
      store,
      parent: [delegate("x"), { text: "Done." }],
      child: [{ text: "Looked." }],
    });
    await agent.session("p").send("Go.");
    await agent.shutdown({ graceMs: 0 });
    await createWorker({ store, agents: [other] }).runUntilIdle();
    expect(await resultOf(other, "p")).toMatchObject({ status: "completed", text: "Done." });
  });

  test("an agent without a name cannot be one", () => {
    const agent = createAgent({ model: createScriptedModel([]) });
    expect(() => agent.asTool({ description: "x" })).toThrow(PawlError);
  });

  test("takes a share of the budget above 0 and up to 1, and a request for an input of its own", () => {
    const agent = createAgent({ name: "child", model: createScriptedModel([]) });
    for (const budgetShare of [0, -1, 1.1, Number.NaN])
      expect(() => agent.asTool({ description: "x", budgetShare })).toThrow(/must be more than 0 and at most 1/);
    expect(agent.asTool({ description: "x", budgetShare: 1 }).name).toBe("child");
    const input = { type: "object", properties: { topic: { type: "string" } } } as const;
    expect(() => agent.asTool({ description: "x", input })).toThrow(/has its own input, but no `request`/);
  });
});

const verdict = {
  type: "object",
  properties: { verdict: { type: "string", enum: ["yes", "no"] } },
  required: ["verdict"],
} as const;

type Inner = Pick<AgentOptions, "limits"> & { readonly output?: InputSchema<unknown>; readonly store?: Store };

/** A parent that asks its child once. `messages` are those that the parent's model is sent then. */
async function ask(child: readonly ScriptedStep[], { limits = {}, output, store = createMemoryStore() }: Inner = {}) {
  const look = defineTool({ name: "look", description: "Looks.", input: { type: "object" }, execute: () => "found" });
  const childModel = createScriptedModel(child);
  const judge = createAgent({ name: "judge", model: childModel, tools: [look], limits });
  const parentModel = createScriptedModel([{ calls: [{ name: "judge", input: { task: "?" } }] }, { text: "Done." }]);
  const tools = [judge.asTool({ description: "Judges.", ...(output === undefined ? {} : { output }) })];
  const parent = createAgent({ name: "court", model: parentModel, tools, store });
  const result = await parent.run("Go.", { sessionId: "p" });
  const events = await collected(parent.session("p").events({ follow: false }));
  const last = parentModel.requests[1]?.messages.at(-1);
  const part = last?.role === "tool" ? last.parts[0] : undefined;
  return { result, events, part, childModel, parent, store };
}

describe("a child with a shape for its answers", verifies("AGENT-3"), () => {
  test("gives its answer as JSON", async () => {
    const { part, childModel } = await ask([{ text: '{"verdict":"yes"}' }], { output: verdict });
    expect(part).toMatchObject({ output: { type: "json", value: { verdict: "yes" } } });
    expect(childModel.requests[0]?.responseFormat).toMatchObject({ type: "json" });
  });

  test("is asked once more for an answer that fits, and then fails", async () => {
    const { part } = await ask([{ text: "Perhaps." }, { text: '{"verdict":"no"}' }], { output: verdict });
    expect(part).toMatchObject({ output: { type: "json", value: { verdict: "no" } } });
    const { part: failed } = await ask([{ text: "Perhaps." }, { text: "Who knows." }], { output: verdict });
    expect(failed).toMatchObject({ isError: true });
    expect(JSON.stringify(failed)).toContain("invalid_output");
  });

  test("is held to what only the schema itself can check", async () => {
    const schema = z.object({ n: z.number().refine((n) => n % 2 === 0, "it is odd") });
    const { part, childModel } = await ask([{ text: '{"n":3}' }, { text: '{"n":4}' }], { output: schema });
    expect(JSON.stringify(childModel.requests[1]?.messages)).toContain("it is odd");
    expect(part).toMatchObject({ output: { type: "json", value: { n: 4 } } });
  });

  test("refuses a schema that cannot be used when the tool is made", () => {
    const agent = createAgent({ name: "judge", model: createScriptedModel([]) });
    const make = () => agent.asTool({ description: "x", output: { type: "nonsense" } as never });
    expect(make).toThrow(expect.objectContaining({ code: "bad_configuration" }));
  });
});

describe("a child that a limit ends", verifies("AGENT-3"), () => {
  const steps: readonly ScriptedStep[] = ["One.", "Two.", "Three."].map((text) => ({
    text,
    calls: [{ name: "look" }],
  }));
  const limits = { maxSteps: 3 };

  test("gives the texts of its last two steps, marked as cut", async () => {
    const { part, events } = await ask(steps, { limits });
    expect(part?.output).toEqual({ type: "text", text: "[Cut short: max_steps.]\nTwo.\n\nThree." });
    expect(part).not.toHaveProperty("isError");
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "tool_result",
        outcome: "ok",
        isError: false,
        cut: "max_steps",
        output: { type: "text", text: "Two.\n\nThree." },
      }),
    );
  });

  test("gives its answer, if it has one", async () => {
    const answer = { text: "Half of the ans", finish: "length" } as const;
    const { part } = await ask([...steps.slice(0, 1), answer], { limits: { ...limits, maxContinuations: 0 } });
    expect(part?.output).toEqual({ type: "text", text: "[Cut short: output_limit.]\nHalf of the ans" });
  });

  test("is an error if it wrote nothing", async () => {
    const { part } = await ask(
      [1, 2, 3].map(() => ({ calls: [{ name: "look" }] })),
      { limits },
    );
    expect(part).toMatchObject({ isError: true });
    expect(JSON.stringify(part)).toContain("did not finish (failed, max_steps)");
  });

  test("says so in the trace", async () => {
    const { store } = await ask(steps, { limits });
    const trace = await traceSession(store, "p");
    const calls = trace.flatMap((record) => (record.type === "step" ? record.calls : []));
    expect(calls).toMatchObject([{ name: "judge", outcome: "ok", cut: "max_steps" }]);
  });

  test("says so in a result that comes late", async () => {
    const store = createMemoryStore();
    const { parent } = await ask(steps, { limits, store });
    const entries = await store.read("p", 0, 100);
    const waiting = entries.find(({ event }) => event.type === "tool_waiting");
    const fork = await parent.session("p").fork({ at: waiting?.seq ?? 0, sessionId: "copy" });
    const { interrupted } = await fork.state();
    const [callKey = ""] = interrupted;
    const output = { type: "text", text: "Two." } as const;
    const body = { type: "result", callKey, output, child: { usage: {}, cut: "max_steps" } } as const;
    await store.post("copy", { id: "late", at: 1, body });
    await parent.session("copy").send("Go on.");
    const events = await collected(parent.session("copy").events({ follow: false }));
    expect(events).toContainEqual(expect.objectContaining({ type: "late_result", callKey, cut: "max_steps", output }));
    expect(JSON.stringify(await parent.session("copy").messages())).toContain("[Cut short: max_steps.]\\nTwo.");
  });
});

async function collected<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

async function resultOf(agent: ReturnType<typeof createAgent>, sessionId: string) {
  for await (const item of agent.session(sessionId).events()) if (item.type === "final") return item.result;
  throw new Error("no end");
}

async function until(holds: () => Promise<boolean>, turns = 2_000) {
  for (let turn = 0; !(await holds()); turn += 1) {
    if (turn === turns) throw new Error("It did not come to that.");
    await new Promise((resolve) => setImmediate(resolve));
  }
}
