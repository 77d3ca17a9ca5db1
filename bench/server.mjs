/**
 * What the server costs: reconnects and pages beside long histories, many watchers of one session, idle watchers, a run
 * that is watched over HTTP beside one in the process, and how long a delta takes to a client.
 *
 * Clients of the fan-out run in this process, as plain sockets, so the figures hold their reading, too.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createAgent, createMemoryStore } from "../dist/index.js";
import { createServer, createToken } from "../dist/server/index.js";
import { openSqliteStore } from "../dist/stores/sqlite/index.js";
import { inFolder } from "./folder.mjs";
import { modelOf, read, summariser } from "./long-talk.mjs";
import { machine, median, table } from "./report.mjs";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc");

async function serve(store, agents, work, limits = {}) {
  const token = createToken();
  const many = { streamsPerPrincipal: 20_000, streams: 20_000, changesPerMinute: 1_000_000, ...limits };
  const server = createServer({ store, agents, token, limits: many });
  const http = createHttpServer(server.listener);
  await new Promise((done) => http.listen(0, "127.0.0.1", done));
  const { port } = http.address();
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

/** A stream as a plain socket: `onData` gets what comes. */
function watch({ port, token }, path, onData) {
  return new Promise((done, fail) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    });
    socket.once("data", () => done(socket));
    socket.on("data", onData);
    socket.once("error", fail);
  });
}

const percentile = (values, part) => [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * part)];
const figure = (value) => (value < 10 ? value.toFixed(2) : Math.round(value).toLocaleString("en"));

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
        compaction: { model: summariser },
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

/** Many watchers of one session: CPU for each frame and watcher, and the longest pause of the event loop. */
async function fanOut(watchers, frames) {
  const store = createMemoryStore();
  const { model, say } = told();
  const agent = createAgent({ name: "told", store, model });
  return await serve(store, [agent], async (to) => {
    const { sessionId } = await begin(to.ask, "told");
    let bytes = 0;
    const sockets = [];
    for (let index = 0; index < watchers; index += 1)
      sockets.push(
        await watch(to, `/v1/sessions/${sessionId}/stream`, (data) => {
          bytes += data.length;
        }),
      );
    say("warm ");
    await pause(200);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    const cpu = process.cpuUsage();
    const received = bytes;
    delay.enable();
    for (let index = 0; index < frames; index += 1) {
      say(`word ${index} `);
      await pause(30);
    }
    await pause(200);
    delay.disable();
    const { user, system } = process.cpuUsage(cpu);
    say(null);
    const perFrame = (user + system) / frames / watchers;
    for (const socket of sockets) socket.destroy();
    return { watchers, frames, us: perFrame, pauseMs: delay.max / 1e6, bytes: (bytes - received) / watchers / frames };
  });
}

/** Watchers of sessions in which nothing happens: a share of a core, and memory. */
async function idle(count, seconds) {
  return await inFolder(async (folder) => {
    const store = await openSqliteStore({ path: join(folder, "idle.db"), synchronous: "normal" });
    const model = { id: "done", stream: told().model.stream };
    const agent = createAgent({
      name: "idle",
      store,
      model: {
        ...model,
        async *stream() {
          yield { kind: "text-delta", id: "t", text: "Done." };
          yield { kind: "done", finishReason: { unified: "stop" }, usage: {} };
        },
      },
    });
    for (let index = 0; index < count; index += 1) await agent.run("Go.", { sessionId: `idle-${index}` });
    const result = await serve(store, [], async (to) => {
      const heap = () => {
        collectGarbage();
        const { heapUsed, external } = process.memoryUsage();
        return heapUsed + external;
      };
      const before = heap();
      const sockets = [];
      for (let index = 0; index < count; index += 1)
        sockets.push(await watch(to, `/v1/sessions/idle-${index}/stream?after=1000000`, () => {}));
      await pause(500);
      const bytes = (heap() - before) / count;
      const cpu = process.cpuUsage();
      await pause(seconds * 1_000);
      const { user, system } = process.cpuUsage(cpu);
      for (const socket of sockets) socket.destroy();
      return { count, share: (user + system) / 1e6 / seconds, bytes };
    });
    await store.close();
    return result;
  });
}

/** CPU of runs that somebody watches over HTTP, beside the same runs streamed in the process. */
async function watchedRuns(runs, words) {
  const model = {
    id: "words",
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
  const cpuOf = async (work) => {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000 / runs;
  };
  const store = createMemoryStore();
  const agent = createAgent({ name: "words", store, model });
  const inProcess = async (sessionId) => {
    for await (const item of agent.runStream("Go.", { sessionId })) void item;
  };
  return await serve(store, [agent], async (to) => {
    const overHttp = async () => {
      const { sessionId, runId } = await begin(to.ask, "words");
      const answer = await to.ask(`/v1/sessions/${sessionId}/stream?runId=${runId}&until=run`);
      await answer.arrayBuffer();
    };
    await inProcess("warm");
    await overHttp();
    const direct = await cpuOf(async () => {
      for (let index = 0; index < runs; index += 1) await inProcess(`direct-${index}`);
    });
    const watched = await cpuOf(async () => {
      for (let index = 0; index < runs; index += 1) await overHttp();
    });
    return { runs, words, direct, watched };
  });
}

/** From the model to a client of the process that holds the session, while a model says a word every 10 ms. */
async function latency(deltas) {
  const store = createMemoryStore();
  const { model, say } = told();
  const agent = createAgent({ name: "told", store, model });
  return await serve(store, [agent], async (to) => {
    const { sessionId } = await begin(to.ask, "told");
    const said = [];
    const times = [];
    const socket = await watch(to, `/v1/sessions/${sessionId}/stream`, (data) => {
      for (const [, index] of String(data).matchAll(/mark(\d+) /g)) times[index] = performance.now() - said[index];
    });
    await pause(100);
    for (let index = 0; index < deltas; index += 1) {
      said.push(performance.now());
      say(`mark${index} `);
      await pause(10);
    }
    await pause(100);
    say(null);
    socket.destroy();
    const known = times.filter((ms) => ms !== undefined);
    if (known.length < deltas / 2) throw new Error(`${known.length} of ${deltas} deltas came`);
    return { p50: median(known), p95: percentile(known, 0.95) };
  });
}

const page = new URL("../docs/performance.md", import.meta.url);
const heading = "## The server";

function write(text) {
  const before = readFileSync(page, "utf8");
  const start = before.indexOf(`${heading}\n`);
  const kept = start === -1 ? `${before.trimEnd()}\n\n` : before.slice(0, start);
  const next = start === -1 ? -1 : before.indexOf("\n## ", start + 1);
  writeFileSync(page, `${kept}${heading}\n\n${text}\n${next === -1 ? "" : before.slice(next)}`);
}

export async function run({ quick, json, rest }) {
  const counts = quick ? [10, 100] : [10, 1_000, 10_000];
  const results = {
    places: await places(counts, quick ? 3 : 31),
    fanOut: await fanOut(quick ? 20 : 1_000, quick ? 5 : 100),
    idle: await idle(quick ? 20 : 1_000, quick ? 0.5 : 10),
    watched: await watchedRuns(quick ? 5 : 50, quick ? 200 : 2_000),
    latency: await latency(quick ? 10 : 300),
  };
  if (json) {
    console.log(JSON.stringify(results));
    return;
  }
  const { fanOut: fan, idle: resting, watched, latency: late } = results;
  const steps = (count) => `${count.toLocaleString("en")} steps`;
  const placesTable = table(
    ["work", "history", "median, ms", "p95, ms"],
    results.places
      .toSorted((a, b) => a.work.localeCompare(b.work) || a.count - b.count)
      .map(({ work, count, ms, p95 }) => [work, steps(count), figure(ms), figure(p95)]),
  );
  const costs = table(
    ["work", "figure"],
    [
      [
        `a frame and watcher, ${fan.watchers.toLocaleString("en")} watchers of one session`,
        `${figure(fan.us)} µs of CPU`,
      ],
      ["the longest pause of the event loop meanwhile", `${figure(fan.pauseMs)} ms`],
      [
        `${resting.count.toLocaleString("en")} idle watchers of as many sessions`,
        `${(resting.share * 100).toFixed(1)} % of a core`,
      ],
      ["one of them", `${figure(resting.bytes / 1_000)} kB, with its client`],
      [
        `CPU of a run of ${watched.words.toLocaleString("en")} words: in the process, watched over HTTP`,
        `${figure(watched.direct)} ms, ${figure(watched.watched)} ms`,
      ],
      ["a delta, from the model to a client of the holder", `p50 ${figure(late.p50)} ms, p95 ${figure(late.p95)} ms`],
    ],
  );
  const text = `\`npm run bench -- server\` on ${machine()}. The clients run in the same process, so the figures hold what they cost.\n\n${placesTable}\n\n${costs}\n`;
  console.log(text);
  if (rest.includes("--write")) write(text.trimEnd());
}
