/**
 * Checks that the rows of a session are valid and consistent with each other. Each check throws an error for the damage that it finds.
 */
import type { Entry } from "../../core/machine/event.js";
import type { State } from "../../core/machine/state.js";
import { blobsOf } from "../../core/transcript/blob-references.js";
import { askedAt } from "../../core/view/outcome.js";
import type { PawlError } from "../../errors.js";
import {
  checkFormat,
  corruptError,
  decodeEntries,
  decodeInfo,
  decodeOverview,
  decodeState,
  type RowPosition,
  verifyChecksum,
  verifyCommitChecksum,
} from "./decode.js";
import { encodeOverview } from "./encode.js";
import { isStorableText } from "./rules.js";

/** A session's own row. */
export type OwnRow = {
  readonly name: string;
  readonly holder: string | null;
  readonly activity: string;
  readonly status: string;
  readonly agent: string | null;
  readonly parent: string | null;
  readonly title: string | null;
  readonly root: string | null;
  readonly principal: string | null;
  readonly info: string | null;
  readonly infoSum: number | null;
  readonly askedAt: number | null;
  /** Null if the log is empty. */
  readonly v: number | null;
  readonly seq: number;
  readonly updatedAt: number;
  readonly overview: string | null;
  /** The last entry that the overview includes; null if a version without overviews wrote the row. */
  readonly overviewSeq: number | null;
  readonly overviewSum: number | null;
};

export type CommitRow = {
  readonly seq: number;
  readonly v: number;
  readonly status: string;
  readonly at: number;
  readonly events: string;
  readonly eventsSum: number;
  readonly state: string;
  readonly stateSum: number;
};

/** The last row of a log, and its state. */
export type LastCommit = { readonly row: CommitRow; readonly state: State };

export type CheckedCommit = {
  readonly state: State;
  /** The hashes of the blobs that its entries refer to. The session must have them. */
  readonly blobs: readonly string[];
};

/** @param previous the last entry of the previous row */
export function checkCommitRow(row: CommitRow, previous: number, position: RowPosition): CheckedCommit {
  checkFormat(row.v, position);
  const entries = decodeEntries(verifyCommitChecksum(row.events, row.eventsSum, position), position);
  const start = entries[0]?.seq ?? 0;
  const state = decodeState(verifyCommitChecksum(row.state, row.stateSum, position), position);
  if (start !== previous + 1) throw corruptError(position, `it starts with entry ${start}, after entry ${previous}`);
  if (state.status !== row.status)
    throw corruptError(position, `its state is ${state.status}, but the row says ${row.status}`);
  return { state, blobs: entries.flatMap((entry) => listNamedBlobs(entry, position)) };
}

function listNamedBlobs({ event }: Entry, position: RowPosition): readonly string[] {
  try {
    return blobsOf(event);
  } catch {
    throw corruptError(position, `the content of its ${event.type} cannot be read`);
  }
}

/** The error for a blob that a commit refers to but the session does not have. */
export function missingBlobError(hash: string, position: RowPosition): PawlError {
  return corruptError(position, `it refers to the blob ${hash}, which is missing`);
}

/** Checks that the session's own row agrees with its last commit. */
export function checkOwnRow(session: OwnRow, { row, state }: LastCommit, position: RowPosition): void {
  const stateAskedAt = askedAt(state);
  if (stateAskedAt !== session.askedAt)
    throw corruptError(
      position,
      `lists show it as asking since ${session.askedAt}, but its state says ${stateAskedAt}`,
    );
  const info =
    session.info === null ? null : decodeInfo(verifyChecksum(session.info, session.infoSum, position), position);
  const isSame =
    JSON.stringify(info) === JSON.stringify(state.session) &&
    matchesColumn(session.agent, info?.agent) &&
    matchesColumn(session.parent, info?.parent?.sessionId) &&
    matchesColumn(session.title, info?.title) &&
    matchesColumn(session.root, info?.root) &&
    matchesColumn(session.principal, info?.principal);
  if (!isSame) throw corruptError(position, "its info in lists differs from its state");
  if (session.overview !== null && session.overviewSeq === row.seq) {
    const at = { ...position, seq: row.seq };
    const overview = decodeOverview(verifyCommitChecksum(session.overview, session.overviewSum, at), at);
    if (JSON.stringify(overview) !== encodeOverview(state))
      throw corruptError(position, "its overview in lists differs from its state");
  }
  const { v, seq, status, updatedAt, holder } = session;
  const isUpToDate = v === row.v && seq === row.seq && status === row.status && updatedAt === row.at;
  // The holder's commits do not update these columns.
  if (holder === null && !isUpToDate) throw corruptError(position, "its last commit in lists differs from its log");
}

/** Compares a column with its value. The column holds a substitute for text that the database cannot store: lone surrogates or NUL. */
function matchesColumn(column: string | null, value: string | undefined): boolean {
  if (column === null || value === undefined) return column === null && value === undefined;
  return column === value || !isStorableText(value);
}
