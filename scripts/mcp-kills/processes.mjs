/**
 * The processes of a trial, each started again when it has been killed: the client, and the server. Over HTTP, the server is `pawl serve`, and
 * a process of its own. Over standard input it is `pawl mcp`, which the client starts.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createToken } from "pawl/server";
import { freePort } from "../free-port.mjs";

const program = resolve("dist/cli/main.js");
const clientProgram = fileURLToPath(new URL("client.mjs", import.meta.url));
const maxErrorCharacters = 4_000;

/**
 * @typedef {{ readonly transport: object, readonly kill: () => boolean, readonly close: () => Promise<void> }} TrialServer
 * `transport` is how the client reaches it. `kill` returns whether a process was there to be killed.
 * @param {{ readonly folder: string, readonly root: string, readonly store: string }} options
 * @returns {Promise<TrialServer>}
 */
export function startServer(transport, { folder, root, store }) {
  const env = { PATH: process.env.PATH ?? "", HOME: folder, PAWL_HOME: join(folder, "home"), PAWL_STORE: store };
  const options = ["--model", "demo", "--root", root];
  return transport === "http" ? serveHttp(env, options) : serveStdio(env, options, folder);
}

async function serveHttp(env, options) {
  const [port, token] = [await freePort(), createToken()];
  const args = [program, "serve", "--port", String(port), "--no-ui", ...options];
  const server = keepAlive(() =>
    spawn(process.execPath, args, { env: { ...env, PAWL_TOKEN: token }, stdio: ["ignore", "ignore", "pipe"] }),
  );
  const url = `http://127.0.0.1:${port}/mcp`;
  return { ...server, transport: { type: "http", url, headers: { authorization: `Bearer ${token}` } } };
}

/** A shell writes down its process id, and becomes the server. */
function serveStdio(env, options, folder) {
  const file = join(folder, "server.pid");
  const command = 'echo $$ > "$0.new" && mv "$0.new" "$0" && exec "$@"';
  const args = ["-c", command, file, process.execPath, program, "mcp", ...options];
  function kill() {
    if (!existsSync(file)) return false;
    try {
      return process.kill(Number(readFileSync(file, "utf8")), "SIGKILL");
    } catch {
      // The process has ended already.
      return false;
    }
  }
  return { transport: { type: "stdio", command: "sh", args, env }, kill, close: async () => void kill() };
}

/** @param options those of client.mjs */
export function startClient(options) {
  return keepAlive(() =>
    spawn(process.execPath, [clientProgram, JSON.stringify(options)], { stdio: ["ignore", "ignore", "pipe"] }),
  );
}

/** Starts a process, and again whenever it was killed. `ended` resolves to the exit code when it ends by itself. */
function keepAlive(start) {
  let child;
  let isOver = false;
  let stderr = "";
  const ended = run();
  async function run() {
    for (;;) {
      child = start();
      child.stderr.on("data", (chunk) => {
        stderr = `${stderr}${chunk}`.slice(-maxErrorCharacters);
      });
      const [code, signal] = await once(child, "exit");
      if (isOver || signal !== "SIGKILL") return { code, stderr };
      // Some trials need the time in which the process is away.
      await pause(20);
    }
  }
  return {
    ended,
    kill: () => child.kill("SIGKILL"),
    async close() {
      isOver = true;
      child.kill("SIGKILL");
      await ended;
    },
  };
}
