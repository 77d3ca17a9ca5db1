/**
 * Converts SQLite errors to errors that name the file and say what to do.
 */
import { getErrorMessage } from "../../core/data/error-message.js";
import { PawlError } from "../../errors.js";
import { isBusy, sqliteCode, sqliteCodes } from "./driver.js";

/** Converts an error of an open database. */
export function toStoreError(error: unknown, file: string): PawlError {
  if (error instanceof PawlError) return error;
  const options = { cause: error };
  if (isBusy(error))
    return new PawlError(
      "store_failed",
      `The store ${file} is locked by another process. Nothing was done. ${lockedHint}`,
      options,
    );
  switch (sqliteCode(error)) {
    case sqliteCodes.FULL:
      return new PawlError(
        "store_failed",
        `The disk of the store ${file} is full. Nothing was written. ${diskFullHint}`,
        options,
      );
    case sqliteCodes.READONLY:
      return new PawlError(
        "store_failed",
        `The store ${file} is read-only. Nothing was written. ${readOnlyHint}`,
        options,
      );
    case sqliteCodes.CORRUPT:
    case sqliteCodes.NOTADB:
      return new PawlError(
        "store_corrupt",
        `The store ${file} is damaged (${getErrorMessage(error)}). ${damagedHint}`,
        options,
      );
    default:
      return new PawlError("store_failed", `The store ${file} failed: ${getErrorMessage(error)}.`, options);
  }
}

/** Converts an error that occurred while opening a database. */
export function toOpenError(error: unknown, file: string): PawlError {
  if (error instanceof PawlError) return error;
  const options = { cause: error };
  const openError = (reason: string): PawlError =>
    new PawlError("store_open", `The store ${file} could not be opened: ${reason}`, options);
  if (isBusy(error)) return openError(`it is locked by another process. ${lockedHint}`);
  switch (sqliteCode(error)) {
    case sqliteCodes.FULL:
      return openError(`the disk is full. ${diskFullHint}`);
    case sqliteCodes.READONLY:
      return openError(`it is read-only. ${readOnlyHint}`);
    case sqliteCodes.NOTADB:
      return openError("it is not a SQLite database. Choose another file.");
    case sqliteCodes.CORRUPT:
      return new PawlError(
        "store_corrupt",
        `The store ${file} is damaged (${getErrorMessage(error)}). ${damagedHint}`,
        options,
      );
    default:
      return openError(`${getErrorMessage(error)}. Check that its folder exists and can be written.`);
  }
}

const lockedHint = "Try again, or stop the process that holds the lock.";
const diskFullHint = "Free some space, then continue.";
const readOnlyHint = "Make the file and its folder writable for this user.";
const damagedHint = "Nothing was changed. Keep a copy of the file and restore the last good version from a backup.";
