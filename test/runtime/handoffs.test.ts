import { describe, expect, test } from "vitest";
import {
  type Agent,
  type AgentOptions,
  createAgent,
  createMemoryStore,
  createWorker,
  defineTool,
  type Hook,
  PawlError,
  type Store,
} from "../../src/index.js";
import { modelRequests } from "../../src/inspect.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createHandoffDesk, toBilling, toTriage } from "../support/handoff-desk.js";
import { verifies } from "../verifies.js";

const eventsOf = async (agent: Agent, sessionId: string) => {
  const events = [];
  for await (const event of agent.session(sessionId).events({ follow: false })) events.push(event);
  return events;
};

const namesIn = (tools: readonly { readonly name: string }[]) => tools.map(({ name }) => name);

describe("a handoff", verifies("AGENT-1"), () => {
  test("passes the conversation on: prompt, tools and model are the next agent's", async () => {
    const { triage, models } = createHandoffDesk({
      triage: [toBilling],
      billing: [{ calls: [{ name: "refund" }] }, { text: "Paid back." }],
    });
    const result = await triage.run("Pay me back.", { sessionId: "s" });
    expect(result).toMatchObject({ status: "completed", text: "Paid back.", steps: 3 });
    const [first] = models.triage.requests;
    const [second] = models.billing.requests;
    expect(first?.systemPrompt).toBe("Find out what is wanted.");
    expect(namesIn(first?.tools ?? [])).toEqual(["look", "transfer_to_billing"]);
    expect(second?.systemPrompt).toBe("You pay back.");
    expect(namesIn(second?.tools ?? [])).toEqual(["refund", "transfer_to_triage"]);
    expect(second?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(second?.messages.at(-1)).toMatchObject({ parts: [{ output: { text: "Handed over to billing." } }] });
  });

  test("and back; events tell the agent of each step; the session belongs to the last one", async () => {
    const { triage, billing, store } = createHandoffDesk({
      triage: [toBilling, { text: "Anything else?" }],
      billing: [toTriage, { text: "Again." }],
    });
    await triage.run("Pay me back.", { sessionId: "s" });
    const events = await eventsOf(triage, "s");
    expect(events.filter(({ type }) => type === "handed_off")).toMatchObject([
      { from: "triage", to: "billing", callKey: expect.stringContaining("/1/1") },
      { from: "billing", to: "triage", callKey: expect.stringContaining("/2/1") },
    ]);
    expect(events.flatMap((event) => (event.type === "step_finished" ? [event.agent] : []))).toEqual([
      "triage",
      "billing",
      "triage",
    ]);
    expect(await billing.session("s").state()).toMatchObject({
      session: { agent: "triage" },
      counters: { handoffs: 2 },
    });
    expect((await store.list()).map(({ info }) => info?.agent)).toEqual(["triage"]);
    expect((await store.list({ agent: "billing" })).length).toBe(0);
  });

  test("takes no commit more", async () => {
    const store = createMemoryStore();
    let commits = 0;
    const commit: Store["commit"] = (...given) => {
      commits += 1;
      return store.commit(...given);
    };
    const counting = { ...store, commit };
    const { triage } = createHandoffDesk({ store: counting, triage: [toBilling], billing: [{ text: "Hi." }] });
    await triage.run("Pay me back.");
    expect(commits).toBe(3);
  });

  test("comes after the other calls of its step, and their approvals", async () => {
    const { triage, billing, models } = createHandoffDesk({
      triage: [{ calls: [{ name: "transfer_to_billing" }, { name: "look" }] }],
      billing: [{ text: "Hi." }],
      options: { triage: { canExecuteTool: ({ tool }) => (tool.name === "look" ? "ask" : "allow") } },
    });
    const waiting = await triage.run("Pay me back.", { sessionId: "s" });
    expect(waiting).toMatchObject({ status: "awaiting_human" });
    expect(models.billing.requests).toEqual([]);
    const [asked] = await billing.session("s").pendingApprovals();
    expect(asked).toMatchObject({ name: "look" });
    await billing.session("s").answer(asked?.callKey ?? "", { type: "approve" });
    expect(await billing.session("s").resume()).toMatchObject({ status: "completed", text: "Hi." });
    expect(models.billing.requests[0]?.messages.at(-1)).toMatchObject({
      parts: [{ output: { text: "Handed over to billing." } }, { output: { text: "an order" } }],
    });
  });

  test("of several in a step, the first counts", async () => {
    const { triage, models } = createHandoffDesk({
      triage: [{ calls: [{ name: "transfer_to_billing" }, { name: "transfer_to_billing" }] }],
      billing: [{ text: "Hi." }],
    });
    expect(await triage.run("Pay me back.")).toMatchObject({ status: "completed" });
    const results = models.billing.requests[0]?.messages.at(-1);
    expect(JSON.stringify(results)).toContain("Error: Not handed over to billing: an earlier call");
    expect(results).toMatchObject({ parts: [{ output: { text: "Handed over to billing." } }, { isError: true }] });
  });

  test("above the limit is an error result, and the run goes on", async () => {
    const { triage, models } = createHandoffDesk({
      triage: [toBilling, { text: "Then I do it." }],
      billing: [],
      options: { triage: { limits: { maxHandoffs: 0 } } },
    });
    expect(await triage.run("Pay me back.")).toMatchObject({ status: "completed", text: "Then I do it." });
    expect(JSON.stringify(models.triage.requests[1]?.messages.at(-1))).toContain("as often as it may be");
  });

  test("comes ten times in a run by default, and the next run counts anew", async () => {
    const { triage, billing, models } = createHandoffDesk({
      triage: [...Array(6).fill(toBilling), { text: "Then I do it." }, toBilling],
      billing: [...Array(5).fill(toTriage), { text: "Here I am." }],
    });
    expect(await triage.run("Pay me back.", { sessionId: "s" })).toMatchObject({ text: "Then I do it." });
    expect(await billing.session("s").state()).toMatchObject({ counters: { handoffs: 10 } });
    expect(JSON.stringify(models.triage.requests[6]?.messages.at(-1))).toContain("as often as it may be");
    expect(await triage.run("Again.", { sessionId: "s" })).toMatchObject({ text: "Here I am." });
  });

  test("may need an approval; denied, the agent goes on", async () => {
    const { triage, models } = createHandoffDesk({
      triage: [toBilling, { text: "Then not." }],
      billing: [],
      options: {
        triage: {
          handoffs: [{ name: "billing", description: "Payments.", agent: () => never(), needsApproval: true }],
        },
      },
    });
    const never = () => createAgent({ name: "billing", model: models.billing });
    const waiting = await triage.run("Pay me back.", { sessionId: "s" });
    if (waiting.status !== "awaiting_human") throw new Error(waiting.status);
    await triage.session("s").answer(waiting.approvals[0]?.callKey ?? "", { type: "deny" });
    expect(await triage.session("s").resume()).toMatchObject({ status: "completed", text: "Then not." });
  });

  test("does not happen after an abort", async () => {
    const { triage } = createHandoffDesk({
      triage: [{ calls: [{ name: "transfer_to_billing" }, { name: "look" }] }],
      billing: [],
      options: { triage: { canExecuteTool: ({ tool }) => (tool.name === "look" ? "ask" : "allow") } },
    });
    await triage.run("Pay me back.", { sessionId: "s" });
    await triage.session("s").abort();
    expect(await triage.session("s").state()).toMatchObject({ status: "aborted", session: { agent: "triage" } });
    const results = (await triage.session("s").messages()).at(-1);
    expect(JSON.stringify(results)).not.toContain("Handed over");
  });

  test("the hooks are the agent's whose step it is; `afterRun` is the last agent's", async () => {
    const told: string[] = [];
    const hook = (name: string): Hook => ({
      name,
      beforeRun: () => void told.push(`${name} beforeRun`),
      beforeStep: () => void told.push(`${name} beforeStep`),
      afterStep: ({ modelCallIndex }) => void told.push(`${name} afterStep ${modelCallIndex}`),
      afterRun: () => void told.push(`${name} afterRun`),
    });
    const { triage } = createHandoffDesk({
      triage: [toBilling],
      billing: [{ text: "Hi." }],
      options: { triage: { hooks: [hook("triage")] }, billing: { hooks: [hook("billing")] } },
    });
    await triage.run("Pay me back.");
    expect(told).toEqual([
      "triage beforeRun",
      "triage beforeStep",
      "triage afterStep 1",
      "billing beforeStep",
      "billing afterStep 2",
      "billing afterRun",
    ]);
  });

  test("an agent without `afterStep` hooks leaves nothing over for those of the next", async () => {
    const told: number[] = [];
    const { triage } = createHandoffDesk({
      triage: [toBilling],
      billing: [{ text: "Hi." }],
      options: {
        billing: { hooks: [{ name: "h", afterStep: ({ modelCallIndex }) => void told.push(modelCallIndex) }] },
      },
    });
    await triage.run("Pay me back.");
    expect(told).toEqual([2]);
  });

  test("what a run overrides ends with the first agent; the shape of its answer does not", async () => {
    const { triage, models } = createHandoffDesk({
      triage: [toBilling],
      billing: [{ calls: [{ name: "refund" }] }, { text: '{"paid":true}' }],
    });
    const result = await triage.run("Pay me back.", {
      systemPrompt: "Be quick.",
      activeTools: ["transfer_to_billing"],
      toolChoice: { tool: "transfer_to_billing", everyStep: true },
      output: { type: "object", properties: { paid: { type: "boolean" } }, required: ["paid"] },
    });
    expect(result).toMatchObject({ status: "completed", output: { paid: true } });
    expect(models.triage.requests[0]).toMatchObject({ toolChoice: { tool: "transfer_to_billing" } });
    expect(models.triage.requests[0]?.systemPrompt).toContain("Be quick.");
    expect(models.billing.requests[0]?.systemPrompt).toContain("You pay back.");
    expect(namesIn(models.billing.requests[0]?.tools ?? [])).toEqual(["refund", "transfer_to_triage"]);
    expect(models.billing.requests[0]).not.toHaveProperty("toolChoice");
  });

  test("`deps` are the agent's whose tool runs, with what the run overrides in each", async () => {
    const seen: unknown[] = [];
    const note = defineTool({
      name: "note",
      description: "Notes.",
      input: { type: "object" },
      execute: (_input, { deps }) => void seen.push(deps),
    });
    const { triage } = createHandoffDesk({
      triage: [{ calls: [{ name: "note" }, { name: "transfer_to_billing" }] }],
      billing: [{ calls: [{ name: "note" }] }, { text: "Hi." }],
      options: {
        triage: { tools: [note], deps: { db: "t", clock: "real" } },
        billing: { tools: [note], deps: { db: "b" } },
      },
    });
    await triage.run("Pay me back.", { dependencyOverrides: { clock: "test" } });
    expect(seen).toEqual([
      { db: "t", clock: "test" },
      { db: "b", clock: "test" },
    ]);
  });

  test("the next agent begins with its own model, not with the fallback of the last one", async () => {
    const down = createScriptedModel([{ error: { kind: "auth", message: "no" } }], { id: "down" });
    const { triage, models } = createHandoffDesk({
      triage: [toBilling],
      billing: [{ text: "Hi." }],
      options: {},
    });
    const fallen = triage.with({ model: down, fallbacks: [models.triage] });
    expect(await fallen.run("Pay me back.", { sessionId: "s" })).toMatchObject({ status: "completed", text: "Hi." });
    expect(await fallen.session("s").state()).toMatchObject({ fallback: 0, session: { agent: "billing" } });
  });
});

describe("the next run", verifies("AGENT-1"), () => {
  test("begins with the agent that has the session, or with the one that it names", async () => {
    const { triage, billing } = createHandoffDesk({
      triage: [toBilling, { text: "Triage." }, { text: "Triage again." }],
      billing: [{ text: "Billing." }, { text: "Billing again." }],
    });
    const sessionId = "s";
    expect((await triage.run("One", { sessionId })).text).toBe("Billing.");
    expect((await triage.run("Two", { sessionId })).text).toBe("Billing again.");
    expect((await triage.run("Three", { sessionId, agent: "triage" })).text).toBe("Triage.");
    expect((await billing.run("Four", { sessionId })).text).toBe("Triage again.");
  });

  test("a new session may begin with a reachable agent", async () => {
    const { triage, store } = createHandoffDesk({ triage: [], billing: [{ text: "Billing." }] });
    expect((await triage.run("One", { sessionId: "s", agent: "billing" })).text).toBe("Billing.");
    expect((await store.list()).map(({ info }) => [info?.agent, info?.model])).toEqual([["billing", "large"]]);
  });

  test("a queued run keeps the agent that it names", async () => {
    const { triage } = createHandoffDesk({
      triage: [{ ...toBilling, wait: new Promise((resolve) => setImmediate(resolve)) }, { text: "Triage." }],
      billing: [{ text: "Billing." }],
    });
    const first = triage.run("One", { sessionId: "s" });
    await triage.session("s").send("Two", { agent: "triage", runId: "second" });
    expect((await first).text).toBe("Billing.");
    expect((await triage.run("Two", { sessionId: "s", runId: "second" })).text).toBe("Triage.");
  });

  test("an agent that is not reached is unknown", async () => {
    const { triage } = createHandoffDesk({ triage: [], billing: [] });
    await expect(triage.run("One", { agent: "biling" })).rejects.toMatchObject({
      code: "unknown_handoff",
      message: expect.stringContaining('Do you mean "billing"?'),
    });
    const alone = createAgent({ model: createScriptedModel([]) });
    await expect(alone.run("One", { agent: "billing" })).rejects.toMatchObject({ code: "unknown_handoff" });
  });
});

describe("who drives", verifies("AGENT-1"), () => {
  test("an agent that does not reach the session's agent is refused", async () => {
    const { triage, store } = createHandoffDesk({ triage: [toBilling], billing: [{ text: "Hi." }] });
    await triage.run("One", { sessionId: "s" });
    const other = createAgent({ name: "other", model: createScriptedModel([]), store });
    await expect(other.run("Two", { sessionId: "s" })).rejects.toMatchObject({ code: "agent_mismatch" });
    const alone = createAgent({ name: "triage", model: createScriptedModel([]), store });
    await expect(alone.session("s").resume()).rejects.toMatchObject({ code: "agent_mismatch" });
  });

  test("a worker that knows the first agent drives what it handed over", async () => {
    const { triage, store } = createHandoffDesk({
      triage: [toBilling],
      billing: [{ text: "Hi." }, { text: "Again." }],
    });
    await triage.run("One", { sessionId: "s" });
    const at = Date.now();
    await store.post("s", {
      id: "run/r2",
      at,
      body: {
        type: "input",
        mode: "queue",
        runId: "r2",
        input: [{ role: "user", parts: [{ type: "text", text: "Two" }] }],
        session: { agent: "triage" },
      },
    });
    const reports: string[] = [];
    const worker = createWorker({ store, agents: [triage], onReport: ({ type }) => void reports.push(type) });
    await worker.runUntilIdle();
    expect(reports).toEqual(["taken", "left"]);
    expect(await triage.session("s").result()).toMatchObject({ status: "completed", text: "Again." });
  });

  test("what a graph may not be is said when it is first needed", async () => {
    const model = createScriptedModel([]);
    const billing = createAgent({ name: "billing", model });
    const with_ = (handoffs: NonNullable<AgentOptions["handoffs"]>) => createAgent({ name: "triage", model, handoffs });
    const fails = async (handoffs: NonNullable<AgentOptions["handoffs"]>, message: RegExp) => {
      const failure = await with_(handoffs)
        .run("One")
        .catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(PawlError);
      expect(failure).toMatchObject({ code: "bad_configuration", message: expect.stringMatching(message) });
    };
    const description = "Payments.";
    await fails([{ name: "bills", description, agent: () => billing }], /named "billing"/);
    await fails([{ name: "billing", description, agent: () => ({ options: {} }) }], /does not return an agent/);
    const second = createAgent({ name: "billing", model });
    const between = createAgent({
      name: "sales",
      model,
      handoffs: [{ name: "billing", description, agent: () => second }],
    });
    await fails(
      [
        { name: "billing", description, agent: () => billing },
        { name: "sales", description, agent: () => between },
      ],
      /Two different agents are named "billing"/,
    );
    expect(() => with_([{ name: "billing", description } as never])).toThrow(/has no agent/);
    expect(() => with_([{ name: "billing", description, agent: () => billing, wehn: 1 } as never])).toThrow(/option/);
  });

  test("`with` changes an agent in its own graph", async () => {
    const { triage } = createHandoffDesk({ triage: [], billing: [toTriage] });
    const changed = triage.with({ model: createScriptedModel([toBilling, { text: "Changed." }]) });
    expect((await changed.run("One")).text).toBe("Changed.");
  });
});

describe("the log of a handoff", verifies("AGENT-1"), () => {
  test("gives the requests again, replays without a difference, and can be forked everywhere", async () => {
    const hook: Hook = { name: "h", afterStep() {} };
    const { triage, models, store } = createHandoffDesk({
      triage: [toBilling, { text: "Anything else?" }],
      billing: [{ calls: [{ name: "refund" }, { name: "transfer_to_triage" }] }],
      options: { billing: { hooks: [hook] } },
    });
    await triage.run("Pay me back.", { sessionId: "s", systemPrompt: "Be quick." });
    const requests = [];
    for await (const request of modelRequests(store, "s")) requests.push(request);
    expect(requests).toEqual([models.triage.requests[0], models.billing.requests[0], models.triage.requests[1]]);
    expect((await triage.session("s").replay()).difference).toBeNull();
    const { seq } = await triage.session("s").state();
    for (let at = 1; at <= seq; at += 1) {
      const fork = await triage.session("s").fork({ at });
      const { difference } = await fork.replay();
      expect(difference).toBeNull();
    }
  });
});
