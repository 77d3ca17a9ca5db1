/**
 * The lines of calls in a renderer: one when a call begins, one when it has ended.
 */
import { type Json, textOfOutput } from "../core/index.js";
import type { PublicEvent } from "../index.js";
import { planTool, type RenderedText, showPlan, writeLine } from "./rendered-text.js";
import { repairNote } from "./repair-note.js";
import { cut, duration, failureLines, hasFailedCommand, shortInput, shortResult, visible } from "./text.js";
import type { StyleText } from "./text-style.js";

type EventNamed<Type extends PublicEvent["type"]> = Extract<PublicEvent, { readonly type: Type }>;

/** What a renderer remembers of calls. */
export type RenderedCalls = {
  /** Several calls are open, so each result needs the name of its call. */
  isParallel: boolean;
  /** Open calls. A call that began before the renderer was created has no input here. */
  readonly calls: Map<string, { readonly input?: Json; readonly result?: string }>;
  /** The line of a call that a question may follow. */
  heldCall: { readonly callKey: string; readonly lines: readonly string[] } | null;
};

type State = RenderedText & RenderedCalls;

type CallOptions = { readonly style: StyleText; readonly columns: number; readonly canAsk?: boolean };

export function createRenderedCalls(): RenderedCalls {
  return { isParallel: false, calls: new Map(), heldCall: null };
}

/** With `canAsk`, the line is held back: the question about the call shows all of it. */
export function showCall(state: State, event: EventNamed<"tool_call">, options: CallOptions): void {
  const { callKey, name, input, repair } = event;
  const title = visible(name);
  if (state.calls.size > 0) state.isParallel = true;
  state.calls.set(callKey, { input });
  const line = `${options.style("cyan", `▸ ${title}`)} ${shortInput(input, options.columns - title.length - 3)}`;
  const isRepaired = repair !== undefined && repair.by !== "call_tool";
  const lines = isRepaired ? [line, options.style("dim", `  ${repairNote(name, repair)}`)] : [line];
  state.heldCall = { callKey, lines };
  if (options.canAsk !== true) releaseCall(state);
}

/** Writes the line of a call that was held back. */
export function releaseCall(state: State): void {
  for (const line of state.heldCall?.lines ?? []) writeLine(state, line);
  state.heldCall = null;
}

export function noteResult(state: State, event: EventNamed<"tool_result">): void {
  state.calls.set(event.callKey, { ...state.calls.get(event.callKey), result: resultText(event) });
}

function resultText({ output, returned = output, cut: reason }: EventNamed<"tool_result">): string {
  const text = textOfOutput(returned);
  return reason === undefined ? text : `(cut short: ${reason}) ${text}`;
}

export function showResult(state: State, event: EventNamed<"call_complete">, { style, columns }: CallOptions): void {
  const call = state.calls.get(event.callKey);
  const isOk = event.status === "ok";
  // The tool did its work, but what it ran did not end well.
  const isWell = isOk && !(event.name === "shell" && hasFailedCommand(call?.result ?? ""));
  const mark = isWell ? style("green", "✓") : style(isOk ? "yellow" : "red", "✗");
  const isNamed = state.isParallel || call?.input === undefined;
  const title = isNamed ? `${`${visible(event.name)} ${shortInput(call?.input ?? {}, 30)}`.trimEnd()}: ` : "";
  const took = ` · ${duration(event.durationMs)}`;
  const width = Math.max(20, columns - 4);
  const summary = cut(`${title}${shortResult(call?.result ?? "", isOk)}`, width - took.length);
  if (isOk) writeLine(state, `  ${mark} ${summary}${style("dim", took)}`);
  else {
    const [first = "", ...others] = failureLines(`${title}${call?.result ?? ""}`, width);
    writeLine(state, `  ${mark} ${first}${others.length === 0 ? style("dim", took) : ""}`);
    for (const line of others) writeLine(state, `    ${line}`);
  }
  if (isOk && event.name === planTool) showPlan(state, call?.result ?? "", style);
  state.calls.delete(event.callKey);
  if (state.calls.size === 0) state.isParallel = false;
}
