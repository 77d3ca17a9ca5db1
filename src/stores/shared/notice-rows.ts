/**
 * Notices as JSON in database rows.
 */
import { defined } from "../../core/data/defined.js";
import { parseJson } from "../../core/data/json.js";
import type { Json } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import type { CommittedNotice, DestinationRow, NoticeRow } from "../../ports/notice-store.js";
import { checksumOf } from "./checksum.js";
import { corruptError, verifyChecksum } from "./decode.js";
import { maxEntryDepth } from "./encode.js";
import { outsideSessions } from "./signal-rows.js";

/** A commit's notice, as it is written. */
export type EncodedNotice = { readonly id: string; readonly text: string; readonly sum: number };

const noNotices: readonly EncodedNotice[] = [];

export function encodeNotices(notices: readonly CommittedNotice[] | undefined): readonly EncodedNotice[] {
  if (notices === undefined) return noNotices;
  return notices.map(({ id, notice }) => ({ id, ...encodeNotice({ notice }) }));
}

export function encodeNotice({ notice, error }: Pick<NoticeRow, "notice" | "error">): Omit<EncodedNotice, "id"> {
  const text = JSON.stringify({ notice, ...defined({ error }) });
  return { text, sum: checksumOf(text) };
}

/** The columns of a notice, as a database returns them. */
export type NoticeColumns = {
  readonly number: number;
  readonly endpoint: string;
  readonly id: string;
  readonly session: string | null;
  readonly at: number;
  readonly dueAt: number | null;
  readonly tries: number;
  readonly body: string;
  readonly bodySum: number;
};

/**
 * Decodes a notice. A damaged row becomes an error, so that it does not hide the others. @param file the store's name in messages
 */
export function decodeNotice(columns: NoticeColumns, file: string): NoticeRow {
  const { number, endpoint, id, session, at, dueAt, tries } = columns;
  const row = { number, destination: endpoint, id, sessionId: session, at, dueAt, tries };
  try {
    return { ...row, ...decodeBody(columns, file) };
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    return { ...row, notice: null, error: error.message };
  }
}

/** @throws PawlError `store_corrupt` */
function decodeBody({ id, body, bodySum }: NoticeColumns, file: string): Pick<NoticeRow, "notice" | "error"> {
  const position = outsideSessions(file, `the notice ${id}`);
  const parsed = parseJson(verifyChecksum(body, bodySum, position), { maxDepth: maxEntryDepth });
  const value = parsed.ok ? (parsed.value as { readonly notice?: Json; readonly error?: string } | null) : null;
  if (typeof value !== "object" || value?.notice === undefined) throw corruptError(position, "it does not parse");
  const { notice, error } = value;
  return { notice, ...defined({ error }) };
}

/** Decodes a destination. The body of a damaged row is null. */
export function decodeDestination(
  { id, body, bodySum }: Pick<NoticeColumns, "id" | "body" | "bodySum">,
  file: string,
): DestinationRow {
  try {
    const position = outsideSessions(file, `the destination ${id}`);
    const parsed = parseJson(verifyChecksum(body, bodySum, position), { maxDepth: maxEntryDepth });
    return { id, body: parsed.ok ? parsed.value : null };
  } catch (error) {
    if (!(error instanceof PawlError)) throw error;
    return { id, body: null };
  }
}
