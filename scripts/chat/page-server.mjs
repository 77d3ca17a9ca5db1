/**
 * The server of examples/chat as a process of its own, which a test kills and starts again on the same port.
 */
import { spawn } from "node:child_process";
import { createServer } from "node:net";

/** @param environment what the process finds beside PATH */
export async function startPageServer(folder, environment) {
  const port = await freePort();
  let child = await start(folder, port, environment);
  return {
    url: `http://127.0.0.1:${port}/`,
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await gone;
    },
    async startAgain(more = {}) {
      child = await start(folder, port, { ...environment, ...more });
    },
  };
}

function start(folder, port, environment) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["dist/server/server.js"], {
      cwd: folder,
      env: { PATH: process.env.PATH, ...environment, PORT: String(port) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const take = (chunk) => {
      output += chunk;
      if (output.includes("Open http://")) resolve(child);
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`The server of the page ended with ${code}:\n${output}`)));
  });
}

/** Below the ports that a system gives to connections, so that none takes it while the server is away. */
async function freePort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    const probe = createServer();
    const isFree = await new Promise((resolve) => {
      probe.once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => resolve(true));
    });
    await new Promise((resolve) => probe.close(resolve));
    if (isFree) return port;
  }
}
