/**
 * Renders the items of a session's stream as lines for a person. It is a fold over the items.
 *
 * 1. The model's text goes to `out`, everything else to `err`. If `out` is not read by a person, it gets the answer
 *    alone, when the run has ended. What the model says between its calls goes to `err` then.
 * 2. Text is shown once: as deltas, or from its event if no deltas came.
 * 3. All text passes through `visible`, so that it cannot control the terminal.
 */
import { textOfEnd } from "../../core/index.js";
import {
  type MessageDelta,
  type PublicEvent,
  type RunResult,
  type StreamItem,
  textOf,
  type UserMessage,
} from "../../index.js";
import { formatDecision, formatDecisionType } from "../decisions/format-decision.js";
import { sanitize } from "../terminal/text.js";
import type { StyleText } from "../terminal/text-style.js";
import { formatWait } from "../wait-text.js";
import { addSavings, type CacheSavings, noSavings } from "./cache-savings.js";
import { formatClosingLine } from "./format-closing-line.js";
import { formatCompaction } from "./format-compaction.js";
import { formatEventNote } from "./format-event.js";
import { formatFailedAttempt } from "./format-failed-attempt.js";
import { type CallState, createCallState, flushCall, recordResult, showCall, showResult } from "./render-calls.js";
import {
  closeLine,
  createTextState,
  flushBuffered,
  isStreamed,
  type Piece,
  removeSpaces,
  showPartialText,
  type TextState,
  takeWholeCharacters,
  write,
  writeAnswer,
  writeLine,
  writeText,
} from "./render-text.js";

export type { Piece } from "./render-text.js";

export type RenderOptions = {
  readonly style: StyleText;
  /** The width of a line. */
  readonly columns: number;
  /** When text goes to `out`: while the model writes it, or as the answer of a run that has ended. Default: `live`. */
  readonly text?: "live" | "answer";
  /** Whether the person's own messages are shown too. Default false. */
  readonly showInput?: boolean;
  /** Whether the person is asked about calls, so that no line announces them. Default false. */
  readonly canAsk?: boolean;
};

export type Renderer = {
  readonly show: (item: StreamItem) => readonly Piece[];
  /**
   * The line of the last call, if it was held back. With `canAsk`, a call is held until the next item: the question about it shows all of
   * it, so its line would be the same thing twice.
   */
  readonly flush: () => readonly Piece[];
  /** The last line of a run, for a run that stopped without an event. */
  readonly end: (result: RunResult, at: number) => readonly Piece[];
  /** Whether the cursor is at the start of a line. */
  readonly isAtLineStart: () => boolean;
};

type EventOfType<Type extends PublicEvent["type"]> = Extract<PublicEvent, { readonly type: Type }>;

/** What the renderer remembers between items. */
type RenderState = TextState &
  CallState & {
    /** The current attempt, and where its text begins in `streamed`. */
    attempt: { readonly key: string; readonly from: number };
    /** The step whose text events are being shown. */
    textStep: string;
    /** The reasoning streamed in the current attempt. */
    reasoning: string;
    startedAt: number | null;
    /** What the provider's prompt cache saved in this run. */
    savings: CacheSavings;
    /** The text of the last step, as far as its events told it. */
    stepText: string;
  };

export function createRenderer(options: RenderOptions): Renderer {
  const state: RenderState = {
    ...createTextState(options.text ?? "live"),
    attempt: { key: "", from: 0 },
    textStep: "",
    reasoning: "",
    ...createCallState(),
    startedAt: null,
    savings: noSavings,
    stepText: "",
  };
  return {
    show(item) {
      if ("at" in item) state.startedAt ??= item.at;
      if (item.type === "step_finished") state.savings = addSavings(state.savings, item.model, item.usage);
      const isQuestion = item.type === "approval_requested" && item.callKey === state.bufferedCall?.callKey;
      if (isQuestion) state.bufferedCall = null;
      else flushCall(state);
      showItem(state, item, options);
      return state.pieces.splice(0);
    },
    flush() {
      flushCall(state);
      return state.pieces.splice(0);
    },
    end(result, at) {
      flushCall(state);
      writeClosingLine(state, result, at, options);
      return state.pieces.splice(0);
    },
    isAtLineStart: () => state.openLine === null,
  };
}

function showItem(state: RenderState, item: StreamItem, options: RenderOptions): void {
  switch (item.type) {
    case "delta":
      showDelta(state, item.delta, options);
      break;
    case "snapshot":
      beginAttempt(state, item);
      writeText(state, textOf(item.message));
      break;
    case "lagged":
      // The log has the missed text. It comes as a whole with the next event.
      state.streamed = "";
      state.attempt = { key: "", from: 0 };
      closeLine(state);
      break;
    case "progress":
    case "partial_output":
    case "preliminary":
      break;
    default:
      showEvent(state, item, options);
  }
}

function showDelta(state: RenderState, delta: MessageDelta, { style }: RenderOptions): void {
  switch (delta.kind) {
    case "start":
      beginAttempt(state, delta);
      break;
    case "text-start":
    case "text-end":
      // A provider cuts one sentence into several parts, so the next part goes on in the same line.
      state.halfCharacter = "";
      break;
    case "reasoning-start":
    case "reasoning-end":
      state.halfCharacter = "";
      closeLine(state);
      break;
    case "text-delta":
      writeText(state, takeWholeCharacters(state, delta.text));
      break;
    case "reasoning-delta": {
      const text = takeWholeCharacters(state, delta.text);
      state.reasoning += text;
      write(state, "err", style("dim", sanitize(text)), text);
      break;
    }
    case "done":
    case "error":
      closeLine(state);
      break;
    default:
      break;
  }
}

type Attempt = { readonly runId: string; readonly modelCallIndex: number; readonly attempt: number };

function formatAttemptKey({ runId, modelCallIndex, attempt }: Attempt): string {
  return `${runId}/${modelCallIndex}/${attempt}`;
}

function beginAttempt(state: RenderState, attempt: Attempt): void {
  closeLine(state);
  const step = `${attempt.runId}/${attempt.modelCallIndex}`;
  // The text of a new attempt replaces that of the attempt before it.
  if (state.attempt.key.startsWith(`${step}/`)) state.streamed = state.streamed.slice(0, state.attempt.from);
  state.attempt = { key: formatAttemptKey(attempt), from: state.streamed.length };
  state.reasoning = "";
}

function showEvent(state: RenderState, event: PublicEvent, options: RenderOptions): void {
  const { style } = options;
  switch (event.type) {
    case "run_started":
    case "run_queued":
    case "steered":
      if (options.showInput === true) showInput(state, event.input, options);
      break;
    case "text":
      if (state.bufferedTexts === null) showText(state, event);
      else state.bufferedTexts.push(event.text);
      break;
    case "message":
      showMessage(state, event);
      break;
    case "attempt_withdrawn":
      if (state.attempt.key === formatAttemptKey(event))
        writeLine(state, style("yellow", "The answer above was refused."));
      break;
    case "reasoning":
      showReasoning(state, event, options);
      break;
    case "tool_call":
      beginCall(state, event, options);
      break;
    case "approval_requested":
      if (options.canAsk !== true) writeLine(state, style("yellow", `  ${sanitize(event.name)} waits for an answer`));
      break;
    case "wait_started":
      writeLine(state, style("dim", `  ${sanitize(event.name)} is ${formatWait(event)}`));
      break;
    case "approval_answered":
      writeLine(state, style("dim", `  ${sanitize(event.name)}: ${sanitize(formatAnswer(event))}`));
      break;
    case "tool_result":
      recordResult(state, event);
      break;
    case "call_complete":
      showResult(state, event, options);
      break;
    case "tool_failed":
    case "attempt_failed":
      showFailure(state, event, options);
      break;
    case "compacted":
      writeLine(state, style("dim", formatCompaction(event)));
      break;
    case "content_redacted":
    case "handed_off":
    case "abort_requested":
    case "restarted":
    case "late_result":
      writeLine(state, style("yellow", formatEventNote(event)));
      break;
    case "final":
      showFinal(state, event, options);
      break;
    case "step_finished":
      closeLine(state);
      break;
    default:
      break;
  }
}

function showFailure(
  state: RenderState,
  event: EventOfType<"tool_failed" | "attempt_failed">,
  { style }: RenderOptions,
): void {
  // The person, or a limit, has stopped the model call: the end of the run says so.
  if (event.type === "attempt_failed" && event.failure.kind === "cancelled") return;
  writeLine(state, style("yellow", formatFailedAttempt(event)));
}

function showMessage(state: RenderState, { cut: isCut, message }: EventOfType<"message">): void {
  if (isCut === true) showPartialText(state, textOf(message));
  closeLine(state);
}

function showReasoning(state: RenderState, { text }: EventOfType<"reasoning">, { style }: RenderOptions): void {
  if (!removeSpaces(state.reasoning).includes(removeSpaces(text))) writeLine(state, style("dim", sanitize(text)));
}

/** Shows a part of a message. The parts of one message follow each other as they came. */
function showText(state: RenderState, { runId, modelCallIndex, text }: EventOfType<"text">): void {
  const step = `${runId}/${modelCallIndex}`;
  if (state.textStep !== step) closeLine(state);
  state.stepText = state.textStep === step ? state.stepText + text : text;
  state.textStep = step;
  if (state.attempt.key.startsWith(`${step}/`) && isStreamed(state, text)) return;
  writeText(state, text);
}

/** Who has answered knows so, unless something else came of it. */
function formatAnswer(event: EventOfType<"approval_answered">): string {
  return event.overruled === undefined ? formatDecisionType(event.answer) : formatDecision(event);
}

function showInput(state: RenderState, input: readonly UserMessage[], { style }: RenderOptions): void {
  const text = input.map(textOf).join("\n");
  writeLine(state, style("bold", sanitize(text).replace(/^/gm, "> ")));
}

function beginCall(state: RenderState, event: EventOfType<"tool_call">, options: RenderOptions): void {
  flushBuffered(state);
  state.streamed = "";
  state.attempt = { ...state.attempt, from: 0 };
  showCall(state, event, options);
}

function showFinal(state: RenderState, { result, at }: EventOfType<"final">, options: RenderOptions): void {
  const { text } = result;
  const fault = result.status === "failed" ? result.error : undefined;
  const isFixedText =
    "reason" in result && result.status !== "interrupted"
      ? [textOfEnd(result.reason), textOfEnd(result.reason, fault)].includes(text)
      : text === "";
  // The text beside the last calls was shown with them.
  const isShown = state.bufferedTexts === null && state.stepText === text;
  if (!isFixedText && !isShown) writeAnswer(state, text);
  else flushBuffered(state);
  writeClosingLine(state, result, at, options);
  state.startedAt = null;
  state.savings = noSavings;
  state.streamed = "";
  state.stepText = "";
}

function writeClosingLine(state: RenderState, result: RunResult, at: number, { style }: RenderOptions): void {
  const elapsedMs = state.startedAt === null ? null : at - state.startedAt;
  writeLine(state, formatClosingLine(result, elapsedMs, style, state.savings));
}
