/**
 * The tool calls of a step in a trace: when each ran, and for whom it waited.
 */

import type { Json } from "../../core/data/message.js";
import type { EventOf, Repair } from "../../core/machine/event.js";
import { textOfOutput } from "../../core/transcript/results.js";
import type { PublicEvent } from "../../core/view/public-event.js";
import type { TracedCall, TracedToolStep, TracedWait } from "../../ports/trace.js";
import { type Redact, redactContent } from "../observers/redact.js";

type OpenCall = { -readonly [Key in keyof Omit<TracedCall, "waits" | "steps">]: TracedCall[Key] } & {
  readonly waits: TracedWait[];
  steps?: TracedToolStep[];
  waiting: (Pick<TracedWait, "for" | "childId" | "step"> & { readonly since: number }) | null;
};

/** Writes content into records. It redacts before it truncates, because a redaction would not recognize half a secret. */
export type ContentWriter = { readonly text: (text: string) => string; readonly json: (value: Json) => string };

const contentCharacters = 16_000;

export function createContentWriter(redact: Redact): ContentWriter {
  return {
    text: (text) => redact(text).slice(0, contentCharacters),
    json: (value) => JSON.stringify(redactContent(value, redact)).slice(0, contentCharacters),
  };
}

/** The calls by key, in the order in which the model requested them. */
export type OpenCalls = Map<string, OpenCall>;

/** @param now if given, the end of waits that have not ended */
export function toTracedCalls(calls: OpenCalls, now?: number): readonly TracedCall[] {
  return [...calls.values()].map(({ waiting, ...call }) => {
    if (waiting === null || now === undefined) return call;
    return { ...call, waits: [...call.waits, toTracedWait(waiting, now)] };
  });
}

function toTracedWait({ since, ...wait }: NonNullable<OpenCall["waiting"]>, until: number): TracedWait {
  return { ...wait, startedAt: since, durationMs: Math.max(0, until - since) };
}

/** Adds what only the log has about a call: waits for other sessions and programs, and when the call ran. */
export function addCallEvent(
  calls: OpenCalls,
  event: EventOf<"tool_waiting" | "tool_failed" | "tool_finished">,
  redact: Redact,
): void {
  const call = calls.get(event.callKey);
  if (call === undefined) return;
  if (event.type === "tool_failed") {
    const { attempt, fault, timing, retryInMs } = event;
    const { startedAt, durationMs } = timing;
    const failed = { startedAt, durationMs, attempt, message: redact(fault.message), retryInMs };
    call.failed = [...(call.failed ?? []), failed];
    return;
  }
  if (event.type === "tool_waiting") {
    const { on, childId, at } = event;
    call.waiting = { for: on, since: at, ...(childId === undefined ? {} : { childId }) };
    return;
  }
  endWait(call, event.at);
  call.outcome = event.outcome;
  const { timing, attempt = 1, cut } = event;
  if (cut !== undefined) call.cut = cut;
  if (timing !== undefined) call.ran = { startedAt: timing.startedAt, durationMs: timing.durationMs, attempt };
}

/** Adds a tool step. */
export function addToolStep(
  calls: OpenCalls,
  { callKey, step, outcome, value, fault, tries, timing }: EventOf<"tool_step_finished">,
  redact: Redact,
  content: ContentWriter | null,
): void {
  const call = calls.get(callKey);
  if (call === undefined) return;
  call.steps ??= [];
  call.steps.push({
    step: redact(step),
    outcome,
    startedAt: timing.startedAt,
    durationMs: timing.durationMs,
    ...(tries === undefined ? {} : { tries }),
    ...(fault === undefined ? {} : { message: redact(fault.message) }),
    ...(content === null || value === undefined ? {} : { output: content.json(value) }),
  });
}

/** Adds what the public events have about the calls. */
export function addCallEvents(
  calls: OpenCalls,
  events: readonly PublicEvent[],
  content: ContentWriter | null,
  redact: Redact,
): void {
  for (const event of events) {
    if (event.type === "call_start") {
      const { callKey, toolCallId, name } = event;
      calls.set(callKey, { callKey, toolCallId, name, waits: [], waiting: null });
      continue;
    }
    const call = "callKey" in event && event.callKey !== undefined ? calls.get(event.callKey) : undefined;
    if (call === undefined) continue;
    if (event.type === "data_changed") call.changed = mergeChangedKeys(call, event.keys, redact);
    else if (event.type === "approval_requested")
      call.waiting ??= { for: event.why === "external" ? "external" : "person", since: event.at };
    else if (event.type === "approval_answered") endWait(call, event.at, event.by ?? event.overruled?.by);
    else if (event.type === "wait_started")
      call.waiting ??= { for: event.on, step: redact(event.step), since: event.at };
    else if (event.type === "wait_over") {
      if (call.waiting?.step === redact(event.step)) endWait(call, event.at);
    } else if (event.type === "tool_call") {
      if (event.repair?.by === "call_tool") call.name = event.name;
      else if (event.repair !== undefined) call.repair = traceRepair(event.repair, redact);
      if (content !== null) call.input = content.json(event.input);
    } else if (event.type === "tool_result" && content !== null) {
      call.output = content.text(textOfOutput(event.output));
      if (event.returned !== undefined) call.returned = content.text(textOfOutput(event.returned));
    }
  }
}

/** Omits the problem, which may quote the arguments. */
function traceRepair({ by, name, changes }: Repair, redact: Redact): NonNullable<TracedCall["repair"]> {
  return {
    by,
    ...(name === undefined ? {} : { name }),
    ...(changes === undefined ? {} : { changes: changes.map(redact) }),
  };
}

function mergeChangedKeys({ changed = [] }: OpenCall, keys: readonly string[], redact: Redact): readonly string[] {
  return [...new Set([...changed, ...keys.map(redact)])];
}

function endWait(call: OpenCall, at: number, by?: string): void {
  if (call.waiting === null) return;
  call.waits.push({ ...toTracedWait(call.waiting, at), ...(by === undefined ? {} : { by }) });
  call.waiting = null;
}
