/**
 * Costs have no digits of binary fractions, wherever they are shown or returned; and a model may bring its own price.
 */
import { expect, test } from "vitest";
import { addUsage, createAgent, createMemoryStore, type StepView } from "../../src/index.js";
import { sessionSteps, traceSession } from "../../src/inspect.js";
import { createServer, createToken } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/index.js";

/** All costs in a value, at any depth. */
function costsIn(value: unknown): readonly number[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => (name === "costUsd" ? [inner as number] : costsIn(inner)));
}

const isRound = (cost: number) => cost === Math.round(cost * 1e9) / 1e9;

test("costs of results, events, traces, conditions and the server are whole billionths of a dollar", async () => {
  const store = createMemoryStore();
  const views: StepView[] = [];
  const usage = { inputTokens: 100, outputTokens: 200 };
  const model = createScriptedModel(
    ({ modelCallIndex }) => (modelCallIndex < 3 ? { calls: [{ name: "look" }], usage } : { text: "Done.", usage }),
    { id: "own/model", price: { input: 0.1, output: 0.3 } },
  );
  const agent = createAgent({
    name: "thrifty",
    store,
    model,
    tools: [{ name: "look", description: "Looks.", input: { type: "object" }, execute: () => "seen" }],
    stopWhen: (view) => {
      views.push(view);
      return false;
    },
  });
  const result = await agent.run("Go.", { sessionId: "s" });
  expect(result.usage.costUsd).toBe(0.00021);
  const events: unknown[] = [];
  for await (const event of agent.session("s").events({ after: 0, follow: false })) events.push(event);
  const token = createToken();
  const server = createServer({ store, agents: [agent], token, work: false });
  const ask = async (path: string) =>
    (
      await server.fetch(new Request(`http://localhost${path}`, { headers: { authorization: `Bearer ${token}` } }))
    ).json();
  const shown = {
    result,
    events,
    views,
    trace: await traceSession(store, "s"),
    steps: await sessionSteps(store, "s"),
    sums: [0.1, 0.2].map((costUsd) => ({ costUsd })).reduce(addUsage, {}),
    pages: await Promise.all(["/v1/sessions", "/v1/sessions/s", "/v1/sessions/s/steps"].map(ask)),
  };
  await server.close();
  for (const [name, value] of Object.entries(shown)) {
    const costs = costsIn(value);
    expect(costs.length, name).toBeGreaterThan(0);
    expect(
      costs.filter((cost) => !isRound(cost)),
      name,
    ).toEqual([]);
  }
});

test("a limit of cost holds for a scripted model with a price, and the agent's table takes precedence", async () => {
  const usage = { inputTokens: 1_000_000, outputTokens: 0 };
  const step = { calls: [{ name: "look" }], usage };
  const run = async (prices?: { readonly scripted: { readonly input: number; readonly output: number } }) => {
    const agent = createAgent({
      model: createScriptedModel([step, step, { text: "Done.", usage }], { price: { input: 1, output: 5 } }),
      tools: [{ name: "look", description: "Looks.", input: { type: "object" }, execute: () => "seen" }],
      limits: { maxCostUsd: 1.5 },
      ...(prices === undefined ? {} : { usage: { prices } }),
    });
    return agent.run("Go.");
  };
  expect(await run()).toMatchObject({ status: "failed", reason: "max_cost", usage: { costUsd: 2 } });
  expect(await run({ scripted: { input: 0.1, output: 0 } })).toMatchObject({ status: "completed" });
  expect(() => createAgent({ model: createScriptedModel([]), limits: { maxCostUsd: 1 } })).toThrow(
    "the model scripted has no price",
  );
  expect(() =>
    createAgent({ model: createScriptedModel([], { price: { input: -1, output: 0 } }), limits: { maxCostUsd: 1 } }),
  ).toThrow("The price of scripted has the rate -1");
});
