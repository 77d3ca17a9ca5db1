/**
 * `pawl sessions`: lists, shows, exports and deletes sessions.
 */
import type { Agent, SessionSummary, Store } from "../../index.js";
import { deleteSession } from "../../index.js";
import { isHolderDead } from "../../inspect.js";
import { createPassiveAgent } from "../agent/folder-agent.js";
import { exitCodes } from "../exit.js";
import { describeSearchedStore, getSession, openStore, resolveHome, shortId } from "../files/session-store.js";
import { formatModel } from "../render/format-model.js";
import { createRenderer, type Renderer } from "../render/renderer.js";
import type { Terminal } from "../terminal/terminal.js";
import { formatAge, formatCount, sanitize, toOneLine, truncate, widthOf } from "../terminal/text.js";

export type JsonOption = { readonly json?: true };
export type ShowOptions = JsonOption & { readonly numbers?: true };

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

export function show(id: string, options: ShowOptions, terminal: Terminal): Promise<number> {
  return withStore(async (store) => {
    const summary = await getSession(store, id);
    const agent = createPassiveAgent(store);
    if (options.json === true) {
      for await (const event of agent.session(summary.sessionId).events({ follow: false })) terminal.json(event);
      return;
    }
    terminal.out(formatHeading(terminal.redaction.value(summary), terminal));
    await printTranscript(agent, summary.sessionId, options.numbers === true, terminal);
    const { sessionId } = summary;
    const progress = progressOf(summary);
    const short = sanitize(shortId(sessionId));
    if (progress === "interrupted") terminal.err(`The run was interrupted. To continue: pawl resume ${short}\n`);
    if (progress === "waiting")
      terminal.err(`The run waits for an answer. To answer: pawl resume ${short}, or pawl approvals ${short}\n`);
  });
}

function formatHeading(summary: SessionSummary, { styleOut }: Terminal): string {
  const { info } = summary;
  const facts = [
    `session ${sanitize(summary.sessionId)}`,
    progressOf(summary),
    `started ${new Date(summary.createdAt).toISOString()}`,
    ...(info === null ? [] : [`model ${sanitize(formatModel(info.model))}`]),
    ...(info?.root === undefined ? [] : [`in ${sanitize(info.root)}`]),
  ];
  return `${styleOut("dim", facts.join(" · "))}\n`;
}

async function printTranscript(
  agent: Agent,
  sessionId: string,
  isNumbered: boolean,
  terminal: Terminal,
): Promise<void> {
  const renderers = new Map<string, Renderer>();
  for await (const item of agent.session(sessionId).events({ follow: false, children: true })) {
    if (item.type === "children_omitted") {
      terminal.err(`Session ${sanitize(item.sessionId)} is left out (${item.why}).\n`);
      continue;
    }
    const indent = "  ".repeat(Math.min(item.depth, maxIndents));
    const columns = terminal.columns() - indent.length;
    const renderer =
      renderers.get(item.sessionId) ?? createRenderer({ style: terminal.styleOut, columns, showInput: true });
    renderers.set(item.sessionId, renderer);
    const shown = renderer
      .show(terminal.redaction.value(item))
      .map(({ text }) => text)
      .join("");
    const lines = isNumbered && "seq" in item ? numberLines(shown, item.seq, terminal) : shown;
    terminal.out(lines.replace(/^(?=.)/gm, indent));
    if (item.type === "final") renderers.delete(item.sessionId);
  }
}

/** The maximum indentation. Deeper children are not indented further. */
const maxIndents = 8;

const numberWidth = 5;

/** Puts the entry's number in front of the first line, and indents the other lines as far. */
function numberLines(text: string, seq: number, { styleOut }: Terminal): string {
  const [first = "", ...others] = text.replace(/\n$/, "").split("\n");
  if (text === "") return "";
  const lines = [
    `${styleOut("dim", String(seq).padStart(numberWidth))} ${first}`,
    ...others.map((line) => `${" ".repeat(numberWidth + 1)}${line}`),
  ];
  return `${lines.join("\n")}\n`;
}

export type RemoveOptions = JsonOption & { readonly force?: true };

export function remove(id: string, options: RemoveOptions, terminal: Terminal): Promise<number> {
  return withStore(async (store) => {
    const { sessionId } = await getSession(store, id);
    await deleteSession(store, sessionId, { now: Date.now(), force: options.force === true });
    if (options.json === true) terminal.json({ deleted: sessionId });
    else terminal.out(`Deleted ${sanitize(shortId(sessionId))}.\n`);
  });
}
