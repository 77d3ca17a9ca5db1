/**
 * A tool that runs commands (SEC-7). An agent has the tool only if its author adds it, and each command needs approval.
 */
import {
  aFunction,
  anObject,
  anyValue,
  checkOptions,
  integerFrom,
  numberFrom,
  type OptionTable,
} from "../../check-options.js";
import type { Tool, ToolContext } from "../../ports/tool.js";
import { createRoot } from "../files/root.js";
import { assertMaxLength, assertNoLoneSurrogates } from "../lib/input-bounds.js";
import { type CommandSandbox, createNoSandbox, createSandbox, type HostTarget } from "../sandbox/sandbox.js";
import type { BackgroundProcesses } from "./background-processes.js";
import { type CappedOutput, createCappedOutput } from "./capped-output.js";
import { createLiveOutput } from "./live-output.js";
import { type ProcessResult, runProcess } from "./run-process.js";
import { createCommandEnvironment, describeIsolation, prepareCommand, type ShellInput } from "./shell-command.js";
import { findShell } from "./shell-program.js";
import { createRequestFields, describeSandbox, formatReport, type ShellRequest } from "./shell-sandbox.js";

/** The commands that the tool may run, and their environment. */
export type ShellToolOptions = {
  /** The folder in which commands run. In the sandbox, they can also write their own home, `/tmp`, and its `write` folders. */
  readonly root: string;
  /**
   * Environment variables for commands, beyond basic ones such as PATH and HOME. Commands get no other variables of this process.
   * Editors and pagers are programs that end at once (`EDITOR=true`, `PAGER=cat`), unless you set them here.
   */
  readonly env?: Readonly<Record<string, string>>;
  /** The maximum time of a command, in milliseconds. The model may set a lower limit. Default: 120,000. */
  readonly timeoutMs?: number;
  /** The maximum size of the kept output, in bytes: half from the beginning, half from the end. Default: 256 KiB. */
  readonly maxOutputBytes?: number;
  /** Milliseconds between SIGTERM and SIGKILL. Default: 2,000. */
  readonly killGraceMs?: number;
  /**
   * `auto`: a sandbox if one works on this machine, otherwise none. `required`: `createShellTool` throws if none works. Or the
   * result of `createSandbox`, which other tools can share. Default: `auto`.
   */
  readonly sandbox?: "auto" | "required" | "off" | CommandSandbox;
  /**
   * The permissions that a call may request in its input: `hosts` that the command may reach beyond the sandbox's own, or running
   * `outside` of the sandbox. A call with these fields runs as requested, so let a person or a policy decide about each. Default:
   * none.
   */
  readonly requests?: readonly ShellRequest[];
  /** Decides about a host; undefined leaves it to the lists of hosts. Called for each connection. Default: the lists decide. */
  readonly decideHost?: (target: HostTarget, context: ToolContext) => "allow" | "deny" | undefined;
  /** Lets the model run commands in the background. Default: commands cannot run in the background. */
  readonly background?: BackgroundProcesses;
};

const optionRules: OptionTable<ShellToolOptions> = {
  root: anyValue,
  env: anObject,
  timeoutMs: numberFrom(1),
  maxOutputBytes: integerFrom(1, "bytes"),
  killGraceMs: numberFrom(0),
  sandbox: {
    accepts: (value) =>
      ["auto", "required", "off"].some((mode) => mode === value) ||
      (typeof value === "object" && value !== null && "prepare" in value),
    expected: '"auto", "required", "off", or the result of createSandbox()',
  },
  requests: {
    accepts: (value) => Array.isArray(value) && value.every((one) => one === "hosts" || one === "outside"),
    expected: 'an array of "hosts" and "outside"',
  },
  decideHost: aFunction,
  background: anObject,
};

const maxCommandCharacters = 100_000;
/** The maximum size of a single program argument on Linux. */
const maxCommandBytes = 128 * 1024 - 1;
const defaultTimeoutMs = 120_000;
const defaultKillGraceMs = 2000;
/**
 * Creates the tool `shell`.
 *
 * @throws PawlError `bad_configuration` if the root is not a folder
 *
 * @example
 * ```ts
 * import { createShellTool } from "pawl/tools";
 *
 * const shell = createShellTool({ root: "site", timeoutMs: 60_000 });
 * const agent = createAgent({ model, tools: [shell], canExecuteTool: ({ tool }) => (tool.name === "shell" ? "ask" : "allow") });
 * ```
 */
export function createShellTool(options: ShellToolOptions): Tool<ShellInput, string> {
  checkOptions("createShellTool()", optionRules, options, { otherNames: { cwd: "root", timeout: "timeoutMs" } });
  const { timeoutMs = defaultTimeoutMs, killGraceMs = defaultKillGraceMs } = options;
  const root = createRoot(options.root).path;
  const maxOutputBytes = options.maxOutputBytes ?? 256 * 1024;
  const sandbox = toSandbox(options.sandbox ?? "auto", root);
  const requests = sandbox.kind === "none" ? [] : (options.requests ?? []);
  const shell = findShell();
  return {
    name: "shell",
    lenientInput: true,
    description: `Runs a command line of ${shell.name} in the root folder, without input, and returns its output and exit code. ${describeSandbox(sandbox, requests)} The time limit is ${timeoutMs / 1000} seconds. Processes that it leaves in the background are killed.${options.background === undefined ? "" : backgroundDescription}`,
    input: {
      type: "object",
      properties: {
        command: { type: "string", minLength: 1, maxLength: maxCommandCharacters },
        timeoutMs: {
          type: "integer",
          minimum: 1,
          maximum: timeoutMs,
          description: "A lower time limit, in milliseconds.",
        },
        ...(options.background === undefined
          ? {}
          : {
              background: {
                type: "boolean",
                description: "Starts the command in the background, and returns at once.",
              },
            }),
        ...createRequestFields(requests),
      },
      required: ["command"],
      additionalProperties: false,
    },
    needsApproval: true,
    // Longer than the limits of the process, whose own errors are more informative than a tool's timeout.
    timeoutMs: timeoutMs + killGraceMs + 10_000,
    graceMs: killGraceMs + 2000,
    execute: (input, context) =>
      executeCommand(input, context, {
        ...options,
        root,
        timeoutMs,
        killGraceMs,
        maxOutputBytes,
        sandbox,
        shell: shell.path,
      }),
  };
}

const backgroundDescription =
  " With `background`, the command keeps running without a time limit until stop_process or the end of this program; read_process returns its output.";

type ShellSettings = Omit<ShellToolOptions, "sandbox"> &
  Required<Pick<ShellToolOptions, "timeoutMs" | "killGraceMs" | "maxOutputBytes">> & {
    readonly sandbox: CommandSandbox;
    readonly shell: string;
  };

function toSandbox(given: NonNullable<ShellToolOptions["sandbox"]>, root: string): CommandSandbox {
  if (typeof given === "object") return given;
  return given === "off" ? createNoSandbox(null) : createSandbox({ root, mode: given });
}

function executeCommand(
  input: ShellInput,
  context: ToolContext,
  settings: ShellSettings,
): Promise<string> | AsyncIterable<string> {
  assertValidCommand(input.command);
  if (input.background === true && settings.background !== undefined)
    return startInBackground(input, context, settings.background, settings);
  return streamOutput((output) => runCommand(input, context, settings, output), context.signal, settings);
}

/** @throws Error if the system or the shell could not accept the command */
function assertValidCommand(command: string): void {
  assertMaxLength("The command", command, maxCommandCharacters);
  assertNoLoneSurrogates("The command", command);
  if (Buffer.byteLength(command) > maxCommandBytes)
    throw new Error(`The command has over ${maxCommandBytes} bytes. Write it to a script file, and run the script.`);
  if (command.includes("\0")) throw new Error("The command contains a NUL character.");
}

async function startInBackground(
  input: ShellInput,
  context: ToolContext,
  background: BackgroundProcesses,
  settings: ShellSettings,
): Promise<string> {
  const { root, killGraceMs, maxOutputBytes } = settings;
  const forbidden = new AbortController();
  const prepared = await prepareCommand(input, context, settings, () => forbidden.abort());
  try {
    const started = await background.start(
      {
        command: input.command,
        program: prepared.program,
        cwd: root,
        env: createCommandEnvironment(prepared, input, settings),
        killGraceMs,
        maxOutputBytes,
        filter: prepared.filter,
        signal: forbidden.signal,
        notes: () => [...describeIsolation(input, settings.sandbox), ...formatReport(prepared.report())],
        onEnd: prepared.end,
      },
      context,
    );
    return `Started in the background as process ${started.number}. read_process returns its output, stop_process stops it.`;
  } catch (error) {
    await prepared.end();
    throw error;
  }
}

async function runCommand(
  input: ShellInput,
  context: ToolContext,
  settings: ShellSettings,
  output: CappedOutput,
): Promise<string> {
  const limitMs = Math.min(input.timeoutMs ?? settings.timeoutMs, settings.timeoutMs);
  const forbidden = new AbortController();
  const prepared = await prepareCommand(input, context, settings, () => forbidden.abort());
  let result: ProcessResult;
  try {
    result = await runProcess(prepared.program, {
      cwd: settings.root,
      env: createCommandEnvironment(prepared, input, settings),
      signal: AbortSignal.any([context.signal, forbidden.signal]),
      timeoutMs: limitMs,
      killGraceMs: settings.killGraceMs,
      output,
      filter: prepared.filter,
    });
  } finally {
    await prepared.end();
  }
  const text = output.text();
  const notes = [...describeIsolation(input, settings.sandbox), ...formatReport(prepared.report(), { result, text })];
  return formatResult(result, output, notes, limitMs);
}

/**
 * Shows the end of the output while the command runs. After an abort, nothing more is shown, so that the result of the call is the
 * report with the output up to the abort.
 */
function streamOutput(
  run: (output: CappedOutput) => Promise<string>,
  signal: AbortSignal,
  { maxOutputBytes }: ShellSettings,
): AsyncIterable<string> {
  const capped = createCappedOutput(maxOutputBytes);
  const live = createLiveOutput();
  const add = (bytes: Uint8Array) => {
    capped.add(bytes);
    live.add(bytes);
  };
  const result = run({ ...capped, add }).finally(live.end);
  // The reader of the stream gets the error. After an abort, there may be no reader.
  result.catch(() => {});
  signal.addEventListener("abort", live.end, { once: true });
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const shown = await live.next();
        return shown === null ? { done: true, value: await result } : { done: false, value: shown };
      },
      return: async () => ({ done: true, value: await result.catch((error: Error) => error.message) }),
    }),
  };
}

/** @throws Error, with the output so far, if the command was stopped */
function formatResult(
  { ended, killedLeftovers, mayStillRun }: ProcessResult,
  output: CappedOutput,
  sandboxNotes: readonly string[],
  limitMs: number,
): string {
  const text = output.text();
  const omitted = output.describeOmitted();
  const notes = [
    ...sandboxNotes,
    ...(killedLeftovers && ended.how !== "timed_out" && ended.how !== "aborted"
      ? ["processes left in the background were killed"]
      : []),
    ...(omitted === null ? [] : [`${omitted} of the output were not kept`]),
    ...(mayStillRun ? ["a process that could not be found still holds the output open, and may keep running"] : []),
  ];
  const shown = text === "" ? "(no output)" : text.endsWith("\n") ? text.slice(0, -1) : text;
  const noteSuffix = notes.length === 0 ? "" : `; ${notes.join("; ")}`;
  switch (ended.how) {
    case "exited":
      return `${shown}\n(exit code ${ended.code}${noteSuffix})`;
    case "killed":
      return `${shown}\n(killed by ${ended.signal}${noteSuffix})`;
    case "timed_out":
      throw new Error(`The command was stopped after ${limitMs} ms${noteSuffix}. Output so far:\n${shown}`);
    case "aborted":
      throw new Error(`The command was aborted${noteSuffix}. Output so far:\n${shown}`);
  }
}
