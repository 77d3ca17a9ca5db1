/**
 * What `npm run runtimes` runs where there are Web APIs only, and in Node for comparison: an agent with tools, an
 * approval, a child agent and the memory store. It gives what it found, as JSON.
 */
import { createAgent, createEngine, createMemoryStore, createWorker, defineTool, PawlError } from "pawl";
import { modelRequests, traceSession } from "pawl/inspect";

const orderSchema = {
  type: "object",
  properties: { order: { type: "string", pattern: "^[A-Z]-[0-9]+$" }, cents: { type: "integer", minimum: 1 } },
  required: ["order", "cents"],
};

/** Answers with these steps, one after the other. */
function scripted(id, steps) {
  return {
    id,
    async *stream({ modelCallIndex }) {
      const { text = "", calls = [] } = steps[modelCallIndex - 1] ?? { text: "Done." };
      if (text !== "") {
        yield { kind: "text-start", id: "t" };
        yield { kind: "text-delta", id: "t", text };
        yield { kind: "text-end", id: "t" };
      }
      for (const [at, { name, input }] of calls.entries())
        yield { kind: "tool-call", id: `call-${at}`, name, input: JSON.stringify(input) };
      const finishReason = { unified: calls.length > 0 ? "tool-calls" : "stop" };
      yield { kind: "done", finishReason, usage: { inputTokens: 9, outputTokens: 3 } };
    },
  };
}

export async function runProgram() {
  const store = createMemoryStore();
  const paid = [];
  const lookUp = defineTool({
    name: "look_up",
    description: "Looks an order up.",
    input: orderSchema,
    readOnly: true,
    execute: ({ order }) => ({ order, text: "ä€😀 ".repeat(40_000) }),
  });
  const refund = defineTool({
    name: "refund",
    description: "Pays money back.",
    input: orderSchema,
    needsApproval: true,
    execute(input, { idempotencyKey }) {
      paid.push(input.cents);
      return idempotencyKey.includes("r/3/1") ? new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) : "?";
    },
  });
  const child = createAgent({ name: "helper", model: scripted("helper-model", [{ text: "Forty-two." }]) });
  const agent = createAgent({
    name: "refunds",
    systemPrompt: "Be fair.",
    context: {
      sources: [
        { name: "rules", load: () => [{ name: "rules", path: "/rules", text: "Ask first.", trust: "author" }] },
      ],
    },
    model: scripted("scripted", [
      { text: "I look.", calls: [{ name: "look_up", input: { order: "A-7", cents: 5 } }] },
      {
        calls: [
          { name: "look_up", input: { order: "wrong", cents: 5 } },
          { name: "helper", input: { task: "How many?" } },
        ],
      },
      { calls: [{ name: "refund", input: { order: "A-7", cents: 500 } }] },
      { text: "Paid back." },
    ]),
    tools: [lookUp, refund, child.asTool({ description: "Helps." })],
    store,
  });
  const waiting = await agent.run("Refund A-7", { sessionId: "s", runId: "r" });
  const session = agent.session("s");
  await session.answer(waiting.approvals[0].callKey, { type: "approve" }, { by: "ann" });
  const result = await session.resume();
  const requests = [];
  for await (const { messages } of modelRequests(store, "s")) requests.push(messages.length);
  const replay = await session.replay();
  const spans = (await traceSession(store, "s")).length;
  const worker = createWorker({ store, agents: [agent] });
  await worker.stop();
  const engine = await createEngine({ agents: [{ name: "main", model: "openai/gpt-5" }] }).catch((error) => error);
  return {
    waiting: { status: waiting.status, asks: waiting.approvals.map(({ name }) => name) },
    result: { status: result.status, text: result.text, steps: result.steps },
    paid,
    requests,
    difference: replay.difference,
    sessions: replay.sessions,
    hasSpans: spans > 0,
    outputs: (await session.messages()).filter(({ role }) => role === "tool").map(({ parts }) => parts.map(summaryOf)),
    namedModel: engine instanceof PawlError ? engine.code : typeof engine,
  };
}

function summaryOf({ name, isError = false, output }) {
  return { name, isError, type: output.type, characters: JSON.stringify(output).length > 1_000 };
}
