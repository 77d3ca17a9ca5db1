/**
 * `pawl sessions`: lists and deletes sessions.
 */
import type { SessionSummary, Store } from "../../index.js";
import { deleteSession } from "../../index.js";
import { isHolderDead } from "../../inspect.js";
import { exitCodes } from "../exit.js";
import { getSession, openStore, shortId } from "../files/session-store.js";
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

export function list(options: JsonOption & { readonly limit: number }, terminal: Terminal): Promise<number> {
  return withStore(async (store) => {
    const all = await store.list();
    const shown = all.slice(0, options.limit).map(terminal.redaction.value);
    if (options.json === true) {
      for (const summary of shown) terminal.json({ ...summary, progress: progressOf(summary) });
      return;
    }
    if (all.length === 0)
      terminal.err(`There are no sessions in ${describeSearchedStore()}. Start one: pawl run "List the files"\n`);
    else terminal.out(formatTable(shown, all, terminal));
    if (all.length > shown.length)
      terminal.err(`${formatCount(all.length - shown.length, "older session")}: pawl sessions --limit ${all.length}\n`);
  });
}

/** The status of a session in one word for a person. */
export function progressOf({ status, activity, holder, inbox }: SessionSummary): string {
  if (status === "awaiting_human") return "waiting";
  const isResting = activity === "resting" && inbox === 0;
  if (isResting) return status === "idle" ? "empty" : status;
  if (holder !== null && !isHolderDead(holder)) return "running";
  // It sleeps, or waits for a signal or for another session.
  return activity === "waiting" && inbox === 0 ? "waiting" : "interrupted";
}

function formatTable(shown: readonly SessionSummary[], all: readonly SessionSummary[], terminal: Terminal): string {
  const ids = all.map(({ sessionId }) => sessionId);
  const now = Date.now();
  const rows = shown.map((summary) => [
    sanitize(shortId(summary.sessionId, ids)),
    progressOf(summary),
    formatAge(now - summary.updatedAt),
    toOneLine(summary.info?.title ?? ""),
  ]);
  const columns = process.stdout.columns || Number.POSITIVE_INFINITY;
  const widths = [0, 1, 2].map((at) => Math.max(...[headers, ...rows].map((row) => widthOf(row[at] ?? ""))));
  const line = (row: readonly string[]) =>
    truncate(
      row.map((cell, at) => cell + " ".repeat(Math.max(0, (widths[at] ?? 0) - widthOf(cell)))).join("  "),
      columns,
    ).trimEnd();
  return [terminal.styleOut("dim", line(headers)), ...rows.map(line)].map((text) => `${text}\n`).join("");
}

const headers = ["ID", "STATUS", "AGE", "TITLE"];

export type RemoveOptions = JsonOption & { readonly force?: true };

export function remove(id: string, options: RemoveOptions, terminal: Terminal): Promise<number> {
  return withStore(async (store) => {
    const { sessionId } = await getSession(store, id);
    await deleteSession(store, sessionId, { now: Date.now(), force: options.force === true });
    if (options.json === true) terminal.json({ deleted: sessionId });
    else terminal.out(`Deleted ${sanitize(shortId(sessionId))}.\n`);
  });
}
