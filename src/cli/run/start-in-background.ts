/**
 * Starts this command again as a separate process, which keeps running after the terminal is closed and ends with its run.
 *
 * 1. The process is not special: its run is in the store, so after a kill `pawl resume` or a worker continues the run.
 * 2. The process cannot ask a person. Calls that need one wait in the store (`--park`), and the process ends meanwhile.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, fstatSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Store } from "../../index.js";
import { resolveLogPath } from "./background-log.js";

export type BackgroundStart = {
  readonly store: Store;
  readonly home: string;
  readonly sessionId: string;
  /** The last entry of the session before the start. */
  readonly after: number;
  /** The command and its arguments, as the person typed them. */
  readonly words: readonly string[];
};

export type BackgroundProcess =
  | { readonly type: "begun"; readonly pid: number; readonly log: string }
  /** It ended before it started to work, for example because of an invalid option. */
  | { readonly type: "ended"; readonly code: number | null; readonly written: string };

/** Resolves when the process has begun to work on the session, or has ended before. */
export async function startInBackground(start: BackgroundStart): Promise<BackgroundProcess> {
  const { store, home, sessionId, after, words } = start;
  const log = resolveLogPath(home, sessionId);
  mkdirSync(dirname(log), { recursive: true, mode: 0o700 });
  const output = openSync(log, "a", 0o600);
  const logSize = fstatSync(output).size;
  const [, program = ""] = process.argv;
  const child = spawn(process.execPath, [...process.execArgv, program, ...words], {
    // Its own session and process group, so that neither Ctrl-C nor the end of this terminal reaches it.
    detached: true,
    stdio: [process.stdin.isTTY === true ? "ignore" : "inherit", output, output],
    windowsHide: true,
  });
  closeSync(output);
  const ended = once(child, "exit").then(([code]) => code as number | null);
  let stopWatching = () => {};
  try {
    const begun = new Promise<"begun">((resolve) => {
      const look = async () => {
        const summary = await store.describe(sessionId);
        if (summary !== null && summary.seq > after) resolve("begun");
      };
      stopWatching = store.watch((change) => {
        if (!("sessionId" in change) || change.sessionId === sessionId) void look().catch(() => {});
      });
    });
    const first = await Promise.race([begun, ended]);
    const hasBegun = first === "begun" || ((await store.describe(sessionId))?.seq ?? 0) > after;
    if (!hasBegun) return { type: "ended", code: first, written: readFileSync(log).subarray(logSize).toString("utf8") };
    child.unref();
    return { type: "begun", pid: child.pid ?? 0, log };
  } finally {
    stopWatching();
  }
}
