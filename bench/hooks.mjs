/**
 * The cost of hooks and observers: a step with 0, 1, 10 and 50 of them, interleaved in the same run, as a ratio to
 * 0.
 *
 * Every hook is called at each of the six points of a step, and looks at the messages before each model call; every
 * observer gets each event and delta. "Between" is the time from the end of an answer to the next call of the
 * model, for which a user waits.
 */
import { join } from "node:path";
import { createAgent, createMemoryStore } from "../dist/index.js";
import { openSqliteStore } from "../dist/stores/sqlite/index.js";
import { inFolder } from "./folder.mjs";
import { machine, median, table } from "./report.mjs";
import { add, steppingModel } from "./stepping.mjs";

const many = (count, make) => Array.from({ length: count }, (_, index) => make(index));

const hookOf = (answer) => (index) => ({
  name: `hook ${index}`,
  beforeStep: answer,
  beforeLLMCall: answer,
  afterLLMCall: answer,
  beforeToolCall: answer,
  afterToolCall: answer,
  afterStep: answer,
});

const observerOf = (index) => {
  const count = { name: `observer ${index}`, seen: 0, onEvent: () => count.seen++, onDelta: () => count.seen++ };
  return count;
};

const counts = [1, 10, 50];
const contenders = [
  { name: "none", parts: {} },
  ...counts.map((count) => ({
    name: `${count} hooks that answer at once`,
    parts: {
      hooks: many(
        count,
        hookOf(() => undefined),
      ),
    },
  })),
  ...counts.map((count) => ({
    name: `${count} hooks that answer later`,
    parts: {
      hooks: many(
        count,
        hookOf(async () => undefined),
      ),
    },
  })),
  ...counts.map((count) => ({ name: `${count} observers`, parts: { observers: many(count, observerOf) } })),
];

async function play({ parts }, model, steps) {
  const agent = createAgent({
    model,
    tools: [add],
    store: createMemoryStore(),
    limits: { maxSteps: steps + 2 },
    ...parts,
  });
  const result = await agent.run("Go.");
  if (result.status !== "completed") throw new Error(JSON.stringify(result));
}

/** The medians of a run, in µs: of whole steps, and of the time between an answer and the next call. */
function costsOf({ startedAt, endedAt }, steps) {
  const whole = [];
  const between = [];
  for (let index = 1; index < steps; index += 1) {
    whole.push((startedAt[index + 1] - startedAt[index]) * 1000);
    between.push((startedAt[index + 1] - endedAt[index]) * 1000);
  }
  return { whole: median(whole), between: median(between) };
}

async function measure(contender, steps, thinkingSteps) {
  const instant = steppingModel(steps);
  await play(contender, instant, steps);
  const thinking = steppingModel(thinkingSteps, { thinksMs: 1 });
  await play(contender, thinking, thinkingSteps);
  return { step: costsOf(instant, steps).whole, between: costsOf(thinking, thinkingSteps).between };
}

/** A system prompt of 8 KB, as agents that work on folders have. */
const systemPrompt = "You are careful. ".repeat(500);

const first = [
  { name: "no prompt, no tools", parts: {} },
  { name: "a prompt and a tool", parts: { systemPrompt, tools: [add] } },
  {
    name: "… and a hook",
    parts: {
      systemPrompt,
      tools: [add],
      hooks: many(
        1,
        hookOf(() => undefined),
      ),
    },
  },
  {
    name: "… and a hook that changes the prompt",
    parts: { tools: [add], hooks: [{ name: "prompt", beforeLLMCall: () => ({ systemPrompt }) }] },
  },
];

/** From `run` to the first call of the model, in a new session, µs. */
async function firstCall({ parts }, store) {
  const model = steppingModel(0);
  const agent = createAgent({ model, store, ...parts });
  const askedAt = performance.now();
  await agent.run("Go.");
  return (model.startedAt[0] - askedAt) * 1000;
}

async function measureFirstCalls(rounds) {
  return await inFolder(async (folder) => {
    const sqlite = await openSqliteStore({ path: join(folder, "sessions.db"), synchronous: "normal" });
    const stores = [createMemoryStore(), sqlite];
    const costs = first.map(() => stores.map(() => []));
    for (let round = 0; round < rounds + 5; round += 1)
      for (const [index, contender] of first.entries())
        for (const [place, store] of stores.entries()) {
          const cost = await firstCall(contender, store);
          if (round >= 5) costs[index][place].push(cost);
        }
    await sqlite.close();
    return first.map(({ name }, index) => ({ name, costs: costs[index].map(median) }));
  });
}

export async function run({ quick, json }) {
  const steps = quick ? 100 : 150;
  const thinkingSteps = quick ? 40 : 50;
  const rounds = quick ? 5 : 9;
  for (const contender of contenders) await measure(contender, 60, 10);
  const costs = contenders.map(() => ({ step: [], between: [] }));
  for (let round = 0; round < rounds; round += 1)
    for (const [index, contender] of contenders.entries()) {
      const { step, between } = await measure(contender, steps, thinkingSteps);
      costs[index].step.push(step);
      costs[index].between.push(between);
    }
  const rows = contenders.map(({ name }, index) => ({
    name,
    step: median(costs[index].step),
    between: median(costs[index].between),
  }));
  const firstCalls = await measureFirstCalls(quick ? 20 : 40);
  const [none] = rows;
  if (json) return console.log(JSON.stringify({ machine: machine(), rows, firstCalls }, null, 2));
  console.log(`${machine()}; medians of ${rounds} interleaved rounds; a step is 5 deltas and one tool call\n`);
  console.log(
    table(
      ["", "µs a step", "× none", "µs between", "× none"],
      rows.map(({ name, step, between }) => [
        name,
        step.toFixed(0),
        (step / none.step).toFixed(2),
        between.toFixed(0),
        (between / none.between).toFixed(2),
      ]),
    ),
  );
  console.log(
    `\n${table(
      ["to the first call", "memory, µs", "SQLite NORMAL, µs"],
      firstCalls.map((row) => [row.name, ...row.costs.map((cost) => cost.toFixed(0))]),
    )}`,
  );
}
