/**
 * Reads the body of a provider's error into one shape. Providers write `{ error: { message, type, code } }`,
 * `{ type: "error", error: { … } }`, `[{ error: { status, details } }]`, `{ message, code }`, `{ error: "…" }` or
 * `{ detail: "…" }`. A proxy may respond with a web page.
 */
import { isObject } from "../../core/data/is-object.js";

export type ErrorBody = {
  readonly message?: string;
  /** Codes and types, the most specific first. */
  readonly codes: readonly string[];
  /** An HTTP status inside the body. */
  readonly status?: number;
  /** Google's typed details. */
  readonly details: readonly JsonObject[];
  /** Whether a daily quota is used up, so that a retry within seconds cannot succeed. */
  readonly dailyQuota: boolean;
  /** Whether OpenRouter's moderation flagged the request. OpenRouter has no code for it, and its status 403 also means other errors. */
  readonly flagged: boolean;
  /** The title of the web page, if the body is one. It may be empty. */
  readonly page?: string;
};

export type JsonObject = { readonly [key: string]: unknown };

/** A larger body is not parsed. In characters. */
const maxBody = 256 * 1024;

/** Reads the body of an error that was thrown or that arrived inside a stream. */
export function readErrorBody(error: unknown): ErrorBody {
  const text = readString(error, "responseBody");
  if (text !== undefined && isWebPage(text)) return { ...emptyBody, page: readTitle(text) };
  const errorObject = findError(parse(text)) ?? findError(findParsedBody(error));
  return errorObject !== undefined ? toErrorBody(errorObject) : emptyBody;
}

const emptyBody: ErrorBody = { codes: [], details: [], dailyQuota: false, flagged: false };

/** An SDK error has its parsed body in `data` or `value`. An error inside a stream is the parsed body itself. */
function findParsedBody(error: unknown): unknown {
  if (!(error instanceof Error)) return typeof error === "string" ? { message: error } : error;
  const { data, value } = error as { readonly data?: unknown; readonly value?: unknown };
  return data ?? value;
}

function parse(text: string | undefined): unknown {
  if (text === undefined || text.length > maxBody) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON. Only the status and the SDK's own message remain.
    return undefined;
  }
}

/** The innermost `error` object describes the failure. */
function findError(value: unknown): JsonObject | undefined {
  const body = Array.isArray(value) ? value[0] : value;
  if (!isObject(body)) return undefined;
  if (isObject(body.error)) return body.error;
  if (isObject(body.response) && isObject(body.response.error)) return body.response.error;
  if (typeof body.error === "string") return { ...body, message: body.error };
  if (typeof body.message === "string") return body;
  return typeof body.detail === "string" ? { message: body.detail } : undefined;
}

function toErrorBody(error: JsonObject): ErrorBody {
  const details = (Array.isArray(error.details) ? error.details : []).filter(isObject);
  const status = [error.statusCode, error.code].find((item) => typeof item === "number");
  const codes = [error.code, ...details.map((detail) => detail.reason), error.type, error.status].filter(
    (code): code is string => typeof code === "string" && /^[\w.-]{1,80}$/.test(code),
  );
  const message = readString(error, "message");
  return {
    codes,
    details,
    dailyQuota: details.some(isDailyQuota),
    flagged: isObject(error.metadata) && typeof error.metadata.flagged_input === "string",
    ...(message !== undefined && message.trim() !== "" && { message }),
    ...(typeof status === "number" && { status }),
  };
}

function isDailyQuota(detail: JsonObject): boolean {
  const violations: unknown = detail.violations;
  if (!Array.isArray(violations)) return false;
  return violations.some((violation) => readString(violation, "quotaId")?.includes("PerDay") === true);
}

function isWebPage(text: string): boolean {
  return /^\s*(<!doctype html|<html|<head|<body)/i.test(text.slice(0, 200));
}

function readTitle(page: string): string {
  return /<title[^>]{0,100}>([^<]{0,200})<\/title>/i.exec(page.slice(0, 4096))?.[1]?.trim() ?? "";
}

function readString(value: unknown, key: string): string | undefined {
  if (!isObject(value)) return undefined;
  const member = value[key];
  return typeof member === "string" ? member : undefined;
}
