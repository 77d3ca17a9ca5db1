/** What becomes of the call that asks for a handoff, what goes along with the session, and what stays with its agent. */
import { describe, expect, test } from "vitest";
import {
  type Agent,
  type AgentOptions,
  createAgent,
  createMemoryStore,
  defineTool,
  done,
  type HandoffView,
  type Hook,
  type Json,
  stepCount,
  toolCalled,
} from "../../src/index.js";
import { modelRequests } from "../../src/inspect.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { collect, createDeferred, createGateTool } from "../support/agents.js";
import { createHandoffDesk, toBilling } from "../support/handoff-desk.js";
import { verifies } from "../verifies.js";

const proven = verifies("AGENT-1");
const transfer = "transfer_to_billing";

type Entry = NonNullable<AgentOptions["handoffs"]>[number];
type Given = Partial<Parameters<typeof createHandoffDesk>[0]>;

/** The desk, with these options of the handoff to billing. */
function handing(entry: Partial<Entry>, { options = {}, ...given }: Given = {}) {
  const made: { readonly agents: ReturnType<typeof createHandoffDesk> } = {
    agents: createHandoffDesk({
      triage: [toBilling],
      billing: [{ text: "Paid back." }],
      ...given,
      options: {
        ...options,
        triage: {
          ...options.triage,
          handoffs: [{ name: "billing", description: "Payments.", agent: () => made.agents.billing, ...entry }],
        },
      },
    }),
  };
  return made.agents;
}

const stateOf = async (agent: Agent) => agent.session("s").state();
const typesIn = async ({ store }: Pick<ReturnType<typeof createHandoffDesk>, "store">) =>
  (await store.read("s")).map(({ event }) => event.type);

describe("the call of a handoff", proven, () => {
  const asking = (input: Json): ScriptedStep => ({ calls: [{ name: transfer, input }] });
  const blocking: Hook = { name: "h", beforeToolCall: () => ({ block: "Not at night." }) };

  test.for<[string, ScriptedStep, Partial<AgentOptions>, string]>([
    ["its input does not fit", asking({ message: 7 }), {}, "message"],
    ["its input has another member", asking({ note: "x" }), {}, "note"],
    ["a hook blocks it", toBilling, { hooks: [blocking] }, "Not at night."],
    ["the policy denies it", toBilling, { canExecuteTool: () => "deny" }, "Denied"],
  ])("hands nothing over if %s", async ([, step, options, says]) => {
    const agents = handing({}, { triage: [step, { text: "I do it." }], options: { triage: options } });
    expect(await agents.triage.run("Go", { sessionId: "s" })).toMatchObject({ text: "I do it." });
    const [result] = agents.models.triage.requests[1]?.messages.at(-1)?.parts ?? [];
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).toContain(says);
    expect(agents.models.billing.requests).toEqual([]);
    expect(await typesIn(agents)).not.toContain("handed_off");
  });

  test("has the name and the input that its author gives, and the filter gets the input", async () => {
    const views: HandoffView[] = [];
    const invoice = { type: "object", properties: { invoice: { type: "string" } }, required: ["invoice"] } as const;
    const { triage, models } = handing(
      {
        toolName: "ask_billing",
        input: invoice,
        filter: (view) => {
          views.push(view);
          return view.messages;
        },
      },
      { triage: [{ calls: [{ name: "ask_billing", input: { invoice: "R-2" } }] }] },
    );
    expect(await triage.run("Go")).toMatchObject({ text: "Paid back." });
    expect(models.triage.requests[0]?.tools.find(({ name }) => name === "ask_billing")).toMatchObject({
      description: "Payments.",
      inputSchema: invoice,
    });
    expect(views).toMatchObject([{ input: { invoice: "R-2" } }]);
  });

  test("has a name that providers accept, whatever the agent is named", async () => {
    for (const [name, tool] of [
      ["Bills & refunds", "transfer_to_Bills___refunds"],
      ["b".repeat(100), `transfer_to_${"b".repeat(52)}`],
    ] as const) {
      const other = createAgent({ name, model: createScriptedModel([{ text: "Paid back." }]) });
      const model = createScriptedModel([{ calls: [{ name: tool }] }]);
      const agent = createAgent({ model, handoffs: [{ name, description: "Payments.", agent: () => other }] });
      expect(await agent.run("Go")).toMatchObject({ text: "Paid back." });
    }
  });

  test("takes no slot", async () => {
    const { triage, models } = handing({}, { triage: [{ calls: [{ name: transfer }, { name: "look" }] }] });
    expect(await triage.run("Go", { limits: { toolConcurrency: 1 } })).toMatchObject({ text: "Paid back." });
    expect(models.billing.requests[0]?.messages.at(-1)?.parts).toHaveLength(2);
  });

  test.for([
    ["approve", "sales"],
    ["deny", "billing"],
  ] as const)("counts in its place: if a person says %s of the first, %s has the session", async ([type, owner]) => {
    const named = (name: string) => createAgent({ name, model: createScriptedModel([{ text: `From ${name}.` }]) });
    const [sales, billing] = [named("sales"), named("billing")];
    const triage = createAgent({
      name: "triage",
      model: createScriptedModel([{ calls: [{ name: "transfer_to_sales" }, { name: transfer }] }]),
      handoffs: [
        { name: "sales", description: "Sales.", agent: () => sales, needsApproval: true },
        { name: "billing", description: "Payments.", agent: () => billing },
      ],
    });
    const waiting = await triage.run("Go", { sessionId: "s" });
    if (waiting.status !== "awaiting_human") throw new Error(waiting.status);
    await triage.session("s").answer(waiting.approvals[0]?.callKey ?? "", { type });
    expect(await triage.session("s").resume()).toMatchObject({ text: `From ${owner}.` });
    expect((await stateOf(triage)).session).toMatchObject({ agent: owner });
  });
});

describe("no handoff comes", proven, () => {
  const withBoth = (other: string): Given => ({ triage: [{ calls: [{ name: transfer }, { name: other }] }] });

  test("if a done tool ends the run in the same step", async () => {
    const finish = defineTool({
      name: "finish",
      description: "Ends.",
      input: { type: "object" },
      execute: () => done("All is done."),
    });
    const agents = handing({}, { ...withBoth("finish"), options: { triage: { tools: [finish] } } });
    expect(await agents.triage.run("Go", { sessionId: "s" })).toMatchObject({ reason: "done", text: "All is done." });
    expect((await stateOf(agents.triage)).session).toMatchObject({ agent: "triage" });
    expect(await typesIn(agents)).not.toContain("handed_off");
  });

  test("if the time is up while another call of the step runs", async () => {
    const clock = createTestClock();
    const gate = createGateTool();
    const limits = { maxWallClockMs: 10_000 };
    const agents = handing({}, { ...withBoth("gate"), options: { triage: { tools: [gate.tool], clock, limits } } });
    const result = agents.triage.run("Go", { sessionId: "s" });
    await gate.started;
    await clock.advance(20_000);
    expect(await result).toMatchObject({ status: "failed", reason: "max_wall_clock" });
    expect((await stateOf(agents.triage)).session).toMatchObject({ agent: "triage" });
    expect(await typesIn(agents)).not.toContain("handed_off");
  });

  test("if a person skips what has not started", async () => {
    const agents = handing(
      {},
      {
        triage: [{ calls: [{ name: transfer }, { name: "look" }] }, { text: "As you wish." }],
        options: { triage: { canExecuteTool: ({ tool }) => (tool.name === "look" ? "ask" : "allow") } },
      },
    );
    expect(await agents.triage.run("Go", { sessionId: "s" })).toMatchObject({ status: "awaiting_human" });
    await agents.triage.session("s").steer("Do it yourself.", { skip: "unstarted" });
    expect(await agents.triage.session("s").resume()).toMatchObject({ text: "As you wish." });
    expect(await typesIn(agents)).not.toContain("handed_off");
  });

  test("if the run is aborted while the filter thinks", async () => {
    const asked = createDeferred();
    const agents = handing({
      filter: () => {
        asked.resolve();
        return new Promise(() => {});
      },
    });
    const result = agents.triage.run("Go", { sessionId: "s" });
    await asked.promise;
    await agents.triage.session("s").abort();
    expect(await result).toMatchObject({ status: "aborted" });
    expect(await stateOf(agents.triage)).toMatchObject({ session: { agent: "triage" }, counters: {} });
    expect(await typesIn(agents)).not.toContain("handed_off");
  });

  test("if a hook of the step must not fail and does", async () => {
    const hook: Hook = { name: "h", onFailure: "closed", afterStep: () => Promise.reject(new Error("no disk")) };
    const agents = handing({}, { options: { triage: { hooks: [hook] } } });
    expect(await agents.triage.run("Go", { sessionId: "s" })).toMatchObject({
      status: "failed",
      reason: "hook_failed",
    });
    expect((await stateOf(agents.triage)).session).toMatchObject({ agent: "triage" });
    expect(await typesIn(agents)).not.toContain("handed_off");
  });

  test("if the filter takes more than 10 seconds", async () => {
    const clock = createTestClock();
    const asked = createDeferred();
    const agents = handing(
      {
        filter: () => {
          asked.resolve();
          return new Promise(() => {});
        },
      },
      { options: { triage: { clock } } },
    );
    const result = agents.triage.run("Go", { sessionId: "s" });
    await asked.promise;
    await clock.advance(9_999);
    expect((await stateOf(agents.triage)).status).toBe("preparing");
    await clock.advance(1);
    expect(await result).toMatchObject({ status: "failed", reason: "hook_failed" });
    expect((await stateOf(agents.triage)).session).toMatchObject({ agent: "triage" });
  });
});

describe("with the session goes", proven, () => {
  const refunding: ScriptedStep = { calls: [{ name: "refund", input: {} }] };

  test("the step that follows, through the limits of the run: the next agent sums up, and has the next run", async () => {
    const { triage, models } = handing({}, { billing: [{ text: "Summed up." }, { text: "Hi." }] });
    const result = await triage.run("Go", { sessionId: "s", limits: { maxSteps: 1 } });
    expect(result).toMatchObject({ status: "failed", reason: "max_steps", text: "Summed up." });
    expect(models.billing.requests[0]?.tools.map(({ name }) => name)).toEqual(["refund", "transfer_to_triage"]);
    expect(await triage.run("Go", { sessionId: "s" })).toMatchObject({ text: "Hi." });
  });

  test("the run's limits, its usage, its provider options and whether anybody can be asked", async () => {
    const usage = { inputTokens: 100, outputTokens: 10 };
    const { triage, models } = handing(
      {},
      {
        triage: [{ ...toBilling, usage }],
        billing: [refunding, refunding, refunding].map((step) => ({ ...step, usage })),
        options: {
          triage: { limits: { maxSteps: 3, onMaxSteps: "stop" } },
          billing: { limits: { maxSteps: 1 }, canExecuteTool: () => "ask" },
        },
      },
    );
    const providerOptions = { anthropic: { effort: "low" } };
    const result = await triage.run("Go", { sessionId: "s", interactive: false, providerOptions });
    expect(result).toMatchObject({ reason: "max_steps", steps: 3, usage: { inputTokens: 300, outputTokens: 30 } });
    expect(models.billing.requests).toMatchObject([{ providerOptions }, { providerOptions }]);
    expect(JSON.stringify(models.billing.requests[1]?.messages.at(-1))).toContain("Denied");
  });

  test("nothing of the first agent: settings, model, permission, stop conditions and context are the next one's", async () => {
    const fast = createScriptedModel([toBilling], { id: "fast" });
    const { triage, models } = handing(
      {},
      {
        billing: [refunding, refunding],
        options: {
          triage: { models: { fast }, settings: { temperature: 0.1, topK: 3 }, stopWhen: stepCount(2) },
          billing: {
            settings: { temperature: 0.9 },
            canExecuteTool: () => "deny",
            stopWhen: [toolCalled("refund", { outcome: "denied" })],
            context: { data: { of: "billing" } },
          },
        },
      },
    );
    const result = await triage.run("Go", { model: "fast", settings: { seed: 7 }, stopWhen: stepCount(1) });
    expect(result).toMatchObject({ reason: "stop_condition", condition: "toolCalled(refund, denied)", steps: 2 });
    expect(fast.requests).toMatchObject([{ temperature: 0.1, topK: 3, seed: 7 }]);
    const [request] = models.billing.requests;
    expect(request).toMatchObject({ temperature: 0.9, systemPrompt: expect.stringContaining("billing") });
    expect([request?.topK, request?.seed]).toEqual([undefined, undefined]);
  });

  test("the step that handed over: the next agent's stop conditions are asked about it, and those before are not", async () => {
    const { triage, models } = handing(
      {},
      {
        options: {
          triage: { stopWhen: stepCount(1) },
          billing: { stopWhen: ({ calls }) => calls.some(({ name }) => name === transfer) },
        },
      },
    );
    const result = await triage.run("Go", { sessionId: "s" });
    expect(result).toMatchObject({ reason: "stop_condition", condition: "function 1", steps: 1 });
    expect(models.billing.requests).toEqual([]);
    expect((await stateOf(triage)).session).toMatchObject({ agent: "billing" });
  });

  test("the conversation from elsewhere that it began with", async () => {
    const { triage, models } = handing({}, { billing: [{ text: "Hi." }] });
    const history = [
      { role: "user", content: "Hello?" },
      { role: "assistant", content: "Yes?" },
    ];
    await triage.run("Pay me back.", { history, agent: "billing" });
    expect(models.billing.requests[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(models.triage.requests).toEqual([]);
  });

  test("no failure: the next agent tries its own model by its own policy, and then its own fallbacks", async () => {
    const second = createScriptedModel([{ text: "From the fallback." }], { id: "second" });
    const busy: ScriptedStep = { error: { kind: "overloaded", message: "busy" } };
    const { triage, models } = handing(
      {},
      {
        billing: [busy, busy],
        options: {
          triage: { retry: { decide: () => ({ giveUp: "never again" }) } },
          billing: {
            retry: { decide: (_, attempt) => (attempt > 1 ? { giveUp: "twice" } : { retryInMs: 0 }) },
            fallbacks: [second],
          },
        },
      },
    );
    expect(await triage.run("Go")).toMatchObject({ text: "From the fallback." });
    expect(models.billing.requests.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  test("what watches it: observers and redaction are those of the agent that was called", async () => {
    const heard: string[] = [];
    const traced: string[] = [];
    const retry = { decide: () => ({ retryInMs: 0 }) };
    const busy: ScriptedStep = { error: { kind: "overloaded", message: "The key heron is busy." } };
    const { triage } = handing(
      {},
      {
        billing: [busy, { text: "Hi." }],
        options: {
          triage: {
            observers: [
              {
                name: "first",
                onEvent: ({ type }) => void heard.push(type),
                onTrace: (record) => void traced.push(JSON.stringify(record)),
              },
            ],
            redact: (text) => text.replaceAll("heron", "***"),
          },
          billing: { retry, observers: [{ name: "next", onEvent: () => void heard.push("billing's own") }] },
        },
      },
    );
    await triage.run("Go");
    expect(heard).not.toContain("billing's own");
    expect(heard).toContain("handed_off");
    expect(heard.at(-1)).toBe("final");
    expect(traced.join()).toContain("The key *** is busy.");
    expect(traced.join()).not.toContain("heron");
  });
});

describe("a filter", proven, () => {
  test("and a condition see the session's data", async () => {
    const note = defineTool({
      name: "look",
      description: "Notes.",
      input: { type: "object" },
      execute: (_input, { data }) => data.set("customer", "Ann"),
    });
    const seen: unknown[] = [];
    const { triage } = handing(
      {
        filter: ({ messages, data, run }) => {
          seen.push(data, run.data);
          return messages;
        },
        when: ({ data }) => data.customer === "Ann",
      },
      {
        triage: [{ calls: [{ name: "look" }] }, toBilling],
        options: { triage: { tools: [note], context: { data: { shop: "pawl" } } } },
      },
    );
    expect(await triage.run("Go")).toMatchObject({ text: "Paid back." });
    expect(seen).toEqual([{ customer: "Ann" }, { shop: "pawl" }]);
  });

  test("of the last turn keeps the summary that stands for the run's input", async () => {
    const look = defineTool({
      name: "look",
      description: "Looks.",
      input: { type: "object" },
      execute: () => "a chair, a table, ".repeat(20),
    });
    const hello: ScriptedStep = { text: "Hello.", usage: {} };
    const looking = (id: number) => ({ calls: [{ name: "look", input: { id } }] });
    const steps = Array.from({ length: 12 }, (_, id): ScriptedStep => ({ ...looking(id), usage: {} }));
    const summarizer = createScriptedModel(() => ({ text: "Orders were looked up." }), { id: "summarizer" });
    const compaction = { contextWindow: 1_200, model: summarizer };
    const agents = handing(
      { filter: "last_turn" },
      {
        store: createMemoryStore(),
        triage: [hello, ...steps, toBilling],
        options: { triage: { tools: [look], compaction } },
      },
    );
    await agents.triage.run("Hi.", { sessionId: "s" });
    await agents.triage.run("Pay me back.", { sessionId: "s" });
    const types = (await typesIn(agents)).filter((type) => type === "compacted" || type === "handed_off");
    expect([types[0], types.at(-1)]).toEqual(["compacted", "handed_off"]);
    const shown = agents.models.billing.requests[0]?.messages ?? [];
    expect(JSON.stringify(shown[0])).toContain("Orders were looked up.");
    expect(JSON.stringify(shown.at(-1))).toContain("Handed over to billing.");
    expect((await collect(modelRequests(agents.store, "s"))).at(-1)).toEqual(agents.models.billing.requests[0]);
  });
});
