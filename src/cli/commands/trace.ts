/**
 * `pawl trace`: shows how long the activities in the runs of a session took.
 */
import { PawlError } from "../../index.js";
import { type LoopTrace, type TraceRecord, traceSession } from "../../inspect.js";
import { getLatestSession } from "../agent/latest-session.js";
import { exitCodes } from "../exit.js";
import { resolveFolder } from "../files/resolve-folder.js";
import { getSession, openStore, shortId } from "../files/session-store.js";
import { resolveHome } from "../files/store-location.js";
import { renderWaterfall } from "../render/waterfall.js";
import type { Terminal } from "../terminal/terminal.js";
import { formatCount, formatDuration, sanitize, toOneLine, truncate } from "../terminal/text.js";

export type TraceCommandOptions = { readonly json?: true; readonly run?: string; readonly content?: true };

export async function trace(id: string | undefined, options: TraceCommandOptions, terminal: Terminal): Promise<number> {
  const store = await openStore(resolveHome(process.env));
  try {
    const { sessionId } =
      id === undefined
        ? await getLatestSession(store, resolveFolder("."), '"pawl sessions --all" lists those of other folders.')
        : await getSession(store, id);
    const content = options.content === true;
    const all = await traceSession(store, sessionId, { content, asOf: Date.now(), redact: terminal.redaction.text });
    const records = options.run === undefined ? all : selectRuns(options.run, all, sessionId);
    if (options.json === true) for (const record of records) terminal.json(record);
    else printRuns(records, terminal);
    if (records.length === 0) terminal.err(`No run of session ${sanitize(shortId(sessionId))} has started.\n`);
    return exitCodes.done;
  } finally {
    await store.close();
  }
}

/** @throws PawlError `bad_input` if no run of the session has an id that begins with `id` */
function selectRuns(id: string, all: LoopTrace, sessionId: string): LoopTrace {
  const records = all.filter((record) => record.runId.startsWith(id));
  if (records.length > 0) return records;
  const [session, run] = [shortId(sessionId), JSON.stringify(id)];
  throw new PawlError(
    "bad_input",
    `No run of session ${session} has an id that begins with ${run}. "pawl trace ${session}" shows all of them.`,
  );
}

function printRuns(records: LoopTrace, { out, styleOut, columns }: Terminal): void {
  for (const runId of new Set(records.map((record) => record.runId))) {
    const run = records.filter((record) => record.runId === runId);
    out(`${styleOut("bold", truncate(formatHeading(runId, run), columns()))}\n`);
    for (const line of renderWaterfall(run, columns(), styleOut)) out(`${line}\n`);
  }
}

function formatHeading(runId: string, run: LoopTrace): string {
  const started = findRecord(run, "run_started");
  const ended = findRecord(run, "run_finished");
  const facts =
    ended === undefined
      ? ["in progress"]
      : [
          `${ended.status} (${ended.reason})`,
          formatCount(ended.steps, "step"),
          formatDuration(ended.durationMs),
          ...(ended.restarts === 0 ? [] : [`restarted ${formatCount(ended.restarts, "time")}`]),
        ];
  const task = started === undefined || started.input === "" ? [] : [toOneLine(started.input)];
  return [`run ${sanitize(shortId(runId))}`, ...facts, ...task].join(" · ");
}

function findRecord<Type extends TraceRecord["type"]>(run: LoopTrace, type: Type) {
  return run.find((record): record is Extract<TraceRecord, { readonly type: Type }> => record.type === type);
}
