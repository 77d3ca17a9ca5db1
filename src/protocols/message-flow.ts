/**
 * What a session streams, as parts that begin, grow and end: the form that the protocols of chat clients have in common.
 *
 * 1. A part begins once, grows, and ends once. Nothing is added to a part that has not begun.
 * 2. In the end a part has the text that is in the log. What no delta brought comes with the message of the step.
 * 3. A failed attempt ends its parts. The next attempt begins its own.
 * 4. The same step gives the same names of parts, whether it is watched live, joined in the middle, or read from the log.
 */
import type {
  AssistantMessage,
  AssistantPart,
  FilePart,
  MessageDelta,
  PublicEvent,
  Snapshot,
  SourcePart,
  StreamItem,
  ToolCallPart,
  ToolResultPart,
} from "../index.js";

/** One attempt of a model call. */
export type AttemptPlace = { readonly runId: string; readonly modelCallIndex: number; readonly attempt: number };

/** `part` names a part of the stream: model call, attempt and position. */
export type FlowItem =
  | ({ readonly type: "step_started" } & AttemptPlace)
  | ({ readonly type: "step_ended" } & AttemptPlace)
  | { readonly type: "part_started"; readonly kind: TextKind; readonly part: string }
  | { readonly type: "part_added"; readonly kind: TextKind; readonly part: string; readonly text: string }
  | { readonly type: "part_ended"; readonly kind: TextKind; readonly part: string }
  /** The model writes the input of a call. The call itself follows as an event. */
  | { readonly type: "input_started"; readonly callKey: string; readonly name: string }
  | { readonly type: "input_added"; readonly callKey: string; readonly text: string }
  /** An input that never became a call. */
  | { readonly type: "input_dropped"; readonly callKey: string; readonly name: string }
  | { readonly type: "whole_part"; readonly part: FilePart | SourcePart | ToolCallPart | ToolResultPart }
  | { readonly type: "item"; readonly item: PlainItem };

export type TextKind = "text" | "reasoning";

/** An item that the protocols map each in its own way. */
export type PlainItem =
  | Exclude<PublicEvent, { readonly type: "text" | "reasoning" | "message" | "suspended" }>
  | Extract<StreamItem, { readonly type: "progress" | "preliminary" | "partial_output" }>;

type Part = { readonly kind: TextKind; readonly name: string; given: number; isOpen: boolean };
type WrittenInput = { readonly callKey: string; readonly name: string; given: number };

type OpenStep = AttemptPlace & {
  readonly parts: Part[];
  /** By the id that the deltas of the attempt give. */
  readonly byId: Map<string, Part>;
  readonly inputs: Map<string, WrittenInput>;
  /** Its parts have ended. The step itself ends when the next one begins. */
  isSettled: boolean;
};

/** Makes a function that takes the items of one session in order, and gives what follows from each. */
export function createMessageFlow(): (item: StreamItem) => readonly FlowItem[] {
  let step: OpenStep | null = null;

  function stepAt(place: AttemptPlace, flow: FlowItem[]): OpenStep {
    if (step !== null && isSame(step, place)) return step;
    endStep(flow);
    const { runId, modelCallIndex, attempt } = place;
    flow.push({ type: "step_started", runId, modelCallIndex, attempt });
    step = { runId, modelCallIndex, attempt, parts: [], byId: new Map(), inputs: new Map(), isSettled: false };
    return step;
  }

  function endStep(flow: FlowItem[]): void {
    if (step === null) return;
    settle(step, flow);
    const { runId, modelCallIndex, attempt } = step;
    flow.push({ type: "step_ended", runId, modelCallIndex, attempt });
    step = null;
  }

  return (item) => {
    const flow: FlowItem[] = [];
    switch (item.type) {
      case "delta":
        if (opens.has(item.delta.kind)) takeDelta(stepAt(item.delta, flow), item.delta, flow);
        else if (step !== null && isSame(step, item.delta)) takeDelta(step, item.delta, flow);
        return flow;
      case "snapshot":
        takeSnapshot(stepAt(item, flow), item, flow);
        return flow;
      case "message":
        takeMessage(stepAt(item, flow), item.message, flow);
        return flow;
      case "text":
      case "reasoning":
      case "lagged":
        // The message of the step has the texts, and a snapshot follows what was dropped.
        return flow;
      case "suspended":
        endStep(flow);
        return flow;
      case "attempt_failed":
      case "restarted":
      case "run_started":
      case "final":
        endStep(flow);
        break;
      default:
        break;
    }
    flow.push({ type: "item", item });
    return flow;
  };
}

const opens: ReadonlySet<MessageDelta["kind"]> = new Set(["text-start", "reasoning-start", "tool-input-start"]);

function isSame(a: AttemptPlace, b: AttemptPlace): boolean {
  return a.runId === b.runId && a.modelCallIndex === b.modelCallIndex && a.attempt === b.attempt;
}

function begin(step: OpenStep, kind: TextKind, flow: FlowItem[]): Part {
  const name = `${step.modelCallIndex}.${step.attempt}.${step.parts.length + 1}`;
  const part: Part = { kind, name, given: 0, isOpen: true };
  step.parts.push(part);
  flow.push({ type: "part_started", kind, part: name });
  return part;
}

function add(part: Part, text: string, flow: FlowItem[]): void {
  if (text === "" || !part.isOpen) return;
  part.given += text.length;
  flow.push({ type: "part_added", kind: part.kind, part: part.name, text });
}

function end(part: Part, flow: FlowItem[]): void {
  if (!part.isOpen) return;
  part.isOpen = false;
  flow.push({ type: "part_ended", kind: part.kind, part: part.name });
}

function settle(step: OpenStep, flow: FlowItem[]): void {
  if (step.isSettled) return;
  step.isSettled = true;
  for (const part of step.parts) end(part, flow);
  for (const { callKey, name } of step.inputs.values()) flow.push({ type: "input_dropped", callKey, name });
  step.inputs.clear();
}

function takeDelta(step: OpenStep, delta: MessageDelta, flow: FlowItem[]): void {
  if (step.isSettled) return;
  switch (delta.kind) {
    case "text-start":
    case "reasoning-start": {
      const kind = delta.kind === "text-start" ? "text" : "reasoning";
      step.byId.set(keyOf(kind, delta.id), begin(step, kind, flow));
      return;
    }
    case "text-delta":
    case "reasoning-delta": {
      const part = step.byId.get(keyOf(delta.kind === "text-delta" ? "text" : "reasoning", delta.id));
      if (part !== undefined) add(part, delta.text, flow);
      return;
    }
    case "text-end":
    case "reasoning-end": {
      const part = step.byId.get(keyOf(delta.kind === "text-end" ? "text" : "reasoning", delta.id));
      if (part !== undefined) end(part, flow);
      return;
    }
    case "tool-input-start": {
      // The provider's own calls come with the message.
      if (delta.providerExecuted === true || step.inputs.has(delta.id)) return;
      const callKey = `${step.runId}/${step.modelCallIndex}/${step.inputs.size + 1}`;
      step.inputs.set(delta.id, { callKey, name: delta.name, given: 0 });
      flow.push({ type: "input_started", callKey, name: delta.name });
      return;
    }
    case "tool-input-delta": {
      const input = step.inputs.get(delta.id);
      if (input === undefined) return;
      input.given += delta.text.length;
      flow.push({ type: "input_added", callKey: input.callKey, text: delta.text });
      return;
    }
    default:
      return;
  }
}

function keyOf(kind: TextKind, id: string): string {
  return `${kind} ${id}`;
}

type Written = Extract<AssistantPart, { readonly type: TextKind }>;

function isWritten(part: AssistantPart): part is Written {
  return part.type === "text" || part.type === "reasoning";
}

/** The message so far, with the parts that are still empty. So its parts have the positions that they began in. */
function takeSnapshot(step: OpenStep, { message, open, inputs }: Snapshot, flow: FlowItem[]): void {
  if (step.isSettled) return;
  const openAt = new Map(open.map(({ index, id }) => [index, id]));
  let position = 0;
  message.parts.forEach((written, index) => {
    if (!isWritten(written)) return;
    const part = step.parts[position] ?? begin(step, written.type, flow);
    position += 1;
    add(part, written.text.slice(part.given), flow);
    const id = openAt.get(index);
    if (id === undefined) end(part, flow);
    else step.byId.set(keyOf(written.type, id), part);
  });
  // Calls that are whole come before those that are being written.
  for (const part of message.parts)
    if (part.type === "tool_call" && part.providerExecuted !== true && !step.inputs.has(part.toolCallId))
      takeInput(step, { id: part.toolCallId, name: part.name, text: JSON.stringify(part.input) }, flow);
  for (const input of inputs) if (input.providerExecuted !== true) takeInput(step, input, flow);
}

function takeInput(step: OpenStep, { id, name, text }: WrittenArguments, flow: FlowItem[]): void {
  const known = step.inputs.get(id);
  const callKey = `${step.runId}/${step.modelCallIndex}/${step.inputs.size + 1}`;
  const input = known ?? { callKey, name, given: 0 };
  if (known === undefined) {
    step.inputs.set(id, input);
    flow.push({ type: "input_started", callKey: input.callKey, name });
  }
  const added = text.slice(input.given);
  input.given += added.length;
  if (added !== "") flow.push({ type: "input_added", callKey: input.callKey, text: added });
}

type WrittenArguments = Snapshot["inputs"][number];

/** Gives what the deltas have not brought. A part that stayed empty is not in the message. */
function takeMessage(step: OpenStep, { parts }: AssistantMessage, flow: FlowItem[]): void {
  if (step.isSettled) return;
  const begun = step.parts.filter(({ given }) => given > 0);
  const empty = step.parts.filter(({ given, isOpen }) => given === 0 && isOpen);
  let own = 0;
  for (const written of parts) {
    if (isOwnCall(written)) {
      own += 1;
      forgetInput(step, own);
    } else if (!isWritten(written)) flow.push({ type: "whole_part", part: written });
    else if (written.text !== "") {
      const part = takeFirst(begun, written) ?? takeFirst(empty, written) ?? begin(step, written.type, flow);
      add(part, written.text.slice(part.given), flow);
      end(part, flow);
    }
  }
  settle(step, flow);
}

function takeFirst(parts: Part[], { type }: Written): Part | undefined {
  const index = parts.findIndex(({ kind }) => kind === type);
  return index === -1 ? undefined : parts.splice(index, 1)[0];
}

/** A call that has events of its own. The provider runs the others by itself. */
function isOwnCall(part: AssistantPart): boolean {
  return part.type === "tool_call" && (part.providerExecuted !== true || part.approvalId !== undefined);
}

/** An input that became a call is the call's. */
function forgetInput(step: OpenStep, position: number): void {
  const callKey = `${step.runId}/${step.modelCallIndex}/${position}`;
  for (const [id, input] of step.inputs) if (input.callKey === callKey) step.inputs.delete(id);
}
