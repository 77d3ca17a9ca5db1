/**
 * Runs the built command `pawl` in processes of its own.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  realpathSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

export const pawlProgram = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

/**
 * The tests use this address for local model servers. Nothing listens there, so servers on this machine do not
 * matter.
 */
const unreachableUrl = "http://127.0.0.1:9/v1";

export type ExitResult = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
};

export type RunningProcess = {
  readonly child: ChildProcess;
  /** Resolves when the process has printed this on either stream. */
  readonly said: (what: string | RegExp) => Promise<void>;
  readonly kill: (signal: NodeJS.Signals) => void;
  /** Types text, as a person does. */
  readonly type: (keys: string) => void;
  readonly ended: Promise<ExitResult>;
};

export type RunOptions = {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly cwd?: string;
  /** Arguments for Node itself. */
  readonly node?: readonly string[];
};

/** A working folder, a home for sessions, and `pawl` with both. The folders are removed when the test has finished. */
export function createWorld(files: Readonly<Record<string, string>> = {}) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "pawl-cli-")));
  const root = join(base, "root");
  const home = join(base, "home");
  mkdirSync(root);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  const running = new Set<ChildProcess>();
  onTestFinished(async () => {
    await Promise.all([...running].map(killProcess));
    // What a killed process has started may write for another moment.
    rmSync(base, { recursive: true, force: true, maxRetries: 10 });
  });

  function environment(changes: RunOptions["env"]): Record<string, string> {
    return {
      PATH: process.env.PATH ?? "",
      HOME: base,
      PAWL_HOME: home,
      OLLAMA_BASE_URL: unreachableUrl,
      LLAMACPP_BASE_URL: unreachableUrl,
      LMSTUDIO_BASE_URL: unreachableUrl,
      VLLM_BASE_URL: unreachableUrl,
      ...changes,
    };
  }

  function start(args: readonly string[], options: RunOptions = {}): RunningProcess {
    return startProcess(process.execPath, [...(options.node ?? []), pawlProgram, ...args], options);
  }

  /** Starts a test's own program. */
  function startNode(file: string, args: readonly string[], options: RunOptions = { input: "" }): RunningProcess {
    return startProcess(process.execPath, [file, ...args], options);
  }

  /** Starts `pawl` on its own terminal, through `script`, which is part of every Linux and macOS. */
  function startOnTerminal(args: readonly string[], options: RunOptions = {}): RunningProcess {
    const command = [process.execPath, pawlProgram, ...args].map(quoteShell).join(" ");
    const script =
      process.platform === "darwin" ? ["-q", "/dev/null", "sh", "-c", command] : ["-qfec", command, "/dev/null"];
    return startProcess("script", script, { ...options, env: { TERM: "xterm", ...options.env } });
  }

  function startProcess(command: string, args: readonly string[], options: RunOptions): RunningProcess {
    const child = spawn(command, args, { cwd: options.cwd ?? root, env: environment(options.env) });
    running.add(child);
    // A program may end before it has read all that is written to it: what it says and its exit code tell.
    child.stdin.on("error", () => {});
    if (options.input !== undefined) child.stdin.end(options.input);
    const output = { stdout: "", stderr: "" };
    const listeners = new Set<() => void>();
    for (const name of ["stdout", "stderr"] as const)
      child[name].setEncoding("utf8").on("data", (text: string) => {
        output[name] += text;
        for (const listener of listeners) listener();
      });
    const ended = new Promise<ExitResult>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => {
        running.delete(child);
        resolve({ code, signal, ...output });
      });
    });
    const said = (what: string | RegExp) =>
      new Promise<void>((resolve, reject) => {
        const check = () => {
          const found = [output.stdout, output.stderr].some((text) =>
            typeof what === "string" ? text.includes(what) : what.test(text),
          );
          if (found) resolve();
        };
        listeners.add(check);
        void ended.then(() =>
          reject(new Error(`It ended without saying ${what}:\n${output.stdout}\n${output.stderr}`)),
        );
        check();
      });
    return { child, said, kill: (signal) => child.kill(signal), type: (keys) => child.stdin.write(keys), ended };
  }

  /** Runs a command to its end. Standard input is empty by default. */
  function pawl(args: readonly string[], options: RunOptions = {}): Promise<ExitResult> {
    return start(args, { input: "", ...options }).ended;
  }

  return { base, root, home, environment, start, startNode, startOnTerminal, pawl };
}

export type World = ReturnType<typeof createWorld>;

async function killProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  if (child.kill("SIGKILL")) await ended;
}

function quoteShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Parses lines of JSON. */
// biome-ignore lint/suspicious/noExplicitAny: each test knows the lines it reads.
export function parseJsonLines(text: string): readonly any[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

/** Named pipes. Through them a shell command reports that it has started, and waits until it may end. */
export function createGate(root: string, name = "gate") {
  const [begun, gate] = [`${name}-begun`, name];
  // Both ends of each pipe are open here, so that opening a pipe never blocks.
  const open = (pipe: string) => {
    execFileSync("mkfifo", [join(root, pipe)]);
    return openSync(join(root, pipe), constants.O_RDWR | constants.O_NONBLOCK);
  };
  const socket = new Socket({ fd: open(begun) });
  const said = once(socket, "data");
  const gateEnd = open(gate);
  // Closing the pipe releases a command that still waits.
  onTestFinished(() => {
    socket.destroy();
    closeSync(gateEnd);
  });
  return {
    /** For the command line of the demo model's `run: …`. */
    command: `echo x > ${begun}; read answer < ${gate}; echo $answer`,
    /** Resolves when the command runs. */
    begun: (running: RunningProcess) =>
      Promise.race([
        said,
        running.ended.then(({ stdout, stderr }) => {
          throw new Error(`It ended before the command began:\n${stdout}\n${stderr}`);
        }),
      ]),
    open: () => writeSync(gateEnd, "opened\n"),
  };
}
