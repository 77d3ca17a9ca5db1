/**
 * One server process of the chaos test. Argument: its options as JSON. It dies by itself: after so many commits it kills
 * itself, before or after the last one is written, or drains and exits.
 */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import process from "node:process";
import { createServer } from "pawl/server";
import { createChaosAgent } from "./agent.mjs";
import { openPlace } from "./store.mjs";

const { place, journal, seed, port, ports, token, life } = JSON.parse(process.argv[2]);

const opened = await openPlace(place);
let commits = 0;
const store = {
  ...opened,
  async commit(...given) {
    commits += 1;
    const isLast = commits === life.commits;
    if (isLast && life.end === "killed before") process.kill(process.pid, "SIGKILL");
    const outcome = await opened.commit(...given);
    process.send({ committed: commits });
    if (isLast && life.end === "killed after") process.kill(process.pid, "SIGKILL");
    if (isLast && life.end === "drained") void drain();
    return outcome;
  },
};

const server = createServer({
  store,
  agents: [createChaosAgent({ seed, journal, store })],
  token,
  peers: {
    address: `http://127.0.0.1:${port}`,
    secret: "a-secret-between-the-servers-of-the-chaos-test",
    allow: ports.map((other) => `http://127.0.0.1:${other}`),
  },
  // A client that waits counts these, too.
  heartbeatMs: 25,
  limits: { changesPerMinute: 1_000_000, streamsPerPrincipal: 1_000 },
  log(line) {
    const isAway = place.url !== undefined && line.error?.code === "store_failed";
    // The other processes die on purpose.
    const isPeerGone = line.action === "peer";
    if (line.error !== undefined && line.status !== 503 && !isAway && !isPeerGone)
      process.send({ error: `${line.action}: ${line.error?.stack ?? line.error}` });
  },
});
const http = createHttpServer(server.listener);
http.listen(port, "127.0.0.1");
await once(http, "listening");
process.send({ listening: port });
process.on("message", (message) => {
  if (message === "stay") life.end = "none";
  if (message === "end") void drain();
});

async function drain() {
  await server.close({ graceMs: 200 });
  process.exit(0);
}
