/**
 * A Restate server of its own for tests, in a folder that is removed afterwards.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll } from "vitest";

export type RestateServer = {
  /** Where its handlers are called. */
  readonly ingress: string;
  /** Calls a handler of an object; `body` is sent as JSON. */
  readonly call: (path: string, body?: unknown) => Promise<HandlerResponse>;
  /** Tells the server where the handlers are. */
  readonly register: (service: string) => Promise<void>;
  /** What a query of its invocations gives. */
  readonly query: (text: string) => Promise<readonly { readonly [column: string]: unknown }[]>;
  readonly kill: () => Promise<void>;
  /** Starts it again on the same files and the same ports. */
  readonly restart: () => Promise<void>;
  readonly close: () => Promise<void>;
};

// biome-ignore lint/suspicious/noExplicitAny: answers of all handlers
export type HandlerResponse = { readonly status: number; readonly json: any };

const installCommand = "node scripts/restate/install.mjs";

function findProgram(): string | null {
  const installed = createRequire(new URL("../../scripts/restate/package.json", import.meta.url));
  try {
    return installed.resolve(`@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`);
  } catch {
    return null;
  }
}

/** Whether a server can be started here. In CI it must be. */
export const hasRestate = findProgram() !== null || process.env.CI !== undefined;
if (!hasRestate) console.warn(`Restate is not installed, so its tests are left out. To install it: ${installCommand}`);

/** A server for the tests of a file. */
export function useRestate(): () => RestateServer {
  let server: RestateServer | null = null;
  beforeAll(async () => {
    server = await startRestate();
  });
  afterAll(() => server?.close());
  return () => {
    if (server === null) throw new Error("The server runs only while tests do.");
    return server;
  };
}

export async function startRestate(): Promise<RestateServer> {
  const programPath = findProgram();
  if (programPath === null) throw new Error(`Restate is not installed. To install it: ${installCommand}`);
  const folder = mkdtempSync(join(tmpdir(), "pawl-restate-"));
  const [nodePort, ingressPort, adminPort] = await freePorts(3);
  const ingress = `http://127.0.0.1:${ingressPort}`;
  const admin = `http://127.0.0.1:${adminPort}`;
  const settings = {
    RESTATE_LISTEN_MODE: "tcp",
    RESTATE_BIND_IP: "127.0.0.1",
    RESTATE_BIND_PORT: String(nodePort),
    RESTATE_INGRESS__BIND_PORT: String(ingressPort),
    RESTATE_ADMIN__BIND_PORT: String(adminPort),
    RESTATE_LOG_FILTER: "error",
    RESTATE_DISABLE_TELEMETRY: "true",
    RESTATE_DEFAULT_NUM_PARTITIONS: "4",
  };
  let server = await start();

  async function start(): Promise<ChildProcess> {
    const child = spawn(programPath ?? "", ["--no-logo", "--base-dir", folder], {
      env: { ...process.env, ...settings },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        said = (said + chunk.toString()).slice(-2_000);
      });
    const exited = once(child, "exit").then(() => {
      throw new Error(`Restate ended: ${said}`);
    });
    exited.catch(() => {});
    await Promise.race([
      Promise.all([awaitHealthy(`${ingress}/restate/health`), awaitHealthy(`${admin}/health`)]),
      exited,
    ]);
    return child;
  }

  async function kill(): Promise<void> {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, "exit");
    server.kill("SIGKILL");
    await exited;
  }

  async function callAdmin(path: string, body: unknown): Promise<HandlerResponse> {
    return readResponse(await fetch(`${admin}${path}`, { method: "POST", headers: json, body: JSON.stringify(body) }));
  }

  return {
    ingress,
    call: async (path, body) =>
      readResponse(
        await fetch(`${ingress}${path}`, {
          method: "POST",
          ...(body === undefined ? {} : { headers: json, body: JSON.stringify(body) }),
        }),
      ),
    async register(uri) {
      const { status, json: said } = await callAdmin("/deployments", { uri, force: true });
      if (status >= 300) throw new Error(`Restate refused ${uri}: ${JSON.stringify(said)}`);
    },
    async query(text) {
      // A server that was just started again is healthy before its query engine has forgotten the node it was before.
      for (let attempt = 0; ; attempt += 1) {
        const { status, json: said } = await callAdmin("/query", { query: text });
        if (status === 200) return said.rows;
        if (attempt === 500) throw new Error(`Restate refused ${text}: ${JSON.stringify(said)}`);
        await sleep(20);
      }
    },
    kill,
    async restart() {
      server = await start();
    },
    async close() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const json = { "content-type": "application/json", accept: "application/json" };

async function readResponse(response: Response): Promise<HandlerResponse> {
  const text = await response.text();
  return { status: response.status, json: text === "" ? null : JSON.parse(text) };
}

/** Held all at once, so that they differ. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const holders = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(holders.map((holder) => once(holder, "listening")));
  const ports = holders.map((holder) => Number(Object(holder.address()).port));
  await Promise.all(holders.map((holder) => once(holder.close(), "close")));
  return ports;
}

async function awaitHealthy(url: string): Promise<void> {
  for (;;) {
    const response = await fetch(url).catch(() => null);
    await response?.arrayBuffer();
    if (response?.ok === true) return;
    await sleep(20);
  }
}
