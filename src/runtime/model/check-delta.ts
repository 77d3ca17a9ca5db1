/**
 * Checks the shape of each delta before it is used: a model may be third-party code (SEC-12).
 *
 * The end of an answer is repaired if possible: an invalid count is dropped, and an unknown finish reason becomes `other`. Any other
 * malformed delta is a provider failure.
 */
import { toUnifiedReason } from "../../core/data/finish-reason.js";
import type { FinishReason, ModelFailure, ModelFailureKind, ToolOutput, Usage } from "../../core/data/message.js";
import { usageFields } from "../../core/data/usage.js";
import type { DeltaKind, ModelDelta } from "../../ports/model.js";
import { normaliseJson, toToolOutput } from "../tools/to-json.js";

/** The delta, or what is wrong with it. */
export type CheckedDelta =
  | { readonly ok: true; readonly delta: ModelDelta }
  | { readonly ok: false; readonly fault: string };

export function checkDelta(value: unknown): CheckedDelta {
  if (typeof value !== "object" || value === null) return { ok: false, fault: "A delta is not an object." };
  const delta = value as ModelDelta & { readonly [field: string]: unknown };
  const fields = requiredFields(delta.kind);
  if (fields === undefined) return { ok: false, fault: `A delta has the unknown kind ${formatValue(delta.kind)}.` };
  for (const field of fields)
    if (typeof delta[field] !== "string")
      return { ok: false, fault: `A ${delta.kind} delta has no text in '${field}'.` };
  switch (delta.kind) {
    case "done":
      return {
        ok: true,
        delta: { ...delta, finishReason: toFinishReason(delta.finishReason), usage: toUsage(delta.usage) },
      };
    case "error":
      return { ok: true, delta: toFailure(delta) };
    case "tool-result":
      return { ok: true, delta: { ...delta, output: toOutput(delta.output) } };
    default:
      return { ok: true, delta };
  }
}

const noFields: readonly string[] = [];
const idFields: readonly string[] = ["id"];
const idAndTextFields: readonly string[] = ["id", "text"];
const idAndNameFields: readonly string[] = ["id", "name"];

/** The fields that must be strings, by kind; undefined for an unknown kind. */
function requiredFields(kind: DeltaKind): readonly string[] | undefined {
  switch (kind) {
    case "text-delta":
    case "reasoning-delta":
    case "tool-input-delta":
      return idAndTextFields;
    case "text-start":
    case "text-end":
    case "reasoning-start":
    case "reasoning-end":
    case "tool-input-end":
    case "source":
      return idFields;
    case "tool-input-start":
    case "tool-result":
      return idAndNameFields;
    case "tool-call":
      return ["id", "name", "input"];
    case "tool-approval-request":
      return ["id", "approvalId"];
    case "file":
      return ["mediaType", "data"];
    case "start":
    case "done":
    case "error":
      return noFields;
    default:
      return undefined;
  }
}

function toFinishReason(value: unknown): FinishReason {
  const { unified, raw } = toFields(value);
  return {
    unified: toUnifiedReason(unified),
    ...(typeof raw === "string" ? { raw: raw.slice(0, maxWord) } : {}),
  };
}

function toUsage(reported: unknown): Usage {
  const fields = toFields(reported);
  const usage: { -readonly [Count in keyof Usage]: Usage[Count] } = {};
  for (const count of usageFields) {
    const value = fields[count];
    if (typeof value === "number" && Number.isFinite(value) && value >= 0) usage[count] = value;
  }
  if (fields.partial === true) usage.partial = true;
  return usage;
}

const failureKinds: ReadonlySet<unknown> = new Set(
  Object.keys({
    rate_limit: true,
    overloaded: true,
    timeout: true,
    network: true,
    context_overflow: true,
    quota: true,
    auth: true,
    invalid_request: true,
    content_filter: true,
    provider: true,
    cancelled: true,
  } satisfies Record<ModelFailureKind, true>),
);

function toFailure(delta: Extract<ModelDelta, { kind: "error" }>): ModelDelta {
  const { kind, message, statusCode, code, retryAfterMs, unanswered } = toFields(delta.failure);
  const failure: ModelFailure = {
    kind: failureKinds.has(kind) ? (kind as ModelFailureKind) : "provider",
    message: typeof message === "string" ? message.slice(0, maxMessage) : "The provider did not say what failed.",
    ...(isCount(statusCode) ? { statusCode } : {}),
    ...(typeof code === "string" ? { code: code.slice(0, maxWord) } : {}),
    ...(isCount(retryAfterMs) ? { retryAfterMs } : {}),
    ...(unanswered === true ? { unanswered } : {}),
  };
  return { ...delta, failure, ...(delta.usage === undefined ? {} : { usage: toUsage(delta.usage) }) };
}

/** In characters. */
const maxMessage = 10_000;
/** The maximum length of a finish reason or an error code, in characters. */
const maxWord = 200;

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

/** A value that does not have the shape of an output becomes a JSON output. */
function toOutput(value: unknown): ToolOutput {
  try {
    return toToolOutput(normaliseJson(value));
  } catch (error) {
    return { type: "text", text: error instanceof Error ? error.message : "The result cannot be shown." };
  }
}

function toFields(value: unknown): { readonly [field: string]: unknown } {
  return typeof value === "object" && value !== null ? (value as { readonly [field: string]: unknown }) : {};
}

function formatValue(value: unknown): string {
  return typeof value === "string" ? `'${value.slice(0, 40)}'` : `of type ${typeof value}`;
}
