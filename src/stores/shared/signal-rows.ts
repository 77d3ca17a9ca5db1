/**
 * Signals as JSON in database rows.
 */
import { parseJson } from "../../core/data/json.js";
import { PawlError } from "../../errors.js";
import type { Signal } from "../../ports/signal.js";
import { corruptError, type RowPosition, verifyChecksum } from "./decode.js";
import { maxEntryDepth } from "./encode.js";

export function encodeSignal({ id, key, at, keptUntil, value, by }: Signal): string {
  return JSON.stringify({ id, key, at, keptUntil, value, ...(by === undefined ? {} : { by }) });
}

/** @param file the store's name in messages @throws PawlError `store_corrupt` */
export function decodeSignal(text: string, sum: number, file: string): Signal {
  const position = outsideSessions(file, "a signal");
  const parsed = parseJson(verifyChecksum(text, sum, position), { maxDepth: maxEntryDepth });
  return checkSignal(parsed.ok ? parsed.value : null, position);
}

/** @throws the error of the position */
export function checkSignal(value: unknown, position: RowPosition): Signal {
  const signal = value as Partial<Signal> | null;
  const isWhole =
    typeof signal === "object" &&
    typeof signal?.id === "string" &&
    typeof signal.key === "string" &&
    Number.isFinite(signal.at) &&
    Number.isFinite(signal.keptUntil) &&
    signal.value !== undefined &&
    (signal.by === undefined || typeof signal.by === "string");
  if (!isWhole) throw corruptError(position, "it is not a signal");
  return signal as Signal;
}

/** The position of a row that belongs to no session, for error messages. */
export function outsideSessions(file: string, row: string): RowPosition {
  const problem = (what: string) =>
    new PawlError(
      "store_corrupt",
      `The store ${file} is damaged: in the row of ${row}, ${what}. Nothing was changed. Restore the store from a backup.`,
    );
  return { file, sessionId: "", seq: 0, createError: problem };
}
