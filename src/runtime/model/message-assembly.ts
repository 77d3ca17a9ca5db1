/**
 * Assembles a message from deltas.
 *
 * 1. The committed message is assembled here and nowhere else, so the published deltas add up to it.
 * 2. Whatever the model yields, the first published delta is `start`, sequence numbers increase by one, and exactly one `done`
 *    or `error` comes last.
 * 3. A repeated, late or out-of-order delta changes nothing. If a delta is missing, or belongs to another attempt, the attempt fails.
 */
import { checkJson } from "../../core/data/json.js";
import type { AssistantPart, ModelFailure, ProviderMetadata, Usage } from "../../core/data/message.js";
import type { DeltaBody, MessageDelta, ModelDelta, RequestIdentity } from "../../ports/model.js";
import { checkDelta } from "./check-delta.js";
import { isTooLong, parseToolCall } from "./parse-tool-call.js";

/** The maximum length of one message in characters, because the size of a log entry is limited. */
const maxMessageCharacters = 900_000;

/** The maximum number of calls in one message: the work of a step grows with the square of this number. */
const maxMessageCalls = 500;

const tooManyCalls: ModelFailure = {
  kind: "invalid_request",
  message: `The model asked for more than ${maxMessageCalls} calls at once.`,
};

export type MessageAssembly = {
  readonly identity: RequestIdentity;
  /** The number of the last published delta. */
  seq: number;
  /** How many of the model's deltas were accepted. A model may number its deltas itself. */
  takenDeltas: number;
  readonly parts: OpenPart[];
  /** Parts that may still grow, by the model's ids. */
  readonly open: { [Type in TextType]: Map<string, OpenText> | null };
  /** Arguments of calls that are being streamed, by the ids of the deltas. The calls themselves arrive as a whole. */
  inputs: Map<string, OpenInput> | null;
  inputCharacters: number;
  characters: number;
  calls: number;
  /** How often the request was sent again because no part of an answer had arrived. */
  resends: number;
  /** The provider's warnings; null if there are none. */
  warnings: readonly string[] | null;
  end: Extract<DeltaBody, { kind: "done" | "error" }> | null;
};

type TextType = "text" | "reasoning";
type OpenText = { readonly type: TextType; readonly texts: string[]; providerMetadata?: ProviderMetadata };
type OpenInput = { readonly name: string; readonly texts: string[]; readonly providerExecuted: boolean };
export type OpenPart = OpenText | { readonly type: "whole"; readonly part: AssistantPart };

export function createAssembly(identity: RequestIdentity): MessageAssembly {
  const open = { text: null, reasoning: null };
  return {
    identity,
    seq: 0,
    takenDeltas: 0,
    parts: [],
    open,
    inputs: null,
    inputCharacters: 0,
    characters: 0,
    calls: 0,
    resends: 0,
    warnings: null,
    end: null,
  };
}

/**
 * Adds a delta of the model. Returns the deltas to publish, in order: empty if it changes nothing.
 * Once `end` is set, further deltas are ignored.
 */
export function addDelta(assembly: MessageAssembly, yielded: ModelDelta): readonly MessageDelta[] {
  if (assembly.end !== null) return none;
  if (yielded?.kind === "text-delta" && assembly.seq > 0) {
    const emitted = addPlainText(assembly, yielded);
    if (emitted !== null) return emitted;
  }
  const checked = checkDelta(yielded);
  if (!checked.ok) return endWith(assembly, providerFailure(checked.fault));
  const { delta } = checked;
  if (isOfAnotherAttempt(assembly.identity, delta))
    return endWith(assembly, providerFailure("A delta named another session, run, step or attempt."));
  const expected = assembly.takenDeltas + 1;
  const seq = delta.seq ?? expected;
  if (seq < expected) return none;
  if (seq > expected) return endWith(assembly, missingDeltas(expected, seq - 1));
  assembly.takenDeltas = expected;
  const body = withoutIdentity(delta);
  if (body.kind === "start") return assembly.seq === 0 ? [emit(assembly, recordWarnings(assembly, body))] : none;
  const first = assembly.seq === 0 ? [emit(assembly, { kind: "start" })] : none;
  const fault = addToParts(assembly, body);
  if (fault !== undefined) return [...first, ...endWith(assembly, fault)];
  if (body.kind === "done" || body.kind === "error") assembly.end = body;
  const emitted = emit(assembly, body);
  return first.length === 0 ? [emitted] : [...first, emitted];
}

const maxWarnings = 20;
const maxWarning = 1_000;

/** Warnings are stored with the answer, so their size is limited. Anything but a list of strings is dropped. */
function recordWarnings(assembly: MessageAssembly, start: Start): Start {
  const { warnings, ...rest } = start;
  if (warnings === undefined) return start;
  const texts = Array.isArray(warnings) ? warnings.filter((one) => typeof one === "string").slice(0, maxWarnings) : [];
  if (texts.length === 0) return rest;
  assembly.warnings = texts.map((text) => text.slice(0, maxWarning));
  return { ...rest, warnings: assembly.warnings };
}

type Start = Extract<DeltaBody, { kind: "start" }>;

/** The fast path for a delta with nothing but text, which is the common case; null if the delta needs all checks. */
function addPlainText(assembly: MessageAssembly, delta: Extract<ModelDelta, { kind: "text-delta" }>) {
  const { id, text, providerMetadata, seq, runId, sessionId, modelCallIndex, attempt } = delta;
  if (typeof id !== "string" || typeof text !== "string" || providerMetadata !== undefined) return null;
  if ((seq ?? runId ?? sessionId ?? modelCallIndex ?? attempt) !== undefined) return null;
  assembly.takenDeltas += 1;
  const fault = addText(assembly, "text", id, text);
  return fault === undefined ? [emitText(assembly, id, text)] : endWith(assembly, fault);
}

/** Drops the identity and the number that the model set: a delta is published with those of the assembly. */
function withoutIdentity(delta: ModelDelta): DeltaBody {
  const hasIdentity = "seq" in delta || "runId" in delta || "sessionId" in delta;
  if (!hasIdentity && !("modelCallIndex" in delta || "attempt" in delta)) return delta;
  const { seq: _seq, runId: _run, sessionId: _session, modelCallIndex: _index, attempt: _attempt, ...body } = delta;
  return body;
}

function missingDeltas(from: number, to: number): ModelFailure {
  const which = from === to ? `Delta ${from} is missing.` : `Deltas ${from} to ${to} are missing.`;
  return { kind: "network", message: which };
}

/** Ends an attempt whose stream has no `done` or `error`. */
export function endWith(assembly: MessageAssembly, failure: ModelFailure, usage?: Usage): readonly MessageDelta[] {
  if (assembly.end !== null) return none;
  const first = assembly.seq === 0 ? [emit(assembly, { kind: "start" })] : none;
  const body: Extract<DeltaBody, { kind: "error" }> =
    usage === undefined ? { kind: "error", failure } : { kind: "error", failure, usage };
  assembly.end = body;
  return [...first, emit(assembly, body)];
}

const none: readonly MessageDelta[] = [];

function emit(assembly: MessageAssembly, delta: DeltaBody): MessageDelta {
  assembly.seq += 1;
  const { runId, modelCallIndex, attempt } = assembly.identity;
  // The new keys come first: adding keys to a copy is twenty times slower.
  return { runId, modelCallIndex, attempt, seq: assembly.seq, ...delta };
}

/** The same for plain text, key by key, which is much faster than a copy. */
function emitText(assembly: MessageAssembly, id: string, text: string): MessageDelta {
  assembly.seq += 1;
  const { runId, modelCallIndex, attempt } = assembly.identity;
  return { runId, modelCallIndex, attempt, seq: assembly.seq, kind: "text-delta", id, text };
}

function isOfAnotherAttempt(identity: RequestIdentity, delta: ModelDelta): boolean {
  return (
    (delta.runId !== undefined && delta.runId !== identity.runId) ||
    (delta.sessionId !== undefined && delta.sessionId !== identity.sessionId) ||
    (delta.modelCallIndex !== undefined && delta.modelCallIndex !== identity.modelCallIndex) ||
    (delta.attempt !== undefined && delta.attempt !== identity.attempt)
  );
}

function providerFailure(message: string): ModelFailure {
  return { kind: "provider", message };
}

/** Adds a delta to the parts. Returns a failure if it cannot be added. */
function addToParts(assembly: MessageAssembly, delta: DeltaBody): ModelFailure | undefined {
  const fault = checkMetadata(assembly, delta);
  if (fault !== undefined) return fault;
  switch (delta.kind) {
    case "text-start":
    case "reasoning-start":
      openText(assembly, delta.kind === "text-start" ? "text" : "reasoning", delta.id, delta.providerMetadata);
      return undefined;
    case "text-delta":
    case "reasoning-delta":
      return addText(
        assembly,
        delta.kind === "text-delta" ? "text" : "reasoning",
        delta.id,
        delta.text,
        delta.providerMetadata,
      );
    case "text-end":
    case "reasoning-end":
      closeText(assembly, delta.kind === "text-end" ? "text" : "reasoning", delta.id, delta.providerMetadata);
      return undefined;
    case "tool-call": {
      assembly.inputs?.delete(delta.id);
      assembly.calls += 1;
      if (assembly.calls > maxMessageCalls) return tooManyCalls;
      const call = parseToolCall(delta);
      const characters = call.name.length + call.toolCallId.length + (isTooLong(delta.input) ? 0 : delta.input.length);
      return addCharacters(assembly, characters) ?? addPart(assembly, call);
    }
    case "tool-result": {
      const { id, name, output, isError, providerMetadata } = delta;
      const part: AssistantPart = {
        type: "tool_result",
        toolCallId: id,
        name,
        output,
        providerExecuted: true,
        ...(isError === true ? { isError } : {}),
        ...metadata(providerMetadata),
      };
      return (
        addCharacters(assembly, id.length + name.length + JSON.stringify(output).length) ?? addPart(assembly, part)
      );
    }
    case "tool-approval-request":
      return addApprovalRequest(assembly, delta);
    case "file":
      return addFile(assembly, delta);
    case "source":
      return addSource(assembly, delta);
    case "tool-input-start":
      return openInput(assembly, delta);
    case "tool-input-delta":
      addInput(assembly, delta.id, delta.text);
      return undefined;
    case "start":
    case "tool-input-end":
    case "done":
    case "error":
      return undefined;
  }
}

/** The call must have arrived before. Only the first request for a call's approval counts. */
function addApprovalRequest(
  assembly: MessageAssembly,
  { id, approvalId }: Extract<ModelDelta, { kind: "tool-approval-request" }>,
): ModelFailure | undefined {
  const index = assembly.parts.findLastIndex(
    (one) => one.type === "whole" && one.part.type === "tool_call" && one.part.toolCallId === id,
  );
  const open = assembly.parts[index];
  if (open?.type !== "whole" || open.part.type !== "tool_call" || open.part.providerExecuted !== true)
    return providerFailure("The provider asked for an approval of a call that it did not make.");
  if (open.part.approvalId !== undefined) return undefined;
  assembly.parts[index] = { type: "whole", part: { ...open.part, approvalId } };
  return addCharacters(assembly, approvalId.length);
}

function addFile(assembly: MessageAssembly, delta: Extract<ModelDelta, { kind: "file" }>): ModelFailure | undefined {
  const { mediaType, data, providerMetadata } = delta;
  return (
    addCharacters(assembly, data.length + mediaType.length) ??
    addPart(assembly, { type: "file", mediaType, data, ...metadata(providerMetadata) })
  );
}

function addSource(
  assembly: MessageAssembly,
  delta: Extract<ModelDelta, { kind: "source" }>,
): ModelFailure | undefined {
  const { id, url, title, filename, mediaType, providerMetadata } = delta;
  const link = {
    ...(typeof url === "string" ? { url } : {}),
    ...(typeof title === "string" ? { title } : {}),
    ...(typeof filename === "string" ? { filename } : {}),
    ...(typeof mediaType === "string" ? { mediaType } : {}),
  };
  return (
    addCharacters(assembly, id.length + JSON.stringify(link).length) ??
    addPart(assembly, { type: "source", id, ...link, ...metadata(providerMetadata) })
  );
}

function checkMetadata(assembly: MessageAssembly, delta: DeltaBody): ModelFailure | undefined {
  if (!("providerMetadata" in delta) || delta.providerMetadata === undefined) return undefined;
  const checked = checkJson(delta.providerMetadata);
  if (!checked.ok) return providerFailure(`The provider's metadata cannot be stored: ${checked.error}`);
  return addCharacters(assembly, JSON.stringify(checked.value).length);
}

/** For spreading into a part: adds no key if there is no metadata. */
export function metadata(providerMetadata: ProviderMetadata | undefined): {
  readonly providerMetadata?: ProviderMetadata;
} {
  return providerMetadata === undefined ? {} : { providerMetadata };
}

function openText(assembly: MessageAssembly, type: TextType, id: string, metadata?: ProviderMetadata): OpenText {
  const part: OpenText = { type, texts: [] };
  if (metadata !== undefined) part.providerMetadata = metadata;
  const open = assembly.open[type] ?? new Map<string, OpenText>();
  assembly.open[type] = open.set(id, part);
  assembly.parts.push(part);
  return part;
}

function addText(
  assembly: MessageAssembly,
  type: TextType,
  id: string,
  text: string,
  metadata?: ProviderMetadata,
): ModelFailure | undefined {
  const part = assembly.open[type]?.get(id) ?? openText(assembly, type, id);
  part.texts.push(text);
  if (metadata !== undefined) part.providerMetadata = metadata;
  return addCharacters(assembly, text.length);
}

function openInput(
  assembly: MessageAssembly,
  { id, name, providerExecuted = false }: Extract<ModelDelta, { kind: "tool-input-start" }>,
): ModelFailure | undefined {
  assembly.inputs ??= new Map();
  assembly.inputs.set(id, { name, texts: [], providerExecuted });
  return assembly.inputs.size > maxMessageCalls ? tooManyCalls : undefined;
}

/** A snapshot contains at most as much of the arguments as a message can have. */
function addInput(assembly: MessageAssembly, id: string, text: string): void {
  const input = assembly.inputs?.get(id);
  assembly.inputCharacters += text.length;
  if (assembly.inputCharacters <= maxMessageCharacters) input?.texts.push(text);
}

function closeText(assembly: MessageAssembly, type: TextType, id: string, metadata?: ProviderMetadata): void {
  const part = assembly.open[type]?.get(id);
  assembly.open[type]?.delete(id);
  if (part !== undefined && metadata !== undefined) part.providerMetadata = metadata;
}

function addPart(assembly: MessageAssembly, part: AssistantPart): undefined {
  assembly.parts.push({ type: "whole", part });
}

function addCharacters(assembly: MessageAssembly, characters: number): ModelFailure | undefined {
  assembly.characters += characters;
  if (assembly.characters <= maxMessageCharacters) return undefined;
  return { kind: "invalid_request", message: `The model's message is longer than ${maxMessageCharacters} characters.` };
}
