/**
 * Runs that wait for a person: the cost to find them among many, to answer one, and to hold them.
 *
 * One process parks the runs and stays. Then the bench opens another store on the same sessions, as a process would days
 * later.
 *
 *     npm run bench -- parked [--store postgres://…]    an empty database, in the place of a file
 *     npm run bench -- parked --waiting 100000          one size only
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createAgent, pendingApprovals } from "../dist/index.js";
import { openPostgresStore } from "../dist/stores/postgres/index.js";
import { openSqliteStore } from "../dist/stores/sqlite/index.js";
import { inFolder } from "./folder.mjs";
import { machine, median, table } from "./report.mjs";

/** Asks for one call, and ends when it has its result. */
const model = {
  id: "bench",
  async *stream({ messages }) {
    yield { kind: "start" };
    if (messages.at(-1).role === "tool") {
      yield { kind: "text-delta", id: "t", text: "It is paid." };
      yield { kind: "done", finishReason: { unified: "stop" }, usage: { inputTokens: 120, outputTokens: 5 } };
    } else {
      yield { kind: "text-delta", id: "t", text: "I will pay the invoice." };
      yield { kind: "tool-call", id: "call_1", name: "pay", input: '{"invoice":"2026-117","amount":1250}' };
      yield { kind: "done", finishReason: { unified: "tool-calls" }, usage: { inputTokens: 100, outputTokens: 20 } };
    }
  },
};

const pay = {
  name: "pay",
  description: "Pays an invoice.",
  input: { type: "object", properties: { invoice: { type: "string" }, amount: { type: "number" } } },
  needsApproval: true,
  execute: () => "paid",
};

const agentOn = (store) => createAgent({ model, tools: [pay], store });

const park = {
  /** So many sessions are parked side by side that their commits share transactions. */
  atOnce: 500,
  async all(store, count, name) {
    const agent = agentOn(store);
    for (let index = 0; index < count; index += this.atOnce) {
      const ids = Array.from({ length: Math.min(this.atOnce, count - index) }, (_, at) => `${name}-${index + at}`);
      const results = await Promise.all(ids.map((sessionId) => agent.run("Pay the invoice.", { sessionId })));
      for (const { status } of results) if (status !== "awaiting_human") throw new Error(`a run is ${status}`);
    }
  },
};

async function take(approvals, most) {
  const taken = [];
  for await (const approval of approvals) if (taken.push(approval) === most) break;
  return taken;
}

/** The result of the run, which may end at any moment. */
async function endOf(session) {
  try {
    return await session.resume();
  } catch (error) {
    if (error.code !== "run_finished") throw error;
    return await session.result();
  }
}

async function timed(work) {
  const before = performance.now();
  const value = await work();
  return { ms: performance.now() - before, value };
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc");

/** Bytes of the heap that are still in use. */
async function held() {
  await new Promise((resolve) => setTimeout(resolve, 50));
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

async function measure(url, count, rounds) {
  return await inFolder(async (folder) => {
    const path = join(folder, "sessions.db");
    const open = () =>
      url === undefined
        ? openSqliteStore({ path, synchronous: "normal" })
        : openPostgresStore({ url, connections: 20 });
    const empty = await open();
    await park.all(empty, 1, `warm-up-${count}`);
    const before = await held();
    await park.all(empty, count, `of-${count}`);
    const heldBytes = (await held()) - before;
    await empty.close();
    const bytes = url === undefined ? statSync(path).size / count : null;

    const store = await open();
    const firstPages = [];
    for (let round = 0; round < rounds; round += 1)
      firstPages.push((await timed(() => take(pendingApprovals(store), 50))).ms);
    const all = await timed(() => take(pendingApprovals(store), Number.POSITIVE_INFINITY));
    const answers = [];
    for (let round = 0; round < rounds; round += 1) {
      const { sessionId, callKey } = all.value[Math.floor((all.value.length * round) / rounds)];
      const session = agentOn(store).session(sessionId);
      const { ms, value } = await timed(async () => {
        await session.answer(callKey, { type: "approve" }, { by: "bench" });
        return await endOf(session);
      });
      if (value.status !== "completed") throw new Error(`an answered run is ${value.status}`);
      answers.push(ms);
    }
    const listed = all.value.length;
    await store.close();
    return { count, listed, firstPage: median(firstPages), all: all.ms, answer: median(answers), heldBytes, bytes };
  });
}

export async function run({ quick, json, rest }) {
  const { values } = parseArgs({ args: rest, options: { store: { type: "string" }, waiting: { type: "string" } } });
  const { store, waiting } = values;
  const sizes = waiting !== undefined ? [Number(waiting)] : quick ? [100, 1_000] : [1_000, 10_000, 100_000];
  const rows = [];
  for (const count of sizes) rows.push(await measure(store, count, quick ? 9 : 21));
  const kept = store === undefined ? "one SQLite file, synchronous NORMAL" : "one PostgreSQL database, 20 connections";
  if (json) return console.log(JSON.stringify({ machine: machine(), store: kept, rows }, null, 2));
  console.log(`${machine()}; ${kept}; medians\n`);
  console.log(
    table(
      [
        "waiting runs",
        "first 50, ms",
        "all, ms",
        "µs each",
        "answer one and finish, ms",
        "heap held, bytes a run",
        "file, bytes a run",
      ],
      rows.map((row) => [
        row.count.toLocaleString("en"),
        row.firstPage.toFixed(1),
        Math.round(row.all).toLocaleString("en"),
        ((row.all * 1000) / row.listed).toFixed(0),
        row.answer.toFixed(1),
        Math.max(0, row.heldBytes / row.count).toFixed(1),
        row.bytes === null ? "–" : Math.round(row.bytes).toLocaleString("en"),
      ]),
    ),
  );
}
