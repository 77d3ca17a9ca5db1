/**
 * Renders the items of a session's stream as lines for a person. It is a fold over the items.
 *
 * 1. The model's text goes to `out`, everything else to `err`. If `out` is not read by a person, it gets the answer
 *    alone, when the run has ended. What the model says between its calls goes to `err` then.
 * 2. Text is shown once: as deltas, or from its event if no deltas came.
 * 3. All text passes through `visible`, so that it cannot control the terminal.
 */
import { textOfEnd } from "../core/index.js";
import {
  type MessageDelta,
  type PublicEvent,
  type RunResult,
  type StreamItem,
  textOf,
  type UserMessage,
} from "../index.js";
import { answerText, answerWord } from "./answer-text.js";
import { addSavings, type CacheSavings, noSavings } from "./cache-savings.js";
import { closingLine } from "./closing-line.js";
import { compactionNote } from "./compaction-note.js";
import { eventNote } from "./event-note.js";
import { failedAttempt } from "./failed-attempt.js";
import {
  createRenderedCalls,
  noteResult,
  type RenderedCalls,
  releaseCall,
  showCall,
  showResult,
} from "./rendered-calls.js";
import {
  closeLine,
  createRenderedText,
  isStreamed,
  type Piece,
  type RenderedText,
  releaseHeld,
  showCutOff,
  withoutHalfCharacter,
  withoutSpaces,
  write,
  writeAnswer,
  writeLine,
  writeText,
} from "./rendered-text.js";
import { visible } from "./text.js";
import type { StyleText } from "./text-style.js";

export type { Piece } from "./rendered-text.js";

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
  readonly release: () => readonly Piece[];
  /** The last line of a run, for a run that stopped without an event. */
  readonly end: (result: RunResult, at: number) => readonly Piece[];
  /** Whether the cursor is at the start of a line. */
  readonly isAtLineStart: () => boolean;
};

type EventNamed<Type extends PublicEvent["type"]> = Extract<PublicEvent, { readonly type: Type }>;

/** What the renderer remembers between items. */
type RenderState = RenderedText &
  RenderedCalls & {
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
    ...createRenderedText(options.text ?? "live"),
    attempt: { key: "", from: 0 },
    textStep: "",
    reasoning: "",
    ...createRenderedCalls(),
    startedAt: null,
    savings: noSavings,
    stepText: "",
  };
  return {
    show(item) {
      if ("at" in item) state.startedAt ??= item.at;
      if (item.type === "step_finished") state.savings = addSavings(state.savings, item.model, item.usage);
      const isQuestion = item.type === "approval_requested" && item.callKey === state.heldCall?.callKey;
      if (isQuestion) state.heldCall = null;
      else releaseCall(state);
      showItem(state, item, options);
      return state.pieces.splice(0);
    },
    release() {
      releaseCall(state);
      return state.pieces.splice(0);
    },
    end(result, at) {
      releaseCall(state);
      writeClosing(state, result, at, options);
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
      writeText(state, withoutHalfCharacter(state, delta.text));
      break;
    case "reasoning-delta": {
      const text = withoutHalfCharacter(state, delta.text);
      state.reasoning += text;
      write(state, "err", style("dim", visible(text)), text);
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

function keyOf({ runId, modelCallIndex, attempt }: Attempt): string {
  return `${runId}/${modelCallIndex}/${attempt}`;
}

function beginAttempt(state: RenderState, attempt: Attempt): void {
  closeLine(state);
  const step = `${attempt.runId}/${attempt.modelCallIndex}`;
  // The text of a new attempt replaces that of the attempt before it.
  if (state.attempt.key.startsWith(`${step}/`)) state.streamed = state.streamed.slice(0, state.attempt.from);
  state.attempt = { key: keyOf(attempt), from: state.streamed.length };
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
      if (state.held === null) showText(state, event);
      else state.held.push(event.text);
      break;
    case "message":
      showMessage(state, event);
      break;
    case "attempt_withdrawn":
      if (state.attempt.key === keyOf(event)) writeLine(state, style("yellow", "The answer above was refused."));
      break;
    case "reasoning":
      showReasoning(state, event, options);
      break;
    case "tool_call":
      beginCall(state, event, options);
      break;
    case "approval_requested":
      if (options.canAsk !== true) writeLine(state, style("yellow", `  ${visible(event.name)} waits for an answer`));
      break;
    case "approval_answered":
      writeLine(state, style("dim", `  ${visible(event.name)}: ${visible(answerOf(event))}`));
      break;
    case "tool_result":
      noteResult(state, event);
      break;
    case "call_complete":
      showResult(state, event, options);
      break;
    case "tool_failed":
    case "attempt_failed":
      showFailure(state, event, options);
      break;
    case "compacted":
      writeLine(state, style("dim", compactionNote(event)));
      break;
    case "content_redacted":
    case "handed_off":
    case "abort_requested":
    case "restarted":
    case "late_result":
      writeLine(state, style("yellow", eventNote(event)));
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
  event: EventNamed<"tool_failed" | "attempt_failed">,
  { style }: RenderOptions,
): void {
  // The person, or a limit, has stopped the model call: the end of the run says so.
  if (event.type === "attempt_failed" && event.failure.kind === "cancelled") return;
  writeLine(state, style("yellow", failedAttempt(event)));
}

function showMessage(state: RenderState, { cut: isCut, message }: EventNamed<"message">): void {
  if (isCut === true) showCutOff(state, textOf(message));
  closeLine(state);
}

function showReasoning(state: RenderState, { text }: EventNamed<"reasoning">, { style }: RenderOptions): void {
  if (!withoutSpaces(state.reasoning).includes(withoutSpaces(text))) writeLine(state, style("dim", visible(text)));
}

/** Shows a part of a message. The parts of one message follow each other as they came. */
function showText(state: RenderState, { runId, modelCallIndex, text }: EventNamed<"text">): void {
  const step = `${runId}/${modelCallIndex}`;
  if (state.textStep !== step) closeLine(state);
  state.stepText = state.textStep === step ? state.stepText + text : text;
  state.textStep = step;
  if (state.attempt.key.startsWith(`${step}/`) && isStreamed(state, text)) return;
  writeText(state, text);
}

/** Who has answered knows so, unless something else came of it. */
function answerOf(event: EventNamed<"approval_answered">): string {
  return event.overruled === undefined ? answerWord(event.answer) : answerText(event);
}

function showInput(state: RenderState, input: readonly UserMessage[], { style }: RenderOptions): void {
  const text = input.map(textOf).join("\n");
  writeLine(state, style("bold", visible(text).replace(/^/gm, "> ")));
}

function beginCall(state: RenderState, event: EventNamed<"tool_call">, options: RenderOptions): void {
  releaseHeld(state);
  state.streamed = "";
  state.attempt = { ...state.attempt, from: 0 };
  showCall(state, event, options);
}

function showFinal(state: RenderState, { result, at }: EventNamed<"final">, options: RenderOptions): void {
  const { text } = result;
  const fault = result.status === "failed" ? result.error : undefined;
  const isFixed =
    "reason" in result && result.status !== "interrupted"
      ? [textOfEnd(result.reason), textOfEnd(result.reason, fault)].includes(text)
      : text === "";
  // The text beside the last calls was shown with them.
  const isShown = state.held === null && state.stepText === text;
  if (!isFixed && !isShown) writeAnswer(state, text);
  else releaseHeld(state);
  writeClosing(state, result, at, options);
  state.startedAt = null;
  state.savings = noSavings;
  state.streamed = "";
  state.stepText = "";
}

function writeClosing(state: RenderState, result: RunResult, at: number, { style }: RenderOptions): void {
  const elapsedMs = state.startedAt === null ? null : at - state.startedAt;
  writeLine(state, closingLine(result, elapsedMs, style, state.savings));
}
