/**
 * Classifies a provider's error: first by documented codes, then by the HTTP status, then by the state of the
 * connection. The text of a message is used only if the provider has no code for the case.
 */

import { type ModelFailure, type ModelFailureKind, nothingListensCode } from "../../core/data/message.js";
import { isLoopbackHost } from "../../platform/loopback.js";
import { type ErrorBody, readErrorBody } from "./error-body.js";
import { readRetryAfter } from "./retry-after.js";

/** Codes that override the status, because one status has several meanings. */
const kindByCode: ReadonlyMap<string, ModelFailureKind> = new Map([
  ["insufficient_quota", "quota"],
  ["billing_hard_limit_reached", "quota"],
  ["billing_not_active", "quota"],
  ["billing_error", "quota"],
  ["context_length_exceeded", "context_overflow"],
  ["exceed_context_size_error", "context_overflow"],
  ["request_too_large", "context_overflow"],
  ["overloaded_error", "overloaded"],
  ["server_is_overloaded", "overloaded"],
  ["slow_down", "overloaded"],
  ["rate_limit_error", "rate_limit"],
  ["rate_limit_exceeded", "rate_limit"],
  ["authentication_error", "auth"],
  ["permission_error", "auth"],
  ["invalid_api_key", "auth"],
  ["API_KEY_INVALID", "auth"],
  ["content_filter", "content_filter"],
  ["content_policy_violation", "content_filter"],
  ["timeout_error", "timeout"],
]);

/** The status of a documented code, for an error inside a stream, which has no status of its own. */
const statusByCode: ReadonlyMap<string, number> = new Map([
  ["invalid_request_error", 400],
  ["authentication_error", 401],
  ["billing_error", 402],
  ["permission_error", 403],
  ["not_found_error", 404],
  ["model_not_found", 404],
  ["request_too_large", 413],
  ["rate_limit_error", 429],
  ["rate_limit_exceeded", 429],
  ["insufficient_quota", 429],
  ["api_error", 500],
  ["server_error", 500],
  ["timeout_error", 504],
  ["overloaded_error", 529],
  ["INVALID_ARGUMENT", 400],
  ["FAILED_PRECONDITION", 400],
  ["OUT_OF_RANGE", 400],
  ["UNAUTHENTICATED", 401],
  ["PERMISSION_DENIED", 403],
  ["NOT_FOUND", 404],
  ["RESOURCE_EXHAUSTED", 429],
  ["INTERNAL", 500],
  ["UNKNOWN", 500],
  ["UNAVAILABLE", 503],
  ["DEADLINE_EXCEEDED", 504],
]);

/** Documented messages for a prompt that is too long, of providers that have no code for it. */
const overflowSentences: readonly RegExp[] = [
  /prompt is too long/i,
  /input length and `?max_tokens`? exceed context limit/i,
  /input token count[^.]{0,40} exceeds the maximum number of tokens/i,
  /maximum context length/i,
  /exceeds? the available context size/i,
  /context the overflows/i,
];

/** Documented messages for an account without credit, of providers that have no code for it. */
const quotaSentences: readonly RegExp[] = [/credit balance is too low/i];

const timeoutCodes: ReadonlySet<string> = new Set([
  "ETIMEDOUT",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_BODY_TIMEOUT",
]);

/**
 * TLS errors for a certificate that is not trusted, or that is for another host name. A retry cannot succeed.
 * The codes of OpenSSL: https://nodejs.org/api/tls.html#x509-certificate-error-codes
 */
const certificateCodes: ReadonlySet<string> = new Set([
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "CERT_SIGNATURE_FAILURE",
  "CERT_NOT_YET_VALID",
  "CERT_HAS_EXPIRED",
  "CERT_CHAIN_TOO_LONG",
  "CERT_REVOKED",
  "CERT_UNTRUSTED",
  "CERT_REJECTED",
  "INVALID_CA",
  "INVALID_PURPOSE",
  "HOSTNAME_MISMATCH",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  // undici: the certificate of a proxy that is reached over https.
  "UND_ERR_PRX_TLS",
]);

/** The other side closed the connection. If nothing had arrived, it may never have read the request. */
const closedCodes: ReadonlySet<string> = new Set(["ECONNRESET", "ECONNABORTED", "EPIPE", "UND_ERR_SOCKET"]);

/** Errors of the SDK about an invalid request. */
const requestErrorNames: ReadonlySet<string> = new Set([
  "AI_UnsupportedFunctionalityError",
  "AI_InvalidPromptError",
  "AI_InvalidArgumentError",
  "AI_NoSuchModelError",
  "AI_LoadSettingError",
]);

/**
 * Converts a provider's error, thrown or sent inside a stream, into a typed failure. It never throws. The failure's
 * message contains no headers and no keys.
 *
 * @param now epoch milliseconds, to which a date in `Retry-After` is compared
 */
export function toModelFailure(error: unknown, now: number = Date.now()): ModelFailure {
  const refusedAddress = findRefusedLoopback(error);
  if (refusedAddress !== undefined) return createNotListeningFailure(refusedAddress);
  const proxyStatus = findProxyStatus(error);
  if (proxyStatus !== undefined) return createProxyFailure(proxyStatus);
  const body = readErrorBody(error);
  const statusCode = findErrorStatus(error, body);
  const systemCode = findSystemCode(error);
  const kind = classifyError(error, body, statusCode, systemCode);
  const code = body.codes[0] ?? systemCode;
  const retryAfterMs = readRetryAfter(headersOf(error), body.details, now);
  return {
    kind,
    message: formatFailure(error, body, statusCode, kind, code),
    ...(statusCode !== undefined && { statusCode }),
    ...(code !== undefined && { code }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  };
}

/** Whether the other side closed the connection, as servers do with idle keep-alive connections. */
export function isConnectionClosed({ kind, statusCode, code }: ModelFailure): boolean {
  return kind === "network" && statusCode === undefined && code !== undefined && closedCodes.has(code);
}

function createNotListeningFailure(address: string): ModelFailure {
  const message = `Nothing listens on ${address}. Start the model server, or check its address.`;
  return { kind: "network", code: nothingListensCode, message };
}

/** The status with which a proxy refused to connect. undici has no code for this error, so its message is matched. */
function findProxyStatus(error: unknown): number | undefined {
  let current = error;
  for (let depth = 0; depth < 8 && current instanceof Error; depth++) {
    const [, status] = /^Proxy (?:response|Authentication Required) \((\d{3})\)/.exec(current.message) ?? [];
    if (status !== undefined) return Number(status);
    current = current.cause;
  }
  return undefined;
}

/** A retry does not change the proxy's credentials or rules (status below 500), but the server behind the proxy may recover. */
function createProxyFailure(status: number): ModelFailure {
  if (status === 407)
    return {
      kind: "auth",
      message: "The proxy asks for credentials (407). Set them in HTTPS_PROXY: http://USER:PASSWORD@HOST:PORT.",
    };
  const message = `The proxy refused to connect to the provider (status ${status}).`;
  return { kind: status < 500 ? "auth" : "network", message };
}

function classifyError(
  error: unknown,
  body: ErrorBody,
  statusCode: number | undefined,
  systemCode: string | undefined,
): ModelFailureKind {
  for (const code of body.codes) {
    const kind = kindByCode.get(code);
    if (kind !== undefined) return kind;
  }
  if (body.dailyQuota) return "quota";
  if (body.flagged) return "content_filter";
  const kind = statusCode !== undefined ? classifyStatus(statusCode) : classifyWithoutStatus(error, systemCode);
  return kind === "invalid_request" || kind === "provider"
    ? classifyMessage(body.message ?? messageOf(error), kind)
    : kind;
}

function classifyMessage(message: string, kind: ModelFailureKind): ModelFailureKind {
  if (overflowSentences.some((sentence) => sentence.test(message))) return "context_overflow";
  return quotaSentences.some((sentence) => sentence.test(message)) ? "quota" : kind;
}

function classifyStatus(status: number): ModelFailureKind {
  switch (status) {
    case 401:
    case 403:
      return "auth";
    case 402:
      return "quota";
    case 408:
    case 504:
    case 522:
    case 524:
      return "timeout";
    case 413:
      return "context_overflow";
    case 429:
      return "rate_limit";
    case 498: // Groq's flexible tier is at capacity.
    case 503:
    case 529:
      return "overloaded";
    default:
      return status < 500 ? "invalid_request" : "provider";
  }
}

function classifyWithoutStatus(error: unknown, systemCode: string | undefined): ModelFailureKind {
  const name = nameOf(error);
  if (name === "AbortError") return "cancelled";
  if (name === "TimeoutError") return "timeout";
  if (name === "AI_LoadAPIKeyError") return "auth";
  if (requestErrorNames.has(name)) return "invalid_request";
  // As with refused credentials, a retry would fail in the same way.
  if (systemCode !== undefined && certificateCodes.has(systemCode)) return "auth";
  if (systemCode !== undefined) return timeoutCodes.has(systemCode) ? "timeout" : "network";
  // The connection broke before or during the answer.
  if (name === "AI_APICallError" || isFailedFetch(error)) return "network";
  return isCutShort(error, name) ? "network" : "provider";
}

function isFailedFetch(error: unknown): boolean {
  return error instanceof TypeError && /^(fetch failed|failed to fetch|terminated)$/i.test(error.message);
}

/** Truncated JSON, no body, or a stream that ended early. The SDK reports the last as invalid data without `data`. */
function isCutShort(error: unknown, name: string): boolean {
  if (name === "AI_JSONParseError" || name === "AI_EmptyResponseBodyError") return true;
  return name === "AI_InvalidResponseDataError" && (error as { readonly data?: unknown }).data === undefined;
}

/** The HTTP status if it is an error status, else the status of the code inside the body. */
function findErrorStatus(error: unknown, body: ErrorBody): number | undefined {
  const ownStatus = readNumber(error, "statusCode") ?? readNumber(error, "status");
  if (ownStatus !== undefined && isErrorStatus(ownStatus)) return ownStatus;
  if (body.status !== undefined && isErrorStatus(body.status)) return body.status;
  for (const code of body.codes) {
    const status = statusByCode.get(code);
    if (status !== undefined) return status;
  }
  return undefined;
}

function isErrorStatus(status: number): boolean {
  return Number.isInteger(status) && status >= 400 && status <= 599;
}

/** The code of the system or socket error underneath (`ECONNRESET`). */
function findSystemCode(error: unknown): string | undefined {
  let current = error;
  for (let depth = 0; depth < 8 && current instanceof Error; depth++) {
    const code = (current as { readonly code?: unknown }).code;
    if (typeof code === "string" && (certificateCodes.has(code) || /^(E(?!RR_)[A-Z_]+|UND_ERR_[A-Z_]+)$/.test(code)))
      return code;
    current = current.cause;
  }
  return undefined;
}

function headersOf(error: unknown): unknown {
  return typeof error === "object" && error !== null
    ? (error as { readonly responseHeaders?: unknown }).responseHeaders
    : undefined;
}

function readNumber(error: unknown, key: "statusCode" | "status"): number | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const value = (error as { readonly [key: string]: unknown })[key];
  return typeof value === "number" ? value : undefined;
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : "";
}

function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message;
  return typeof error === "string" ? error : "";
}

function formatFailure(
  error: unknown,
  body: ErrorBody,
  statusCode: number | undefined,
  kind: ModelFailureKind,
  code: string | undefined,
): string {
  // The provider's own message may repeat the key, so it is not used.
  if (statusCode === undefined && code !== undefined && certificateCodes.has(code)) return formatCertificateError(code);
  if (statusCode === 401) return "The provider refused the credentials (status 401). Check the API key.";
  if (body.page !== undefined)
    return formatMissingReason("The provider sent a web page instead of an answer", body.page, statusCode);
  const message = body.message ?? messageOf(error);
  if (kind === "network" && body.message === undefined) return formatConnectionError(error, message, code);
  return message === ""
    ? formatMissingReason("The provider reported an error without a reason", undefined, statusCode)
    : sanitizeMessage(message);
}

function formatCertificateError(code: string): string {
  const [isExpired, isOtherName] = [/EXPIRED|NOT_YET_VALID/.test(code), /ALTNAME|HOSTNAME/.test(code)];
  if (isExpired)
    return `The server's certificate is not valid at this time (${code}). Check this machine's clock, or renew the certificate.`;
  if (isOtherName) return `The server's certificate is for another host name (${code}). Check the provider's address.`;
  return `The server's certificate is not trusted (${code}). If your company's proxy or server signs it, set NODE_EXTRA_CA_CERTS to the PEM file of its certificate authority, and start again.`;
}

function formatMissingReason(problem: string, title: string | undefined, statusCode: number | undefined): string {
  const status = statusCode !== undefined ? ` (status ${statusCode})` : "";
  return sanitizeMessage(`${problem}${status}${title ? `: ${title}` : "."}`);
}

function formatConnectionError(error: unknown, message: string, code: string | undefined): string {
  const isMidResponse = readNumber(error, "statusCode") !== undefined;
  const codeSuffix = code !== undefined && !message.includes(code) ? ` (${code})` : "";
  if (isMidResponse) return `The connection to the provider was lost in the middle of its answer${codeSuffix}.`;
  return sanitizeMessage(
    message === "" ? `The provider could not be reached${codeSuffix}.` : `${message}${codeSuffix}`,
  );
}

const maxMessage = 600;

/** Returns one line of bounded length, with everything redacted that looks like a key. */
function sanitizeMessage(text: string): string {
  const line = text
    .slice(0, 4 * maxMessage)
    .replace(/[\s\u0000-\u001f\u007f]+/g, " ")
    .replace(/\b(?:sk|pk|rk|gsk|xai|hf|csk|tgp|pplx|nvapi|AIza|ya29)[-_.]?[A-Za-z0-9_\-.*]{8,}/g, "[redacted]")
    .replace(/\b(Bearer|Basic)\s+[^\s"']+/gi, "$1 [redacted]")
    .replace(
      /\b(api[-_ ]?key(?: provided)?|authorization)(\s*[:=]\s*["']?)(?!Bearer|Basic)[^\s"',]+/gi,
      "$1$2[redacted]",
    )
    .trim();
  return line.length > maxMessage ? `${line.slice(0, maxMessage)}…` : line;
}

type SystemError = Error & { readonly code?: unknown; readonly address?: unknown; readonly port?: unknown };

/**
 * The address on this machine that refused the connection, for example `127.0.0.1:8080`; undefined for any other error. Unlike a remote
 * server, a local one does not come back after a wait: it is not running, or its address is wrong.
 */
function findRefusedLoopback(error: unknown): string | undefined {
  let current: unknown = error;
  for (let depth = 0; depth < 8 && current instanceof Error; depth++) {
    const { code, address, port } = current as SystemError;
    if (code === "ECONNREFUSED" && typeof address === "string")
      return isLoopbackHost(address) ? `${address.includes(":") ? `[${address}]` : address}:${port}` : undefined;
    // `localhost` resolves to several addresses, all of which refused.
    current = current instanceof AggregateError ? current.errors[0] : current.cause;
  }
  return undefined;
}
