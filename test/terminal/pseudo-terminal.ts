/**
 * Runs the built command `pawl` on a pseudo-terminal, and reads the screen that a person would see.
 */

import { setTimeout as delay } from "node:timers/promises";
import { spawn } from "@lydell/node-pty";
import headless from "@xterm/headless";
import { onTestFinished } from "vitest";
import { answerDelayMs } from "../../src/cli/conversation/fronts/front.js";
import { pawlProgram, type World } from "../cli/pawl.js";
import { readTerminal } from "./terminal-model.js";

export type Person = {
  /** The id of the process. */
  readonly pid: number;
  readonly type: (keys: string) => void;
  /** Resolves when the visible screen shows this. @throws Error with the screen if the program ends before */
  readonly sees: (what: string | RegExp) => Promise<string>;
  /** Resolves when the visible screen no longer shows this. */
  readonly seesNoMore: (what: string) => Promise<string>;
  /** Sees a question, and resolves when keys answer it. */
  readonly reads: (question: string | RegExp) => Promise<string>;
  /**
   * Reads a question, types what answers it, and resolves when the screen has changed. So what the test waits for next is not on the
   * screen from before.
   */
  readonly answers: (keys: string, question: string | RegExp) => Promise<void>;
  /** The rows of the visible screen. */
  readonly screen: () => Promise<string>;
  /** All lines, from the beginning of the history on. */
  readonly history: () => Promise<readonly string[]>;
  /** Everything that the program has sent. */
  readonly bytes: () => string;
  readonly resize: (columns: number, rows: number) => void;
  readonly kill: (signal: string) => void;
  readonly ended: Promise<{ readonly code: number; readonly signal: number | undefined }>;
};

export type PersonOptions = {
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
};

/** Timers may fire a millisecond early, clocks are rounded, and another process may run after Pawl has written a question. */
const toleranceMs = 100;

/** A question says so while there is a draft, wide and narrow. */
const draftHint = /^ {2}tab(?:, then| goes to the question)/m;

/** The last row says how long the run has been at work. */
const withoutStatus = (screen: string) => screen.slice(0, screen.lastIndexOf("\n"));

/** The command line that a shell needs to start `pawl` as the tests do. */
export const pawlCommand = `'${process.execPath}' --no-warnings '${pawlProgram}'`;

export function openPawl(world: World, args: readonly string[], options: PersonOptions = {}): Person {
  return openProgram(world, process.execPath, ["--no-warnings", pawlProgram, ...args], options);
}

export function openProgram(world: World, file: string, args: readonly string[], options: PersonOptions = {}): Person {
  const { columns = 80, rows = 24, env = {} } = options;
  const terminal = new headless.Terminal({ allowProposedApi: true, cols: columns, rows, scrollback: 100_000 });
  const child = spawn(file, [...args], {
    name: env.TERM ?? "xterm-256color",
    cols: columns,
    rows,
    cwd: world.root,
    env: world.environment(env),
  });
  let bytes = "";
  let hasEnded = false;
  const listeners = new Set<() => void>();
  const notifyListeners = () => {
    for (const listener of listeners) listener();
  };
  child.onData((data) => {
    bytes += data;
    terminal.write(data, notifyListeners);
  });
  const ended = new Promise<{ code: number; signal: number | undefined }>((resolve) => {
    child.onExit(({ exitCode, signal }) => {
      hasEnded = true;
      terminal.write("", notifyListeners);
      resolve({ code: exitCode, signal });
    });
  });
  onTestFinished(async ({ task }) => {
    // A test that is out of time says nothing of what it waited for.
    if (!hasEnded && task.result?.state === "fail")
      console.error(`This was still running, ${[file, ...args].join(" ")}, and its screen was:\n${readScreen()}`);
    if (!hasEnded) child.kill("SIGKILL");
    await ended;
    terminal.dispose();
  });

  /** The screen when everything that has come is on it. */
  const flushTerminal = () => new Promise<void>((done) => terminal.write("", done));

  function readScreen(): string {
    const buffer = terminal.buffer.active;
    const lines = Array.from({ length: terminal.rows }, (_, at) =>
      (buffer.getLine(buffer.baseY + at)?.translateToString(true) ?? "").trimEnd(),
    );
    return lines.join("\n").trimEnd();
  }

  function waitForScreen(isExpected: (screen: string) => boolean, what: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const check = () => {
        const screen = readScreen();
        if (isExpected(screen)) resolve(screen);
        else if (hasEnded) reject(new Error(`pawl ended, and the screen is not as expected (${what}):\n${screen}`));
        else return;
        listeners.delete(check);
        clearTimeout(limit);
      };
      const limit = setTimeout(() => reject(new Error(`Waited in vain for ${what}:\n${readScreen()}`)), 30_000);
      listeners.add(check);
      check();
    });
  }

  const sees = (what: string | RegExp) =>
    waitForScreen((screen) => (typeof what === "string" ? screen.includes(what) : what.test(screen)), String(what));

  /**
   * Pawl ignores keys for a moment after a question is on the screen. It takes the time just after it has written the question, and both
   * processes have the same clock: so the moment is over a little after it has passed here since the question was seen.
   */
  async function reads(question: string | RegExp): Promise<string> {
    const screen = await sees(question);
    await delay(answerDelayMs + toleranceMs);
    return screen;
  }

  async function answers(keys: string, question: string | RegExp): Promise<void> {
    await reads(question);
    const before = withoutStatus(readScreen());
    child.write(keys);
    const after = await waitForScreen((screen) => withoutStatus(screen) !== before, `what ${keys} answers`);
    // Another question has appeared in the meantime, and the key is the beginning of a draft.
    if (!draftHint.test(after)) return;
    child.write("\x7f");
    await waitForScreen((screen) => !draftHint.test(screen), "no draft");
    await answers(keys, question);
  }

  return {
    pid: child.pid,
    type: (keys) => child.write(keys),
    sees,
    reads,
    answers,
    seesNoMore: (what) => waitForScreen((screen) => !screen.includes(what), `no ${what}`),
    screen: async () => {
      await flushTerminal();
      return readScreen();
    },
    history: async () => {
      await flushTerminal();
      return readTerminal(terminal).lines;
    },
    bytes: () => bytes,
    resize(nextColumns, nextRows) {
      terminal.resize(nextColumns, nextRows);
      child.resize(nextColumns, nextRows);
    },
    kill: (signal) => child.kill(signal),
    ended,
  };
}
