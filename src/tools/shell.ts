/**
 * A tool that runs commands (SEC-7). An agent has it only if its author adds it, and each command needs approval.
 */
import {
  anObject,
  anything,
  checkOptions,
  numberFrom,
  type OptionTable,
  oneOf,
  wholeNumber,
} from "../check-options.js";
import type { Tool, ToolContext } from "../ports/tool.js";
import { assertLength, assertWholeCharacters } from "./input-bounds.js";
import { createRoot } from "./root.js";
import { type ProcessResult, runProcess } from "./run-process.js";
import { detectSandbox, type Sandbox, sandboxedCommand } from "./sandbox.js";

export type ShellToolOptions = {
  /** The folder in which commands run. In the sandbox, it is the only folder that they can write. */
  readonly root: string;
  /**
   * Variables for commands, beyond basic ones such as PATH and HOME. Commands get no other variables of this process.
   */
  readonly env?: Readonly<Record<string, string>>;
  /** The most milliseconds that a command may take. The model may ask for less. Default: 120,000. */
  readonly timeoutMs?: number;
  /** The most bytes of output to keep: half from the beginning, half from the end. Default: 256 KiB. */
  readonly maxOutputBytes?: number;
  /** Milliseconds between SIGTERM and SIGKILL. Default: 2,000. */
  readonly killGraceMs?: number;
  /** `auto`: bubblewrap if it works, else no sandbox. Default: `auto`. */
  readonly sandbox?: "auto" | "off";
};

const optionRules: OptionTable<ShellToolOptions> = {
  root: anything,
  env: anObject,
  timeoutMs: numberFrom(1),
  maxOutputBytes: wholeNumber(1, "bytes"),
  killGraceMs: numberFrom(0),
  sandbox: oneOf("auto", "off"),
};

type ShellInput = { readonly command: string; readonly timeoutMs?: number };

const maxCommandCharacters = 100_000;
/** Linux takes no longer argument of a program. */
const maxCommandBytes = 128 * 1024 - 1;
const defaultTimeoutMs = 120_000;
const defaultKillGraceMs = 2000;
const inheritedVariables = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "TERM",
  "TZ",
  "TMPDIR",
];

/**
 * Creates the tool `shell`.
 *
 * @throws PawlError `bad_configuration` if the root is not a folder
 */
export function createShellTool(options: ShellToolOptions): Tool<ShellInput, string> {
  checkOptions("createShellTool()", optionRules, options, { otherNames: { cwd: "root", timeout: "timeoutMs" } });
  const { timeoutMs = defaultTimeoutMs, killGraceMs = defaultKillGraceMs } = options;
  const root = createRoot(options.root).path;
  const sandbox: Sandbox = options.sandbox === "off" ? "none" : detectSandbox();
  return {
    name: "shell",
    description: `Runs a command line of sh in the root folder, without input, and gives its output and exit code. ${descriptions[sandbox]} It takes ${timeoutMs / 1000} seconds at most, and what runs in the background is ended with it.`,
    input: {
      type: "object",
      properties: {
        command: { type: "string", minLength: 1, maxLength: maxCommandCharacters },
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
    // Longer than the limits of the process, whose own errors say more than a tool's timeout.
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
  assertLength("The command", command, maxCommandCharacters);
  assertWholeCharacters("The command", command);
  if (Buffer.byteLength(command) > maxCommandBytes)
    throw new Error(`The command has over ${maxCommandBytes} bytes. Write a script to a file, and run that.`);
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
  const values = inheritedVariables.map((name) => [name, process.env[name]] as const);
  return Object.fromEntries(values.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** @throws Error, with the output so far, if the command was stopped */
function report({ output, ended, leftBehind, mayRunOn }: ProcessResult, sandbox: Sandbox, limit: number): string {
  const notes = [
    ...(sandbox === "none" ? ["not sandboxed"] : []),
    ...(leftBehind && ended.how !== "timed_out" && ended.how !== "aborted"
      ? ["processes left in the background were killed"]
      : []),
    ...(mayRunOn ? ["a process that could not be found still holds the output, and may run on"] : []),
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
