/**
 * Errors of SQLite, in words that name the file and say what to do.
 */
import { PawlError } from "../../errors.js";
import { isBusy, sqliteCode, sqliteCodes } from "./driver.js";

/** An error of a database that is open. */
export function storeFailure(error: unknown, file: string): PawlError {
  if (error instanceof PawlError) return error;
  const options = { cause: error };
  if (isBusy(error))
    return new PawlError(
      "store_failed",
      `The store ${file} is locked by another process. Nothing was done. ${locked}`,
      options,
    );
  switch (sqliteCode(error)) {
    case sqliteCodes.FULL:
      return new PawlError(
        "store_failed",
        `The disk of the store ${file} is full. Nothing was written. ${full}`,
        options,
      );
    case sqliteCodes.READONLY:
      return new PawlError("store_failed", `The store ${file} is read-only. Nothing was written. ${readOnly}`, options);
    case sqliteCodes.CORRUPT:
    case sqliteCodes.NOTADB:
      return new PawlError("store_corrupt", `The store ${file} is damaged (${messageOf(error)}). ${damaged}`, options);
    default:
      return new PawlError("store_failed", `The store ${file} failed: ${messageOf(error)}.`, options);
  }
}

/** An error of a database that could not be opened. */
export function openFailure(error: unknown, file: string): PawlError {
  if (error instanceof PawlError) return error;
  const failed = (why: string): PawlError =>
    new PawlError("store_open", `The store ${file} could not be opened: ${why}`, { cause: error });
  if (isBusy(error)) return failed(`it is locked by another process. ${locked}`);
  switch (sqliteCode(error)) {
    case sqliteCodes.FULL:
      return failed(`the disk is full. ${full}`);
    case sqliteCodes.READONLY:
      return failed(`it is read-only. ${readOnly}`);
    case sqliteCodes.NOTADB:
      return failed("it is no SQLite database. Name another file.");
    case sqliteCodes.CORRUPT:
      return new PawlError("store_corrupt", `The store ${file} is damaged (${messageOf(error)}). ${damaged}`, {
        cause: error,
      });
    default:
      return failed(`${messageOf(error)}. Check that its folder exists and can be written.`);
  }
}

const locked = "Try again, or end what holds it.";
const full = "Free some space, then carry on.";
const readOnly = "Make the file and its folder writable for this user.";
const damaged = "Nothing was changed. Keep a copy of the file and take the last good one from a backup.";

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
