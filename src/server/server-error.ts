/**
 * Error responses: a status and a code for each error. Codes are the library's, plus a few that only the server has.
 */
import { type ErrorCode, PawlError } from "../index.js";
import { createChallenge, type OAuthSettings } from "./oauth.js";
import type { Scope } from "./principal.js";

/** The error codes that only a server has. */
export const serverCodes = Object.freeze([
  "unauthorized",
  "forbidden",
  "not_found",
  "method_not_allowed",
  "bad_cursor",
  "unsupported_media_type",
  "too_large",
  "too_slow",
  "too_many",
  "draining",
  "keys_unavailable",
] as const);

/** An error code that only a server has. */
export type ServerCode = (typeof serverCodes)[number];

/** The code of an error response. */
export type AnsweredCode = ErrorCode | ServerCode;

/** The HTTP status of each code. Other codes get 500. */
export const statusOf: { readonly [code in AnsweredCode]?: number } = Object.freeze({
  bad_input: 400,
  bad_cursor: 400,
  not_storable: 400,
  unknown_model: 400,
  unknown_handoff: 400,
  bad_schedule: 400,
  unauthorized: 401,
  forbidden: 403,
  signal_refused: 403,
  no_session: 404,
  no_such_call: 404,
  no_such_run: 404,
  no_schedule: 404,
  not_found: 404,
  method_not_allowed: 405,
  too_slow: 408,
  session_busy: 409,
  session_active: 409,
  run_finished: 409,
  agent_mismatch: 409,
  root_mismatch: 409,
  schedule_exists: 409,
  schedule_full: 409,
  newer_format: 409,
  older_format: 409,
  too_large: 413,
  unsupported_media_type: 415,
  too_many: 429,
  signal_full: 429,
  draining: 503,
  keys_unavailable: 503,
  shut_down: 503,
  store_failed: 503,
  store_closed: 503,
});

/** An error that the server responds with. `retryAfterS` is in seconds. */
export class ServerError extends Error {
  override readonly name = "ServerError";
  readonly code: AnsweredCode;
  readonly retryAfterS: number | undefined;
  /** The scope that the request lacks. */
  readonly scope: Scope | undefined;

  constructor(
    code: AnsweredCode,
    message: string,
    { cause, ...options }: { readonly retryAfterS?: number; readonly scope?: Scope; readonly cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? {} : { cause });
    this.code = code;
    this.retryAfterS = options.retryAfterS;
    this.scope = options.scope;
  }
}

/** The body of an error response. */
export type ErrorBody = {
  /** The error. */
  readonly error: {
    /** The kind of error. */
    readonly code: AnsweredCode;
    /** What went wrong, and what to do about it. */
    readonly message: string;
    /** The page that explains the error. */
    readonly docs: string;
    /** The id of the request, which is also in the server's log. */
    readonly requestId: string;
  };
};

export type ErrorResponse = {
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  readonly body: ErrorBody;
  /** The error for the server's log; undefined if the caller is at fault. */
  readonly cause: unknown;
};

/** Converts an error to its response. Only messages that are meant for callers are sent: no stack, path or cause. */
export function toErrorResponse(error: unknown, requestId: string, oauth: OAuthSettings | null = null): ErrorResponse {
  const code = error instanceof ServerError || error instanceof PawlError ? error.code : "internal";
  const status = statusOf[code] ?? 500;
  const message = status === 500 || status === 503 ? formatFailure(code) : (error as Error).message;
  const retryAfterS = error instanceof ServerError ? error.retryAfterS : undefined;
  const retryAfter = retryAfterS ?? (status === 503 ? 5 : undefined);
  return {
    status,
    headers: {
      ...(retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }),
      ...pickChallenge(error, status, oauth),
    },
    body: { error: { code, message, docs: `docs/errors.md#${code}`, requestId } },
    cause: status >= 500 ? error : undefined,
  };
}

function pickChallenge(
  error: unknown,
  status: number,
  oauth: OAuthSettings | null,
): { readonly "www-authenticate"?: string } {
  if (status === 401) return { "www-authenticate": oauth === null ? "Bearer" : createChallenge(oauth, status, null) };
  const scope = error instanceof ServerError ? error.scope : undefined;
  return oauth === null || scope === undefined ? {} : { "www-authenticate": createChallenge(oauth, 403, scope) };
}

function formatFailure(code: AnsweredCode): string {
  if (code === "draining" || code === "shut_down") return "The server is shutting down. Try again.";
  if (code === "store_closed") return "The server's store is closed. Try again.";
  if (code === "keys_unavailable")
    return "The server cannot verify your token at the moment, because it cannot read the issuer's keys. Try again after the time in Retry-After.";
  if (code === "store_failed")
    return "The server's store failed, and the request may or may not have taken effect. Check before you retry; with an idempotency key, just retry.";
  return "The request failed because of an error in the server. Its log has the cause, under the request's id.";
}
