/**
 * Commands that run in the background while the model continues.
 *
 * 1. Background processes end with this process, like all commands: a guard kills them if this process dies (guard-process.ts).
 * 2. The retained part of an output is bounded, and so is the number of processes.
 * 3. Each started process is recorded in the session's data with its identity (process-identity.ts), committed with the result of
 *    the call. So the next process can find out what became of it.
 */

import { aFunction, checkOptions, type OptionTable } from "../../check-options.js";
import { isJsonObject } from "../../core/data/is-object.js";
import type { Json } from "../../core/data/message.js";
import type { SessionData } from "../../ports/session-data.js";
import type { AnyTool, ToolContext } from "../../ports/tool.js";
import { defineTool } from "../lib/define-tool.js";
import { type CappedOutput, createCappedOutput } from "./capped-output.js";
import { findProcessFate, type ProcessFate, type ProcessIdentity, readProcessIdentity } from "./process-identity.js";
import { type ProcessResult, runProcess } from "./run-process.js";

/** A process that was started in the background. */
export type BackgroundProcess = {
  /** The number of the process in its session, from 1. */
  readonly number: number;
  readonly sessionId: string;
  /** The command as the model wrote it. */
  readonly command: string;
  /** The process id. */
  readonly pid: number;
  /** When the process started, in epoch milliseconds. */
  readonly startedAt: number;
  /** How the process ended, in words; null while it runs. */
  readonly ended: string | null;
};

/** Options of `createBackgroundProcesses`. */
export type BackgroundOptions = {
  /** Called when a process has ended, however it ended. */
  readonly onEnd?: (process: BackgroundProcess) => void;
};

/** The background processes of one program, as its model, its user interface and its shutdown need them. */
export type BackgroundProcesses = {
  /** The tools `read_process` and `stop_process`, for the model. */
  readonly tools: readonly AnyTool[];
  /** All running processes and the most recently ended ones, in the order in which they started. */
  list(): readonly BackgroundProcess[];
  /** The beginning and the end of a process's output; null if there is no such process. */
  output(sessionId: string, number: number): string | null;
  /** Stops a process and everything that it has started, and waits for the end. @returns false if there is no such process */
  stop(sessionId: string, number: number): Promise<boolean>;
  /** Stops all processes, and waits for their end. */
  stopAll(): Promise<void>;
  /** The background processes of an earlier program, from the session's data. */
  earlier(sessionId: string, data: SessionData): readonly EarlierProcess[];
  /** Starts a command for a call of `shell`. @throws Error if too many are running, or if the program cannot be started */
  start(command: BackgroundCommand, context: Pick<ToolContext, "sessionId" | "data">): Promise<BackgroundProcess>;
};

/** A process that an earlier program started for a session. */
export type EarlierProcess = {
  /** The number of the process in the session. */
  readonly number: number;
  /** The command as the model wrote it. */
  readonly command: string;
  /** The process id, which may belong to another process now: see `fate`. */
  readonly pid: number;
  /** `unknown`: the process was started on another machine or in another container, or the system does not report start times. */
  readonly fate: ProcessFate;
  /** Kills the process group. @returns false, without killing anything, if the process does not run or may be another process */
  readonly stop: () => boolean;
};

/** A command that `shell` starts in the background. */
export type BackgroundCommand = {
  /** The command as the model wrote it; shown to people. */
  readonly command: string;
  /** The program to start, with its arguments: a shell, or a sandbox around it. */
  readonly program: readonly [string, ...string[]];
  /** The working directory. */
  readonly cwd: string;
  /** The complete environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Milliseconds between SIGTERM and SIGKILL when the command is stopped. */
  readonly killGraceMs: number;
  /** The maximum number of bytes of output to keep, from its beginning and its end. */
  readonly maxOutputBytes: number;
  /** Bytes that the program reads from its file descriptor 3. Default: none. */
  readonly filter?: Uint8Array | null;
  /** Returns the current notes on the process, each as part of a sentence. Default: none. */
  readonly notes?: () => readonly string[];
  /** Stops the command. */
  readonly signal?: AbortSignal;
  /** Called when the command has ended, but not if it could not be started. */
  readonly onEnd?: () => Promise<void>;
};

/** The key under which a process is recorded in the session's data. */
const processKey = (number: number) => `process ${number}`;

/** The maximum number of running processes. */
const maxRunning = 10;
/** The maximum number of ended processes that are remembered. */
const maxRememberedEnded = 20;
/** The maximum number of characters of a command that are recorded. */
const maxRecordedCommandCharacters = 300;

type TrackedProcess = {
  process: BackgroundProcess;
  readonly output: CappedOutput;
  readonly notes: () => readonly string[];
  readonly stop: () => void;
  readonly ended: Promise<void>;
};

const optionRules: OptionTable<BackgroundOptions> = { onEnd: aFunction };

/**
 * Tracks the commands that `createShellTool({ background })` starts in the background. Also give `tools` to the agent.
 */
export function createBackgroundProcesses(options: BackgroundOptions = {}): BackgroundProcesses {
  checkOptions("createBackgroundProcesses()", optionRules, options);
  const processes: TrackedProcess[] = [];
  const find = (sessionId: string, number: number) =>
    processes.find(({ process }) => process.sessionId === sessionId && process.number === number);

  const listNotes = (sessionId: string, number: number) => {
    const found = find(sessionId, number);
    const omitted = found?.output.describeOmitted() ?? null;
    return [...(found?.notes() ?? []), ...(omitted === null ? [] : [`${omitted} of the output were not kept`])];
  };

  function forgetOldestEnded(): void {
    const ended = processes.filter(({ process }) => process.ended !== null);
    for (const one of ended.slice(0, Math.max(0, ended.length - maxRememberedEnded)))
      processes.splice(processes.indexOf(one), 1);
  }

  async function start(command: BackgroundCommand, context: Pick<ToolContext, "sessionId" | "data">) {
    const { sessionId, data } = context;
    if (processes.filter(({ process }) => process.ended === null).length >= maxRunning)
      throw new Error(`${maxRunning} processes already run in the background. Stop one with stop_process first.`);
    const recordedProcesses = readRecordedProcesses(data.all());
    const numbersInSession = processes
      .filter(({ process }) => process.sessionId === sessionId)
      .map(({ process }) => process.number);
    const number = 1 + Math.max(0, ...numbersInSession, ...recordedProcesses.map((one) => one.number));
    const stopController = new AbortController();
    const output = createCappedOutput(command.maxOutputBytes);
    let onStarted = (_pid: number) => {};
    const started = new Promise<number>((resolve) => {
      onStarted = resolve;
    });
    const { program, cwd, env, killGraceMs, filter, notes = () => [] } = command;
    const signal =
      command.signal === undefined ? stopController.signal : AbortSignal.any([stopController.signal, command.signal]);
    const run = runProcess(program, {
      cwd,
      env,
      signal,
      timeoutMs: null,
      killGraceMs,
      output,
      filter,
      onStart: onStarted,
    });
    // A program that cannot be started has no id.
    const pid = await Promise.race([started, run.then(() => 0)]);
    const process = { number, sessionId, command: command.command, pid, startedAt: Date.now(), ended: null };
    const ended = run
      .then(describeEnd, (error: unknown) => String(error))
      .then(async (ending) => {
        await command.onEnd?.();
        running.process = Object.freeze({ ...running.process, ended: ending });
        forgetOldestEnded();
        options.onEnd?.(running.process);
      });
    const running: TrackedProcess = {
      process: Object.freeze(process),
      output,
      notes,
      stop: () => stopController.abort(),
      ended,
    };
    processes.push(running);
    recordProcess(
      {
        number,
        sessionId,
        command: command.command.slice(0, maxRecordedCommandCharacters),
        ...readProcessIdentity(pid),
      },
      data,
    );
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
    list: () => Object.freeze(processes.map(({ process }) => process)),
    output: (sessionId, number) => find(sessionId, number)?.output.text() ?? null,
    stop,
    async stopAll() {
      for (const one of processes) one.stop();
      await Promise.all(processes.map(({ ended }) => ended));
    },
    earlier: (sessionId, data) =>
      Object.freeze(
        readRecordedProcesses(data)
          // A fork has the data of the session that it was forked from.
          .filter((recorded) => recorded.sessionId === sessionId && find(sessionId, recorded.number) === undefined)
          .map((recorded) => {
            const { number, command, pid } = recorded;
            return Object.freeze({
              number,
              command,
              pid,
              fate: findProcessFate(recorded),
              stop: () => stopRecorded(recorded),
            });
          }),
      ),
    start,
  };
  return Object.freeze({ ...background, tools: Object.freeze(createProcessTools(background, listNotes)) });
}

/** Records a process, and removes the records of processes that are gone. */
function recordProcess(process: RecordedProcess, data: ToolContext["data"]): void {
  try {
    for (const one of readRecordedProcesses(data.all()))
      if (findProcessFate(one) === "gone") data.delete(processKey(one.number));
    data.set(processKey(process.number), process);
  } catch {
    // The session's data is full: the process runs, but is not reported after a restart.
  }
}

function describeEnd({ ended }: ProcessResult): string {
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

const inputSchema = {
  type: "object",
  properties: { process: { type: "integer", minimum: 1, description: "The number that shell returned." } },
  required: ["process"],
  additionalProperties: false,
} as const;

function createProcessTools(
  background: BackgroundProcesses,
  listNotes: (sessionId: string, number: number) => readonly string[],
): readonly AnyTool[] {
  function formatState(sessionId: string, number: number): string {
    const found = background.list().find((one) => one.sessionId === sessionId && one.number === number);
    if (found === undefined)
      throw new Error(`There is no process ${number}. Processes from before a restart have already been reported.`);
    const output = background.output(sessionId, number) ?? "";
    const shown = output === "" ? "(no output yet)" : output.endsWith("\n") ? output.slice(0, -1) : output;
    const omittedNote = listNotes(sessionId, number).map((note) => `; ${note}`);
    return `${shown}\n(process ${number}: ${found.ended === null ? "still running" : found.ended}${omittedNote.join("")})`;
  }

  const read = defineTool({
    name: "read_process",
    lenientInput: true,
    description: "Returns the output of a background process so far, and whether the process is still running.",
    input: inputSchema,
    readOnly: true,
    execute: (call, { sessionId }) => formatState(sessionId, Number(call.process)),
  });
  const stop = defineTool({
    name: "stop_process",
    lenientInput: true,
    description: "Stops a background process and everything that it has started, and returns its output.",
    input: inputSchema,
    // It only stops processes that the session itself has started.
    needsApproval: false,
    recover: "rerun",
    execute: async (call, { sessionId }) => {
      await background.stop(sessionId, Number(call.process));
      return formatState(sessionId, Number(call.process));
    },
  });
  return [read, stop];
}

/** A process as recorded in the session's data. */
type RecordedProcess = ProcessIdentity & {
  readonly number: number;
  readonly sessionId: string;
  readonly command: string;
};

/** The processes recorded in the session's data. Any client can change the data, so invalid records are skipped. */
function readRecordedProcesses(data: SessionData): readonly RecordedProcess[] {
  return Object.entries(data).flatMap(([key, value]) => {
    const process = isRecordedProcess(value) ? (value as unknown as RecordedProcess) : undefined;
    return process === undefined || key !== processKey(process.number) ? [] : [process];
  });
}

function isRecordedProcess(value: Json | undefined): boolean {
  if (!isJsonObject(value)) return false;
  const { number, pid, startedAt, sessionId, command, host, surroundings } = value;
  return (
    [number, pid, startedAt].every((one) => Number.isSafeInteger(one) && Number(one) >= 0) &&
    Number(pid) > 1 &&
    [sessionId, command, host, surroundings].every((one) => typeof one === "string")
  );
}

/** Kills a process group, if its leader is certainly the recorded process. */
function stopRecorded(recorded: RecordedProcess): boolean {
  if (findProcessFate(recorded) !== "running") return false;
  try {
    return process.kill(-recorded.pid, "SIGKILL");
  } catch {
    return false;
  }
}
