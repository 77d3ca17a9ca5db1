/**
 * How the process ends: exit codes for scripts, and error messages for people.
 */
import { getErrorMessage } from "../core/data/error-message.js";
import { reasons } from "../core/index.js";
import { type ErrorCode, PawlError, type RunResult } from "../index.js";

export const exitCodes = { done: 0, usage: 2, waiting: 3, limit: 4, failed: 5, interrupted: 75, aborted: 130 } as const;

export function exitCodeOf(result: RunResult): number {
  switch (result.status) {
    case "completed":
    case "failed":
    case "aborted":
      return reasons[result.reason].exitCode;
    case "awaiting_human":
    case "waiting":
      return exitCodes.waiting;
    case "interrupted":
      return exitCodes.interrupted;
  }
}

/** Caller errors: a retry does not help, the command line has to change. */
const usageErrorCodes: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "agent_mismatch",
  "bad_configuration",
  "bad_input",
  "bad_schedule",
  "no_schedule",
  "no_session",
  "no_such_call",
  "root_mismatch",
  "run_finished",
  "sandbox_missing",
  "schedule_exists",
  "session_active",
  "session_busy",
  "unknown_handoff",
  "unknown_model",
]);

export function exitCodeOfError(error: unknown): number {
  return error instanceof PawlError && usageErrorCodes.has(error.code) ? exitCodes.usage : exitCodes.failed;
}

/** Formats an error for a person. `--debug` adds the stack and the causes. */
export function formatError(error: unknown, isDebugging: boolean): string {
  if (isDebugging) return error instanceof Error ? formatWithCauses(error) : String(error);
  const message = getErrorMessage(error);
  return error instanceof PawlError ? message : `${message} (unexpected; run again with --debug for the stack)`;
}

function formatWithCauses(error: Error): string {
  const stack = error.stack ?? error.message;
  return error.cause instanceof Error ? `${stack}\nCaused by: ${formatWithCauses(error.cause)}` : stack;
}
