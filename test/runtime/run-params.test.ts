/**
 * What a run is given with its request: `params`, and a system prompt that is made from them.
 */
import { describe, expect, expectTypeOf, test, vi } from "vitest";
import { z } from "zod";
import {
  createAgent,
  createClient,
  createMemoryStore,
  createWorker,
  defineToolFor,
  type Hook,
  type Store,
} from "../../src/index.js";
import { modelRequests } from "../../src/inspect.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { collect } from "../support/agents.js";
import { createHandoffDesk, toBilling } from "../support/handoff-desk.js";
import { verifies } from "../verifies.js";

const schema = z.object({ tenant: z.string(), locale: z.string().default("en") });
type Params = { tenant: string; locale: string };

const tool = defineToolFor<unknown, Params>();

/** An agent whose tool, policy and hook say what they were given. */
function createTold(script: readonly ScriptedStep[], store: Store = createMemoryStore()) {
  const told: unknown[] = [];
  const look = tool({
    name: "look",
    description: "Looks",
    input: { type: "object" },
    needsApproval: (_, { params }) => params.locale === "de",
    execute: (_, { params }) => {
      expectTypeOf(params).toEqualTypeOf<Params>();
      told.push({ tool: params });
      return `for ${params.tenant}`;
    },
  });
  const hook: Hook<unknown, Params> = {
    name: "told",
    beforeRun: (_, { params }) => void told.push({ beforeRun: params }),
    beforeToolCall: (_, { params }) => void told.push({ beforeToolCall: params }),
  };
  const model = createScriptedModel(script);
  const makePrompt = vi.fn(
    ({ params }: { readonly params: Params }) => `You serve ${params.tenant} in ${params.locale}.`,
  );
  const agent = createAgent({
    model,
    store,
    params: schema,
    tools: [look],
    hooks: [hook],
    canExecuteTool: (_, { params }) => {
      expectTypeOf(params).toEqualTypeOf<Params>();
      told.push({ policy: params });
      return "allow";
    },
    systemPrompt: makePrompt,
  });
  return { agent, model, told, makePrompt, store };
}

const look: ScriptedStep = { calls: [{ name: "look" }] };
const done: ScriptedStep = { text: "Done." };

describe("params", () => {
  test("reach tools, hooks and policies as the schema makes them", verifies("TYPE-1#params"), async () => {
    const { agent, told, model } = createTold([look, done]);
    expect(await agent.run("Go", { params: { tenant: "acme" } })).toMatchObject({ status: "completed" });
    const params = { tenant: "acme", locale: "en" };
    expect(told).toEqual([{ beforeRun: params }, { beforeToolCall: params }, { policy: params }, { tool: params }]);
    expect(model.requests.map(({ systemPrompt }) => systemPrompt)).toEqual([
      "You serve acme in en.",
      "You serve acme in en.",
    ]);
  });

  test("that do not fit are refused with the request", verifies("TYPE-1#params"), async () => {
    const { agent } = createTold([]);
    await expect(agent.run("Go")).rejects.toMatchObject({
      code: "bad_input",
      message: expect.stringContaining("tenant"),
    });
    await expect(agent.run("Go", { params: { tenant: 1 } as never })).rejects.toThrow("- tenant:");
    await expect(agent.session("s").send("Go", { params: { locale: "en" } })).rejects.toThrow("params schema");
    const plain = createAgent({ model: createScriptedModel([]) });
    await expect(plain.run("Go", { params: { tenant: "acme" } })).rejects.toThrow("does not accept params");
    expect(() => createAgent({ model: createScriptedModel([]), params: { a: z.string() } as never })).toThrow("params");
  });

  test("of a sender without the agent are checked when the run begins", verifies("TYPE-1#params"), async () => {
    const store = createMemoryStore();
    const { agent, told } = createTold([look, done], store);
    const client = createClient({ store });
    await client.session("good").send("Go", { agent: "agent", params: { tenant: "acme" } });
    await client.session("bad").send("Go", { agent: "agent", params: { locale: "en" } });
    await createWorker({ store, agents: [agent], pollMs: 10 }).runUntilIdle();
    expect(await client.session("good").result()).toMatchObject({ status: "completed" });
    expect(await client.session("bad").result()).toMatchObject({
      status: "failed",
      reason: "refused",
      error: { code: "bad_input", message: expect.stringContaining("tenant") },
    });
    expect(told.at(-1)).toEqual({ tool: { tenant: "acme", locale: "en" } });
  });

  test("are the same in a process that carries the run on", verifies("TYPE-1#params"), async () => {
    const { agent, store } = createTold([look]);
    const first = await agent.run("Go", { sessionId: "s", params: { tenant: "acme", locale: "de" } });
    expect(first.status).toBe("awaiting_human");
    await agent.shutdown();
    const other = createTold([done], store);
    const session = other.agent.session("s");
    await session.answer(first.status === "awaiting_human" ? (first.approvals[0]?.callKey ?? "") : "", {
      type: "approve",
    });
    expect(await session.resume()).toMatchObject({ status: "completed" });
    expect(other.told).toContainEqual({ tool: { tenant: "acme", locale: "de" } });
    expect(other.makePrompt).not.toHaveBeenCalled();
    expect(other.model.requests[0]?.systemPrompt).toBe("You serve acme in de.");
  });

  test("are the same after a compaction, in a process with another schema", verifies("TYPE-1#params"), async () => {
    const store = createMemoryStore();
    const seen: unknown[] = [];
    const create = (locale: string, script: readonly ScriptedStep[], beforeCall: () => Promise<void> | void) =>
      createAgent({
        model: createScriptedModel(script),
        store,
        params: z.object({ tenant: z.string(), locale: z.string().default(locale) }),
        tools: [
          tool({
            name: "long",
            description: "Gives much",
            input: { type: "object" },
            execute: (_, { params }) => {
              seen.push(params);
              return "word ".repeat(1_500);
            },
          }),
        ],
        hooks: [{ name: "wait", beforeLLMCall: beforeCall }],
      });
    const long: ScriptedStep = { calls: [{ name: "long" }] };
    const overflow: ScriptedStep = { error: { kind: "context_overflow", message: "too long" } };
    let calls = 0;
    let first = create("en", [], () => {});
    // The hook holds the process back between the compaction and the call that follows it.
    await new Promise<void>((compacted) => {
      first = create("en", [long, overflow, { text: "A summary." }], () => {
        calls += 1;
        if (calls < 3) return;
        compacted();
        return new Promise<void>(() => {});
      });
      void first.run("Go", { sessionId: "s", params: { tenant: "acme" } }).catch(() => {});
    });
    await first.shutdown({ graceMs: 0 });
    const second = create("fr", [long, done], () => {});
    expect(await second.session("s").resume()).toMatchObject({ status: "completed" });
    expect(seen).toEqual([
      { tenant: "acme", locale: "en" },
      { tenant: "acme", locale: "en" },
    ]);
  });

  test("of an agent behind a tool come from its parent", verifies("TYPE-1#params"), async () => {
    const store = createMemoryStore();
    const child = createAgent({
      name: "child",
      model: createScriptedModel([done]),
      params: schema,
      systemPrompt: ({ params }) => `For ${params.tenant}`,
    });
    const parent = createAgent({
      model: createScriptedModel([{ calls: [{ name: "child", input: { task: "Look." } }] }, done]),
      store,
      params: schema,
      tools: [child.asTool({ description: "Helps", params: (_, { params }) => params })],
    });
    expect(await parent.run("Go", { params: { tenant: "acme" } })).toMatchObject({ status: "completed" });
    const sessions = await store.list();
    const requests = await Promise.all(sessions.map(({ sessionId }) => collect(modelRequests(store, sessionId))));
    expect(requests.flat().map(({ systemPrompt }) => systemPrompt)).toContain("For acme");
  });
});

describe("a system prompt that is a function", () => {
  test("is called once a run, and rebuilt exactly", verifies("TYPE-1#prompt"), async () => {
    const { agent, model, makePrompt, store } = createTold([look, look, done, done]);
    await agent.run("Go", { sessionId: "s", params: { tenant: "acme" } });
    expect(makePrompt).toHaveBeenCalledTimes(1);
    expect(makePrompt.mock.calls[0]?.[0]).toMatchObject({ sessionId: "s", params: { tenant: "acme", locale: "en" } });
    await agent.run("Again", { sessionId: "s", params: { tenant: "other" } });
    expect(makePrompt).toHaveBeenCalledTimes(2);
    expect(model.requests.map(({ systemPrompt }) => systemPrompt)).toEqual([
      ...Array.from({ length: 3 }, () => "You serve acme in en."),
      "You serve other in en.",
    ]);
    const rebuilt = await collect(modelRequests(store, "s"));
    expect(rebuilt.map(({ systemPrompt }) => systemPrompt)).toEqual(
      model.requests.map(({ systemPrompt }) => systemPrompt),
    );
  });

  test("gives way to the system prompt of a run", verifies("TYPE-1#prompt"), async () => {
    const { agent, model, makePrompt } = createTold([done]);
    await agent.run("Go", { params: { tenant: "acme" }, systemPrompt: "Be brief." });
    expect(makePrompt).not.toHaveBeenCalled();
    expect(model.requests[0]?.systemPrompt).toBe("Be brief.");
  });

  test.each([
    ["throws", () => Promise.reject(new Error("no database")), "systemPrompt failed: no database"],
    ["gives no string", () => 5 as never, "systemPrompt did not return a string"],
    ["gives too much", () => "x".repeat(1024 * 1024 + 1), "the limit is 1048576"],
  ])("fails the run if it %s", verifies("TYPE-1#prompt"), async (_what, systemPrompt, message) => {
    const agent = createAgent({ model: createScriptedModel([]), systemPrompt });
    expect(await agent.run("Go")).toMatchObject({
      status: "failed",
      reason: "hook_failed",
      error: { message: expect.stringContaining(message) },
    });
  });

  test("is that of each agent to which the run is handed over", verifies("TYPE-1#prompt"), async () => {
    const called: string[] = [];
    const prompt = (name: string) => () => {
      called.push(name);
      return `You are ${name}.`;
    };
    const { triage, models } = createHandoffDesk({
      triage: [toBilling],
      billing: [{ calls: [{ name: "refund" }] }, done],
      options: { triage: { systemPrompt: prompt("triage") }, billing: { systemPrompt: prompt("billing") } },
    });
    expect(await triage.run("Go")).toMatchObject({ status: "completed" });
    expect(called).toEqual(["triage", "billing"]);
    expect(models.billing.requests.map(({ systemPrompt }) => systemPrompt)).toEqual([
      "You are billing.",
      "You are billing.",
    ]);
  });

  test("is the same after a compaction, in another process", verifies("TYPE-1#prompt"), async () => {
    const store = createMemoryStore();
    let calls = 0;
    const create = (script: readonly ScriptedStep[]) =>
      createAgent({
        model: createScriptedModel(script),
        store,
        params: schema,
        tools: [
          tool({
            name: "long",
            description: "Gives much",
            input: { type: "object" },
            needsApproval: (input) => (input as { readonly asks?: boolean }).asks === true,
            execute: (_, { params }) => `${params.tenant} ${"word ".repeat(1_500)}`,
          }),
        ],
        systemPrompt: ({ params }) => {
          calls += 1;
          return `You serve ${params.tenant}, call ${calls}.`;
        },
      });
    const overflow: ScriptedStep = { error: { kind: "context_overflow", message: "too long" } };
    const long = (asks: boolean): ScriptedStep => ({ calls: [{ name: "long", input: { asks } }] });
    const first = create([long(false), overflow, { text: "A summary." }, long(true)]);
    const asked = await first.run("Go", { sessionId: "s", params: { tenant: "acme" } });
    expect(asked.status).toBe("awaiting_human");
    await first.shutdown();
    const second = create([done]);
    const callKey = asked.status === "awaiting_human" ? (asked.approvals[0]?.callKey ?? "") : "";
    await second.session("s").answer(callKey, { type: "approve" });
    expect(await second.session("s").resume()).toMatchObject({ status: "completed" });
    expect(calls).toBe(1);
    const steps = (await collect(modelRequests(store, "s"))).filter(({ purpose }) => purpose !== "compaction");
    expect(steps.length).toBeGreaterThan(2);
    expect(new Set(steps.map(({ systemPrompt }) => systemPrompt))).toEqual(new Set(["You serve acme, call 1."]));
  });
});
