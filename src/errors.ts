/**
 * The errors that Pawl throws: on misuse, and on failures of its environment. A failure inside a run is never thrown;
 * it is data in the run's result.
 *
 * Each code has a heading in docs/errors.md, and a test checks that.
 */
export const errorCodes = Object.freeze([
  "bad_configuration",
  "bad_input",
  "duplicate_tool",
  "plugin_failed",
  "unknown_model",
  "missing_package",
  "sandbox_missing",
  "needs_node",
  "mcp_server_changed",
  "login_needed",
  "no_session",
  "run_finished",
  "shut_down",
  "session_busy",
  "session_active",
  "agent_mismatch",
  "unknown_handoff",
  "root_mismatch",
  "newer_format",
  "older_format",
  "no_such_call",
  "no_such_run",
  "store_open",
  "store_corrupt",
  "store_failed",
  "store_closed",
  "store_lacks",
  "signal_full",
  "signal_refused",
  "bad_schedule",
  "no_schedule",
  "schedule_exists",
  "schedule_full",
  "not_storable",
  "internal",
] as const);

/** The code of a `PawlError`. */
export type ErrorCode = (typeof errorCodes)[number];

/** An error with a stable code. Its message says what happened, to what, and what to do next. */
export class PawlError extends Error {
  /** Distinguishes this error from others. */
  override readonly name = "PawlError";
  /** What kind of error it is. It does not change between versions. */
  readonly code: ErrorCode;

  constructor(
    code: ErrorCode,
    message: string,
    options?: {
      /** The error that caused it. */
      readonly cause?: unknown;
    },
  ) {
    super(message, options);
    this.code = code;
  }
}
