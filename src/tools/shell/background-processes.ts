/**
 * Commands that run in the background, while the model goes on.
 *
 * 1. They end with this process, like all commands: a guard kills them if it dies (guard-process.ts).
 * 2. What is kept of an output is bounded, and so is the number of processes.
 * 3. What was started stands in the session's data with its identity (process-identity.ts), committed with the result of
 *    the call. So the next process can tell what became of it.
 */
import { aFunction, checkOptions, type OptionTable } from "../../check-options.js";
import type { Json } from "../../core/data/message.js";
import type { SessionData } from "../../ports/session-data.js";
import type { AnyTool, ToolContext } from "../../ports/tool.js";
import { defineTool } from "../lib/define-tool.js";
import { type CappedOutput, createCappedOutput } from "./capped-output.js";
import { findProcessFate, type ProcessFate, type ProcessIdentity, readProcessIdentity } from "./process-identity.js";
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
  /** Bytes that the program reads from its file descriptor 3. Default: none. */
  readonly filter?: Uint8Array | null;
  /** Returns notes on the process so far, each as part of a sentence. Default: none. */
  readonly notes?: () => readonly string[];
  /** Stops it. */
  readonly signal?: AbortSignal;
  /** Called when it has ended; not if it could not be started. */
  readonly onEnd?: () => Promise<void>;
};

/** The key of the session's data under which a running process is written down. */
const processKey = (number: number) => `process ${number}`;

/** Processes that run at the same time. */
const maxRunning = 10;
/** Processes that are remembered when they have ended. */
const maxEnded = 20;
/** Characters of a command that are written down. */
const maxCommand = 300;

type TrackedProcess = {
  process: BackgroundProcess;
  readonly output: CappedOutput;
  readonly notes: () => readonly string[];
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
    for (const one of ended.slice(0, Math.max(0, ended.length - maxEnded))) processes.splice(processes.indexOf(one), 1);
  }

  async function start(command: BackgroundCommand, context: Pick<ToolContext, "sessionId" | "data">) {
    const { sessionId, data } = context;
    if (processes.filter(({ process }) => process.ended === null).length >= maxRunning)
      throw new Error(`${maxRunning} processes run in the background already. Stop one with stop_process first.`);
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
      ...{ cwd, env, signal, timeoutMs: null, killGraceMs, output, filter },
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
      { number, sessionId, command: command.command.slice(0, maxCommand), ...readProcessIdentity(pid) },
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
          // A fork has the data of the session that it comes from.
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

/** Also forgets the processes that are gone. */
function recordProcess(process: RecordedProcess, data: ToolContext["data"]): void {
  try {
    for (const one of readRecordedProcesses(data.all()))
      if (findProcessFate(one) === "gone") data.delete(processKey(one.number));
    data.set(processKey(process.number), process);
  } catch {
    // There is no room left in the session's data: the process runs, and a restart does not tell of it.
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
  properties: { process: { type: "integer", minimum: 1, description: "The number that shell gave." } },
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
      throw new Error(
        `No process ${number} was started here. If it was started before a restart, it has been told of.`,
      );
    const output = background.output(sessionId, number) ?? "";
    const shown = output === "" ? "(no output yet)" : output.endsWith("\n") ? output.slice(0, -1) : output;
    const omittedNote = listNotes(sessionId, number).map((note) => `; ${note}`);
    return `${shown}\n(process ${number}: ${found.ended === null ? "still runs" : found.ended}${omittedNote.join("")})`;
  }

  const read = defineTool({
    name: "read_process",
    lenientInput: true,
    description: "Gives what a process in the background has written so far, and whether it still runs.",
    input: inputSchema,
    readOnly: true,
    execute: (call, { sessionId }) => formatState(sessionId, Number(call.process)),
  });
  const stop = defineTool({
    name: "stop_process",
    lenientInput: true,
    description: "Ends a process in the background with all that it has started, and gives what it has written.",
    input: inputSchema,
    // It ends what the session itself has started.
    needsApproval: false,
    recover: "rerun",
    execute: async (call, { sessionId }) => {
      await background.stop(sessionId, Number(call.process));
      return formatState(sessionId, Number(call.process));
    },
  });
  return [read, stop];
}

/** A process as the session's data has it. */
type RecordedProcess = ProcessIdentity & {
  readonly number: number;
  readonly sessionId: string;
  readonly command: string;
};

/** The processes among the session's data. Anybody may change it: what is no process is left out. */
function readRecordedProcesses(data: SessionData): readonly RecordedProcess[] {
  return Object.entries(data).flatMap(([key, value]) => {
    const process = isRecordedProcess(value) ? (value as unknown as RecordedProcess) : undefined;
    return process === undefined || key !== processKey(process.number) ? [] : [process];
  });
}

function isRecordedProcess(value: Json | undefined): boolean {
  if (value === undefined || typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const { number, pid, startedAt, sessionId, command, host, surroundings } = value as { readonly [name: string]: Json };
  return (
    [number, pid, startedAt].every((one) => Number.isSafeInteger(one) && Number(one) >= 0) &&
    Number(pid) > 1 &&
    [sessionId, command, host, surroundings].every((one) => typeof one === "string")
  );
}

/** Ends a process with its group, if it is surely the one that was written down. */
function stopRecorded(recorded: RecordedProcess): boolean {
  if (findProcessFate(recorded) !== "running") return false;
  try {
    return process.kill(-recorded.pid, "SIGKILL");
  } catch {
    return false;
  }
}
