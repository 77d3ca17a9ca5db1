/**
 * The other process of the server's bench: its clients, so that the server's figures do not hold their reading, or a
 * second server over the same file. Started by `server.mjs`, and told what to do by messages.
 */
import { createServer as createHttpServer } from "node:http";
import { connect } from "node:net";
import process from "node:process";
import { createServer } from "../dist/server/index.js";
import { openSqliteStore } from "../dist/stores/sqlite/index.js";

/** Milliseconds of a clock that all processes of a machine share. */
const now = () => Number(process.hrtime.bigint()) / 1e6;

const sockets = [];
let bytes = 0;
let times = [];

/** A stream as a plain socket. Words like `mark7 ` are noted with the time at which they came. */
function watch({ port, token, path }) {
  return new Promise((done, fail) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    });
    socket.once("data", () => done(socket));
    socket.on("data", (data) => {
      bytes += data.length;
      if (sockets.length > 1) return;
      const at = now();
      for (const [, index] of String(data).matchAll(/mark(\d+) /g)) times[index] ??= at;
    });
    socket.once("error", fail);
  });
}

const work = {
  async watch({ port, token, paths }) {
    for (const path of paths) sockets.push(await watch({ port, token, path }));
  },
  report() {
    const report = { bytes, times: [...times] };
    bytes = 0;
    times = [];
    return report;
  },
  leave() {
    for (const socket of sockets.splice(0)) socket.destroy();
  },
  /** Begins runs over HTTP, one after the other, and reads each stream to its end. Gives the sizes of the pieces of the last. */
  async runs({ port, token, agent, count }) {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const at = `http://127.0.0.1:${port}/v1/sessions`;
    let pieces = [];
    for (let index = 0; index < count; index += 1) {
      const begun = await fetch(at, { method: "POST", headers, body: JSON.stringify({ agent, input: "Go." }) });
      const { sessionId, runId } = await begun.json();
      const stream = await fetch(`${at}/${sessionId}/stream?runId=${runId}&until=run`, { headers });
      pieces = [];
      for await (const piece of stream.body) pieces.push(piece.byteLength);
    }
    return { pieces };
  },
  /** Serves a file's sessions, and shows what another process streams. */
  async serve({ path, token, secret }) {
    const store = await openSqliteStore({ path, synchronous: "normal" });
    const peers = { secret, allow: ["http://127.0.0.1:*"] };
    const server = createServer({ store, agents: [], token, secret, peers });
    const http = createHttpServer(server.listener);
    await new Promise((done) => http.listen(0, "127.0.0.1", done));
    return { port: http.address().port };
  },
};

process.on("message", async ({ id, name, options }) => {
  try {
    process.send({ id, result: (await work[name](options)) ?? null });
  } catch (error) {
    process.send({ id, error: String(error) });
  }
});
