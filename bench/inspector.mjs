/**
 * What the inspector asks for until a session is on screen, over HTTP: sessions of 10 to 10,000 steps that were never compacted,
 * in a SQLite file. *First* is the first page that this process serves of the session, *again* the median of those after it.
 * Then the page itself, in Chromium: see inspector-page.mjs.
 */
import { existsSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { join } from "node:path";
import { createAgent, createMemoryStore } from "../dist/index.js";
import { createServer, createToken } from "../dist/server/index.js";
import { openSqliteStore } from "../dist/stores/sqlite/index.js";
import { inFolder } from "./folder.mjs";
import { measurePage, sizesOfPage } from "./inspector-page.mjs";
import { machine, median, table } from "./report.mjs";

const output = "one line of what the file holds, as long as lines are\n".repeat(4);
const read = {
  name: "read",
  description: "Reads a file.",
  input: { type: "object", properties: { file: { type: "number" } } },
  readOnly: true,
  execute: () => output,
};

/** Asks for one call in each step. Its window holds everything. */
function modelOf(steps) {
  return {
    id: "bench",
    contextWindow: 100_000_000,
    async *stream({ modelCallIndex }) {
      yield { kind: "start" };
      if (modelCallIndex >= steps) yield { kind: "text-delta", id: "t", text: "Done." };
      else yield { kind: "tool-call", id: `call_${modelCallIndex}`, name: "read", input: `{"file":${modelCallIndex}}` };
      const unified = modelCallIndex >= steps ? "stop" : "tool-calls";
      yield { kind: "done", finishReason: { unified }, usage: { inputTokens: 100, outputTokens: 20 } };
    },
  };
}

async function serving(store, work) {
  const token = createToken();
  const http = createHttpServer((request, response) => server.listener(request, response));
  await new Promise((done) => http.listen(0, "127.0.0.1", done));
  const { port } = http.address();
  const server = createServer({ store, agents: [], work: false, token });
  const get = async (path) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${token}` } });
    if (!answer.ok) throw new Error(`${path} gave ${answer.status}`);
    return answer.json();
  };
  try {
    return await work(get);
  } finally {
    await server.close({ graceMs: 100 });
    http.closeAllConnections();
    await new Promise((done) => http.close(done));
  }
}

/** As the page does it: what the session is, its newest steps, the events and the trace of the last one. */
async function open(get) {
  const before = performance.now();
  const { seq } = await get("/v1/sessions/long");
  const { steps } = await get(`/v1/sessions/long/steps?after=${Math.max(0, seq - 400)}&limit=500`);
  const [last] = steps.at(-1);
  await get(`/v1/sessions/long/events?after=${last - 1}&limit=500`);
  await get(`/v1/sessions/long/trace?after=${last}&limit=1&type=step`);
  return performance.now() - before;
}

/** All steps, by pages of 500. */
async function all(get) {
  const before = performance.now();
  for (let after = 0; after !== null; )
    ({ next: after } = await get(`/v1/sessions/long/steps?after=${after}&limit=500`));
  return performance.now() - before;
}

async function measure(folder, steps) {
  const store = await openSqliteStore({ path: join(folder, `${steps}.db`), synchronous: "normal" });
  const limits = { maxSteps: steps + 1, onRepeatedCall: "ignore" };
  const agent = createAgent({ model: modelOf(steps), tools: [read], store, limits });
  const { status, reason } = await agent.run("Look at every file.", { sessionId: "long" });
  if (status !== "completed") throw new Error(`the run is ${status} (${reason})`);
  const row = await serving(store, async (get) => {
    const first = await open(get);
    const again = [];
    for (let round = 0; round < 9; round += 1) again.push(await open(get));
    return { steps, first, again: median(again), all: await all(get) };
  });
  await store.close();
  return row;
}

/** The page with a session of so many steps, and what it should be: section *Figures* of docs/performance.md. */
async function pageOf(steps) {
  const store = createMemoryStore();
  const limits = { maxSteps: steps + 1, onRepeatedCall: "ignore" };
  await createAgent({ model: modelOf(steps), tools: [read], store, limits }).run("Look.", { sessionId: "long" });
  return measurePage(store, { sessionId: "long", steps, end: "Done." });
}

const kilobytes = (bytes) => `${(bytes / 1_000).toFixed(1)} kB`;
const milliseconds = (ms) => `${ms.toFixed(1)} ms`;

function tellPage(steps, { script, style }, page) {
  const on = `${steps.toLocaleString("en")} steps on screen`;
  const rows = [
    ["the script, packed", "≤ 60 kB", kilobytes(script)],
    ["the style sheet, packed", "–", kilobytes(style)],
    ...(page === null
      ? []
      : [
          [`${on}, the first time`, "≤ 1,000 ms", milliseconds(page.first)],
          [`${on}, again (median of 9)`, "≤ 1,000 ms", milliseconds(page.again)],
          ["a frame of scrolling to random places, p50", "–", milliseconds(page.scrollMedian)],
          ["a frame of scrolling to random places, p95", "≤ 33 ms", milliseconds(page.scroll95)],
          ["rows in the document", "–", String(page.rows)],
        ]),
  ];
  console.log(`\n${table(["the page", "target", "now"], rows)}`);
  if (page === null) console.log("\nWithout Chromium's driver the page is not opened: npm run check-tools");
}

export async function run({ quick, json }) {
  const rows = await inFolder(async (folder) => {
    const measured = [];
    for (const steps of quick ? [10, 1_000] : [10, 1_000, 10_000]) measured.push(await measure(folder, steps));
    return measured;
  });
  const pageSteps = quick ? 1_000 : 10_000;
  const hasDriver = existsSync("scripts/checks/node_modules/playwright-core/package.json");
  const [sizes, page] = [await sizesOfPage(), hasDriver ? await pageOf(pageSteps) : null];
  if (json) return void console.log(JSON.stringify({ rows, sizes, page }));
  console.log(`${machine()}; milliseconds.\n`);
  const heads = ["steps", "first", "again", "all steps"];
  console.log(
    table(
      heads,
      rows.map(({ steps, ...times }) => [
        steps.toLocaleString("en"),
        ...Object.values(times).map((ms) => ms.toFixed(1)),
      ]),
    ),
  );
  tellPage(pageSteps, sizes, page);
}
