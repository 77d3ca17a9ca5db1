/**
 * `pawl eval --watch`: plays the evals again whenever a file of the folder changes. Each time in a new process, because a loaded
 * module cannot be reloaded.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { watch } from "node:fs";
import { exitCodes } from "../exit.js";
import type { Terminal } from "../terminal/terminal.js";

/** Editors write a file in several steps, and tools write several files. */
const settleMs = 200;

/** Folders that evals and tools write to, and that nobody edits. */
const ignored = /(?:^|[\\/])(?:node_modules|\.git|\.pawl)(?:[\\/]|$)/;

/** Resolves when a signal stops it. */
export async function watchFolder(folder: string, terminal: Terminal): Promise<number> {
  let child: ChildProcess | null = null;
  let timer: NodeJS.Timeout | undefined;
  const ended = new AbortController();

  function start(): void {
    child?.kill("SIGTERM");
    terminal.err(`\n${terminal.style("dim", "Playing the evals. Ctrl-C ends.")}\n`);
    const [program = process.execPath, ...words] = process.argv;
    const command = [...process.execArgv, ...words.filter((word) => word !== "--watch")];
    const started = spawn(program, command, { stdio: "inherit" });
    child = started;
    started.on("exit", () => {
      if (child === started && !ended.signal.aborted)
        terminal.err(terminal.style("dim", "Waiting for a change. Ctrl-C ends.\n"));
    });
  }

  const watcher = watch(folder, { recursive: true }, (_, file) => {
    if (file === null || ignored.test(file)) return;
    clearTimeout(timer);
    timer = setTimeout(start, settleMs);
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => ended.abort());
  start();
  await once(ended.signal, "abort");
  clearTimeout(timer);
  watcher.close();
  const last = child as ChildProcess | null;
  if (last !== null && last.exitCode === null && last.signalCode === null) {
    last.kill("SIGTERM");
    await once(last, "exit");
  }
  return exitCodes.done;
}
