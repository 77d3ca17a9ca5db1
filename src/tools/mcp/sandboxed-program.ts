/**
 * The connection to an MCP server that is a program in a sandbox.
 *
 * The transport of the MCP library cannot start it, because bubblewrap reads its filter of system calls from a third pipe. A server in
 * a sandbox ends with this process, even after `kill -9`, because bubblewrap does.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import { setTimeout } from "node:timers/promises";
import type * as Sdk from "@modelcontextprotocol/client";
import { type CommandSandbox, type PreparedCommand, refusalReasons } from "../sandbox/contract.js";

type SandboxedProgram = {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The folder in which the program is started, which the sandbox must show. Undefined: the sandbox's root. */
  readonly cwd: string | undefined;
  readonly sandbox: CommandSandbox;
};

/** Milliseconds that a server has to end by itself once its standard input is closed. */
const endGraceMs = 2_000;

/** @param recordStderr gets what the program writes to its standard error, and what the sandbox refused it */
export function createSandboxedTransport(
  sdk: typeof Sdk,
  program: SandboxedProgram,
  recordStderr: (text: string) => void,
): Sdk.Transport {
  let child: ChildProcess | undefined;
  let ended: Promise<void> = Promise.resolve();
  const buffer = new sdk.ReadBuffer();

  async function start(): Promise<void> {
    const prepared = await prepare(program, () => void child?.kill("SIGKILL"));
    const reportNews = createNewsReport(prepared, recordStderr);
    const started = spawnPrepared(prepared, program.env);
    child = started;
    ended = new Promise((resolve) => {
      started.once("close", async () => {
        await prepared.end();
        reportNews();
        resolve();
        transport.onclose?.();
      });
    });
    const decoder = new StringDecoder("utf8");
    started.stderr?.on("data", (bytes: Buffer) => recordStderr(decoder.write(bytes)));
    for (const stream of started.stdio) stream?.on("error", (error) => transport.onerror?.(error));
    started.stdout?.on("data", (bytes: Buffer) => {
      try {
        buffer.append(bytes);
      } catch (error) {
        // A message is longer than the library reads.
        transport.onerror?.(toError(error));
        void transport.close();
      }
      if (receiveMessages()) reportNews();
    });
    await new Promise<void>((resolve, reject) => {
      started.once("spawn", resolve);
      started.once("error", reject);
    });
  }

  /** @returns whether one of the messages was a response */
  function receiveMessages(): boolean {
    let hasResponse = false;
    for (;;) {
      try {
        const message = buffer.readMessage();
        if (message === null) return hasResponse;
        hasResponse ||= !("method" in message);
        transport.onmessage?.(message);
      } catch (error) {
        transport.onerror?.(toError(error));
      }
    }
  }

  const transport: Sdk.Transport = {
    start,
    async send(message) {
      const { stdin } = child ?? {};
      if (stdin?.writable !== true) throw new Error("The server has ended.");
      if (!stdin.write(sdk.serializeMessage(message))) await Promise.race([waitForDrain(stdin), ended]);
    },
    async close() {
      child?.stdin?.end();
      await Promise.race([ended, setTimeout(endGraceMs, undefined, { ref: false })]);
      // bubblewrap takes its processes along.
      child?.kill("SIGKILL");
      await ended;
      buffer.clear();
    },
  };
  return transport;
}

async function prepare(
  { command, args, cwd, sandbox }: SandboxedProgram,
  onForbidden: () => void,
): Promise<PreparedCommand> {
  const words = [command, ...args] as const;
  return await sandbox.prepare(
    cwd === undefined ? words : ["/bin/sh", "-c", 'cd -- "$0" && exec "$@"', cwd, ...words],
    {
      onForbidden,
    },
  );
}

function spawnPrepared({ program, environment, filter }: PreparedCommand, env: SandboxedProgram["env"]): ChildProcess {
  const [path, ...args] = program;
  const child = spawn(path, args, {
    env: environment(env),
    cwd: "/",
    stdio: ["pipe", "pipe", "pipe", ...(filter === null ? [] : ["pipe" as const])],
    // So that Ctrl-C reaches Pawl alone, which then closes the server.
    detached: true,
  });
  const third = child.stdio[3];
  if (filter !== null && third != null && "end" in third) third.end(filter);
  return child;
}

/** Writes what the sandbox has refused, and what the server has changed, each once. */
function createNewsReport({ report }: PreparedCommand, write: (text: string) => void): () => void {
  const known = new Set<string>();
  return () => {
    const { refusals, notes } = report();
    const lines = [...refusals.map(({ host, why }) => `refused ${host}: ${refusalReasons[why]}`), ...notes];
    for (const line of lines.filter((one) => !known.has(one))) {
      known.add(line);
      write(`[sandbox] ${line}\n`);
    }
  };
}

const waitForDrain = (stream: NodeJS.WritableStream) => new Promise<void>((resolve) => stream.once("drain", resolve));

const toError = (error: unknown) => (error instanceof Error ? error : new Error(String(error)));
