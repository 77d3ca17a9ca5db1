/**
 * Stream parts of an AI SDK provider as deltas. Parts are read as what they are, data from outside: kinds that are not
 * known are left out, known ones that are malformed fail the attempt.
 */
import { checkJson } from "../../core/data/json.js";
import type { Json, ModelFailure, ProviderMetadata, ToolOutput } from "../../core/data/message.js";
import type { DeltaBody } from "../../ports/model.js";
import { endingOf, hasCounts, usageOf } from "./ending.js";
import { toModelFailure } from "./failure.js";
import { cutShort, isObject, MalformedPart } from "./part.js";
import { ownMetadata } from "./prompt.js";

/** Turns the parts of one attempt into deltas. */
export type StreamReader = {
  /** The deltas of a part, in order. After a `done` or an `error` there are none. */
  read(part: unknown): readonly DeltaBody[];
  /** The deltas that end a stream which stopped, or threw; none where it has ended. */
  end(error?: unknown): readonly DeltaBody[];
  /** Whether a failure is known and only the usage, which may follow, is waited for. */
  readonly failing: boolean;
  readonly ended: boolean;
};

type Part = { readonly type: string; readonly [field: string]: unknown };

const none: readonly DeltaBody[] = [];

export function createStreamReader(): StreamReader {
  let started = false;
  let ended = false;
  let warnings: readonly string[] = [];
  let failure: ModelFailure | undefined;

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
    switch (part.type) {
      case "stream-start":
        warnings = warningsOf(part.warnings);
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
      const last = failure ?? (error === undefined ? cutShort : toModelFailure(error));
      return close({ kind: "error", failure: last });
    },
    get failing() {
      return failure !== undefined;
    },
    get ended() {
      return ended;
    },
  };
}

function isPart(value: unknown): value is Part {
  return typeof value === "object" && value !== null && typeof (value as { readonly type?: unknown }).type === "string";
}

/** What a part adds to the message. */
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
    case "tool-result":
      // The final result follows a preliminary one.
      return part.preliminary === true ? none : [toolResultOf(part)];
    case "file":
    case "reasoning-file":
      return [fileOf(part)];
    case "source":
      return [sourceOf(part)];
    case "custom":
      return customOf(part);
    default:
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

/** Base64 text or a URL: v3 has text or bytes, v4 a tagged object. */
function fileData(part: Part): string {
  const held = part.data;
  const data: unknown = isTagged(held) ? (held.type === "url" ? held.url : held.data) : held;
  if (typeof data === "string") return data;
  if (data instanceof URL) return data.href;
  if (data instanceof Uint8Array) return Buffer.from(data).toString("base64");
  throw new MalformedPart(part.type, "data");
}

function isTagged(value: unknown): value is { readonly type: string; readonly url?: unknown; readonly data?: unknown } {
  return isPart(value);
}

function sourceOf(part: Part): DeltaBody {
  return {
    kind: "source",
    id: text(part, "id"),
    ...(typeof part.url === "string" && { url: part.url }),
    ...(typeof part.title === "string" && { title: part.title }),
    ...metadataOf(part),
  };
}

/** Custom parts that announce something and are no content. */
const announcements: ReadonlySet<string> = new Set(["anthropic.message_start"]);

/** Content that only the provider understands: kept as reasoning without text, and given back as what it was. */
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

/** A copy as plain JSON, without members that are undefined; undefined where it cannot be had. */
function plainJson(value: unknown): Json | undefined {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value));
    const checked = checkJson(copy);
    return checked.ok ? checked.value : undefined;
  } catch {
    // Cycles, BigInts, accessors that throw: not JSON, which the caller reports.
    return undefined;
  }
}

function warningsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  return value.filter(isObject).map((warning) => {
    const about = [warning.feature, warning.setting].find((item) => typeof item === "string");
    const said = [warning.message, warning.details].find((item) => typeof item === "string");
    return [about, said].filter((item) => item !== undefined).join(": ") || String(warning.type);
  });
}
