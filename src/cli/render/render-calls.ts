/**
 * The lines of calls in a renderer: one when a call begins, one when it has ended.
 */
import { type Json, textOfOutput } from "../../core/index.js";
import type { PublicEventOf } from "../../index.js";
import { shortId } from "../files/session-store.js";
import { todoTool } from "../permissions/rule.js";
import {
  formatDuration,
  formatFailure,
  hasFailedCommand,
  sanitize,
  summarizeInput,
  summarizeResult,
  truncate,
} from "../terminal/text.js";
import type { StyleText } from "../terminal/text-style.js";
import { formatRepair } from "./format-repair.js";
import { showPlan, type TextState, writeLine } from "./render-text.js";

/** The call state of a renderer. */
export type CallState = {
  /** Whether several calls are open, so that each result needs the name of its call. */
  isParallel: boolean;
  /** Open calls. A call that began before the renderer was created has no input here. */
  readonly calls: Map<string, { readonly input?: Json; readonly result?: string }>;
  /** The line of the last call, which is replaced if a question about the call follows. */
  bufferedCall: { readonly callKey: string; readonly lines: readonly string[] } | null;
};

type RendererState = TextState & CallState;

type CallOptions = { readonly style: StyleText; readonly columns: number; readonly canAsk?: boolean };

export function createCallState(): CallState {
  return { isParallel: false, calls: new Map(), bufferedCall: null };
}

/** With `canAsk`, the line is buffered, because a question about the call would show the whole call. */
export function showCall(state: RendererState, event: PublicEventOf<"tool_call">, options: CallOptions): void {
  const { callKey, name, input, repair } = event;
  const title = sanitize(name);
  if (state.calls.size > 0) state.isParallel = true;
  state.calls.set(callKey, { input });
  const line =
    `${options.style("cyan", `▸ ${title}`)} ${summarizeInput(input, options.columns - title.length - 3)}`.trimEnd();
  const isRepaired = repair !== undefined && repair.by !== "call_tool";
  const lines = isRepaired ? [line, options.style("dim", `  ${formatRepair(name, repair)}`)] : [line];
  state.bufferedCall = { callKey, lines };
  if (options.canAsk !== true) flushCall(state);
}

/** Shows the input that runs after a person has changed it. */
export function showChangedInput(
  state: RendererState,
  callKey: string,
  input: Json,
  { style, columns }: CallOptions,
): void {
  state.calls.set(callKey, { ...state.calls.get(callKey), input });
  writeLine(state, style("dim", `    ${summarizeInput(input, columns - 4)}`));
}

/** Writes the buffered line of a call. */
export function flushCall(state: RendererState): void {
  for (const line of state.bufferedCall?.lines ?? []) writeLine(state, line);
  state.bufferedCall = null;
}

export function recordResult(state: RendererState, event: PublicEventOf<"tool_result">): void {
  state.calls.set(event.callKey, { ...state.calls.get(event.callKey), result: formatResultText(event) });
}

/** The text of a call's result. Empty if the tool returned nothing. */
export function formatResultText({
  output,
  returned = output,
  cut: reason,
  startedChild,
}: PublicEventOf<"tool_result">): string {
  // The output tells the model what to do.
  if (startedChild !== undefined) return `works in the background as ${shortId(startedChild)}`;
  const text = textOfOutput(returned);
  return reason === undefined ? text : `(cut short: ${reason}) ${text}`;
}

/** A call that was denied or whose process was killed has no duration. */
export function formatCallDuration(durationMs: number, isOk: boolean): string {
  return durationMs === 0 && !isOk ? "" : ` · ${formatDuration(durationMs)}`;
}

export function showResult(
  state: RendererState,
  event: PublicEventOf<"call_complete">,
  { style, columns }: CallOptions,
): void {
  const call = state.calls.get(event.callKey);
  const isOk = event.status === "ok";
  // The shell tool succeeded, but the command failed.
  const isSuccessful = isOk && !(event.name === "shell" && hasFailedCommand(call?.result ?? ""));
  const mark = isSuccessful ? style("green", "✓") : style(isOk ? "yellow" : "red", "✗");
  const needsName = state.isParallel || call?.input === undefined;
  const title = needsName ? `${`${sanitize(event.name)} ${summarizeInput(call?.input ?? {}, 30)}`.trimEnd()}: ` : "";
  const durationText = formatCallDuration(event.durationMs, isOk);
  const width = Math.max(20, columns - 4);
  const summary = truncate(`${title}${summarizeResult(call?.result ?? "", isOk)}`, width - durationText.length);
  if (isOk) writeLine(state, `  ${mark} ${summary}${style("dim", durationText)}`);
  else {
    const [first = "", ...others] = formatFailure(`${title}${call?.result ?? ""}`, width);
    writeLine(state, `  ${mark} ${first}${others.length === 0 ? style("dim", durationText) : ""}`);
    for (const line of others) writeLine(state, `    ${line}`);
  }
  if (isOk && event.name === todoTool) showPlan(state, call?.result ?? "", style);
  state.calls.delete(event.callKey);
  if (state.calls.size === 0) state.isParallel = false;
}
