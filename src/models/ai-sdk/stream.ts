/**
 * Converts the stream parts of an AI SDK provider into deltas. Parts are untrusted: a part of an unknown kind is
 * ignored, and a malformed part of a known kind fails the attempt.
 */

import { isObject } from "../../core/data/is-object.js";
import { checkJson } from "../../core/data/json.js";
import type { Json, ModelFailure, ProviderMetadata, ToolOutput } from "../../core/data/message.js";
import { encodeBase64 } from "../../platform/bytes.js";
import type { DeltaBody } from "../../ports/model.js";
import { isConnectionClosed, toModelFailure } from "./failure.js";
import { cutShortFailure, MalformedPartError, pawlMetadataKey } from "./part.js";
import { hasCounts, readEnding, readUsage } from "./stream-ending.js";

/** Converts the parts of one attempt into deltas. */
export type StreamReader = {
  /** The deltas of a part, in order. Always empty after a `done` or an `error`. */
  read(part: unknown): readonly DeltaBody[];
  /**
   * Call it when the stream ends or throws. Returns the last deltas; empty after a `done` or an `error`.
   */
  end(error?: unknown): readonly DeltaBody[];
  /** True if the attempt has failed, but a part with its usage may still follow. */
  readonly failing: boolean;
  readonly ended: boolean;
};

/** The parts of both specifications. A test compares this list with the types of both, so that a new part is noticed. */
export type PartType =
  | "stream-start"
  | "response-metadata"
  | "text-start"
  | "text-delta"
  | "text-end"
  | "reasoning-start"
  | "reasoning-delta"
  | "reasoning-end"
  | "tool-input-start"
  | "tool-input-delta"
  | "tool-input-end"
  | "tool-call"
  | "tool-approval-request"
  | "tool-result"
  | "file"
  | "reasoning-file"
  | "source"
  | "custom"
  | "ping"
  | "raw"
  | "error"
  | "finish";

type StreamPart = { readonly type: PartType; readonly [field: string]: unknown };

const noDeltas: readonly DeltaBody[] = [];

/** @param unsent warnings about settings that the request could not express */
export function createStreamReader(unsent: readonly string[] = []): StreamReader {
  let started = false;
  let ended = false;
  let warnings = unsent;
  let failure: ModelFailure | undefined;
  /** Whether the provider has sent a part of its answer. */
  let hasContent = false;

  function startDeltas(model?: string): readonly DeltaBody[] {
    if (started) return noDeltas;
    started = true;
    return [{ kind: "start", ...(model !== undefined && { model }), ...(warnings.length > 0 && { warnings }) }];
  }

  function closeWith(last: DeltaBody): readonly DeltaBody[] {
    ended = true;
    return [...startDeltas(), last];
  }

  function readFinish(part: StreamPart): readonly DeltaBody[] {
    const usage = readUsage(part.usage);
    const ending = readEnding(part.finishReason);
    failure ??= ending.failure;
    if (failure !== undefined) return closeWith({ kind: "error", failure, ...(hasCounts(usage) && { usage }) });
    return closeWith({ kind: "done", finishReason: ending.finishReason, usage, ...readMetadata(part) });
  }

  function readPart(part: StreamPart): readonly DeltaBody[] {
    if (part.type !== "stream-start" && part.type !== "error") hasContent = true;
    switch (part.type) {
      case "stream-start":
        warnings = [...unsent, ...formatWarnings(part.warnings)];
        return noDeltas;
      case "response-metadata":
        return startDeltas(typeof part.modelId === "string" ? part.modelId : undefined);
      case "error":
        failure ??= toModelFailure(part.error);
        return noDeltas;
      case "finish":
        return readFinish(part);
      default: {
        if (failure !== undefined) return noDeltas;
        const deltas = toDeltas(part);
        return started || deltas.length === 0 ? deltas : [...startDeltas(), ...deltas];
      }
    }
  }

  return {
    read(part) {
      if (ended || !isPart(part)) return noDeltas;
      try {
        return readPart(part);
      } catch (error) {
        if (!(error instanceof MalformedPartError)) throw error;
        return closeWith({ kind: "error", failure: { kind: "provider", message: error.message } });
      }
    },
    end(error) {
      if (ended) return noDeltas;
      const last = toFinalFailure(failure ?? (error === undefined ? undefined : toModelFailure(error)));
      if (hasContent || !isConnectionClosed(last)) return closeWith({ kind: "error", failure: last });
      // Without `start`: nothing has arrived, so the request may be sent again within the attempt.
      ended = true;
      return [{ kind: "error", failure: { ...last, unanswered: true } }];
    },
    get failing() {
      return failure !== undefined;
    },
    get ended() {
      return ended;
    },
  };
}

/** A stream without a `finish` was cut off, unless the provider or the connection reports what failed. */
function toFinalFailure(failure: ModelFailure | undefined): ModelFailure {
  if (failure === undefined) return cutShortFailure;
  const isUnexplained = failure.kind === "provider" && failure.statusCode === undefined && failure.code === undefined;
  return isUnexplained ? { ...failure, kind: "network" } : failure;
}

function isPart(value: unknown): value is StreamPart {
  return hasType(value);
}

function toDeltas(part: StreamPart): readonly DeltaBody[] {
  switch (part.type) {
    case "text-start":
    case "text-end":
    case "reasoning-start":
    case "reasoning-end":
      return [{ kind: part.type, id: text(part, "id"), ...readMetadata(part) }];
    case "text-delta":
    case "reasoning-delta":
      return [{ kind: part.type, id: text(part, "id"), text: text(part, "delta"), ...readMetadata(part) }];
    case "tool-input-start": {
      const executed = part.providerExecuted === true ? { providerExecuted: true } : {};
      return [{ kind: part.type, id: text(part, "id"), name: text(part, "toolName"), ...executed }];
    }
    case "tool-input-delta":
      return [{ kind: part.type, id: text(part, "id"), text: text(part, "delta") }];
    case "tool-input-end":
      return [{ kind: part.type, id: text(part, "id") }];
    case "tool-call":
      return [toToolCall(part)];
    case "tool-approval-request":
      return [{ kind: part.type, id: text(part, "toolCallId"), approvalId: text(part, "approvalId") }];
    case "tool-result":
      // Only a preview. The final result follows.
      return part.preliminary === true ? noDeltas : [toToolResult(part)];
    case "file":
    case "reasoning-file":
      return [toFile(part)];
    case "source":
      return [toSource(part)];
    case "custom":
      return toCustomDeltas(part);
    case "stream-start":
    case "response-metadata":
    case "ping":
    case "raw":
    case "error":
    case "finish":
      return noDeltas;
    default:
      part.type satisfies never;
      // A part type of a later SDK version.
      return noDeltas;
  }
}

function toToolCall(part: StreamPart): DeltaBody {
  return {
    kind: "tool-call",
    id: text(part, "toolCallId"),
    name: text(part, "toolName"),
    input: text(part, "input"),
    ...(part.providerExecuted === true && { providerExecuted: true }),
    ...readMetadata(part),
  };
}

function toToolResult(part: StreamPart): DeltaBody {
  const value = toPlainJson(part.result);
  if (value === undefined) throw new MalformedPartError(part.type, "result");
  const output: ToolOutput = typeof value === "string" ? { type: "text", text: value } : { type: "json", value };
  return {
    kind: "tool-result",
    id: text(part, "toolCallId"),
    name: text(part, "toolName"),
    output,
    ...(part.isError === true && { isError: true }),
    ...readMetadata(part),
  };
}

function toFile(part: StreamPart): DeltaBody {
  const own = part.type === "reasoning-file" ? { reasoning: true } : undefined;
  return { kind: "file", mediaType: text(part, "mediaType"), data: readFileData(part), ...readMetadata(part, own) };
}

/** Returns base64 or a URL. v3 sends a string or bytes, v4 a tagged object. */
function readFileData(part: StreamPart): string {
  const raw = part.data;
  const data: unknown = hasType(raw) ? (raw.type === "url" ? raw.url : raw.data) : raw;
  if (typeof data === "string") return data;
  if (data instanceof URL) return data.href;
  if (data instanceof Uint8Array) return encodeBase64(data);
  throw new MalformedPartError(part.type, "data");
}

function hasType(value: unknown): value is { readonly type: string; readonly url?: unknown; readonly data?: unknown } {
  return typeof value === "object" && value !== null && typeof (value as { readonly type?: unknown }).type === "string";
}

function toSource(part: StreamPart): DeltaBody {
  return {
    kind: "source",
    id: text(part, "id"),
    ...(typeof part.url === "string" && { url: part.url }),
    ...(typeof part.title === "string" && { title: part.title }),
    ...(typeof part.filename === "string" && { filename: part.filename }),
    ...(typeof part.mediaType === "string" && { mediaType: part.mediaType }),
    ...readMetadata(part),
  };
}

/** Custom parts that are announcements, not content. */
const announcementKinds: ReadonlySet<string> = new Set(["anthropic.message_start"]);

/**
 * Stores content that only the provider understands as reasoning without text, which is sent back in its original shape.
 */
function toCustomDeltas(part: StreamPart): readonly DeltaBody[] {
  const kind = text(part, "kind");
  if (announcementKinds.has(kind)) return noDeltas;
  const id = `custom:${kind}`;
  return [
    { kind: "reasoning-start", id, ...readMetadata(part, { custom: kind }) },
    { kind: "reasoning-end", id },
  ];
}

function text(part: StreamPart, field: string): string {
  const value = part[field];
  if (typeof value !== "string") throw new MalformedPartError(part.type, field);
  return value;
}

type MetadataField = { readonly providerMetadata?: ProviderMetadata };

function readMetadata(part: StreamPart, own?: { readonly [key: string]: Json }): MetadataField {
  if (part.providerMetadata === undefined || part.providerMetadata === null) {
    return own === undefined ? {} : { providerMetadata: { [pawlMetadataKey]: own } };
  }
  const metadata = toPlainJson(part.providerMetadata);
  if (!isMetadata(metadata)) throw new MalformedPartError(part.type, "providerMetadata");
  return { providerMetadata: own === undefined ? metadata : { ...metadata, [pawlMetadataKey]: own } };
}

function isMetadata(value: Json | undefined): value is ProviderMetadata {
  return isObject(value) && Object.values(value).every(isObject);
}

/** A copy as plain JSON, without undefined members. Undefined if the value is not JSON. */
function toPlainJson(value: unknown): Json | undefined {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value));
    const checked = checkJson(copy);
    return checked.ok ? checked.value : undefined;
  } catch {
    // A cycle, a BigInt or a getter that throws. The caller reports it.
    return undefined;
  }
}

function formatWarnings(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isObject).map((warning) => {
    const about = [warning.feature, warning.setting].find((item) => typeof item === "string");
    const text = [warning.message, warning.details].find((item) => typeof item === "string");
    return [about, text].filter((item) => item !== undefined).join(": ") || String(warning.type);
  });
}
