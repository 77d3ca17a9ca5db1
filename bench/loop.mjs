/**
 * The cost of a step and of a delta, and whether it grows with the session.
 *
 * Every contender does the same work over the same scripted model: steps of five text deltas and one tool call, all
 * deltas consumed; then one call of many deltas. The bare loop is the least code that does it: no validation,
 * events, limits or store.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { createAgent, createMemoryStore } from "../dist/index.js";
import { openSqliteStore } from "../dist/stores/sqlite/index.js";
import { inFolder } from "./folder.mjs";
import { machine, median, table } from "./report.mjs";
import { add, steppingModel } from "./stepping.mjs";

function talkingModel(deltas) {
  return {
    id: "bench",
    async *stream() {
      yield { kind: "start" };
      yield { kind: "text-start", id: "t" };
      for (let index = 0; index < deltas; index += 1) yield { kind: "text-delta", id: "t", text: "word " };
      yield { kind: "text-end", id: "t" };
      yield { kind: "done", finishReason: { unified: "stop" }, usage: { inputTokens: 100, outputTokens: deltas } };
    },
  };
}

/** The least code that does the same work. */
async function* bareLoop(model, tools) {
  const messages = [{ role: "user", parts: [{ type: "text", text: "Go." }] }];
  for (;;) {
    const parts = [];
    const calls = [];
    for await (const delta of model.stream({ messages })) {
      if (delta.kind === "text-start") parts.push({ type: "text", text: "" });
      else if (delta.kind === "text-delta") parts.at(-1).text += delta.text;
      else if (delta.kind === "tool-call") {
        calls.push(delta);
        parts.push({ type: "tool_call", toolCallId: delta.id, name: delta.name, input: JSON.parse(delta.input) });
      }
      yield delta;
    }
    messages.push({ role: "assistant", parts });
    if (calls.length === 0) return;
    const results = await Promise.all(calls.map(async (call) => tools[call.name].execute(JSON.parse(call.input))));
    messages.push({
      role: "tool",
      parts: results.map((value, index) => ({ toolCallId: calls[index].id, output: value })),
    });
  }
}

async function drain(items) {
  let count = 0;
  for await (const _ of items) count += 1;
  return count;
}

const contenders = [
  { name: "bare loop", consume: (model) => drain(bareLoop(model, { add })) },
  { name: "memory", open: async () => ({ store: createMemoryStore() }) },
  { name: "SQLite NORMAL", open: (folder) => sqlite(folder, "normal") },
  { name: "SQLite FULL", open: (folder) => sqlite(folder, "full") },
];

async function sqlite(folder, synchronous) {
  const path = join(folder, "sessions.db");
  return { store: await openSqliteStore({ path, synchronous }), path };
}

async function consume(contender, model, steps) {
  if (contender.consume !== undefined) return { items: await contender.consume(model) };
  return await inFolder(async (folder) => {
    const { store, path } = await contender.open(folder);
    const agent = createAgent({ model, tools: [add], store, limits: { maxSteps: steps + 2 } });
    const run = agent.runStream("Go.");
    const items = await drain(run);
    const result = await run.result;
    if (result.status !== "completed") throw new Error(`${contender.name}: ${JSON.stringify(result)}`);
    await store.close();
    return { items, bytes: path === undefined ? undefined : statSync(path).size };
  });
}

/** The median µs of the steps around a given step, in one run. */
function costAt(startedAt, step) {
  const spread = Math.max(4, Math.floor(step / 10));
  const costs = [];
  for (let index = Math.max(1, step - spread); index < step + spread && startedAt[index + 1] > 0; index += 1)
    costs.push((startedAt[index + 1] - startedAt[index]) * 1000);
  return median(costs);
}

export async function run({ quick, json }) {
  const steps = quick ? 1_200 : 11_200;
  const points = [10, 100, 1_000, ...(quick ? [] : [10_000])];
  const rounds = quick ? 2 : 3;
  const deltas = 20_000;
  for (const contender of contenders) await consume(contender, steppingModel(200), 200);

  const costs = new Map(contenders.map(({ name }) => [name, points.map(() => [])]));
  const perDelta = new Map(contenders.map(({ name }) => [name, []]));
  const bytes = new Map();
  for (let round = 0; round < rounds; round += 1)
    for (const contender of contenders) {
      const model = steppingModel(steps);
      const used = await consume(contender, model, steps);
      if (used.bytes !== undefined) bytes.set(contender.name, used.bytes / steps);
      points.forEach((step, index) => {
        costs.get(contender.name)[index].push(costAt(model.startedAt, step));
      });
      const before = performance.now();
      await consume(contender, talkingModel(deltas), 1);
      perDelta.get(contender.name).push(((performance.now() - before) * 1000) / deltas);
    }

  const rows = contenders.map(({ name }) => {
    const atPoints = costs.get(name).map(median);
    const delta = median(perDelta.get(name));
    return { name, atPoints, delta, bytesPerStep: bytes.get(name) };
  });
  const floor = rows[0];
  if (json) return console.log(JSON.stringify({ machine: machine(), points, rows }, null, 2));
  console.log(`${machine()}; medians of ${rounds} interleaved rounds; a step is 5 deltas and one tool call\n`);
  console.log(
    table(
      ["", ...points.map((step) => `µs at step ${step}`), "× bare", "deltas/s", "× bare", "bytes a step"],
      rows.map((row) => [
        row.name,
        ...row.atPoints.map((cost) => cost.toFixed(1)),
        (row.atPoints[1] / floor.atPoints[1]).toFixed(1),
        Math.round(1e6 / row.delta).toLocaleString("en"),
        (row.delta / floor.delta).toFixed(1),
        row.bytesPerStep === undefined ? "" : Math.round(row.bytesPerStep).toLocaleString("en"),
      ]),
    ),
  );
}
