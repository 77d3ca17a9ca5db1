/**
 * The items of a step in reading order, from its events and from the message that is being streamed.
 */

import type { Fault } from "../../core/index.js";
import type { Json, PublicEvent, PublicEventOf, RunResult, ToolOutput } from "../../index.js";
import type { PartialMessage } from "../../server/client/index.js";
import { textOfInput } from "./session-state.js";

export type CallAnswer = {
  readonly answer: string;
  readonly by: string | null;
  readonly note: string | null;
  readonly input: Json | undefined;
  readonly value: Json | undefined;
  /** The person's answer, before the permission check denied the call. */
  readonly overruled: PublicEventOf<"approval_answered">["overruled"];
  readonly at: number;
};

export type CallWait = {
  readonly step: string;
  readonly on: "time" | "signal";
  readonly until?: number;
  readonly key?: string;
  /** How many earlier signals had values that did not match. */
  readonly passedOver: number;
  readonly at: number;
  readonly endedAt: number | null;
};

export type CallItem = {
  readonly kind: "call";
  readonly callKey: string;
  readonly name: string;
  readonly input: Json | undefined;
  /** The arguments so far, while the model writes them. */
  readonly writing: string | null;
  /** How a malformed call was repaired; null if it was not. */
  readonly repaired: string | null;
  readonly asked: { readonly why: string; readonly question: string | null; readonly at: number } | null;
  readonly answers: readonly CallAnswer[];
  readonly output: ToolOutput | null;
  /** The output of the tool, if the model was shown a different one. */
  readonly returned: ToolOutput | null;
  readonly isError: boolean;
  readonly outcome: string | null;
  readonly ms: number | null;
  readonly tries: readonly { readonly attempt: number; readonly message: string; readonly retryInMs: number }[];
  readonly steps: readonly { readonly step: string; readonly outcome: string; readonly ms: number }[];
  /** The sleeps of the tool, and its waits for signals. */
  readonly waits: readonly CallWait[];
  readonly childId: string | null;
  /** When the child session began, in epoch milliseconds. The call lasts as long as the child. */
  readonly childSince: number | null;
  readonly isLate: boolean;
};

export type Tone = "plain" | "good" | "warn" | "bad";

export type StepItem =
  | { readonly kind: "input"; readonly how: string; readonly text: string; readonly by: string | null }
  | { readonly kind: "reasoning"; readonly text: string; readonly isOpen: boolean }
  | { readonly kind: "text"; readonly text: string; readonly isOpen: boolean }
  | { readonly kind: "note"; readonly tone: Tone; readonly title: string; readonly text: string | null }
  | { readonly kind: "final"; readonly result: RunResult }
  | CallItem;

/**
 * @param events the events of the step, in the order of the log
 * @param partial the message that is being streamed, if it belongs to this step
 * @param hasAttempts whether the attempts are shown elsewhere
 */
export function toStepItems(
  events: readonly PublicEvent[],
  partial: PartialMessage | null,
  hasAttempts = false,
): readonly StepItem[] {
  const items: StepItem[] = [];
  const calls = new Map<string, number>();
  // The text is in the message, or in the part of it that has been streamed.
  const hasText = partial !== null || events.some(({ type }) => type === "message");

  function updateCall(callKey: string, name: string, change: (item: CallItem) => CallItem): void {
    let at = calls.get(callKey);
    if (at === undefined) {
      at = items.push(createCallItem(callKey, name)) - 1;
      calls.set(callKey, at);
    }
    const item = items[at];
    if (item?.kind === "call") items[at] = change(item);
  }

  for (const event of events) {
    const changed = toCallChange(event);
    if (changed !== null) updateCall(changed.callKey, changed.name, changed.change);
    else if ((event.type === "text" || event.type === "reasoning") && hasText) continue;
    else if (event.type === "attempt_failed" && hasAttempts) continue;
    else {
      if (event.type === "final") dropFinalText(items, event.result.text);
      items.push(...toPlainItems(event));
    }
  }
  if (partial !== null) items.push(...toPartialItems(partial));
  return items;
}

/** Removes the last message of a run, because it is shown as the answer. */
function dropFinalText(items: StepItem[], answer: string): void {
  const last = items.at(-1);
  if (last?.kind === "text" && last.text === answer) items.pop();
}

function createCallItem(callKey: string, name: string): CallItem {
  return {
    kind: "call",
    callKey,
    name,
    input: undefined,
    writing: null,
    repaired: null,
    asked: null,
    answers: [],
    output: null,
    returned: null,
    isError: false,
    outcome: null,
    ms: null,
    tries: [],
    steps: [],
    waits: [],
    childId: null,
    childSince: null,
    isLate: false,
  };
}

type CallChange = {
  readonly callKey: string;
  readonly name: string;
  readonly change: (item: CallItem) => CallItem;
};

/** The change of a call by an event; null if the event is not about a call. */
function toCallChange(event: PublicEvent): CallChange | null {
  const changeCall = (change: (item: CallItem) => CallItem): CallChange | null =>
    "callKey" in event && event.callKey !== undefined
      ? { callKey: event.callKey, name: "name" in event ? event.name : "", change }
      : null;
  switch (event.type) {
    case "call_start":
      return changeCall((item) => item);
    case "tool_call":
      return changeCall((item) => ({
        ...item,
        input: event.input,
        repaired:
          event.repair === undefined || event.repair.by === "call_tool"
            ? null
            : (event.repair.changes?.join(", ") ?? event.repair.problem),
      }));
    case "child_started":
      return changeCall((item) => ({ ...item, childId: event.childId, childSince: event.at }));
    case "approval_requested": {
      const { why, question = null, at } = event;
      return changeCall((item) => ({ ...item, input: item.input ?? event.input, asked: { why, question, at } }));
    }
    case "approval_answered": {
      const { answer, by = null, note = null, input, value, overruled, at } = event;
      return changeCall((item) => ({
        ...item,
        answers: [...item.answers, { answer, by, note, input, value, overruled, at }],
      }));
    }
    case "wait_started": {
      const { step, on, until, key, passedOver = 0, at } = event;
      const wait: CallWait = {
        step,
        on,
        passedOver,
        at,
        endedAt: null,
        ...(until === undefined ? {} : { until }),
        ...(key === undefined ? {} : { key }),
      };
      return changeCall((item) => ({ ...item, waits: [...item.waits, wait] }));
    }
    case "wait_over":
      return changeCall((item) => ({
        ...item,
        waits: item.waits.map((wait) => (wait.step === event.step ? { ...wait, endedAt: event.at } : wait)),
      }));
    case "tool_step": {
      const { step, outcome, durationMs } = event;
      return changeCall((item) => ({ ...item, steps: [...item.steps, { step, outcome, ms: durationMs }] }));
    }
    case "tool_failed": {
      const { attempt, fault, retryInMs } = event;
      return changeCall((item) => ({
        ...item,
        tries: [...item.tries, { attempt, message: fault.message, retryInMs }],
      }));
    }
    case "tool_result": {
      const { output, returned = null, isError, outcome } = event;
      return changeCall((item) => ({ ...item, output, returned, isError, outcome }));
    }
    case "late_result":
      return changeCall((item) => ({
        ...item,
        output: event.output ?? item.output,
        returned: event.returned ?? null,
        outcome: event.outcome,
        isLate: true,
      }));
    case "call_complete":
      return changeCall((item) => ({
        ...item,
        ms: item.childSince === null ? event.durationMs : event.at - item.childSince,
      }));
    default:
      return null;
  }
}

/** The items of an event that is not about a call. */
function toPlainItems(event: PublicEvent): readonly StepItem[] {
  switch (event.type) {
    case "run_started":
      return [{ kind: "input", how: "Request", text: textOfInput(event.input), by: event.by ?? null }];
    case "steered":
      return [{ kind: "input", how: steerLabels[event.source], text: textOfInput(event.input), by: event.by ?? null }];
    case "text":
      return [{ kind: "text", text: event.text, isOpen: false }];
    case "reasoning":
      return [{ kind: "reasoning", text: event.text, isOpen: false }];
    case "message":
      return event.message.parts.flatMap((part): readonly StepItem[] => {
        if (part.type === "text" || part.type === "reasoning")
          return part.text === "" ? [] : [{ kind: part.type, text: part.text, isOpen: false }];
        if (part.type === "file") return [note("plain", "File", part.filename ?? part.mediaType)];
        if (part.type === "source")
          return [note("plain", "Source", part.url ?? part.title ?? part.filename ?? part.id)];
        return [];
      });
    case "final":
      return [{ kind: "final", result: event.result }];
    default:
      return toNotes(event);
  }
}

const steerLabels = {
  user: "Steered",
  before_stop: "Sent back by a hook",
  output: "Sent back: does not match the output schema",
};

function toNotes(event: PublicEvent): readonly StepItem[] {
  switch (event.type) {
    case "attempt_failed": {
      const { attempt, model, failure, next, retryInMs } = event;
      const followUp =
        next === "retry" && retryInMs !== undefined ? `Tried again after ${retryInMs} ms.` : nextLabels[next];
      return [note("bad", `Attempt ${attempt} failed (${failure.kind}, ${model})`, `${failure.message}\n${followUp}`)];
    }
    case "attempt_withdrawn":
      return [note("warn", `The answer of attempt ${event.attempt} was withdrawn`, null)];
    case "compacted":
      return [toCompactionNote(event)];
    case "handed_off":
      return [note("plain", `Handed over from ${event.from} to ${event.to}`, null)];
    case "abort_requested":
      return [note("warn", `Abort requested${by(event.by)}`, event.note ?? null)];
    case "restarted":
      return [note("warn", "Restarted: another process continued the run", formatFault(event.fault))];
    case "hook_failed":
      return [note("bad", `Hook ${event.name} (${event.hook}) ${event.outcome.replace("_", " ")}`, event.message)];
    case "data_changed":
      return [note("plain", `Data changed: ${event.keys.join(", ")}`, null)];
    case "sources_changed":
      return [note("plain", `Context changed: ${event.changes.length} sources`, null)];
    case "history_added":
      return [note("plain", `${event.messages.length} messages of an earlier conversation`, null)];
    default:
      return [];
  }
}

const nextLabels = {
  retry: "Tried again.",
  fallback: "The next model took over.",
  compact: "The conversation was shortened.",
  give_up: "The step was given up.",
};

function toCompactionNote(event: Extract<PublicEvent, { readonly type: "compacted" }>): StepItem {
  const { replaced, tokensBefore, tokensAfter, summary, fault } = event;
  if (fault !== undefined) return note("bad", "A compaction failed", fault.message);
  const size = tokensBefore === undefined ? "" : `: ${tokensBefore} tokens became ${tokensAfter ?? "?"}`;
  return note("plain", `Compacted ${replaced?.messages ?? "the"} messages${size}`, summary ?? null);
}

function by(name: string | undefined): string {
  return name === undefined ? "" : ` by ${name}`;
}

function formatFault(fault: Fault | undefined): string | null {
  return fault?.message ?? null;
}

function note(tone: Tone, title: string, text: string | null): StepItem {
  return { kind: "note", tone, title, text };
}

/** The calls have the keys that they will have in the log, where they are numbered in the order in which they are completed. */
function toPartialItems({ message, open, inputs, runId, modelCallIndex }: PartialMessage): readonly StepItem[] {
  const unfinished = new Set(open.map(({ index }) => index));
  let calls = 0;
  const createItem = (id: string, name: string, runsAtProvider = false): CallItem =>
    createCallItem(runsAtProvider ? id : `${runId}/${modelCallIndex}/${++calls}`, name);
  const items = message.parts.flatMap((part, at): readonly StepItem[] => {
    if (part.type === "text" || part.type === "reasoning")
      return [{ kind: part.type, text: part.text, isOpen: unfinished.has(at) }];
    if (part.type !== "tool_call") return [];
    return [{ ...createItem(part.toolCallId, part.name, part.providerExecuted), input: part.input }];
  });
  const writing = inputs.map(
    ({ id, name, text, providerExecuted }): StepItem => ({ ...createItem(id, name, providerExecuted), writing: text }),
  );
  return [...items, ...writing];
}

/** The text of an output, as the model receives it. */
export function textOfOutput(output: ToolOutput): string {
  if (output.type === "text") return output.text;
  if (output.type === "json") return JSON.stringify(output.value, null, 2);
  return output.parts
    .map((part) => (part.type === "text" ? part.text : `[${part.filename ?? part.mediaType}]`))
    .join("\n");
}
