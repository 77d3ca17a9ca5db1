/**
 * Converts the stream parts of an AI SDK provider into deltas. Parts are untrusted: a part of an unknown kind is
 * ignored, and a malformed part of a known kind fails the attempt.
 */

import { checkJson } from "../../core/data/json.js";
import type { Json, ModelFailure, ProviderMetadata, ToolOutput } from "../../core/data/message.js";
import { base64Of } from "../../platform/bytes.js";
import type { DeltaBody } from "../../ports/model.js";
import { endingOf, hasCounts, usageOf } from "./ending.js";
import { isClosed, toModelFailure } from "./failure.js";
import { cutShort, isObject, MalformedPart, ownMetadata } from "./part.js";

/** Converts the parts of one attempt into deltas. */
export type StreamReader = {
  /** The deltas of a part, in order. After a `done` or an `error`, always none. */
  read(part: unknown): readonly DeltaBody[];
  /**
   * Call it when the stream stops or throws. Returns the last deltas; none if a `done` or an `error` has come already.
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

type Part = { readonly type: PartType; readonly [field: string]: unknown };

const none: readonly DeltaBody[] = [];

/** @param unsent warnings about what the request could not say */
export function createStreamReader(unsent: readonly string[] = []): StreamReader {
  let started = false;
  let ended = false;
  let warnings = unsent;
  let failure: ModelFailure | undefined;
  /** The provider has sent a part of its answer. */
  let answered = false;

  function start(model?: string): readonly DeltaBody[] {
    if (started) return none;
    started = true;
    return [{ kind: "start", ...(model !== undefined && { model }), ...(warnings.length > 0 && { warnings }) }];
  }

  function close(last: DeltaBody): readonly DeltaBody[] {
    ended = true;
    return [...start(), last];
  }

  function finish(part: Part): readonly DeltaBody[] {
    const usage = usageOf(part.usage);
    const ending = endingOf(part.finishReason);
    failure ??= ending.failure;
    if (failure !== undefined) return close({ kind: "error", failure, ...(hasCounts(usage) && { usage }) });
    return close({ kind: "done", finishReason: ending.finishReason, usage, ...metadataOf(part) });
  }

  function readPart(part: Part): readonly DeltaBody[] {
    if (part.type !== "stream-start" && part.type !== "error") answered = true;
    switch (part.type) {
      case "stream-start":
        warnings = [...unsent, ...warningsOf(part.warnings)];
        return none;
      case "response-metadata":
        return start(typeof part.modelId === "string" ? part.modelId : undefined);
      case "error":
        failure ??= toModelFailure(part.error);
        return none;
      case "finish":
        return finish(part);
      default: {
        if (failure !== undefined) return none;
        const deltas = contentOf(part);
        return started || deltas.length === 0 ? deltas : [...start(), ...deltas];
      }
    }
  }

  return {
    read(part) {
      if (ended || !isPart(part)) return none;
      try {
        return readPart(part);
      } catch (error) {
        if (!(error instanceof MalformedPart)) throw error;
        return close({ kind: "error", failure: { kind: "provider", message: error.message } });
      }
    },
    end(error) {
      if (ended) return none;
      const last = endWithoutFinish(failure ?? (error === undefined ? undefined : toModelFailure(error)));
      if (answered || !isClosed(last)) return close({ kind: "error", failure: last });
      // Without `start`: nothing has come, so the request may be sent again within the attempt.
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

/** A stream without a finish was cut, unless the provider or the connection says what failed. */
function endWithoutFinish(failure: ModelFailure | undefined): ModelFailure {
  if (failure === undefined) return cutShort;
  const isUnexplained = failure.kind === "provider" && failure.statusCode === undefined && failure.code === undefined;
  return isUnexplained ? { ...failure, kind: "network" } : failure;
}

function isPart(value: unknown): value is Part {
  return isTagged(value);
}

function contentOf(part: Part): readonly DeltaBody[] {
  switch (part.type) {
    case "text-start":
    case "text-end":
    case "reasoning-start":
    case "reasoning-end":
      return [{ kind: part.type, id: text(part, "id"), ...metadataOf(part) }];
    case "text-delta":
    case "reasoning-delta":
      return [{ kind: part.type, id: text(part, "id"), text: text(part, "delta"), ...metadataOf(part) }];
    case "tool-input-start": {
      const executed = part.providerExecuted === true ? { providerExecuted: true } : {};
      return [{ kind: part.type, id: text(part, "id"), name: text(part, "toolName"), ...executed }];
    }
    case "tool-input-delta":
      return [{ kind: part.type, id: text(part, "id"), text: text(part, "delta") }];
    case "tool-input-end":
      return [{ kind: part.type, id: text(part, "id") }];
    case "tool-call":
      return [toolCallOf(part)];
    case "tool-approval-request":
      return [{ kind: part.type, id: text(part, "toolCallId"), approvalId: text(part, "approvalId") }];
    case "tool-result":
      // The final result follows.
      return part.preliminary === true ? none : [toolResultOf(part)];
    case "file":
    case "reasoning-file":
      return [fileOf(part)];
    case "source":
      return [sourceOf(part)];
    case "custom":
      return customOf(part);
    case "stream-start":
    case "response-metadata":
    case "ping":
    case "raw":
    case "error":
    case "finish":
      return none;
    default:
      part.type satisfies never;
      // A part of a later version.
      return none;
  }
}

function toolCallOf(part: Part): DeltaBody {
  return {
    kind: "tool-call",
    id: text(part, "toolCallId"),
    name: text(part, "toolName"),
    input: text(part, "input"),
    ...(part.providerExecuted === true && { providerExecuted: true }),
    ...metadataOf(part),
  };
}

function toolResultOf(part: Part): DeltaBody {
  const value = plainJson(part.result);
  if (value === undefined) throw new MalformedPart(part.type, "result");
  const output: ToolOutput = typeof value === "string" ? { type: "text", text: value } : { type: "json", value };
  return {
    kind: "tool-result",
    id: text(part, "toolCallId"),
    name: text(part, "toolName"),
    output,
    ...(part.isError === true && { isError: true }),
    ...metadataOf(part),
  };
}

function fileOf(part: Part): DeltaBody {
  const own = part.type === "reasoning-file" ? { reasoning: true } : undefined;
  return { kind: "file", mediaType: text(part, "mediaType"), data: fileData(part), ...metadataOf(part, own) };
}

/** Returns base64 text or a URL. v3 sends text or bytes, v4 a tagged object. */
function fileData(part: Part): string {
  const raw = part.data;
  const data: unknown = isTagged(raw) ? (raw.type === "url" ? raw.url : raw.data) : raw;
  if (typeof data === "string") return data;
  if (data instanceof URL) return data.href;
  if (data instanceof Uint8Array) return base64Of(data);
  throw new MalformedPart(part.type, "data");
}

function isTagged(value: unknown): value is { readonly type: string; readonly url?: unknown; readonly data?: unknown } {
  return typeof value === "object" && value !== null && typeof (value as { readonly type?: unknown }).type === "string";
}

function sourceOf(part: Part): DeltaBody {
  return {
    kind: "source",
    id: text(part, "id"),
    ...(typeof part.url === "string" && { url: part.url }),
    ...(typeof part.title === "string" && { title: part.title }),
    ...(typeof part.filename === "string" && { filename: part.filename }),
    ...(typeof part.mediaType === "string" && { mediaType: part.mediaType }),
    ...metadataOf(part),
  };
}

/** Custom parts that are announcements, not content. */
const announcements: ReadonlySet<string> = new Set(["anthropic.message_start"]);

/**
 * Content that only the provider understands is kept as reasoning without text, and sent back in its original shape.
 */
function customOf(part: Part): readonly DeltaBody[] {
  const kind = text(part, "kind");
  if (announcements.has(kind)) return none;
  const id = `custom:${kind}`;
  return [
    { kind: "reasoning-start", id, ...metadataOf(part, { custom: kind }) },
    { kind: "reasoning-end", id },
  ];
}

function text(part: Part, field: string): string {
  const value = part[field];
  if (typeof value !== "string") throw new MalformedPart(part.type, field);
  return value;
}

type OfMetadata = { readonly providerMetadata?: ProviderMetadata };

function metadataOf(part: Part, own?: { readonly [key: string]: Json }): OfMetadata {
  if (part.providerMetadata === undefined || part.providerMetadata === null) {
    return own === undefined ? {} : { providerMetadata: { [ownMetadata]: own } };
  }
  const metadata = plainJson(part.providerMetadata);
  if (!isMetadata(metadata)) throw new MalformedPart(part.type, "providerMetadata");
  return { providerMetadata: own === undefined ? metadata : { ...metadata, [ownMetadata]: own } };
}

function isMetadata(value: Json | undefined): value is ProviderMetadata {
  return isObject(value) && Object.values(value).every(isObject);
}

/** A copy as plain JSON, without undefined members. Undefined if the value is not JSON. */
function plainJson(value: unknown): Json | undefined {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value));
    const checked = checkJson(copy);
    return checked.ok ? checked.value : undefined;
  } catch {
    // A cycle, a BigInt or a getter that throws. The caller reports it.
    return undefined;
  }
}

function warningsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isObject).map((warning) => {
    const about = [warning.feature, warning.setting].find((item) => typeof item === "string");
    const text = [warning.message, warning.details].find((item) => typeof item === "string");
    return [about, text].filter((item) => item !== undefined).join(": ") || String(warning.type);
  });
}
