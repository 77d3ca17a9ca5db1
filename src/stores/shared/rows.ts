/**
 * Converts database rows, and validates everything on the way.
 *
 * In these row types, texts are strings. A store that reads its texts as bytes first converts them, field by field.
 */
import type { Entry } from "../../core/machine/event.js";
import { formatVersion, initialState } from "../../core/machine/state.js";
import { buildOverview, type SessionOverview } from "../../core/view/session-overview.js";
import type { Activity, AskingSession, SessionSummary, StateAt } from "../../ports/store.js";
import {
  checkFormat,
  corruptError,
  decodeEntries,
  decodeHolder,
  decodeInfo,
  decodeOverview,
  decodeState,
  isStatus,
  type RowPosition,
  verifyChecksum,
  verifyCommitChecksum,
} from "./decode.js";

/** Rows are fetched in pages, so that a long log is not held in memory twice. */
export const rowsPerPage = 256;

export type StateRow = { readonly seq: number; readonly v: number; readonly state: string; readonly stateSum: number };
export type LogRow = { readonly seq: number; readonly v: number; readonly events: string; readonly eventsSum: number };

export type SummaryRow = {
  readonly name: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly activity: string;
  readonly holder: string | null;
  readonly info: string | null;
  readonly infoSum: number | null;
  readonly seq: number;
  readonly inbox: number;
  /** Null if the log is empty. */
  readonly v: number | null;
  readonly status: string;
};

/** The additional columns of a list with overviews. */
export type OverviewColumns = {
  /** Null if it is older than the last commit: `state` is then the state of the last commit. */
  readonly overview: string | null;
  readonly overviewSum: number | null;
  readonly state: string | null;
  readonly stateSum: number | null;
  readonly hasChildren: boolean;
};

export type AskingRow = {
  readonly name: string;
  readonly askedAt: number;
  readonly seq: number | null;
  readonly inbox: number;
  readonly v: number | null;
  readonly state: string | null;
  readonly stateSum: number | null;
};

export function toStateAt(row: StateRow, file: string, sessionId: string): StateAt {
  const position = { file, sessionId, seq: row.seq };
  checkFormat(row.v, position);
  return { seq: row.seq, state: decodeState(verifyCommitChecksum(row.state, row.stateSum, position), position) };
}

type ReadProgress = {
  /** Entries up to this one are skipped. */
  readonly after: number;
  /** The last entry of the previous row; `after` at first. */
  readonly last: number;
};

/** Adds the entries of a row that come after `after`. Rows must be consecutive. */
export function appendEntries(
  entries: Entry[],
  row: LogRow,
  { after, last }: ReadProgress,
  position: RowPosition,
): void {
  if (row.seq <= last) throw corruptError(position, "its rows are out of order");
  checkFormat(row.v, position);
  const decoded = decodeEntries(verifyCommitChecksum(row.events, row.eventsSum, position), position);
  const previous = entries.at(-1)?.seq ?? after;
  const start = decoded[0]?.seq ?? 0;
  if (start > previous + 1 || (entries.length > 0 && start <= previous))
    throw corruptError(position, `a commit starts with entry ${start}, after entry ${previous}`);
  for (const entry of decoded) if (entry.seq > after) entries.push(entry);
}

/** Converts a row to a summary. A session of a later version is also listed, as far as it can be read. */
export function toSummary(row: SummaryRow, file: string): SessionSummary {
  const { name: sessionId, status, seq } = row;
  const position = { file, sessionId, seq };
  const isNewer = row.v !== null && row.v > formatVersion;
  if (!isStatus(status)) {
    if (row.v !== null) checkFormat(row.v, position);
    throw corruptError(position, `its status ${JSON.stringify(status)} is unknown`);
  }
  return {
    sessionId,
    info: row.info === null || isNewer ? null : decodeInfo(verifyChecksum(row.info, row.infoSum, position), position),
    status,
    activity: parseActivity(row.activity, position),
    seq,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    inbox: row.inbox,
    holder: row.holder === null ? null : decodeHolder(row.holder, position),
  };
}

/** Adds the overview of the session to its summary. */
export function toOverviewSummary(row: SummaryRow & OverviewColumns, file: string): SessionSummary {
  const summary = toSummary(row, file);
  return { ...summary, overview: { ...readOverview(row, summary, file), hasChildren: row.hasChildren } };
}

function readOverview(
  { overview, overviewSum, state, stateSum }: OverviewColumns,
  { sessionId, info, seq }: SessionSummary,
  file: string,
): SessionOverview {
  const position = { file, sessionId, seq };
  // The session has no log, or was written in a later format.
  if (info === null) return buildOverview(initialState);
  if (overview !== null) return decodeOverview(verifyCommitChecksum(overview, overviewSum, position), position);
  if (state === null) throw corruptError(position, "its last commit cannot be found");
  return buildOverview(decodeState(verifyCommitChecksum(state, stateSum, position), position));
}

export function parseActivity(text: string, position: RowPosition): Activity {
  if (text === "resting" || text === "active" || text === "waiting") return text;
  throw corruptError(position, `its activity ${JSON.stringify(text)} is unknown`);
}

export function toAskingSession(row: AskingRow, file: string): AskingSession {
  const position = { file, sessionId: row.name, seq: row.seq ?? 0 };
  if (row.state === null || row.v === null) throw corruptError(position, "it waits for an answer, but has no log");
  const isNewer = row.v > formatVersion;
  const state = isNewer ? null : decodeState(verifyCommitChecksum(row.state, row.stateSum, position), position);
  return { sessionId: row.name, askedAt: row.askedAt, state, inbox: row.inbox };
}
