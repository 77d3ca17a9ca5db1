/**
 * What a row of a database says of a session. Everything is validated on the way.
 *
 * The types are rows whose texts are strings. A store that reads its texts as bytes converts them first, field by field.
 */
import type { Entry } from "../../core/machine/event.js";
import { formatVersion } from "../../core/machine/state.js";
import type { Activity, AskingSession, SessionSummary, StateAt } from "../../ports/store.js";
import {
  checkCommitSum,
  checkFormat,
  checkSum,
  corrupt,
  decodeEntries,
  decodeHolder,
  decodeInfo,
  decodeState,
  isStatus,
  type RowPosition,
} from "./validate.js";

/** Rows are fetched in portions, so that a long log is not in memory twice. */
export const rowsInPortion = 256;

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

export type AskingRow = {
  readonly name: string;
  readonly askedAt: number;
  readonly seq: number | null;
  readonly inbox: number;
  readonly v: number | null;
  readonly state: string | null;
  readonly stateSum: number | null;
};

export function stateFrom(row: StateRow, file: string, sessionId: string): StateAt {
  const place = { file, sessionId, seq: row.seq };
  checkFormat(row.v, place);
  return { seq: row.seq, state: decodeState(checkCommitSum(row.state, row.stateSum, place), place) };
}

type Progress = {
  /** Entries up to this one are not wanted. */
  readonly after: number;
  /** The last entry of the row before; `after` at first. */
  readonly last: number;
};

/** Adds the entries of a row that are wanted. Rows must follow each other. */
export function addEntries(entries: Entry[], row: LogRow, { after, last }: Progress, place: RowPosition): void {
  if (row.seq <= last) throw corrupt(place, "its rows are out of order");
  checkFormat(row.v, place);
  const found = decodeEntries(checkCommitSum(row.events, row.eventsSum, place), place);
  const before = entries.at(-1)?.seq ?? after;
  const start = found[0]?.seq ?? 0;
  if (start > before + 1 || (entries.length > 0 && start <= before))
    throw corrupt(place, `a commit starts with entry ${start}, after entry ${before}`);
  for (const entry of found) if (entry.seq > after) entries.push(entry);
}

/** A session of a later version is listed too, as far as it can be read. */
export function summaryFrom(row: SummaryRow, file: string): SessionSummary {
  const { name: sessionId, status, seq } = row;
  const place = { file, sessionId, seq };
  const isNewer = row.v !== null && row.v > formatVersion;
  if (!isStatus(status)) {
    if (row.v !== null) checkFormat(row.v, place);
    throw corrupt(place, `its status ${JSON.stringify(status)} is unknown`);
  }
  return {
    sessionId,
    info: row.info === null || isNewer ? null : decodeInfo(checkSum(row.info, row.infoSum, place), place),
    status,
    activity: activityOf(row.activity, place),
    seq,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    inbox: row.inbox,
    holder: row.holder === null ? null : decodeHolder(row.holder, place),
  };
}

export function activityOf(text: string, place: RowPosition): Activity {
  if (text === "resting" || text === "active" || text === "waiting") return text;
  throw corrupt(place, `its activity ${JSON.stringify(text)} is unknown`);
}

export function askingFrom(row: AskingRow, file: string): AskingSession {
  const place = { file, sessionId: row.name, seq: row.seq ?? 0 };
  if (row.state === null || row.v === null) throw corrupt(place, "it asks somebody, and has no log");
  const isNewer = row.v > formatVersion;
  const state = isNewer ? null : decodeState(checkCommitSum(row.state, row.stateSum, place), place);
  return { sessionId: row.name, askedAt: row.askedAt, state, inbox: row.inbox };
}
