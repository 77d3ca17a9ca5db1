/**
 * Restate as the dispatcher, beside Pawl's own worker, at the same work on the same store in the same run.
 *
 *     npm run bench -- restate [--store postgres://…] [--sessions 100] [--steps 10]
 *
 * Without `--store` it is one SQLite file. The server of Restate is installed first if it is not there. The agent is in this process in
 * both cases; its model and its tool answer at once. A round begins with the first request and ends when all runs are completed.
 * Processor time is that of `/proc`: it needs Linux.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttp2Server } from "node:http2";
import { createRequire } from "node:module";
import { join } from "node:path";
import { parseArgs } from "node:util";
import "../scripts/restate/install.mjs";
import { createEndpointHandler } from "@restatedev/restate-sdk";
import { createAgent, createClient, createWorker } from "../dist/index.js";
import { pawlObject } from "../dist/restate/index.js";
import { openPostgresStore } from "../dist/stores/postgres/index.js";
import { openSqliteStore } from "../dist/stores/sqlite/index.js";
import { inFolder } from "./folder.mjs";
import { look, lookingModel } from "./looking-agent.mjs";
import { freePorts, healthy } from "./ports.mjs";
import { processMs } from "./postgres-costs.mjs";
import { machine, median, table } from "./report.mjs";

export async function run({ quick, json, rest }) {
  const { values } = parseArgs({
    args: rest,
    options: {
      store: { type: "string" },
      sessions: { type: "string", default: "100" },
      steps: { type: "string", default: "10" },
    },
  });
  const sizes = { sessions: Number(values.sessions), steps: Number(values.steps) };
  const row = await inFolder(async (folder) => {
    const path = join(folder, "sessions.db");
    const url = values.store;
    const store =
      url === undefined ? await openSqliteStore({ path }) : await openPostgresStore({ url, connections: 20 });
    const server = await startRestate(join(folder, "restate"));
    try {
      return await compare(store, server, { ...sizes, rounds: quick ? 3 : 9 });
    } finally {
      await server.stop();
      await store.close();
    }
  });
  const kept = values.store === undefined ? "one SQLite file" : "PostgreSQL, 20 connections";
  if (json) return console.log(JSON.stringify({ machine: machine(), store: kept, ...sizes, ...row }, null, 2));
  console.log(`${machine()}; ${kept}; ${sizes.sessions} sessions at once, ${sizes.steps} steps each; medians\n`);
  const rows = [
    ["a worker", row.worker.toFixed(0), "100 %", ...costCells(row.ms.worker)],
    [
      "Restate",
      row.restate.toFixed(0),
      `${((100 * row.restate) / row.worker).toFixed(0)} %`,
      ...costCells(row.ms.restate),
    ],
  ];
  const heads = [
    "dispatched by",
    "steps/s",
    "of the worker's",
    "ms of this process a session",
    "ms of Restate's server",
  ];
  console.log(table(heads, rows));
}

const costCells = ({ own, server }) => [own.toFixed(2), server.toFixed(2)];

/** Rounds of both, one after the other, so that both meet the same machine. */
async function compare(store, server, { sessions, steps, rounds }) {
  const newAgent = () => createAgent({ name: "bench", model: lookingModel(steps), tools: [look], store });
  const client = createClient({ store });
  const agent = newAgent();
  const services = [await pawlObject({ store, agents: [agent] })];
  const endpoint = createHttp2Server(createEndpointHandler({ services, logger() {} })).listen(0, "127.0.0.1");
  await once(endpoint, "listening");
  await post(`${server.admin}/deployments`, { uri: `http://127.0.0.1:${endpoint.address().port}` });
  const ways = {
    async worker(ids) {
      const worker = createWorker({ store, agents: [newAgent()], concurrency: sessions });
      const working = worker.run();
      await Promise.all(ids.map((id) => client.session(id).send("Go", { agent: "bench" })));
      await allCompleted(store, ids);
      return async () => {
        await worker.stop();
        await working;
      };
    },
    async restate(ids) {
      const request = { input: "Go", options: { agent: "bench" } };
      await Promise.all(ids.map((id) => post(`${server.ingress}/Pawl/${id}/send`, request)));
      await allCompleted(store, ids);
      return async () => {};
    },
  };
  const rates = { worker: [], restate: [] };
  const costs = { worker: [], restate: [] };
  for (let round = -1; round < rounds; round += 1)
    for (const way of Object.keys(ways)) {
      const ids = Array.from({ length: sessions }, (_, at) => `${way}-${round}-${at}`);
      const [before, ownMs, serverMs] = [performance.now(), processMs(process.pid), processMs(server.pid)];
      const end = await ways[way](ids);
      const ms = performance.now() - before;
      await end();
      // The first round of each warms it up.
      if (round < 0) continue;
      rates[way].push((1_000 * sessions * steps) / ms);
      costs[way].push({ own: processMs(process.pid) - ownMs, server: processMs(server.pid) - serverMs });
    }
  endpoint.close();
  const rateOf = (way) => median(rates[way]);
  const msOfSession = (way, of) => median(costs[way].map((cost) => cost[of])) / sessions;
  const costsOf = (way) => ({ own: msOfSession(way, "own"), server: msOfSession(way, "server") });
  return {
    worker: rateOf("worker"),
    restate: rateOf("restate"),
    ms: { worker: costsOf("worker"), restate: costsOf("restate") },
  };
}

const open = ["idle", "preparing", "model_running", "tool_running", "awaiting_human"];

async function allCompleted(store, ids) {
  while ((await store.list({ status: open, limit: 1 })).length > 0) await new Promise((done) => setTimeout(done, 10));
  for (const id of ids)
    if ((await store.describe(id))?.status !== "completed") throw new Error(`The run of ${id} is not completed.`);
}

async function post(url, body) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const said = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${said.slice(0, 200)}`);
}

async function startRestate(folder) {
  const [node, ingressPort, adminPort] = await freePorts(3);
  const ingress = `http://127.0.0.1:${ingressPort}`;
  const admin = `http://127.0.0.1:${adminPort}`;
  const installed = createRequire(new URL("../scripts/restate/package.json", import.meta.url));
  const program = `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`;
  const child = spawn(installed.resolve(program), ["--no-logo", "--base-dir", folder], {
    env: {
      ...process.env,
      RESTATE_LISTEN_MODE: "tcp",
      RESTATE_BIND_IP: "127.0.0.1",
      RESTATE_BIND_PORT: String(node),
      RESTATE_INGRESS__BIND_PORT: String(ingressPort),
      RESTATE_ADMIN__BIND_PORT: String(adminPort),
      RESTATE_LOG_FILTER: "error",
      RESTATE_DISABLE_TELEMETRY: "true",
      // 24 would be usual. On a few processors fewer are quicker, because more sessions share one write.
      RESTATE_DEFAULT_NUM_PARTITIONS: "4",
    },
    stdio: "ignore",
  });
  const exit = once(child, "exit");
  const stop = async () => {
    child.kill("SIGKILL");
    await exit;
  };
  const ended = exit.then(() => Promise.reject(new Error("The server of Restate ended.")));
  ended.catch(() => {});
  await Promise.race([Promise.all([healthy(`${ingress}/restate/health`), healthy(`${admin}/health`)]), ended]);
  return { ingress, admin, stop, pid: child.pid };
}
