/**
 * `pawl eval --watch`: plays the evals again whenever a file of the folder changes. Each play is a new process, because a
 * loaded module cannot be reloaded.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readSync, watch } from "node:fs";
import { join } from "node:path";
import { exitCodes } from "../exit.js";
import type { Terminal } from "../terminal/terminal.js";

/** Editors write a file in several steps, and tools write several files. */
const settleMs = 200;

/** Folders that evals and tools write to and people do not edit, and the files that SQLite writes next to a database. */
const ignored = /(?:^|[\\/])(?:node_modules|\.git|\.pawl)(?:[\\/]|$)|-(?:shm|wal|journal)$/;

/** An agent that an eval imports may open its store, which writes to the file. Such a write must not play the eval again. */
function isDatabase(path: string): boolean {
  const signature = Buffer.from("SQLite format 3\0", "latin1");
  try {
    const file = openSync(path, "r");
    try {
      const start = Buffer.alloc(signature.length);
      // A database begins as an empty file. A file that an editor has emptied to write it anew changes once more.
      return readSync(file, start, 0, start.length, 0) === 0 || start.equals(signature);
    } finally {
      closeSync(file);
    }
  } catch {
    // A deleted file, or a folder.
    return false;
  }
}

/** Watches the folder until a signal stops it. */
export async function watchFolder(folder: string, terminal: Terminal): Promise<number> {
  let child: ChildProcess | null = null;
  let isChanged = false;
  let timer: NodeJS.Timeout | undefined;
  const ended = new AbortController();

  /** Plays after the previous play has exited: a play that is being stopped may still wait for a model. */
  function start(): void {
    if (child !== null) {
      isChanged = true;
      child.kill("SIGTERM");
      return;
    }
    isChanged = false;
    terminal.err(`\n${terminal.style("dim", "Playing the evals. Ctrl-C ends.")}\n`);
    const [program = process.execPath, ...words] = process.argv;
    const command = [...process.execArgv, ...words.filter((word) => word !== "--watch")];
    const started = spawn(program, command, { stdio: "inherit" });
    child = started;
    started.on("exit", () => {
      child = null;
      if (ended.signal.aborted) return;
      if (isChanged) start();
      else terminal.err(terminal.style("dim", "Waiting for a change. Ctrl-C ends.\n"));
    });
  }

  const watcher = watch(folder, { recursive: true }, (_, file) => {
    if (file === null || ignored.test(file) || isDatabase(join(folder, file))) return;
    clearTimeout(timer);
    timer = setTimeout(start, settleMs);
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => ended.abort());
  start();
  await once(ended.signal, "abort");
  clearTimeout(timer);
  watcher.close();
  const last = child as ChildProcess | null;
  if (last !== null) {
    last.kill("SIGTERM");
    await once(last, "exit");
  }
  return exitCodes.done;
}
