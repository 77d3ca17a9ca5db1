/**
 * Lets a person type a message to a run at work. The run gets each line before its next model call.
 *
 * 1. Output is held back from the first key to the end of the line, so that output and typing do not mix.
 * 2. Keys typed before a question is on the screen do not answer it.
 * 3. A background job leaves the terminal alone: the system would stop it for touching the terminal.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { stdin } from "node:process";
import { setImmediate } from "node:timers/promises";
import type { Interruptions } from "./interruptions.js";
import { promptLine } from "./prompt-line.js";
import type { Terminal } from "./terminal.js";

export type SteeringInput = {
  /** Stops listening. `finish` waits for the person to complete a line they began; `discard` drops it. */
  readonly end: (how: "finish" | "discard") => Promise<void>;
};

export type SteeringInputOptions = {
  readonly terminal: Terminal;
  readonly interruptions: Interruptions;
  readonly onLine: (line: string) => Promise<void>;
};

const keys = { interrupt: "\u0003", suspend: "\u001a", quit: "\u001c" } as const;

export function listenForSteering({ terminal, interruptions, onLine }: SteeringInputOptions): SteeringInput {
  const over = new AbortController();
  let writing: Promise<void> | null = null;
  let isListening = false;

  function listen(): void {
    if (isListening || over.signal.aborted || !isInForeground()) return;
    isListening = true;
    stdin.setRawMode(true).setEncoding("utf8").on("data", onKeys).resume();
  }

  function ignore(): void {
    if (!isListening) return;
    isListening = false;
    stdin.off("data", onKeys).pause();
    stdin.setRawMode(false);
  }

  function onKeys(typed: string): void {
    if (typed.includes(keys.interrupt)) interruptions.interrupt();
    else if (typed.includes(keys.suspend)) raise("SIGTSTP");
    else if (typed.includes(keys.quit)) raise("SIGQUIT");
    else if (/^[^\p{Cc}]/u.test(typed)) {
      ignore();
      writing = takeLine(typed).finally(() => {
        writing = null;
        listen();
      });
    }
  }

  /** Sends the signal that the terminal would have sent if it were not in raw mode. */
  function raise(signal: NodeJS.Signals): void {
    ignore();
    process.kill(process.pid, signal);
  }

  async function takeLine(typed: string): Promise<void> {
    const release = terminal.hold();
    try {
      const line = await promptLine("  Message > ", interruptions, {
        initialText: typed,
        signal: over.signal,
        joinsPastedLines: true,
      });
      if (line !== null && line.trim() !== "") await onLine(line.trim());
    } finally {
      release();
    }
  }

  process.on("SIGCONT", listen);
  listen();
  return {
    async end(how) {
      if (how === "discard") over.abort();
      await writing;
      over.abort();
      process.off("SIGCONT", listen);
      ignore();
    },
  };
}

/** Drops all keys typed so far. The next ones come from a person who sees the question. */
export async function discardTypedInput({ interrupt }: Interruptions): Promise<void> {
  const drop = (typed: string) => {
    if (typed.includes(keys.interrupt)) interrupt();
  };
  stdin.setRawMode(true).setEncoding("utf8").on("data", drop).resume();
  // The event loop reads in its next turn what the terminal has buffered.
  for (let turn = 0; turn < 3; turn++) await setImmediate();
  stdin.off("data", drop).pause();
  stdin.setRawMode(false);
}

/** Whether this process is in the foreground of its terminal. True if the system does not tell. */
function isInForeground(): boolean {
  try {
    const [group, foreground] = process.platform === "linux" ? groupsFromProc() : groupsFromPs();
    return group === foreground;
  } catch {
    return true;
  }
}

/**
 * The process group, and the foreground group of the terminal. Fields are counted after the program's name, which may
 * contain spaces.
 */
function groupsFromProc(): readonly (string | undefined)[] {
  const stat = readFileSync("/proc/self/stat", "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return [fields[2], fields[5]];
}

function groupsFromPs(): readonly (string | undefined)[] {
  return execFileSync("ps", ["-o", "pgid=,tpgid=", "-p", String(process.pid)], { encoding: "utf8" })
    .trim()
    .split(/\s+/);
}
