/**
 * The trace of a session, read from its log.
 */
import {
  aBoolean,
  aFunction,
  anyValue,
  aString,
  checkOptions,
  integerFrom,
  numberFrom,
  type OptionTable,
  oneOf,
} from "../../check-options.js";
import { deepFreeze } from "../../core/data/freeze.js";
import type { LoopTrace, TraceRecord } from "../../ports/trace.js";
import { checkSessionId } from "../agent/check-run-options.js";
import type { LogStore } from "../log/read-entries.js";
import { createGuardedRedact, createRedaction, type Redact } from "../observers/redact.js";
import { findRunStart, findStepStart, readTrace, type TracedEntry, type TraceStart } from "./read-trace.js";
import type { TraceBuilderOptions } from "./trace-builder.js";

/** Options of a trace. */
export type TraceOptions = {
  /** Redacts all text. Default: removes keys of known shapes. */
  readonly redact?: Redact;
  /** If true, the records contain the texts of models, and the inputs and outputs of tools. Default: false. */
  readonly content?: boolean;
  /** In epoch milliseconds. If given, the trace ends with the unfinished step as of this time, marked `underWay`. */
  readonly asOf?: number;
  /** Only records that were completed after this entry of the log. Default: 0, all records. */
  readonly after?: number;
  /** The maximum number of records. Default: no limit. */
  readonly limit?: number;
};

/** The options of `sessionTracePage`. Default of `limit`: 100. */
export type TracePageOptions = Pick<TraceOptions, "redact" | "after" | "limit"> & {
  /** Only records of this run. */
  readonly runId?: string;
  /** Only records of this type. The cost of steps does not depend on their position; the end of a run needs all of the run. */
  readonly type?: TraceRecord["type"];
};

/** A page of a trace. */
export type TracePage = {
  /** The records, in order. */
  readonly records: LoopTrace;
  /** Where the next page begins; null if this is the last one. */
  readonly next: number | null;
};

const recordTypes = Object.keys({
  run_started: true,
  step: true,
  compaction: true,
  handoff: true,
  run_finished: true,
} satisfies Record<TraceRecord["type"], true>);

const pageRules: OptionTable<TracePageOptions> = {
  redact: aFunction,
  after: numberFrom(0),
  limit: integerFrom(1),
  runId: aString,
  type: oneOf(...recordTypes),
};

const traceRules: OptionTable<TraceOptions> = {
  redact: aFunction,
  content: aBoolean,
  asOf: numberFrom(0),
  after: numberFrom(0),
  limit: anyValue,
};

/**
 * The trace of a session, from its log: the traces of its runs, one after another. Empty if the session does not exist.
 * @throws PawlError `store_corrupt`; also what the store throws
 */
export async function traceSession(store: LogStore, sessionId: string, options: TraceOptions = {}): Promise<LoopTrace> {
  checkOptions("traceSession()", traceRules, options, { code: "bad_input" });
  checkSessionId(sessionId);
  const { redact = createRedaction(), content = false, asOf, after = 0, limit = Number.POSITIVE_INFINITY } = options;
  const builderOptions = { sessionId, redact: createGuardedRedact(redact), content };
  const { records } = await tracePage(store, builderOptions, { asOf, after, limit });
  return deepFreeze(records.slice(0, limit));
}

/** Like `traceSession`, in pages. @returns `next`: where the next page begins; null if this is the last page */
export async function sessionTracePage(
  store: LogStore,
  sessionId: string,
  options: TracePageOptions = {},
): Promise<TracePage> {
  checkOptions("sessionTracePage()", pageRules, options, { code: "bad_input" });
  checkSessionId(sessionId);
  const { redact = createRedaction(), after = 0, limit = 100, runId, type } = options;
  const builderOptions = { sessionId, redact: createGuardedRedact(redact), content: false };
  return deepFreeze(await tracePage(store, builderOptions, { asOf: undefined, after, limit, runId, type }));
}

type Page = Required<Pick<TraceOptions, "after" | "limit">> & {
  readonly asOf: number | undefined;
  readonly runId?: string | undefined;
  readonly type?: TraceRecord["type"] | undefined;
};

/** A page ends with an entry, so it may have a few records more than `limit`. */
async function tracePage(store: LogStore, builderOptions: TraceBuilderOptions, page: Page): Promise<TracePage> {
  const { sessionId } = builderOptions;
  const from = await findStepStart(store, sessionId, page.after);
  const { run } = from;
  if (run === null) return readPage(store, builderOptions, page, from);
  const found = await readPage(store, builderOptions, page, from);
  // The record of a run's end needs all of the run.
  const hasEnd = found.records.some((record) => record.type === "run_finished" && record.runId === run.runId);
  return hasEnd ? readPage(store, builderOptions, page, await findRunStart(store, sessionId, page.after)) : found;
}

async function readPage(
  store: LogStore,
  builderOptions: TraceBuilderOptions,
  { after, limit, asOf, runId, type }: Page,
  from: TraceStart,
): Promise<TracePage> {
  const isWanted = (record: TraceRecord) =>
    (runId === undefined || record.runId === runId) && (type === undefined || record.type === type);
  const records: TraceRecord[] = [];
  let underWay: TracedEntry["underWay"] = () => null;
  for await (const { seq, records: completed, underWay: openStep } of readTrace(store, from, builderOptions)) {
    underWay = openStep;
    if (seq <= after) continue;
    for (const record of completed) if (isWanted(record)) records.push(record);
    if (records.length >= limit) return { records, next: seq };
  }
  const open = asOf === undefined ? null : underWay(asOf);
  return { records: open === null ? records : [...records, open], next: null };
}
