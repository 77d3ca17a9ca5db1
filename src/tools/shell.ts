/**
 * A tool that runs commands (SEC-7). Nobody gets it without asking for it, and it asks before each command.
 */
import type { Tool, ToolContext } from "../ports/tool.js";
import { createRoot } from "./root.js";
import { type ProcessResult, runProcess } from "./run-process.js";
import { detectSandbox, type Sandbox, sandboxedCommand } from "./sandbox.js";

export type ShellToolOptions = {
  /** The folder in which commands run; in the sandbox, the only one that they can write. */
  readonly root: string;
  /** Variables beyond those that every program needs. Nothing else of this process's environment is handed on. */
  readonly env?: Readonly<Record<string, string>>;
  /** How long a command may take; 2 minutes. The model may ask for less. */
  readonly timeoutMs?: number;
  /** How much output is kept, half from its beginning and half from its end; 256 KiB. */
  readonly maxOutputBytes?: number;
  /** How long a command has between SIGTERM and SIGKILL; 2 seconds. */
  readonly killGraceMs?: number;
  /** `auto`: bubblewrap where it works, else none. Default `auto`. */
  readonly sandbox?: "auto" | "off";
};

type ShellInput = { readonly command: string; readonly timeoutMs?: number };

const defaultTimeoutMs = 120_000;
const defaultKillGraceMs = 2000;
const handedOn = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "TMPDIR"];

/** @throws PawlError `bad_configuration` where the root is no folder. */
export function createShellTool(options: ShellToolOptions): Tool<ShellInput, string> {
  const { timeoutMs = defaultTimeoutMs, killGraceMs = defaultKillGraceMs } = options;
  const root = createRoot(options.root).path;
  const sandbox: Sandbox = options.sandbox === "off" ? "none" : detectSandbox();
  return {
    name: "shell",
    description: `Runs a command line of sh in the root folder, without input, and gives its output and exit code. ${descriptions[sandbox]} It takes ${timeoutMs / 1000} seconds at most, and what runs in the background ends with it.`,
    input: {
      type: "object",
      properties: {
        command: { type: "string", minLength: 1 },
        timeoutMs: {
          type: "integer",
          minimum: 1,
          maximum: timeoutMs,
          description: "Milliseconds; less than the usual.",
        },
      },
      required: ["command"],
      additionalProperties: false,
    },
    needsApproval: true,
    // The process has bounds of its own, and says more when it reaches them.
    timeoutMs: timeoutMs + killGraceMs + 10_000,
    graceMs: killGraceMs + 2000,
    execute: (input, context) => runCommand(input, context, { ...options, root, timeoutMs, killGraceMs }, sandbox),
  };
}

const descriptions: Readonly<Record<Sandbox, string>> = {
  bubblewrap: "It is sandboxed: only the root folder can be written, and there is no network.",
  none: "It is not sandboxed.",
};

async function runCommand(
  { command, timeoutMs }: ShellInput,
  { signal }: ToolContext,
  options: ShellToolOptions & { readonly timeoutMs: number; readonly killGraceMs: number },
  sandbox: Sandbox,
): Promise<string> {
  if (command.includes("\0")) throw new Error("The command contains a NUL character.");
  const limit = Math.min(timeoutMs ?? options.timeoutMs, options.timeoutMs);
  const result = await runProcess(sandboxedCommand(sandbox, options.root, command), {
    cwd: options.root,
    env: { ...inherited(), ...options.env },
    signal,
    timeoutMs: limit,
    killGraceMs: options.killGraceMs,
    maxOutputBytes: options.maxOutputBytes ?? 256 * 1024,
  });
  return report(result, sandbox, limit);
}

function inherited(): Record<string, string> {
  const values = handedOn.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(values.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** @throws Error, with the output so far, where the command was stopped. */
function report({ output, ended, leftBehind }: ProcessResult, sandbox: Sandbox, limit: number): string {
  const notes = [
    ...(sandbox === "none" ? ["not sandboxed"] : []),
    ...(leftBehind && ended.how !== "timed_out" && ended.how !== "aborted"
      ? ["what it left in the background was ended"]
      : []),
  ];
  const shown = output === "" ? "(no output)" : output.endsWith("\n") ? output.slice(0, -1) : output;
  const noted = notes.length === 0 ? "" : `; ${notes.join("; ")}`;
  switch (ended.how) {
    case "exited":
      return `${shown}\n(exit code ${ended.code}${noted})`;
    case "killed":
      return `${shown}\n(killed by ${ended.signal}${noted})`;
    case "timed_out":
      throw new Error(`The command was stopped after ${limit} ms${noted}. Its output until then:\n${shown}`);
    case "aborted":
      throw new Error(`The command was aborted${noted}. Its output until then:\n${shown}`);
  }
}
