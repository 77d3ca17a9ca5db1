/**
 * What the server costs: reconnects and pages beside long histories, many watchers of one session, idle watchers, a run
 * that is watched over HTTP beside one in the process, and how long a delta takes to a client.
 *
 * The clients of streams run in another process, so the figures are the server's alone. `--only fanOut,idle` measures
 * some parts, and prints JSON; `--write` puts all figures beside their aims into docs/performance.md (about two minutes).
 */
import { fork } from "node:child_process";
import { createServer as createHttpServer } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createAgent, createMemoryStore, defineTool } from "../dist/index.js";
import { createServer, createToken } from "../dist/server/index.js";
import { openSqliteStore } from "../dist/stores/sqlite/index.js";
import { inFolder } from "./folder.mjs";
import { modelOf, read, summarizer } from "./long-talk.mjs";
import { median } from "./report.mjs";
import { textOf, writeSection } from "./server-page.mjs";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc");

/** @param secret if given, other processes may read what this one streams */
async function serve(store, agents, work, { secret } = {}) {
  const token = createToken();
  const limits = { streamsPerPrincipal: 20_000, streams: 20_000, changesPerMinute: 1_000_000 };
  let server;
  const http = createHttpServer((request, response) => server.listener(request, response));
  await new Promise((done) => http.listen(0, "127.0.0.1", done));
  const { port } = http.address();
  const peers = { secret, address: `http://127.0.0.1:${port}`, allow: [] };
  server = createServer({ store, agents, token, limits, ...(secret === undefined ? {} : { secret, peers }) });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const ask = (path, init) => fetch(`http://127.0.0.1:${port}${path}`, { headers, ...init });
  try {
    return await work({ port, token, ask });
  } finally {
    await server.close({ graceMs: 100 });
    http.closeAllConnections();
    await new Promise((done) => http.close(done));
  }
}

/** Another process, which does what `server-other.mjs` can. */
async function withOther(work) {
  const child = fork(new URL("./server-other.mjs", import.meta.url));
  const waiting = new Map();
  child.on("message", ({ id, result, error }) => {
    const { done, fail } = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) done(result);
    else fail(new Error(error));
  });
  let last = 0;
  const ask = (name, options) =>
    new Promise((done, fail) => {
      last += 1;
      waiting.set(last, { done, fail });
      child.send({ id: last, name, options });
    });
  try {
    return await work(ask);
  } finally {
    child.kill("SIGKILL");
  }
}

/** Milliseconds of a clock that all processes of a machine share. */
const now = () => Number(process.hrtime.bigint()) / 1e6;

const percentile = (values, part) => [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * part)];

/** The first event of a stream near the end, and pages in the middle and at the end, of sessions of so many steps. */
async function places(counts, repetitions) {
  return await inFolder(async (folder) => {
    const rows = [];
    for (const count of counts) {
      const store = await openSqliteStore({ path: join(folder, `${count}.db`), synchronous: "normal" });
      const limits = { maxSteps: count + 10, maxCompactions: count };
      const agent = createAgent({
        model: modelOf(count),
        tools: [read],
        store,
        limits,
        compaction: { model: summarizer },
      });
      const { status } = await agent.run("Look at every file.", { sessionId: "long" });
      if (status !== "completed") throw new Error(`the run is ${status}`);
      const { seq } = await agent.session("long").state();
      await serve(store, [], async ({ port, token, ask }) => {
        const reconnect = () =>
          new Promise((done, fail) => {
            const before = performance.now();
            const socket = connect(port, "127.0.0.1", () =>
              socket.write(
                `GET /v1/sessions/long/stream HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\nLast-Event-ID: ${seq - 2}.1\r\n\r\n`,
              ),
            );
            let got = "";
            socket.on("data", (data) => {
              got += data;
              if (!got.includes("\nid: ")) return;
              socket.destroy();
              done(performance.now() - before);
            });
            socket.once("error", fail);
          });
        const page = async (path) => {
          const before = performance.now();
          const answer = await ask(path);
          if (answer.status !== 200) throw new Error(`${path} gave ${answer.status}`);
          await answer.arrayBuffer();
          return performance.now() - before;
        };
        const middle = Math.floor(seq / 2);
        const kinds = {
          "reconnect near the end, first event": reconnect,
          "page of 100 events in the middle": (round) =>
            page(`/v1/sessions/long/events?after=${middle + round}&limit=100`),
          "page of 100 steps in the middle": (round) =>
            page(`/v1/sessions/long/steps?after=${middle + round}&limit=100`),
          "page of 100 trace records in the middle": (round) =>
            page(`/v1/sessions/long/trace?after=${middle + round}&limit=100`),
          "request of a model call in the middle": async () => {
            const [row] = (await (await ask(`/v1/sessions/long/steps?after=${middle}&limit=1`)).json()).steps;
            return page(`/v1/sessions/long/requests/${row[1]}/${row[2]}`);
          },
        };
        for (const [work, act] of Object.entries(kinds)) {
          const times = [];
          for (let round = -3; round < repetitions; round += 1) {
            const ms = await act(round + 3);
            if (round >= 0) times.push(ms);
          }
          rows.push({ work, count, ms: median(times), p95: percentile(times, 0.95) });
        }
      });
      await store.close();
    }
    return rows;
  });
}

/** A model whose deltas come when the bench says so. */
function told() {
  let wake = () => {};
  const queue = [];
  return {
    say(text) {
      queue.push(text);
      wake();
    },
    model: {
      id: "told",
      async *stream() {
        yield { kind: "text-start", id: "t" };
        for (;;) {
          while (queue.length === 0)
            await new Promise((done) => {
              wake = done;
            });
          const text = queue.shift();
          if (text === null) break;
          yield { kind: "text-delta", id: "t", text };
        }
        yield { kind: "text-end", id: "t" };
        yield { kind: "done", finishReason: { unified: "stop" }, usage: {} };
      },
    },
  };
}

const begin = async (ask, agent) =>
  (await ask("/v1/sessions", { method: "POST", body: JSON.stringify({ agent, input: "Go." }) })).json();

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** CPU of this process while work is done, in microseconds. */
async function cpuOf(work) {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** Many watchers of one session: the server's CPU for each frame and watcher, and the longest pause of the event loop. */
async function fanOut(watchers, frames) {
  const store = createMemoryStore();
  const { model, say } = told();
  const agent = createAgent({ name: "told", store, model });
  return await serve(store, [agent], ({ port, token, ask }) =>
    withOther(async (other) => {
      const { sessionId } = await begin(ask, "told");
      const paths = Array.from({ length: watchers }, () => `/v1/sessions/${sessionId}/stream`);
      await other("watch", { port, token, paths });
      for (const word of ["warm ", "warmer "]) {
        say(word);
        await pause(200);
      }
      await other("report");
      const delay = monitorEventLoopDelay({ resolution: 1 });
      delay.enable();
      const cpu = await cpuOf(async () => {
        for (let index = 0; index < frames; index += 1) {
          say(`word ${index} `);
          await pause(30);
        }
        await pause(200);
      });
      delay.disable();
      const { bytes } = await other("report");
      say(null);
      const each = 1 / frames / watchers;
      return { watchers, frames, us: cpu * each, pauseMs: delay.max / 1e6, bytes: bytes * each };
    }),
  );
}

/** Watchers of sessions in which nothing happens: a share of a core, and memory. */
async function idle(count, seconds) {
  return await inFolder(async (folder) => {
    const store = await openSqliteStore({ path: join(folder, "idle.db"), synchronous: "normal" });
    const model = {
      id: "done",
      async *stream() {
        yield { kind: "text-delta", id: "t", text: "Done." };
        yield { kind: "done", finishReason: { unified: "stop" }, usage: {} };
      },
    };
    const agent = createAgent({ name: "idle", store, model });
    for (let index = 0; index < count; index += 1) await agent.run("Go.", { sessionId: `idle-${index}` });
    const result = await serve(store, [], ({ port, token }) =>
      withOther(async (other) => {
        const pathOf = (index) => `/v1/sessions/idle-${index}/stream?after=1000000`;
        const open = async (from, to) => {
          const paths = Array.from({ length: to - from }, (_, index) => pathOf(from + index));
          await other("watch", { port, token, paths });
          await pause(500);
        };
        const heap = () => {
          collectGarbage();
          const { heapUsed, external } = process.memoryUsage();
          return heapUsed + external;
        };
        // What a first watcher loads and compiles is not the cost of one.
        const first = Math.ceil(count / 10);
        await open(0, first);
        const before = heap();
        await open(first, count);
        const bytes = (heap() - before) / (count - first);
        const cpu = await cpuOf(() => pause(seconds * 1_000));
        return { count, share: cpu / 1e6 / seconds, bytes };
      }),
    );
    await store.close();
    return result;
  });
}

/** A model that says so many words, as fast as it can. */
function talker(words) {
  return {
    id: `talker-${words}`,
    async *stream() {
      yield { kind: "text-start", id: "t" };
      for (let index = 0; index < words; index += 1) {
        yield { kind: "text-delta", id: "t", text: "word " };
        if (index % 20 === 0) await new Promise((done) => setImmediate(done));
      }
      yield { kind: "text-end", id: "t" };
      yield { kind: "done", finishReason: { unified: "stop" }, usage: {} };
    },
  };
}

/** A model that calls a tool in each of its steps but the last. */
function caller(steps, words) {
  const { stream } = talker(words);
  return {
    id: `caller-${steps}`,
    async *stream({ modelCallIndex }) {
      for await (const delta of stream()) {
        if (delta.kind !== "done" || modelCallIndex === steps) yield delta;
        else {
          yield {
            kind: "tool-call",
            id: `c${modelCallIndex}`,
            name: "look",
            input: JSON.stringify({ at: modelCallIndex }),
          };
          yield { ...delta, finishReason: { unified: "tool-calls" } };
        }
      }
    },
  };
}

const look = defineTool({
  name: "look",
  description: "Looks at a place.",
  input: { type: "object", properties: { at: { type: "integer" } }, required: ["at"] },
  execute: () => "Nothing is to be seen here. ".repeat(10),
});

const readNames = ["describe", "load", "loadAt", "read", "inbox", "due", "list", "asking", "messageIds"];

/** The same store, and how often it was read. */
function countReads(store) {
  let count = 0;
  const counting = readNames.map((name) => [
    name,
    (...values) => {
      count += 1;
      return store[name](...values);
    },
  ]);
  return { store: { ...store, ...Object.fromEntries(counting) }, reads: () => count };
}

/** The floor: `node:http` alone takes the same two requests, and streams as many bytes in the same pieces, one in each turn. */
async function serveBare(pieces, work) {
  const http = createHttpServer(async (request, response) => {
    if (request.method === "POST") {
      const body = [];
      for await (const chunk of request) body.push(chunk);
      JSON.parse(Buffer.concat(body));
      response.writeHead(201, { "content-type": "application/json" });
      response.end(JSON.stringify({ sessionId: "session", runId: "run" }));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const size of pieces) {
      response.write("x".repeat(size));
      await new Promise((done) => setImmediate(done));
    }
    response.end();
  });
  await new Promise((done) => http.listen(0, "127.0.0.1", done));
  try {
    return await work(http.address().port);
  } finally {
    http.closeAllConnections();
    await new Promise((done) => http.close(done));
  }
}

/**
 * CPU of runs that somebody watches over HTTP, beside the same runs streamed in the process, and beside `node:http` alone
 * with the same bytes, in turns: the least of each counts. A server runs for long, so all are measured warm. Short runs tell
 * what does not depend on the words: the requests, and that a worker takes the session up. The reads of the store are those
 * of the last round.
 */
async function watchedRuns(runs, words, warm, rounds) {
  return await inFolder(async (folder) => {
    const memory = createMemoryStore();
    const file = await openSqliteStore({ path: join(folder, "watched.db"), synchronous: "normal" });
    const kinds = {
      short: { store: memory, model: talker(20) },
      long: { store: memory, model: talker(words) },
      steps: { store: file, model: caller(10, 40), tools: [look] },
    };
    const figures = {};
    for (const [name, given] of Object.entries(kinds)) {
      const { store, reads } = countReads(given.store);
      const options = { ...given, store };
      const agent = createAgent({ name, ...options });
      let last = 0;
      const inProcess = async (count) => {
        for (let index = 0; index < count; index += 1) {
          last += 1;
          for await (const item of agent.runStream("Go.", { sessionId: `${name}-${last}` })) void item;
        }
      };
      figures[name] = await serve(options.store, [agent], ({ port, token }) =>
        withOther(async (other) => {
          const overHttp = (count) => other("runs", { port, token, agent: name, count });
          await inProcess(warm);
          const { pieces } = await overHttp(warm);
          return serveBare(pieces, async (barePort) => {
            const bare = (count) => other("runs", { port: barePort, token, agent: name, count });
            await bare(warm);
            const least = {};
            const readsOfRun = {};
            for (let round = 0; round < rounds; round += 1)
              for (const [kind, work] of Object.entries({ direct: inProcess, watched: overHttp, bare })) {
                const before = reads();
                const ms = (await cpuOf(() => work(runs))) / runs / 1_000;
                least[kind] = Math.min(least[kind] ?? ms, ms);
                readsOfRun[kind] = (reads() - before) / runs;
              }
            return { ...least, reads: readsOfRun, pieces: pieces.length };
          });
        }),
      );
    }
    await file.close();
    return { runs, words, ...figures };
  });
}

/** From the model to a client, while a model says a word every `everyMs`. */
async function latency(deltas, everyMs, { ofPeer = false } = {}) {
  return await inFolder(async (folder) => {
    const path = join(folder, "sessions.db");
    const store = await openSqliteStore({ path, synchronous: "normal" });
    const { model, say } = told();
    const agent = createAgent({ name: "told", store, model });
    const secret = createToken();
    const result = await serve(
      store,
      [agent],
      (here) =>
        withOther((client) =>
          withOther(async (peer) => {
            const { token } = here;
            const { port } = ofPeer ? await peer("serve", { path, token, secret }) : here;
            const { sessionId } = await begin(here.ask, "told");
            await client("watch", { port, token, paths: [`/v1/sessions/${sessionId}/stream`] });
            await pause(500);
            const said = [];
            for (let index = 0; index < deltas; index += 1) {
              said.push(now());
              say(`mark${index} `);
              await pause(everyMs);
            }
            await pause(300);
            const { times } = await client("report");
            say(null);
            const known = said.map((at, index) => times[index] - at).filter((ms) => ms >= 0);
            if (known.length < deltas * 0.9) throw new Error(`${known.length} of ${deltas} deltas came`);
            return { everyMs, ofPeer, p50: median(known), p95: percentile(known, 0.95) };
          }),
        ),
      { secret },
    );
    await store.close();
    return result;
  });
}

const parts = {
  places: (quick) => places(quick ? [10, 100] : [10, 1_000, 10_000], quick ? 3 : 31),
  fanOut: (quick) => fanOut(quick ? 20 : 1_000, quick ? 5 : 100),
  idle: (quick) => idle(quick ? 20 : 1_000, quick ? 0.5 : 10),
  watched: (quick) => watchedRuns(quick ? 5 : 100, quick ? 200 : 2_000, quick ? 5 : 400, quick ? 1 : 3),
  latency: (quick) => latency(quick ? 10 : 300, 10),
  latencySlow: (quick) => latency(quick ? 10 : 150, 40),
  latencyPeer: (quick) => latency(quick ? 10 : 300, 10, { ofPeer: true }),
};

export async function run({ quick, json, rest }) {
  const { values } = parseArgs({ args: rest, options: { only: { type: "string" }, write: { type: "boolean" } } });
  const only = values.only?.split(",");
  const unknown = only?.find((name) => !Object.hasOwn(parts, name));
  if (unknown !== undefined || (values.write && (quick || json || only !== undefined))) {
    console.error(
      unknown === undefined
        ? "--write takes all parts at their full size: leave out --quick, --json and --only."
        : `The bench has no part "${unknown}". It has ${Object.keys(parts).join(", ")}.`,
    );
    process.exit(2);
  }
  const results = {};
  for (const [name, part] of Object.entries(parts)) {
    if (only?.includes(name) === false) continue;
    if (values.write) console.error(`Measuring ${name} …`);
    results[name] = await part(quick);
  }
  if (json || only !== undefined) {
    console.log(JSON.stringify(results, null, json ? 0 : 2));
    return;
  }
  const text = textOf(results);
  console.log(text);
  if (values.write) writeSection(text);
}
