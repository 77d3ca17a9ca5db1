/**
 * A person at a pseudo-terminal: types keys, and waits for what the screen shows.
 */
import { resolve } from "node:path";
import { spawn } from "@lydell/node-pty";
import headless from "@xterm/headless";

export const program = resolve("dist/cli/main.js");
const longestWaitMs = 60_000;

/** @param options `cwd`, and `env` as it is for the program */
export function openPawl(args, { cwd, env }) {
  const startedAt = performance.now();
  const size = { cols: 100, rows: 50 };
  const terminal = new headless.Terminal({ allowProposedApi: true, ...size, scrollback: 100_000 });
  const child = spawn(process.execPath, ["--no-warnings", program, ...args], {
    name: "xterm-256color",
    ...size,
    cwd,
    env,
  });
  const listeners = new Set();
  const notifyListeners = () => {
    for (const listener of listeners) listener();
  };
  let hasEnded = false;
  child.onData((data) => terminal.write(data, notifyListeners));
  const ended = new Promise((done) => {
    child.onExit(({ exitCode }) => {
      hasEnded = true;
      terminal.write("", () => {
        notifyListeners();
        done(exitCode);
      });
    });
  });

  /** @param from the first row; the rows of the screen begin at `baseY` */
  function readRows(from) {
    const buffer = terminal.buffer.active;
    const rows = [];
    for (let row = from; row < buffer.length; row += 1)
      rows.push((buffer.getLine(row)?.translateToString(true) ?? "").trimEnd());
    return rows;
  }

  const readScreen = () => readRows(terminal.buffer.active.baseY).join("\n");

  /** Resolves to the milliseconds since the start of the program. */
  function sees(pattern) {
    return new Promise((done, fail) => {
      const check = () => {
        if (pattern.test(readScreen())) settle(done, performance.now() - startedAt);
        else if (hasEnded) settle(fail, new Error(`pawl ended before the screen showed ${pattern}:\n${readScreen()}`));
      };
      const settle = (resolveOrReject, value) => {
        listeners.delete(check);
        clearTimeout(limit);
        resolveOrReject(value);
      };
      const limit = setTimeout(
        () => settle(fail, new Error(`The screen never showed ${pattern}:\n${readScreen()}`)),
        longestWaitMs,
      );
      listeners.add(check);
      check();
    });
  }

  return {
    sees,
    type: (keys) => child.write(keys),
    /** Answers a question. Keys count only once the question has been on the screen for a moment. */
    async answers(pattern, key) {
      await sees(pattern);
      await new Promise((done) => setTimeout(done, 450));
      child.write(key);
    },
    kill(signal) {
      child.kill(signal);
      return ended;
    },
    history: () => readRows(0),
    ended,
  };
}
