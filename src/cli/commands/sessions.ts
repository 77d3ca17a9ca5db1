/**
 * `pawl sessions`: lists sessions.
 */
import { basename } from "node:path";
import type { SessionSummary, Store } from "../../index.js";
import { findProgress, isUnfinished } from "../agent/session-progress.js";
import { exitCodes } from "../exit.js";
import { resolveFolder } from "../files/resolve-folder.js";
import { openStore, shortId } from "../files/session-store.js";
import { describeSearchedStore, resolveHome } from "../files/store-location.js";
import type { Terminal } from "../terminal/terminal.js";
import { formatAge, formatCount, sanitize, toOneLine, truncate, widthOf } from "../terminal/text.js";

export type JsonOption = { readonly json?: true };

export async function withStore(
  action: (store: Store) => Promise<void>,
  options: { readonly creates?: boolean } = {},
): Promise<number> {
  const store = await openStore(resolveHome(process.env), options);
  try {
    await action(store);
    return exitCodes.done;
  } finally {
    await store.close();
  }
}

export type ListCommandOptions = JsonOption & {
  readonly limit: number;
  /** Lists the sessions of all folders. Absent: those of the current folder, and those without a folder. */
  readonly all?: true;
};

export function list(options: ListCommandOptions, terminal: Terminal): Promise<number> {
  return withStore(async (store) => {
    const root = resolveFolder(".");
    const everywhere = await Promise.all((await store.list()).map((summary) => describe(store, summary)));
    const isHere = ({ about }: ListedSession) => about?.root === undefined || about.root === root;
    const here = everywhere.filter(isHere);
    const elsewhere = everywhere.filter((session) => !isHere(session));
    const all = options.all === true ? [...here, ...elsewhere] : here;
    const shown = all.slice(0, options.limit).map(terminal.redaction.value);
    if (options.json === true) {
      for (const { summary } of shown) terminal.json({ ...summary, progress: progressOf(summary) });
      return;
    }
    if (everywhere.length === 0)
      terminal.hint(`There are no sessions in ${describeSearchedStore()}. Start one: pawl run "List the files"\n`);
    else if (all.length > 0) terminal.out(formatTable(shown, everywhere, options.all === true ? root : null, terminal));
    const allOption = options.all === true ? " --all" : "";
    if (all.length > shown.length)
      terminal.hint(
        `${formatCount(all.length - shown.length, "more session")}: pawl sessions${allOption} --limit ${all.length}\n`,
      );
    if (options.all !== true && elsewhere.length > 0)
      terminal.hint(`${formatCount(elsewhere.length, "session")} of other folders: pawl sessions --all\n`);
  });
}

type ListedSession = {
  readonly summary: SessionSummary;
  readonly about: Pick<NonNullable<SessionSummary["info"]>, "root" | "title"> | null;
};

/** A session that has not begun has its folder and its title in the message that begins it, as the runs of schedules do. */
async function describe(store: Store, summary: SessionSummary): Promise<ListedSession> {
  if (summary.info !== null || summary.inbox === 0) return { summary, about: summary.info };
  const [first] = await store.inbox(summary.sessionId);
  return { summary, about: first !== undefined && "session" in first.body ? first.body.session : null };
}

/** The status of a session in one word for a person. */
export function progressOf(summary: SessionSummary): string {
  const { status } = summary;
  if (status === "awaiting_human") return "waiting";
  if (!isUnfinished(summary)) return status === "idle" ? "empty" : status;
  const progress = findProgress(summary);
  // A message waits, and no process has begun its run.
  if (progress === "interrupted" && summary.activity === "resting") return "queued";
  return progress === "running" || progress === "interrupted" ? progress : "waiting";
}

/** @param root the current folder, if the table says which folder each session works in; else null */
function formatTable(
  shown: readonly ListedSession[],
  all: readonly ListedSession[],
  root: string | null,
  terminal: Terminal,
): string {
  const ids = all.map(({ summary }) => summary.sessionId);
  const now = Date.now();
  const rows = shown.map(({ summary, about }) => [
    sanitize(shortId(summary.sessionId, ids)),
    progressOf(summary),
    formatAge(now - summary.updatedAt),
    ...(root === null ? [] : [formatFolder(about?.root, root)]),
    toOneLine(about?.title ?? ""),
  ]);
  const columns = process.stdout.columns || Number.POSITIVE_INFINITY;
  const headers = ["ID", "STATUS", "AGE", ...(root === null ? [] : ["FOLDER"]), "TITLE"];
  const widths = headers
    .slice(0, -1)
    .map((_, at) => Math.max(...[headers, ...rows].map((row) => widthOf(row[at] ?? ""))));
  const line = (row: readonly string[]) =>
    truncate(
      row.map((cell, at) => cell + " ".repeat(Math.max(0, (widths[at] ?? 0) - widthOf(cell)))).join("  "),
      columns,
    ).trimEnd();
  return [terminal.styleOut("dim", line(headers)), ...rows.map(line)].map((text) => `${text}\n`).join("");
}

/** The last part of the folder's path, which distinguishes folders in a narrow table; "." for the current folder. */
function formatFolder(folder: string | undefined, root: string): string {
  if (folder === undefined) return "-";
  return folder === root ? "." : truncate(toOneLine(basename(folder) || folder), maxFolderWidth);
}

const maxFolderWidth = 24;
