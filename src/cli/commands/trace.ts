/**
 * `pawl trace`: shows how long the activities in the runs of a session took.
 */
import { type LoopTrace, PawlError, type TraceRecord, traceSession } from "../../index.js";
import { exitCodes } from "../exit.js";
import { getSession, homeOf, openStore, shortId } from "../home.js";
import type { Terminal } from "../terminal.js";
import { counted, cut, duration, oneLine, visible } from "../text.js";
import { waterfall } from "../waterfall.js";

export type TraceCommandOptions = { readonly json?: true; readonly run?: string; readonly content?: true };

export async function trace(id: string, options: TraceCommandOptions, terminal: Terminal): Promise<number> {
  const store = await openStore(homeOf(process.env));
  try {
    const { sessionId } = await getSession(store, id);
    const content = options.content === true;
    const all = await traceSession(store, sessionId, { content, asOf: Date.now(), redact: terminal.redaction.text });
    const records = options.run === undefined ? all : runOf(options.run, all, sessionId);
    if (options.json === true) for (const record of records) terminal.json(record);
    else show(records, terminal);
    if (records.length === 0) terminal.err(`No run of session ${visible(shortId(sessionId))} has started.\n`);
    return exitCodes.done;
  } finally {
    await store.close();
  }
}

/** @throws PawlError `bad_input` if no run of the session has an id that begins with `id` */
function runOf(id: string, all: LoopTrace, sessionId: string): LoopTrace {
  const records = all.filter((record) => record.runId.startsWith(id));
  if (records.length > 0) return records;
  const [session, run] = [shortId(sessionId), JSON.stringify(id)];
  throw new PawlError(
    "bad_input",
    `No run of session ${session} has an id that begins with ${run}. "pawl trace ${session}" shows all of them.`,
  );
}

function show(records: LoopTrace, { out, styleOut, columns }: Terminal): void {
  for (const runId of new Set(records.map((record) => record.runId))) {
    const run = records.filter((record) => record.runId === runId);
    out(`${styleOut("bold", cut(heading(runId, run), columns()))}\n`);
    for (const line of waterfall(run, columns(), styleOut)) out(`${line}\n`);
  }
}

function heading(runId: string, run: LoopTrace): string {
  const begun = ofType(run, "run_started");
  const ended = ofType(run, "run_finished");
  const facts =
    ended === undefined
      ? ["under way"]
      : [
          `${ended.status} (${ended.reason})`,
          counted(ended.steps, "step"),
          duration(ended.durationMs),
          ...(ended.restarts === 0 ? [] : [`restarted ${counted(ended.restarts, "time")}`]),
        ];
  const task = begun === undefined || begun.input === "" ? [] : [oneLine(begun.input)];
  return [`run ${visible(shortId(runId))}`, ...facts, ...task].join(" · ");
}

function ofType<Type extends TraceRecord["type"]>(run: LoopTrace, type: Type) {
  return run.find((record): record is Extract<TraceRecord, { readonly type: Type }> => record.type === type);
}
