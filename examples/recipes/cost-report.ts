/**
 * What a month has cost, by customer, agent and model, as CSV. It is read from the logs, so a report of a month that is
 * over is the same whenever it is made, and nothing has to be counted while runs go on.
 */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { addUsage, createAgent, createClient, type PriceTable, type Store, type Usage } from "pawl";
import { openSqliteStore } from "pawl/sqlite";
import { createScriptedModel } from "pawl/testing";

type Period = { readonly from: number; readonly to: number }; // epoch milliseconds
type Row = {
  readonly customer: string;
  readonly agent: string;
  readonly model: string;
  readonly steps: number;
  readonly usage: Usage;
};

/** Sums the steps of a period. A step counts its failed attempts; child sessions are sessions of their own. */
async function costReport(store: Store, { from, to }: Period): Promise<readonly Row[]> {
  const client = createClient({ store });
  const rows = new Map<string, Row>();
  const add = (customer: string, agent: string, model: string, usage: Usage) => {
    const key = JSON.stringify([customer, agent, model]);
    const row = rows.get(key) ?? { customer, agent, model, steps: 0, usage: {} };
    rows.set(key, { ...row, steps: row.steps + 1, usage: row.steps === 0 ? usage : addUsage(row.usage, usage) });
  };
  for await (const { sessionId, info } of sessionsChangedSince(store, from)) {
    const customer = info?.principal ?? "nobody";
    for await (const event of client.session(sessionId).events({ follow: false })) {
      if (!("at" in event) || event.at < from || event.at >= to) continue;
      if (event.type === "step_finished") add(customer, event.agent, event.model, event.usage);
      if (event.type === "compacted" && event.usage !== undefined)
        add(customer, info?.agent ?? "", event.model ?? "", event.usage);
    }
  }
  return [...rows.values()].sort((a, b) => (b.usage.costUsd ?? 0) - (a.usage.costUsd ?? 0));
}

/** The list begins with what changed last, so the sessions of past months are not read. */
async function* sessionsChangedSince(store: Store, from: number) {
  let after: { readonly updatedAt: number; readonly sessionId: string } | undefined;
  do {
    const page = await store.list({ limit: 100, ...(after === undefined ? {} : { after }) });
    for (const session of page) {
      if (session.updatedAt < from) return;
      yield session;
    }
    after = page.at(-1);
  } while (after !== undefined);
}

/** A figure that nobody reported stays empty: unknown is not nothing. `partial` marks sums that are a lower bound. */
function toCsv(rows: readonly Row[]): string {
  const lines = rows.map(({ customer, agent, model, steps, usage }) => {
    const { inputTokens, outputTokens, cacheReadTokens, costUsd, partial = false } = usage;
    const cells = [
      customer,
      agent,
      model,
      steps,
      inputTokens,
      outputTokens,
      cacheReadTokens,
      costUsd?.toFixed(4),
      partial,
    ];
    return cells.map((cell) => `"${String(cell ?? "").replaceAll('"', '""')}"`).join(",");
  });
  return ["customer,agent,model,steps,input_tokens,output_tokens,cache_read_tokens,usd,partial", ...lines, ""].join(
    "\n",
  );
}

function monthOf(time: number): Period {
  const at = new Date(time);
  const from = Date.UTC(at.getUTCFullYear(), at.getUTCMonth());
  return { from, to: Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1) };
}

// The check: two customers, a writer that asks a researcher, and a model that has no price.
const prices: PriceTable = { large: { input: 10, output: 50 }, small: { input: 1, output: 5 } };
const store = await openSqliteStore({ path: "sessions.db" });
const usage = { inputTokens: 1_000, outputTokens: 200 };
const researcher = createAgent({
  name: "researcher",
  model: createScriptedModel(() => ({ text: "Winches have pawls.", usage }), { id: "small" }),
  store,
  usage: { prices },
});
const writer = createAgent({
  name: "writer",
  model: createScriptedModel(
    ({ messages }) =>
      messages.at(-1)?.role === "tool"
        ? { text: "A text about winches.", usage }
        : { calls: [{ name: "researcher", input: { task: "Winches?" } }], usage },
    { id: "large" },
  ),
  tools: [researcher.asTool({ description: "Researches." })],
  store,
  usage: { prices },
});
await writer.run("Write about winches.", { by: "acme" });
await writer.run("Write about winches.", { by: "acme" });
await writer
  .with({ model: createScriptedModel(() => ({ text: "Hi.", usage }), { id: "new" }) })
  .run("Hi", { by: "globex" });

const rows = await costReport(store, monthOf(Date.now()));
await writeFile("costs.csv", toCsv(rows));
console.log(toCsv(rows));
assert.deepEqual(
  rows.map(({ customer, agent, model, steps, usage: { costUsd } }) => [
    customer,
    agent,
    model,
    steps,
    costUsd?.toFixed(3),
  ]),
  [
    ["acme", "writer", "large", 4, "0.080"],
    ["acme", "researcher", "small", 2, "0.004"],
    ["globex", "writer", "new", 1, undefined],
  ],
);
assert.deepEqual(await costReport(store, monthOf(Date.UTC(2020, 0, 1))), []);
await store.close();
