/**
 * The PostgreSQL connection that the store needs: a pool of the package `pg`, PGlite, or anything with the same `query`.
 */
import { getErrorMessage } from "../../core/data/error-message.js";
import { PawlError } from "../../errors.js";

/** Runs single statements, each in its own transaction. */
export type PostgresQuery = {
  /** Runs one statement. */
  query(text: string, values?: readonly unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
};

/** Transient errors after which nothing was written, so the same statement may be sent again. */
const transientCodes: ReadonlySet<string> = new Set([
  "40001", // serialization_failure
  "40P01", // deadlock_detected
  "55P03", // lock_not_available: lock_timeout
  "57014", // query_canceled: statement_timeout
  "53300", // too_many_connections
  "57P03", // cannot_connect_now
]);

/** Errors of a connection, in addition to those of class 08: whether the statement took effect is unknown. */
const connectionCodes: ReadonlySet<string> = new Set([
  "57P01", // admin_shutdown
  "57P02", // crash_shutdown
  "57P05", // idle_session_timeout
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EAI_AGAIN",
  "EPIPE",
  "ETIMEDOUT",
]);

export function errorCodeOf(error: unknown): string {
  const code: unknown = typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
  return typeof code === "string" ? code : "";
}

/** Whether nothing was written and the statement may be retried. */
export function isTransient(error: unknown): boolean {
  return transientCodes.has(errorCodeOf(error));
}

/** Messages of `pg` errors without a code: the connection ended during a statement, or did not respond or open in time. */
const connectionErrorPattern =
  /connection (?:terminated|ended)|not queryable|query read timeout|timeout exceeded when trying to connect/i;

/** Whether the reply was lost, so that the statement may have taken effect. */
export function isConnectionLost(error: unknown): boolean {
  const code = errorCodeOf(error);
  // PgBouncer reports 08P01 for any failure of its server.
  if (code.startsWith("08") || connectionCodes.has(code)) return true;
  return code === "" && error instanceof Error && connectionErrorPattern.test(error.message);
}

export function toStoreError(error: unknown, name: string): PawlError {
  if (error instanceof PawlError) return error;
  const options = { cause: error };
  const reason = getErrorMessage(error);
  if (isTransient(error))
    return new PawlError("store_failed", `The store ${name} is busy: ${reason}. Nothing was done. Try again.`, options);
  switch (errorCodeOf(error)) {
    case "53100":
      return new PawlError(
        "store_failed",
        `The disk of the store ${name} is full. Free some space, then continue.`,
        options,
      );
    case "42501":
      return new PawlError(
        "store_failed",
        `The store ${name} refuses this role: ${reason}. Run the grants that pawl postgres grants prints.`,
        options,
      );
    case "XX001":
    case "XX002":
      return new PawlError(
        "store_corrupt",
        `The store ${name} is damaged: ${reason}. Restore it from a backup.`,
        options,
      );
    default:
      return new PawlError("store_failed", `The store ${name} failed: ${reason}.`, options);
  }
}

function suggestFix(error: unknown, reason: string): string {
  if (/does not support SSL/i.test(reason))
    return "Pawl encrypts connections to other machines. If you trust the network, add ?sslmode=disable to the address.";
  if (errorCodeOf(error) === "42501") return "Run the grants that pawl postgres grants prints for this role.";
  return "Check that the server runs, and that this role may use the database.";
}

export function toOpenError(error: unknown, name: string): PawlError {
  if (error instanceof PawlError) return error;
  const reason = getErrorMessage(error);
  return new PawlError("store_open", `The store ${name} could not be opened: ${reason}. ${suggestFix(error, reason)}`, {
    cause: error,
  });
}
