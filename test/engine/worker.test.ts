import { expect, test } from "vitest";
import { createAgent, createMemoryStore, createWorker, defineTool, type WorkerReport } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";

const anHour = 3_600_000;

function payTool(paid: number[]) {
  return defineTool({
    name: "pay",
    description: "Pays.",
    input: { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] },
    execute: ({ amount }) => {
      paid.push(Number(amount));
      return "paid";
    },
  });
}

const asks = { calls: [{ name: "pay", input: { amount: 9 } }] };

test("a worker carries on what was posted to a session that nobody holds", async () => {
  const store = createMemoryStore();
  const paid: number[] = [];
  const asking = createAgent({
    model: createScriptedModel([asks]),
    tools: [payTool(paid)],
    canExecuteTool: () => "ask",
    store,
  });
  const waiting = await asking.run("Pay.", { sessionId: "s" });
  if (waiting.status !== "awaiting_human") throw new Error(waiting.status);
  const [approval] = waiting.approvals;

  const body = { type: "answer", callKey: approval?.callKey ?? "", answer: { type: "approve" } } as const;
  await store.post("s", { id: "from another process", at: Date.now(), body });

  const working = createAgent({ model: createScriptedModel([{ text: "Paid." }]), tools: [payTool(paid)], store });
  const reports: WorkerReport[] = [];
  const worker = createWorker({ store, agents: [working], onReport: (report) => reports.push(report) });
  await worker.runUntilIdle();

  expect(paid).toEqual([9]);
  expect(reports.map((report) => report.type)).toEqual(["taken", "left"]);
  expect(await working.session("s").result()).toMatchObject({ status: "completed", text: "Paid." });
});

test("an approval that expired is denied, and the model goes on", async () => {
  const store = createMemoryStore();
  const paid: number[] = [];
  const earlier = { now: () => Date.now() - 2 * anHour, elapsed: () => 0, after: () => () => {} };
  const asking = createAgent({
    model: createScriptedModel([asks]),
    tools: [payTool(paid)],
    canExecuteTool: () => ({ verdict: "ask", expiresInMs: anHour }),
    store,
    clock: earlier,
  });
  expect((await asking.run("Pay.", { sessionId: "s" })).status).toBe("awaiting_human");

  const model = createScriptedModel([{ text: "Not paid." }]);
  const working = createAgent({ model, tools: [payTool(paid)], store });
  await createWorker({ store, agents: [working] }).runUntilIdle();

  expect(paid).toEqual([]);
  expect(await working.session("s").result()).toMatchObject({ status: "completed", text: "Not paid." });
  expect(JSON.stringify(model.requests[0]?.messages.at(-1))).toContain("nobody answered before the approval expired");
});

test("a session whose agent is not here is left to others", async () => {
  const store = createMemoryStore();
  const agent = createAgent({ name: "theirs", model: createScriptedModel([]), store });
  const input = [{ role: "user", parts: [{ type: "text", text: "Hello." }] }] as const;
  const body = {
    type: "input",
    mode: "queue",
    runId: "r",
    input,
    limits: agentLimits(),
    session: { agent: "theirs", model: "m" },
  } as const;
  await store.post("s", { id: "m", at: Date.now(), body });
  const reports: WorkerReport[] = [];
  const mine = createAgent({ name: "mine", model: createScriptedModel([]), store });
  await createWorker({ store, agents: [mine], onReport: (report) => reports.push(report) }).runUntilIdle();
  expect(reports).toMatchObject([{ type: "refused", sessionId: "s", error: { code: "agent_mismatch" } }]);
  expect(await store.inbox("s")).toHaveLength(1);
  await agent.shutdown();
});

function agentLimits() {
  return {
    maxSteps: 5,
    maxErrors: 5,
    onMaxSteps: "stop",
    toolConcurrency: 1,
    abortGraceMs: 0,
    maxContinuations: 0,
    maxStopPreventions: 0,
    maxCompactions: 0,
  } as const;
}
