/** Handoffs beside other features: child sessions, compaction, approvals, context sources, prices, traces, workers. */
import { describe, expect, test } from "vitest";
import {
  type Agent,
  type AgentOptions,
  type ContextSource,
  createAgent,
  createMemoryStore,
  createWorker,
  defineTool,
  type Message,
  type Store,
  textOf,
} from "../../src/index.js";
import { modelRequests, type TraceRecord, traceSession } from "../../src/inspect.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { createHandoffDesk, toBilling, toTriage } from "../support/handoff-desk.js";
import { verifies } from "../verifies.js";

const requestsOf = async (store: Store, sessionId = "s") => {
  const requests = [];
  for await (const request of modelRequests(store, sessionId))
    if (request.purpose !== "compaction") requests.push(request);
  return requests;
};

/** Pays back, and goes on from wherever another process has left off. */
const refunding = () =>
  createScriptedModel(({ messages }) =>
    JSON.stringify(messages.at(-1)).includes("refunded") ? { text: "Paid back." } : { calls: [{ name: "refund" }] },
  );

type Handoffs = NonNullable<AgentOptions["handoffs"]>;

describe("in a child session", verifies("AGENT-1"), () => {
  const family = (store: Store) => {
    const front = createScriptedModel(({ modelCallIndex }) =>
      modelCallIndex === 1
        ? { calls: [{ name: "triage", input: { task: "Pay Ann back." } }] }
        : { text: "It is done." },
    );
    const { triage, models } = createHandoffDesk({
      store,
      triage: [toBilling],
      billing: [],
      options: { billing: { canExecuteTool: () => "ask", model: refunding() } },
    });
    const agent = createAgent({
      name: "front",
      model: front,
      store,
      tools: [triage.asTool({ description: "Knows all about orders." })],
    });
    return { agent, models, front };
  };

  test("the child hands over, asks a person days later, and another process carries both on", async () => {
    const store = createMemoryStore();
    const waiting = await family(store).agent.run("Pay Ann back.", { sessionId: "s" });
    if (waiting.status !== "awaiting_human") throw new Error(waiting.status);
    const [approval] = waiting.approvals;
    expect(approval).toMatchObject({ name: "refund" });
    const child = (await store.list()).find(({ sessionId }) => sessionId !== "s");
    expect(child?.info).toMatchObject({ agent: "billing", parent: { sessionId: "s" } });
    const { agent, front } = family(store);
    await agent.session("s").answer(approval?.callKey ?? "", { type: "approve" });
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed", text: "It is done." });
    expect(front.requests.at(-1)?.messages.at(-1)).toMatchObject({ parts: [{ output: { text: "Paid back." } }] });
    expect((await store.load("s"))?.state.session).toMatchObject({ agent: "front" });
    expect((await agent.session("s").replay()).difference).toBeNull();
  });
});

/** Triage talks for a while, then hands over; billing has a small window. */
function talkative(store: Store, filter: NonNullable<Handoffs[number]["filter"]>) {
  const look = defineTool({
    name: "look",
    description: "Looks an order up.",
    input: { type: "object" },
    readOnly: true,
    execute: ({ id }: { readonly id?: number }) => `Order ${id}: ${"a chair, a table, ".repeat(20)}`,
  });
  const refund = defineTool({
    name: "refund",
    description: "Pays an order back.",
    input: { type: "object" },
    needsApproval: true,
    recover: "rerun",
    execute: () => "refunded",
  });
  const steps: ScriptedStep[] = Array.from({ length: 12 }, (_, id) => ({ calls: [{ name: "look", input: { id } }] }));
  const models = {
    triage: createScriptedModel(({ modelCallIndex }) => steps[modelCallIndex - 1] ?? toBilling),
    billing: refunding(),
  };
  const summarizer = createScriptedModel(() => ({ text: "Orders were looked up." }), { id: "summarizer" });
  const billing: Agent = createAgent({
    name: "billing",
    model: models.billing,
    store,
    tools: [refund],
    compaction: { contextWindow: 2_000, model: summarizer },
  });
  const triage: Agent = createAgent({
    name: "triage",
    model: models.triage,
    store,
    tools: [look],
    handoffs: [{ name: "billing", description: "Payments.", agent: () => billing, filter }],
    compaction: null,
  });
  return { triage, billing, models };
}

describe.each([
  ["text", "text"],
  ["last_turn", "last_turn"],
  [
    "a function",
    ({ messages }: { readonly messages: readonly Message[] }) => [messages[0] as Message, ...messages.slice(-22)],
  ],
] as const)("a filter (%s) and a compaction after it", (_name, filter) => {
  test("the next agent has room, and another process sends the same", verifies("AGENT-1"), async () => {
    const store = createMemoryStore();
    const first = talkative(store, filter);
    const waiting = await first.triage.run("Pay me back.", { sessionId: "s" });
    if (waiting.status !== "awaiting_human") throw new Error(waiting.status);
    const log = await store.read("s", 0, 1_000);
    const compacted = log.flatMap(({ event }) => (event.type === "compacted" ? [event] : []));
    expect(compacted[0]?.summary).toBe("Orders were looked up.");
    const shown = first.models.billing.requests[0]?.messages ?? [];
    expect(JSON.stringify(shown[0])).toContain("Orders were looked up.");
    expect(shown.length).toBeGreaterThan(1);
    expect(JSON.stringify(shown.at(-1))).toContain("Handed over to billing.");
    const second = talkative(store, filter);
    await second.billing.session("s").answer(waiting.approvals[0]?.callKey ?? "", { type: "approve" });
    expect(await second.billing.session("s").resume()).toMatchObject({ status: "completed", text: "Paid back." });
    expect(await requestsOf(store)).toEqual([
      ...first.models.triage.requests,
      ...first.models.billing.requests,
      ...second.models.billing.requests,
    ]);
    expect((await second.triage.session("s").replay()).difference).toBeNull();
  });
});

test("with an approval of a sibling open, a filter waits for it and sees its result", verifies("AGENT-1"), async () => {
  const seen: number[] = [];
  const agents: { desk: ReturnType<typeof createHandoffDesk> } = {
    desk: createHandoffDesk({
      triage: [{ calls: [{ name: "transfer_to_billing" }, { name: "look" }] }],
      billing: [{ text: "Hi." }],
      options: {
        triage: {
          canExecuteTool: ({ tool }) => (tool.name === "look" ? "ask" : "allow"),
          handoffs: [
            {
              name: "billing",
              description: "Payments.",
              agent: () => agents.desk.billing,
              filter: ({ messages }) => {
                seen.push(messages.length);
                return messages.slice(-2);
              },
            },
          ],
        },
      },
    }),
  };
  const { triage, models } = agents.desk;
  const waiting = await triage.run("Pay me back.", { sessionId: "s" });
  if (waiting.status !== "awaiting_human") throw new Error(waiting.status);
  expect(seen).toEqual([]);
  await triage.session("s").answer(waiting.approvals[0]?.callKey ?? "", { type: "approve" });
  expect(await triage.session("s").resume()).toMatchObject({ status: "completed" });
  expect(seen).toEqual([3]);
  expect(models.billing.requests[0]?.messages.at(-1)).toMatchObject({
    parts: [{ output: { text: "Handed over to billing." } }, { output: { text: "an order" } }],
  });
});

describe("a worker that knows the next agent only", verifies("AGENT-1"), () => {
  test("carries on what was handed over to it", async () => {
    const store = createMemoryStore();
    const refund = defineTool({
      name: "refund",
      description: "Pays an order back.",
      input: { type: "object" },
      needsApproval: true,
      recover: "rerun",
      execute: () => "refunded",
    });
    const billing = () =>
      createAgent({
        name: "billing",
        store,
        tools: [refund],
        model: refunding(),
      });
    const triage = createAgent({
      name: "triage",
      store,
      model: createScriptedModel([toBilling]),
      handoffs: [{ name: "billing", description: "Payments.", agent: billing, filter: "text" }],
    });
    const waiting = await triage.run("Pay me back.", { sessionId: "s" });
    if (waiting.status !== "awaiting_human") throw new Error(waiting.status);
    await store.post("s", {
      id: "answer",
      at: Date.now(),
      body: { type: "answer", callKey: waiting.approvals[0]?.callKey ?? "", answer: { type: "approve" } },
    });
    await createWorker({ store, agents: [billing()] }).runUntilIdle();
    expect(await billing().session("s").result()).toMatchObject({ status: "completed", text: "Paid back." });
  });
});

describe("context sources", verifies("AGENT-1", "CTX-11"), () => {
  const source = (text: string): ContextSource => ({
    name: "rules",
    load: () => [{ name: "rules", path: `/${text}`, text, trust: "author" }],
  });
  const prompts = (model: { readonly requests: readonly { readonly systemPrompt?: string }[] }) =>
    model.requests.map(({ systemPrompt = "" }) =>
      ["Of triage.", "Of billing."].filter((text) => systemPrompt.includes(text)),
    );

  test("are those of the agent that has the session, there and back", async () => {
    const { triage, models, store } = createHandoffDesk({
      triage: [toBilling, { text: "Anything else?" }],
      billing: [toTriage],
      options: {
        triage: { context: { sources: [source("Of triage.")] } },
        billing: { context: { sources: [source("Of billing.")] } },
      },
    });
    expect(await triage.run("Pay me back.", { sessionId: "s" })).toMatchObject({ status: "completed" });
    expect(prompts(models.triage)).toEqual([["Of triage."], ["Of triage."]]);
    expect(prompts(models.billing)).toEqual([["Of billing."]]);
    expect(await requestsOf(store)).toEqual([
      models.triage.requests[0],
      ...models.billing.requests,
      models.triage.requests[1],
    ]);
    expect((await triage.session("s").replay()).difference).toBeNull();
  });

  test("of one agent do not stay with another, after a handoff or in a run that begins with another", async () => {
    const { triage, models, store } = createHandoffDesk({
      triage: [toBilling, { text: "Hello." }],
      billing: [{ text: "Paid back." }, { text: "Again." }],
      options: { triage: { context: { sources: [source("Of triage.")] } } },
    });
    await triage.run("Pay me back.", { sessionId: "s" });
    await triage.run("Hi.", { sessionId: "s", agent: "triage" });
    await triage.run("Hi.", { sessionId: "s", agent: "billing" });
    expect(prompts(models.triage)).toEqual([["Of triage."], ["Of triage."]]);
    expect(prompts(models.billing)).toEqual([[], []]);
    const changes = [];
    for await (const event of triage.session("s").events({ follow: false }))
      if (event.type === "sources_changed") changes.push(event);
    expect(changes).toEqual([]);
    expect(await requestsOf(store)).toHaveLength(4);
    expect((await triage.session("s").replay()).difference).toBeNull();
  });
});

describe("a limit of cost", verifies("AGENT-1", "LIM-1"), () => {
  const prices = { small: { input: 1, output: 5 } };
  const limits = { maxCostUsd: 1 };
  const refusal = { code: "bad_configuration", message: expect.stringMatching(/the model large.*handoffs.*no price/) };

  test("needs a price for each model that a run can be handed over to", async () => {
    const { triage, models } = createHandoffDesk({
      triage: [toBilling],
      billing: [],
      options: { triage: { usage: { prices } } },
    });
    await expect(triage.run("Pay me back.", { limits })).rejects.toMatchObject(refusal);
    expect(models.triage.requests).toEqual([]);
    const limited = triage.with({ limits });
    await expect(limited.run("Pay me back.")).rejects.toMatchObject(refusal);
    const front = createAgent({
      name: "front",
      model: createScriptedModel([], { id: "small" }),
      usage: { prices },
      tools: [triage.asTool({ description: "Knows about orders." })],
    });
    await expect(front.run("Pay me back.", { limits })).rejects.toMatchObject(refusal);
  });

  test("holds over a handoff, with the prices of each agent", async () => {
    const large = { large: { input: 1_000_000, output: 5 } };
    const { triage } = createHandoffDesk({
      triage: [toBilling],
      billing: [{ calls: [{ name: "refund" }] }, { text: "no" }],
      options: { triage: { usage: { prices } }, billing: { usage: { prices: large } } },
    });
    expect(await triage.run("Pay me back.", { limits })).toMatchObject({
      status: "failed",
      reason: "max_cost",
      steps: 2,
    });
  });
});

describe("the trace", verifies("AGENT-1", "TRC-1"), () => {
  test("has a record of each handoff between the steps, live and from the log", async () => {
    const live: TraceRecord[] = [];
    const agents: { desk: ReturnType<typeof createHandoffDesk> } = {
      desk: createHandoffDesk({
        triage: [toBilling, { text: "Anything else?" }],
        billing: [toTriage],
        options: {
          triage: {
            hooks: [{ name: "h", afterStep() {} }],
            handoffs: [
              {
                name: "billing",
                description: "Payments.",
                agent: () => agents.desk.billing,
                filter: (view) => view.messages.slice(-2),
              },
            ],
            observers: [{ name: "o", onTrace: (record) => void live.push(record) }],
          },
        },
      }),
    };
    const { triage, store } = agents.desk;
    await triage.run("Pay me back.", { sessionId: "s" });
    const records = await traceSession(store, "s");
    expect(records.map(({ type }) => type)).toEqual([
      ...["run_started", "step", "handoff", "step", "handoff", "step", "run_finished"],
    ]);
    const [first, second] = records.filter(({ type }) => type === "handoff");
    expect(first).toMatchObject({
      from: "triage",
      to: "billing",
      callKey: expect.stringMatching(/\/1\/1$/),
      messages: 2,
    });
    expect(second).toMatchObject({ from: "billing", to: "triage" });
    expect(second).not.toHaveProperty("messages");
    expect(records[1]).toMatchObject({ hooks: [{ name: "h", hook: "afterStep" }] });
    expect(live).toEqual(records);
    expect(textOf((await triage.session("s").messages()).at(-1) as Message)).toBe("Anything else?");
  });
});
