/**
 * The message of one attempt while it is streamed: its parts, and the calls that the model is writing.
 *
 * 1. Deltas have numbers without gaps. A delta that does not continue the message is not applied, and neither is anything
 *    after it, until a snapshot of the attempt fills the gap, or the deltas begin anew. So the text is always a prefix of the
 *    whole text.
 * 2. A part starts once, grows, and ends once. In the end its text is that of the log: the message adds what the deltas lacked.
 * 3. A call has the key that its events will have: the position among the calls that Pawl runs.
 * 4. When the message is settled, nothing of it is kept but the attempt.
 * 5. A snapshot says where its stream is, which may be behind what another stream has shown: each server redacts on its own, and
 *    so its deltas carry other pieces of the text. What was shown stays, and the stream adds nothing until it has passed it.
 */
import { callKeyOf } from "../core/data/call-key.js";
import type {
  AssistantMessage,
  AssistantPart,
  MessageDelta,
  MessageSnapshot,
  ProviderMetadata,
  ToolCallPart,
} from "../index.js";
import type { Attempt, TextKind, ViewChange } from "./view-change.js";

type StreamedText = {
  readonly kind: TextKind;
  readonly name: string;
  readonly metadata: { readonly providerMetadata?: ProviderMetadata };
  /** The text that is shown. */
  text: string;
  /** How many characters of it the current stream has sent. */
  sent: number;
  isOpen: boolean;
};

type StreamedPart = StreamedText | { readonly kind: "whole"; readonly content: AssistantPart };

/** The arguments of a call. `callKey` is null for a call that the provider runs. */
type StreamedInput = {
  readonly callKey: string | null;
  readonly name: string;
  text: string;
  sent: number;
  isWhole: boolean;
};

export type StreamedMessage = Attempt & {
  /** The number of the last delta that it includes. */
  deltaSeq: number;
  state: "growing" | "broken" | "settled";
  /** Whether the next item begins another stream. */
  isRejoined: boolean;
  /** Whether it has been shown as a step. */
  isStarted: boolean;
  parts: StreamedPart[];
  /** Texts that an earlier stream has shown, and the current one has not reached. */
  shown: StreamedText[];
  /** The parts that may grow, by kind and by the id that the deltas name. */
  readonly open: Map<string, StreamedText>;
  /** The arguments of calls, by the id that the deltas name. */
  readonly inputs: Map<string, StreamedInput>;
  texts: number;
  calls: number;
};

export function createMessage({ runId, modelCallIndex, attempt }: Attempt): StreamedMessage {
  const counts = { deltaSeq: 0, texts: 0, calls: 0 };
  const contents = { parts: [], shown: [], open: new Map(), inputs: new Map() };
  const flags = { state: "growing", isRejoined: false, isStarted: false } as const;
  return { runId, modelCallIndex, attempt, ...flags, ...counts, ...contents };
}

/** The message so far, as a snapshot has it; null if it is unknown. */
export function toSnapshot(message: StreamedMessage): MessageSnapshot | null {
  if (message.state !== "growing") return null;
  const { runId, modelCallIndex, attempt, deltaSeq, parts, open, inputs } = message;
  return {
    type: "snapshot",
    runId,
    modelCallIndex,
    attempt,
    deltaSeq,
    message: { role: "assistant", parts: parts.map(toAssistantPart) },
    open: [...open].map(([key, part]) => ({
      id: key.slice(part.kind.length + 1),
      type: part.kind,
      index: parts.indexOf(part),
    })),
    inputs: [...inputs].flatMap(([id, { callKey, name, text, sent, isWhole }]) =>
      isWhole ? [] : [{ id, name, text: text.slice(0, sent), ...(callKey === null ? { providerExecuted: true } : {}) }],
    ),
  };
}

function toAssistantPart(part: StreamedPart): AssistantPart {
  return part.kind === "whole"
    ? part.content
    : { type: part.kind, text: part.text.slice(0, part.sent), ...part.metadata };
}

/**
 * Applies a delta that combines `count` deltas.
 * @returns whether it continued the message; "late" if the message includes it already
 */
export function acceptDelta(
  message: StreamedMessage,
  delta: MessageDelta,
  count: number,
  changes: ViewChange[],
): "applied" | "late" | "gap" {
  if (message.state === "settled") return "late";
  if (message.isRejoined) rewind(message);
  if (message.state === "growing" && delta.seq <= message.deltaSeq) return "late";
  if (message.state === "broken" || delta.seq - count !== message.deltaSeq) {
    message.state = "broken";
    return "gap";
  }
  message.deltaSeq = delta.seq;
  applyDelta(message, delta, changes);
  return "applied";
}

/** Goes back to the beginning, for a stream that may send the same text in other pieces. Shown text stays. */
function rewind(message: StreamedMessage): void {
  message.state = "growing";
  message.isRejoined = false;
  message.deltaSeq = 0;
  message.shown = listTexts(message);
  message.parts = [];
  message.open.clear();
  for (const text of [...message.shown, ...message.inputs.values()]) text.sent = 0;
}

function applyDelta(message: StreamedMessage, delta: MessageDelta, changes: ViewChange[]): void {
  switch (delta.kind) {
    case "text-start":
    case "reasoning-start":
      openText(message, delta.kind === "text-start" ? "text" : "reasoning", delta.id, changes);
      return;
    case "text-delta":
    case "reasoning-delta": {
      const kind = delta.kind === "text-delta" ? "text" : "reasoning";
      growText(
        message.open.get(formatTextKey(kind, delta.id)) ?? openText(message, kind, delta.id, changes),
        delta.text,
        changes,
      );
      return;
    }
    case "text-end":
    case "reasoning-end": {
      const key = formatTextKey(delta.kind === "text-end" ? "text" : "reasoning", delta.id);
      endText(message.open.get(key), changes);
      message.open.delete(key);
      return;
    }
    case "tool-input-start":
      openInput(message, delta.id, delta.name, delta.providerExecuted === true, changes);
      return;
    case "tool-input-delta":
      growInput(message.inputs.get(delta.id), delta.text, changes);
      return;
    case "tool-call":
      openInput(message, delta.id, delta.name, delta.providerExecuted === true, changes).isWhole = true;
      message.parts.push({ kind: "whole", content: toToolCall(delta) });
      return;
    case "file":
      message.parts.push({ kind: "whole", content: { type: "file", mediaType: delta.mediaType, data: delta.data } });
      return;
    default:
      return;
  }
}

function formatTextKey(kind: TextKind, id: string): string {
  return `${kind} ${id}`;
}

function toToolCall({ id, name, input, providerExecuted }: Extract<MessageDelta, { kind: "tool-call" }>): ToolCallPart {
  const base = { type: "tool_call", toolCallId: id, name } as const;
  const by = providerExecuted === true ? { providerExecuted } : {};
  try {
    return { ...base, input: input.trim() === "" ? {} : JSON.parse(input), ...by };
  } catch {
    return { ...base, input, ...by };
  }
}

/** The message is shown as a step when its first part or call starts. */
export function startStep(message: StreamedMessage, changes: ViewChange[]): void {
  if (message.isStarted) return;
  message.isStarted = true;
  const { runId, modelCallIndex, attempt } = message;
  changes.push({ type: "step_started", runId, modelCallIndex, attempt });
}

function beginText(
  message: StreamedMessage,
  kind: TextKind,
  changes: ViewChange[],
  metadata: StreamedText["metadata"] = {},
): StreamedText {
  const shown = shiftFirst(message.shown, kind);
  if (shown !== undefined) {
    message.parts.push(shown);
    return shown;
  }
  startStep(message, changes);
  message.texts += 1;
  const name = `${message.modelCallIndex}.${message.attempt}.${message.texts}`;
  const part: StreamedText = { kind, name, text: "", sent: 0, isOpen: true, metadata };
  message.parts.push(part);
  changes.push({ type: "part_started", kind, part: name });
  return part;
}

function openText(message: StreamedMessage, kind: TextKind, id: string, changes: ViewChange[]): StreamedText {
  const part = beginText(message, kind, changes);
  message.open.set(formatTextKey(kind, id), part);
  return part;
}

/** Adds a piece that the stream has sent, and shows the part of it that is new. */
function growText(part: StreamedText, text: string, changes: ViewChange[]): void {
  showText(part, takeNew(part, text), changes);
}

/** Counts a piece as sent, and returns the end of it that goes beyond the text. */
function takeNew(part: { readonly text: string; sent: number }, piece: string): string {
  part.sent += piece.length;
  return piece.slice(Math.max(0, piece.length - Math.max(0, part.sent - part.text.length)));
}

function showText(part: StreamedText, text: string, changes: ViewChange[]): void {
  if (text === "" || !part.isOpen) return;
  part.text += text;
  changes.push({ type: "part_grew", kind: part.kind, part: part.name, text });
}

function endText(part: StreamedText | undefined, changes: ViewChange[]): void {
  if (part?.isOpen !== true) return;
  part.isOpen = false;
  changes.push({ type: "part_ended", kind: part.kind, part: part.name });
}

function openInput(
  message: StreamedMessage,
  id: string,
  name: string,
  runsAtProvider: boolean,
  changes: ViewChange[],
): StreamedInput {
  const known = message.inputs.get(id);
  if (known !== undefined) return known;
  if (!runsAtProvider) message.calls += 1;
  const callKey = runsAtProvider ? null : callKeyOf(message.runId, message.modelCallIndex, message.calls);
  const input: StreamedInput = { callKey, name, text: "", sent: 0, isWhole: false };
  message.inputs.set(id, input);
  if (callKey !== null) {
    startStep(message, changes);
    changes.push({ type: "call_opened", callKey, name, by: null });
  }
  return input;
}

function growInput(input: StreamedInput | undefined, text: string, changes: ViewChange[]): void {
  if (input === undefined || input.isWhole) return;
  const added = takeNew(input, text);
  if (added === "") return;
  input.text += added;
  const { callKey } = input;
  if (callKey !== null) changes.push({ type: "call_changed", callKey, by: { type: "input_grew", text: added } });
}

function isText(part: AssistantPart): part is Extract<AssistantPart, { readonly type: TextKind }> {
  return part.type === "text" || part.type === "reasoning";
}

/** Continues the stream from a snapshot. A snapshot has its empty parts, so its texts have the positions that they started in. */
export function mergeSnapshot(message: StreamedMessage, snapshot: MessageSnapshot, changes: ViewChange[]): boolean {
  if (message.state === "settled") return false;
  rewind(message);
  message.deltaSeq = snapshot.deltaSeq;
  const openAt = new Map(snapshot.open.map(({ index, id }) => [index, id]));
  for (const [index, written] of snapshot.message.parts.entries()) {
    if (!isText(written)) {
      message.parts.push({ kind: "whole", content: written });
      continue;
    }
    const { text, type, providerMetadata } = written;
    const part = beginText(message, type, changes, providerMetadata === undefined ? {} : { providerMetadata });
    growText(part, text, changes);
    const id = openAt.get(index);
    if (id === undefined) endText(part, changes);
    else message.open.set(formatTextKey(type, id), part);
  }
  mergeInputs(message, snapshot, changes);
  return true;
}

/** Calls that are complete come before those that are being written. */
function mergeInputs(
  message: StreamedMessage,
  { message: { parts }, inputs }: MessageSnapshot,
  changes: ViewChange[],
): void {
  for (const part of parts) {
    if (part.type !== "tool_call") continue;
    const { toolCallId, name, input, providerExecuted } = part;
    const isNew = !message.inputs.has(toolCallId);
    const opened = openInput(message, toolCallId, name, providerExecuted === true, changes);
    if (isNew) growInput(opened, JSON.stringify(input), changes);
    opened.isWhole = true;
  }
  for (const { id, name, text, providerExecuted } of inputs) {
    const opened = openInput(message, id, name, providerExecuted === true, changes);
    growInput(opened, text, changes);
  }
}

/** Adds what the deltas lacked, and settles the message. A part that stayed empty is not in it. */
export function mergeMessage(message: StreamedMessage, { parts }: AssistantMessage, changes: ViewChange[]): void {
  if (message.state === "settled") return;
  startStep(message, changes);
  const texts = listTexts(message);
  message.parts = texts;
  message.shown = [];
  const started = texts.filter(({ text }) => text !== "");
  const empty = texts.filter(({ text, isOpen }) => text === "" && isOpen);
  let calls = 0;
  for (const written of parts) {
    if (isText(written)) {
      if (written.text === "") continue;
      const { type } = written;
      const part = shiftFirst(started, type) ?? shiftFirst(empty, type) ?? beginText(message, type, changes);
      showText(part, written.text.slice(part.text.length), changes);
      endText(part, changes);
    } else if (
      written.type === "tool_call" &&
      (written.providerExecuted !== true || written.approvalId !== undefined)
    ) {
      calls += 1;
      reconcileCall(message, callKeyOf(message.runId, message.modelCallIndex, calls), written.name, changes);
    } else emitWholePart(written, changes);
  }
  settleMessage(message, changes);
}

/** All texts of the message: those of the current stream, then those that only an earlier stream has shown. */
function listTexts({ parts, shown }: StreamedMessage): StreamedText[] {
  return [...parts, ...shown].filter((part) => part.kind !== "whole");
}

function shiftFirst(parts: StreamedText[], kind: TextKind): StreamedText | undefined {
  const index = parts.findIndex((part) => part.kind === kind);
  return index === -1 ? undefined : parts.splice(index, 1)[0];
}

type WholePart = Exclude<AssistantPart, { readonly type: TextKind }>;

function emitWholePart(part: WholePart, changes: ViewChange[]): void {
  switch (part.type) {
    case "file":
    case "source":
      changes.push({ type: "part_whole", content: part });
      return;
    case "tool_call":
      changes.push({ type: "call_opened", callKey: part.toolCallId, name: part.name, by: part });
      return;
    case "tool_result":
      changes.push({ type: "call_ended", callKey: part.toolCallId, name: part.name, by: part });
      return;
  }
}

/**
 * Ends the streamed input of a call that is in the message: events report on the call from now on. A call that the provider runs
 * once a person approves it also has events, but no delta says so before its input: then the calls after it were opened
 * under wrong keys.
 */
function reconcileCall({ inputs }: StreamedMessage, callKey: string, name: string, changes: ViewChange[]): void {
  const [id, opened] = [...inputs].find(([, input]) => input.callKey === callKey) ?? [];
  if (id !== undefined) inputs.delete(id);
  if (opened?.name === name) return;
  if (opened !== undefined) changes.push({ type: "call_ended", callKey, name: opened.name, by: null });
  changes.push({ type: "call_opened", callKey, name, by: null });
}

/** Ends everything that is open. Calls that are not in the message never run. */
export function settleMessage(message: StreamedMessage, changes: ViewChange[]): void {
  if (message.state === "settled") return;
  message.state = "settled";
  for (const text of listTexts(message)) endText(text, changes);
  for (const { callKey, name } of message.inputs.values())
    if (callKey !== null) changes.push({ type: "call_ended", callKey, name, by: null });
  message.parts = [];
  message.shown = [];
  message.open.clear();
  message.inputs.clear();
}
