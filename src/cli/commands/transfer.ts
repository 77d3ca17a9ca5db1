/**
 * `pawl sessions export` and `pawl sessions import`: a readable log of a session, or complete copies of sessions to move.
 */
import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stdin } from "node:process";
import { pipeline } from "node:stream/promises";
import { exportSessions, importSessions, PawlError, type Store } from "../../index.js";
import { getSession } from "../files/session-store.js";
import type { Terminal } from "../terminal/terminal.js";
import { formatCount } from "../terminal/text.js";
import { type JsonOption, withStore } from "./sessions.js";

export type ExportOptions = { readonly raw?: true; readonly all?: true };

const pageSize = 1_000;
/** Lines that are written to the terminal before its output is awaited. */
const linesBetweenFlushes = 50;

/** Prints the log of a session, entry by entry; with `--raw` a complete copy of sessions. */
export function exportLogs(ids: readonly string[], options: ExportOptions, terminal: Terminal): Promise<number> {
  const isAll = options.all === true;
  if (isAll ? ids.length > 0 : ids.length === 0)
    throw new PawlError("bad_input", "Name the sessions to export, or all of them with --all.");
  if (options.raw !== true && (isAll || ids.length > 1))
    throw new PawlError(
      "bad_input",
      "Several sessions can only be exported as a complete copy. Add --raw: keys and passwords are then not redacted.",
    );
  return withStore(async (store) => {
    const found: string[] = [];
    for (const id of ids) found.push((await getSession(store, id)).sessionId);
    if (options.raw === true) await printCopy(store, isAll ? undefined : found, terminal);
    else for (const sessionId of found) await printLog(store, sessionId, terminal);
  });
}

async function printLog(store: Store, sessionId: string, terminal: Terminal): Promise<void> {
  for (let after = 0; ; ) {
    const entries = await store.read(sessionId, after, pageSize);
    for (const entry of entries) terminal.json(entry);
    await terminal.flush();
    const last = entries.at(-1);
    if (last === undefined) return;
    after = last.seq;
  }
}

async function printCopy(store: Store, sessionIds: readonly string[] | undefined, terminal: Terminal): Promise<void> {
  let lines = 0;
  for await (const line of exportSessions(store, sessionIds === undefined ? {} : { sessionIds })) {
    terminal.out(line);
    lines += 1;
    if (lines % linesBetweenFlushes === 0) await terminal.flush();
  }
}

export async function importFile(file: string | undefined, options: JsonOption, terminal: Terminal): Promise<number> {
  return withStore(
    async (store) => {
      const imported = await (file === undefined || file === "-"
        ? withStandardInputFile((path) => importSessions(store, { read: () => createReadStream(path) }))
        : importSessions(store, { read: () => createReadStream(file) })
      ).catch((error: unknown) => {
        throw isFileError(error)
          ? new PawlError("bad_input", `The file cannot be read: ${error.message}.`, { cause: error })
          : error;
      });
      if (options.json === true) terminal.json(imported);
      else
        terminal.out(`Imported ${formatCount(imported.sessions, "session")} (log entries: ${imported.entries}).
`);
    },
    { creates: true },
  );
}

/** An import reads its input twice, but standard input can be read only once. So it is copied to a private temporary file. */
async function withStandardInputFile<Result>(use: (path: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "pawl-import-"));
  try {
    const path = join(folder, "sessions.jsonl");
    await pipeline(stdin, createWriteStream(path, { mode: 0o600 }));
    return await use(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function isFileError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error && !(error instanceof PawlError);
}
