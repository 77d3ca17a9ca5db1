/**
 * Lets a person type messages to a run in progress. The run gets each line before its next model call.
 *
 * 1. Output is buffered from the first key to the end of the line, so that output and typing do not mix.
 * 2. Keys typed before a question is on the screen do not answer it.
 * 3. A background job does not touch the terminal, because the system would stop it.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { stdin } from "node:process";
import { setImmediate } from "node:timers/promises";
import type { Interruptions } from "../terminal/interruptions.js";
import { promptLine } from "../terminal/prompt-line.js";
import type { Terminal } from "../terminal/terminal.js";

export type SteeringInput = {
  /** Stops listening. `finish` waits for the person to complete a line they began; `discard` drops it. */
  readonly end: (pendingLine: "finish" | "discard") => Promise<void>;
};

export type SteeringInputOptions = {
  readonly terminal: Terminal;
  readonly interruptions: Interruptions;
  readonly onLine: (line: string) => Promise<void>;
};

const keys = { interrupt: "\u0003", suspend: "\u001a", quit: "\u001c" } as const;

export function listenForSteering({ terminal, interruptions, onLine }: SteeringInputOptions): SteeringInput {
  const ended = new AbortController();
  let pendingMessage: Promise<void> | null = null;
  let isListening = false;

  function listen(): void {
    if (isListening || ended.signal.aborted || !isInForeground()) return;
    isListening = true;
    stdin.setRawMode(true).setEncoding("utf8").on("data", onKeys).resume();
  }

  function stopListening(): void {
    if (!isListening) return;
    isListening = false;
    stdin.off("data", onKeys).pause();
    stdin.setRawMode(false);
  }

  function onKeys(typed: string): void {
    if (typed.includes(keys.interrupt)) interruptions.interrupt();
    else if (typed.includes(keys.suspend)) raiseSignal("SIGTSTP");
    else if (typed.includes(keys.quit)) raiseSignal("SIGQUIT");
    else if (/^[^\p{Cc}]/u.test(typed)) {
      stopListening();
      pendingMessage = readMessage(typed).finally(() => {
        pendingMessage = null;
        listen();
      });
    }
  }

  /** Sends the signal that the terminal would have sent if it were not in raw mode. */
  function raiseSignal(signal: NodeJS.Signals): void {
    stopListening();
    process.kill(process.pid, signal);
  }

  async function readMessage(typed: string): Promise<void> {
    const resumeOutput = terminal.bufferOutput();
    try {
      const line = await promptLine("  Message > ", interruptions, {
        initialText: typed,
        signal: ended.signal,
        joinsPastedLines: true,
      });
      if (line !== null && line.trim() !== "") await onLine(line.trim());
    } finally {
      resumeOutput();
    }
  }

  process.on("SIGCONT", listen);
  listen();
  return {
    async end(pendingLine) {
      if (pendingLine === "discard") ended.abort();
      await pendingMessage;
      ended.abort();
      process.off("SIGCONT", listen);
      stopListening();
    },
  };
}

/** Drops all keys typed so far, so that only a person who sees the question can answer it. */
export async function discardTypedInput({ interrupt }: Interruptions): Promise<void> {
  const discardKeys = (typed: string) => {
    if (typed.includes(keys.interrupt)) interrupt();
  };
  stdin.setRawMode(true).setEncoding("utf8").on("data", discardKeys).resume();
  // The event loop reads in its next turn what the terminal has buffered.
  for (let turn = 0; turn < 3; turn++) await setImmediate();
  stdin.off("data", discardKeys).pause();
  stdin.setRawMode(false);
}

/** Whether this process is in the foreground of its terminal. True if the system does not report it. */
function isInForeground(): boolean {
  try {
    const [group, foreground] = process.platform === "linux" ? readGroupsFromProc() : readGroupsFromPs();
    return group === foreground;
  } catch {
    return true;
  }
}

/**
 * The process group, and the foreground group of the terminal. Fields are counted after the program's name, which may
 * contain spaces.
 */
function readGroupsFromProc(): readonly (string | undefined)[] {
  const stat = readFileSync("/proc/self/stat", "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return [fields[2], fields[5]];
}

function readGroupsFromPs(): readonly (string | undefined)[] {
  return execFileSync("ps", ["-o", "pgid=,tpgid=", "-p", String(process.pid)], { encoding: "utf8" })
    .trim()
    .split(/\s+/);
}
