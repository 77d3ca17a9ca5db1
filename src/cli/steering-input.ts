/**
 * What a person types while a run is at work: a line is said to it before its next model call.
 *
 * 1. Output is held from the first key to the end of the line, so that neither runs into the other.
 * 2. What was typed before a question was shown is no answer to it.
 * 3. A job in the background leaves the terminal alone: it would be stopped for touching it.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { stdin } from "node:process";
import { setImmediate } from "node:timers/promises";
import type { Interruptions } from "./interruptions.js";
import { question } from "./prompt-line.js";
import type { Terminal } from "./terminal.js";

export type Typing = {
  /** Ends it; a line that was begun is waited for, or left where it cannot count any more. */
  readonly end: (how: "finish" | "leave") => Promise<void>;
};

export type TypingOptions = {
  readonly terminal: Terminal;
  readonly interruptions: Interruptions;
  readonly onLine: (line: string) => Promise<void>;
};

const keys = { interrupt: "\u0003", suspend: "\u001a", quit: "\u001c" } as const;

/** Listens to the keys of a terminal. */
export function listenForTyping({ terminal, interruptions, onLine }: TypingOptions): Typing {
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

  /** As the terminal would have done it. */
  function raise(signal: NodeJS.Signals): void {
    ignore();
    process.kill(process.pid, signal);
  }

  async function takeLine(begun: string): Promise<void> {
    const release = terminal.hold();
    try {
      const line = await question("  Say > ", interruptions, { given: begun, signal: over.signal, takesLines: true });
      if (line !== null && line.trim() !== "") await onLine(line.trim());
    } finally {
      release();
    }
  }

  process.on("SIGCONT", listen);
  listen();
  return {
    async end(how) {
      if (how === "leave") over.abort();
      await writing;
      over.abort();
      process.off("SIGCONT", listen);
      ignore();
    },
  };
}

/** Drops what was typed so far: somebody who answers has seen the question. */
export async function dropTyped({ interrupt }: Interruptions): Promise<void> {
  const drop = (typed: string) => {
    if (typed.includes(keys.interrupt)) interrupt();
  };
  stdin.setRawMode(true).setEncoding("utf8").on("data", drop).resume();
  // What the terminal has is read in the next turn of the event loop.
  for (let turn = 0; turn < 3; turn++) await setImmediate();
  stdin.off("data", drop).pause();
  stdin.setRawMode(false);
}

/** Whether this process has the terminal; where nothing tells, it has. */
function isInForeground(): boolean {
  try {
    const [group, foreground] = process.platform === "linux" ? groupsFromProc() : groupsFromPs();
    return group === foreground;
  } catch {
    return true;
  }
}

/** The process group, and the one that has the terminal: the third and the sixth field after the name, which may hold anything. */
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
