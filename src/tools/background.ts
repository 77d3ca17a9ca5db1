/**
 * Commands that run in the background, while the model goes on.
 *
 * 1. They end with this process, like all commands: a guard kills them if it dies (guard-process.ts).
 * 2. What is kept of an output is bounded, and so is the number of processes.
 * 3. What was started stands in the session's data with its identity (process-identity.ts), committed with the result of
 *    the call. So the next process can tell what became of it.
 */
import { aFunction, checkOptions, type OptionTable } from "../check-options.js";
import type { Json } from "../core/data/message.js";
import type { SessionData } from "../ports/session-data.js";
import type { AnyTool, ToolContext } from "../ports/tool.js";
import { type CappedOutput, createCappedOutput } from "./capped-output.js";
import { defineTool } from "./define.js";
import { fateOf, identityOf, type ProcessFate, type ProcessIdentity } from "./process-identity.js";
import { type ProcessResult, runProcess } from "./run-process.js";

/** A process that was started in the background. */
export type BackgroundProcess = {
  /** Counts from 1 in its session. */
  readonly number: number;
  readonly sessionId: string;
  /** As the model wrote it. */
  readonly command: string;
  /** The system's number of the process. */
  readonly pid: number;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** How it ended, in words; null while it runs. */
  readonly ended: string | null;
};

/** Options of `createBackgroundProcesses`. */
export type BackgroundOptions = {
  /** Told when a process has ended, however it ended. */
  readonly onEnd?: (process: BackgroundProcess) => void;
};

/** The processes in the background of one program: for its model, its person and its end. */
export type BackgroundProcesses = {
  /** `read_process` and `stop_process`, for the model. */
  readonly tools: readonly AnyTool[];
  /** All that run, and the last ones that have ended; in the order of their start. */
  list(): readonly BackgroundProcess[];
  /** The beginning and the end of what a process has written. Null if there is no such process. */
  output(sessionId: string, number: number): string | null;
  /** Ends a process with all that it has started, and waits for its end. @returns false if there is no such process */
  stop(sessionId: string, number: number): Promise<boolean>;
  /** Stops all, and waits for their end. */
  stopAll(): Promise<void>;
  /** What an earlier program has started in the background, by the data of the session. */
  earlier(sessionId: string, data: SessionData): readonly EarlierProcess[];
  /** Starts a command for a call of `shell`. @throws Error if too many run, or if the program cannot be started */
  start(command: BackgroundCommand, context: Pick<ToolContext, "sessionId" | "data">): Promise<BackgroundProcess>;
};

/** A process that an earlier program has started for a session. */
export type EarlierProcess = {
  /** Its number in the session. */
  readonly number: number;
  /** As the model wrote it. */
  readonly command: string;
  /** The system's number, which may belong to another process by now: `fate` tells. */
  readonly pid: number;
  /** `unknown`: it was started on another machine or in another container, or the system does not tell. */
  readonly fate: ProcessFate;
  /** Kills it with its group. @returns false if it does not run, or may be another process by now: nothing is killed */
  readonly stop: () => boolean;
};

/** A command that `shell` starts in the background. */
export type BackgroundCommand = {
  /** As the model wrote it; shown to people. */
  readonly command: string;
  /** What is started, with its arguments: a shell, or a sandbox around it. */
  readonly program: readonly [string, ...string[]];
  /** The folder in which it runs. */
  readonly cwd: string;
  /** Its whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Milliseconds between the signals SIGTERM and SIGKILL when it is stopped. */
  readonly killGraceMs: number;
  /** Bytes of its output that are kept: its beginning and its end. */
  readonly maxOutputBytes: number;
};

/** The key of the session's data under which a running process is written down. */
const processKey = (number: number) => `process ${number}`;

/** Processes that run at the same time. */
const mostRunning = 10;
/** Processes that are remembered when they have ended. */
const mostEnded = 20;
/** Characters of a command that are written down. */
const mostCommand = 300;

type Running = {
  process: BackgroundProcess;
  readonly output: CappedOutput;
  readonly stop: () => void;
  readonly ended: Promise<void>;
};

const optionRules: OptionTable<BackgroundOptions> = { onEnd: aFunction };

/**
 * Keeps track of the commands that `createShellTool({ background })` starts in the background. Give `tools` to the agent,
 * too.
 */
export function createBackgroundProcesses(options: BackgroundOptions = {}): BackgroundProcesses {
  checkOptions("createBackgroundProcesses()", optionRules, options);
  const all: Running[] = [];
  const find = (sessionId: string, number: number) =>
    all.find(({ process }) => process.sessionId === sessionId && process.number === number);

  const leftOutOf = (sessionId: string, number: number) => find(sessionId, number)?.output.leftOut() ?? null;

  function forgetOldest(): void {
    const ended = all.filter(({ process }) => process.ended !== null);
    for (const one of ended.slice(0, Math.max(0, ended.length - mostEnded))) all.splice(all.indexOf(one), 1);
  }

  async function start(command: BackgroundCommand, context: Pick<ToolContext, "sessionId" | "data">) {
    const { sessionId, data } = context;
    if (all.filter(({ process }) => process.ended === null).length >= mostRunning)
      throw new Error(`${mostRunning} processes run in the background already. Stop one with stop_process first.`);
    const written = writtenProcesses(data.all());
    const ownNumbers = all
      .filter(({ process }) => process.sessionId === sessionId)
      .map(({ process }) => process.number);
    const number = 1 + Math.max(0, ...ownNumbers, ...written.map((one) => one.number));
    const stopping = new AbortController();
    const output = createCappedOutput(command.maxOutputBytes);
    let onStarted = (_pid: number) => {};
    const started = new Promise<number>((resolve) => {
      onStarted = resolve;
    });
    const { program, cwd, env, killGraceMs } = command;
    const signal = stopping.signal;
    const run = runProcess(program, { cwd, env, signal, timeoutMs: null, killGraceMs, output, onStart: onStarted });
    // A program that cannot be started has no id.
    const pid = await Promise.race([started, run.then(() => 0)]);
    const process = { number, sessionId, command: command.command, pid, startedAt: Date.now(), ended: null };
    const ended = run
      .then(inWords, (error: unknown) => String(error))
      .then((how) => {
        running.process = Object.freeze({ ...running.process, ended: how });
        forgetOldest();
        options.onEnd?.(running.process);
      });
    const running: Running = { process: Object.freeze(process), output, stop: () => stopping.abort(), ended };
    all.push(running);
    writeDown({ number, sessionId, command: command.command.slice(0, mostCommand), ...identityOf(pid) }, data);
    return running.process;
  }

  async function stop(sessionId: string, number: number): Promise<boolean> {
    const found = find(sessionId, number);
    found?.stop();
    await found?.ended;
    return found !== undefined;
  }

  const background: BackgroundProcesses = {
    tools: [],
    list: () => Object.freeze(all.map(({ process }) => process)),
    output: (sessionId, number) => find(sessionId, number)?.output.text() ?? null,
    stop,
    async stopAll() {
      for (const one of all) one.stop();
      await Promise.all(all.map(({ ended }) => ended));
    },
    earlier: (sessionId, data) =>
      Object.freeze(
        writtenProcesses(data)
          // A fork has the data of the session that it comes from.
          .filter((written) => written.sessionId === sessionId && find(sessionId, written.number) === undefined)
          .map((written) => {
            const { number, command, pid } = written;
            return Object.freeze({
              number,
              command,
              pid,
              fate: fateOf(written),
              stop: () => stopWritten(written),
            });
          }),
      ),
    start,
  };
  return Object.freeze({ ...background, tools: Object.freeze(toolsFor(background, leftOutOf)) });
}

/** Also forgets the processes that are gone. */
function writeDown(process: WrittenProcess, data: ToolContext["data"]): void {
  try {
    for (const one of writtenProcesses(data.all())) if (fateOf(one) === "gone") data.delete(processKey(one.number));
    data.set(processKey(process.number), process);
  } catch {
    // There is no room left in the session's data: the process runs, and a restart does not tell of it.
  }
}

function inWords({ ended }: ProcessResult): string {
  switch (ended.how) {
    case "exited":
      return `exit code ${ended.code}`;
    case "killed":
      return `killed by ${ended.signal}`;
    case "aborted":
    case "timed_out":
      return "stopped";
  }
}

const input = {
  type: "object",
  properties: { process: { type: "integer", minimum: 1, description: "The number that shell gave." } },
  required: ["process"],
  additionalProperties: false,
} as const;

function toolsFor(
  background: BackgroundProcesses,
  leftOutOf: (sessionId: string, number: number) => string | null,
): readonly AnyTool[] {
  function stateOf(sessionId: string, number: number): string {
    const found = background.list().find((one) => one.sessionId === sessionId && one.number === number);
    if (found === undefined)
      throw new Error(
        `No process ${number} was started here. If it was started before a restart, it has been told of.`,
      );
    const output = background.output(sessionId, number) ?? "";
    const shown = output === "" ? "(no output yet)" : output.endsWith("\n") ? output.slice(0, -1) : output;
    const leftOut = leftOutOf(sessionId, number);
    const noted = leftOut === null ? "" : `; ${leftOut} of the output were not kept`;
    return `${shown}\n(process ${number}: ${found.ended === null ? "still runs" : found.ended}${noted})`;
  }

  const read = defineTool({
    name: "read_process",
    lenientInput: true,
    description: "Gives what a process in the background has written so far, and whether it still runs.",
    input,
    readOnly: true,
    execute: (call, { sessionId }) => stateOf(sessionId, Number(call.process)),
  });
  const stop = defineTool({
    name: "stop_process",
    lenientInput: true,
    description: "Ends a process in the background with all that it has started, and gives what it has written.",
    input,
    // It ends what the session itself has started.
    needsApproval: false,
    recover: "rerun",
    execute: async (call, { sessionId }) => {
      await background.stop(sessionId, Number(call.process));
      return stateOf(sessionId, Number(call.process));
    },
  });
  return [read, stop];
}

/** A process as the session's data has it. */
type WrittenProcess = ProcessIdentity & {
  readonly number: number;
  readonly sessionId: string;
  readonly command: string;
};

/** The processes among the session's data. Anybody may change it: what is no process is left out. */
function writtenProcesses(data: SessionData): readonly WrittenProcess[] {
  return Object.entries(data).flatMap(([key, value]) => {
    const process = isWritten(value) ? (value as unknown as WrittenProcess) : undefined;
    return process === undefined || key !== processKey(process.number) ? [] : [process];
  });
}

function isWritten(value: Json | undefined): boolean {
  if (value === undefined || typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const { number, pid, startedAt, sessionId, command, host, surroundings } = value as { readonly [name: string]: Json };
  return (
    [number, pid, startedAt].every((one) => Number.isSafeInteger(one) && Number(one) >= 0) &&
    Number(pid) > 1 &&
    [sessionId, command, host, surroundings].every((one) => typeof one === "string")
  );
}

/** Ends a process with its group, if it is surely the one that was written down. */
function stopWritten(written: WrittenProcess): boolean {
  if (fateOf(written) !== "running") return false;
  try {
    return process.kill(-written.pid, "SIGKILL");
  } catch {
    return false;
  }
}
