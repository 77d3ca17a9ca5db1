/**
 * Restate: its server in another process, its SDK's endpoint in this one, the run as a handler of a service. Each
 * model call and each tool call is a `run` of the context, which goes on when the server has kept the result: as
 * many commits as Pawl makes.
 *
 * `synchronous` "full" is Restate's default: its log server syncs the write-ahead log of its RocksDB before it
 * acknowledges. "normal" sets `log-server.rocksdb-disable-wal-fsync`: the log is written to the file, not synced.
 * SQLite's NORMAL does the same with a write-ahead log.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { createServer as createHttp2Server } from "node:http2";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts, healthy } from "../../ports.mjs";
import { createWork, prompt } from "../work.mjs";
import { stream } from "./floor.mjs";

// The SDK calls this function, which Node has from version 22 on.
Promise.withResolvers ??= () => {
  const settlers = {};
  const promise = new Promise((resolve, reject) => Object.assign(settlers, { resolve, reject }));
  return { promise, ...settlers };
};
// The SDK reads this when it is loaded; without it, it would log each start and end of a run.
process.env.RESTATE_LOGGING = "ERROR";
const { createEndpointHandler, service } = await import("@restatedev/restate-sdk");

/** The work of each run, by the number that the bench passes to the service. */
const works = new Map();
let opened = 0;

const agent = service({
  name: "agent",
  handlers: {
    async run(context, number) {
      const work = works.get(number);
      const tools = { add: (input) => work.add(input) };
      const messages = [{ role: "user", content: prompt }];
      for (;;) {
        const answer = await context.run("model", () => answerTo(work, messages));
        messages.push(answer);
        if (answer.calls.length === 0) return;
        for (const { id, name, input } of answer.calls) {
          const content = await context.run(name, () => tools[name](JSON.parse(input)));
          messages.push({ role: "tool", id, content });
        }
      }
    },
  },
  // A failure must be reported, not retried.
  options: { retryPolicy: { maxAttempts: 1, onMaxAttempts: "kill" } },
});

async function answerTo(work, messages) {
  let content = "";
  const calls = [];
  for await (const delta of stream(work, messages)) {
    if (delta.type === "text") {
      work.consume(delta.text);
      content += delta.text;
    } else calls.push(delta);
  }
  return { role: "assistant", content, calls };
}

/** One server for each `synchronous`, started on first use, because a start takes longer than a run. */
const servers = new Map();

export async function open(work, { synchronous }) {
  if (!servers.has(synchronous)) servers.set(synchronous, await start(synchronous));
  const server = servers.get(synchronous);
  // The server does the writing, not this process.
  return { ...runsOn(server, work), writesElsewhere: true };
}

/** Stops the servers: they use the processor even if nothing runs, and other contenders are measured next. */
export async function release() {
  const started = [...servers.values()];
  servers.clear();
  await Promise.all(started.map((server) => server.stop()));
}

function runsOn({ ingress }, work) {
  opened += 1;
  const number = opened;
  works.set(number, work);
  return {
    run: () => post(`${ingress}/agent/run`, number),
    close: () => works.delete(number),
  };
}

async function post(url, body) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const said = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${said.slice(0, 200)}`);
}

/** Starts a server and an endpoint, and resolves when runs have reached their steady speed. */
async function start(synchronous) {
  const [node, ingress, admin] = await freePorts(3);
  const { stop, ended } = spawnServer({
    // The node's port is for other nodes of a cluster; there are none.
    RESTATE_BIND_IP: "127.0.0.1",
    RESTATE_BIND_PORT: node,
    RESTATE_INGRESS__BIND_PORT: ingress,
    RESTATE_ADMIN__BIND_PORT: admin,
    RESTATE_LISTEN_MODE: "tcp",
    RESTATE_LOG_FILTER: "error",
    RESTATE_DISABLE_TELEMETRY: "true",
    // 24 would be usual. On a few processors fewer are quicker, because more sessions share one write.
    RESTATE_DEFAULT_NUM_PARTITIONS: "4",
    RESTATE_LOG_SERVER__ROCKSDB_DISABLE_WAL_FSYNC: String(synchronous === "normal"),
  });
  const endpoint = createHttp2Server(createEndpointHandler({ services: [agent] })).listen(0, "127.0.0.1");
  await once(endpoint, "listening");
  const server = {
    ingress: `http://127.0.0.1:${ingress}`,
    async stop() {
      await stop();
      endpoint.close();
    },
  };
  const ready = async () => {
    await healthy(`http://127.0.0.1:${admin}/health`);
    await healthy(`${server.ingress}/restate/health`);
    await post(`http://127.0.0.1:${admin}/deployments`, { uri: `http://127.0.0.1:${endpoint.address().port}` });
    await tryOut(server);
  };
  await Promise.race([ready(), ended]);
  return server;
}

/** The first runs of a server take several times as long as those that follow. */
async function tryOut(server) {
  const { run, close } = runsOn(server, createWork({ steps: 100 }));
  for (let runs = 0; runs < 5; runs += 1) await run();
  close();
}

/**
 * Runs a server on a folder of its own. A shell stands between. If its input ends, because `stop` ended it or
 * because this process was killed, the shell kills the server and removes the folder.
 */
function spawnServer(settings) {
  const server = executable();
  const folder = mkdtempSync(join(tmpdir(), "pawl-bench-restate-"));
  const script = `
    exec 3<&0
    "$0" --no-logo --base-dir "$1" 3<&- 2>&1 &
    server=$!
    { cat > /dev/null; kill -9 $server; } <&3 &
    wait $server
    rm -rf "$1"`;
  const shell = spawn("sh", ["-c", script, server, folder], {
    env: { ...process.env, ...settings },
    stdio: ["pipe", "pipe", "ignore"],
    // In a group of its own, so that an interrupt of this process does not end the shell before the server.
    detached: true,
  });
  let said = "";
  shell.stdout.on("data", (chunk) => {
    said = (said + chunk).slice(-2000);
  });
  const exit = once(shell, "exit");
  const ended = exit.then(() => {
    throw new Error(`restate-server ended: ${said.trim().split("\n").at(-1)}`);
  });
  ended.catch(() => {});
  return {
    ended,
    async stop() {
      shell.stdin.end();
      await exit;
    },
  };
}

/** The server itself: the package's `restate-server` only starts a Node that waits for it. */
function executable() {
  const system = `${process.platform}-${process.arch}`;
  try {
    return createRequire(import.meta.url).resolve(`@restatedev/restate-server-${system}/bin/restate-server`);
  } catch {
    throw new Error(`there is no restate-server for ${system}`);
  }
}
