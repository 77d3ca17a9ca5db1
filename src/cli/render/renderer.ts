/**
 * Renders a session's stream as lines for a person, from the changes that its items make to the session's view.
 *
 * 1. The model's text goes to `out`, everything else to `err`. If no person reads `out`, it gets only the answer, when the run has
 *    ended; text between calls then goes to `err`.
 * 2. All text passes through `sanitize`, so that it cannot control the terminal.
 */
import { textOfEnd } from "../../core/index.js";
import {
  type PublicEvent,
  type PublicEventOf,
  type RunResult,
  type StreamItem,
  textOf,
  type UserMessage,
} from "../../index.js";
import { createSessionView, type SessionView } from "../../view/session-view.js";
import { type Attempt, findLogEvent, isSameAttempt, type TextKind, type ViewChange } from "../../view/view-change.js";
import { formatDecision, formatDecisionType } from "../decisions/format-decision.js";
import { formatJsonLine, sanitize } from "../terminal/text.js";
import type { StyleText } from "../terminal/text-style.js";
import { formatWait } from "../wait-text.js";
import { addSavings, type CacheSavings, noSavings } from "./cache-savings.js";
import { formatClosingLine } from "./format-closing-line.js";
import { formatCompaction } from "./format-compaction.js";
import { formatEndedAgent } from "./format-ended-agent.js";
import { formatEventNote } from "./format-event.js";
import { formatFailedAttempt } from "./format-failed-attempt.js";
import {
  type CallState,
  createCallState,
  flushCall,
  recordResult,
  showCall,
  showChangedInput,
  showResult,
} from "./render-calls.js";
import {
  closeLine,
  createTextState,
  flushBuffered,
  growText,
  type Piece,
  type TextState,
  write,
  writeAnswer,
  writeLine,
} from "./render-text.js";

import { createUnreadMessages, formatUnread, type UnreadMessages } from "./unread-messages.js";

export type { Piece } from "./render-text.js";

export type RenderOptions = {
  readonly style: StyleText;
  /** The width of a line. */
  readonly columns: number;
  /**
   * When text goes to `out`: while the model writes it, or as the answer of a run that has ended. `data`: only an answer that
   * matches the run's schema goes there. Default: `live`.
   */
  readonly text?: "live" | "answer" | "data";
  /** Whether to show the person's own messages also. Default: false. */
  readonly showInput?: boolean;
  /** Whether the items are a session's past, in which an abort has had its effect. Default: false. */
  readonly isTranscript?: boolean;
  /** Whether the person is asked about calls, so that no line announces the questions. Default: false. */
  readonly canAsk?: boolean;
};

export type Renderer = {
  readonly show: (item: StreamItem) => readonly Piece[];
  /**
   * Returns the buffered line of the last call. With `canAsk`, that line is buffered until the next item, because a question about
   * the call would show the call again.
   */
  readonly flush: () => readonly Piece[];
  /** The last line of a run, for a run that stopped without an event. */
  readonly end: (result: RunResult, at: number) => readonly Piece[];
  /** Whether the cursor is at the start of a line. */
  readonly isAtLineStart: () => boolean;
};

/** The state of a renderer between items. */
type RenderState = TextState &
  CallState & {
    readonly view: SessionView;
    /** The last attempt with visible output. */
    shownAttempt: Attempt | null;
    /** When the run began; null if the renderer has not seen it begin. */
    startedAt: number | null;
    /** The savings of the provider's prompt cache in this run. */
    savings: CacheSavings;
    readonly unread: UnreadMessages;
    /** Runs that have not started. */
    readonly queuedRuns: Set<string>;
    /** The queued run that was aborted last, whose end needs no line. */
    takenBackRun: string | null;
  };

export function createRenderer(options: RenderOptions): Renderer {
  const state: RenderState = {
    ...createTextState(options.text === undefined || options.text === "live" ? "live" : "answer"),
    ...createCallState(),
    view: createSessionView(),
    shownAttempt: null,
    startedAt: null,
    savings: noSavings,
    unread: createUnreadMessages(),
    queuedRuns: new Set(),
    takenBackRun: null,
  };
  return {
    show(item) {
      const isQuestion = item.type === "approval_requested" && item.callKey === state.bufferedCall?.callKey;
      if (isQuestion) state.bufferedCall = null;
      else flushCall(state);
      for (const change of state.view.apply(item)) {
        state.unread.apply(change);
        showChange(state, change, options);
      }
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

function showChange(state: RenderState, change: ViewChange, options: RenderOptions): void {
  switch (change.type) {
    case "step_started":
      closeLine(state);
      state.shownAttempt = change;
      break;
    case "part_started":
    case "part_ended":
      state.pairs.reset();
      // A provider cuts one sentence into several parts, so the next part of the text continues in the same line.
      if (change.kind === "reasoning") closeLine(state);
      break;
    case "part_grew":
      showGrowth(state, change.kind, change.text, options);
      break;
    default: {
      const event = findLogEvent(change);
      if (event !== null) showEvent(state, event, options);
      else if (isEndOfAnswer(change)) closeLine(state);
    }
  }
}

function showGrowth(state: RenderState, kind: TextKind, added: string, { style }: RenderOptions): void {
  const text = state.pairs.add(added);
  if (kind === "text") growText(state, text);
  else write(state, "err", style("dim", sanitize(text)), text);
}

/** Whether the model has sent its last delta. The message may reach the log much later, after its hooks. */
function isEndOfAnswer(change: ViewChange): boolean {
  if (change.type !== "note" || change.item.type !== "delta") return false;
  return change.item.delta.kind === "done" || change.item.delta.kind === "error";
}

function showEvent(state: RenderState, event: PublicEvent, options: RenderOptions): void {
  const { style } = options;
  switch (event.type) {
    case "run_started":
      state.queuedRuns.delete(event.runId);
      state.startedAt = event.at;
      state.savings = noSavings;
      state.shownText = "";
      showRequest(state, event, options);
      break;
    case "run_queued":
      state.queuedRuns.add(event.runId);
      if (options.showInput === true && event.finishedChild === undefined) showInput(state, event.input, options);
      break;
    case "steered":
      showRequest(state, event, options);
      break;
    case "message": {
      closeLine(state);
      const text = textOf(event.message);
      if (text !== "") state.bufferedTexts?.push(text);
      break;
    }
    case "attempt_withdrawn":
      if (state.shownAttempt !== null && isSameAttempt(state.shownAttempt, event))
        writeLine(state, style("yellow", "The answer above was refused."));
      break;
    case "tool_call":
      flushBuffered(state);
      showCall(state, event, options);
      break;
    case "approval_requested":
      if (options.canAsk !== true) writeLine(state, style("yellow", `  ${sanitize(event.name)} waits for an answer`));
      break;
    case "wait_started":
      writeLine(state, style("dim", `  ${sanitize(event.name)} is ${formatWait(event)}`));
      break;
    case "approval_answered":
      writeLine(state, style("dim", `  ${sanitize(event.name)}: ${sanitize(formatAnswer(event))}`));
      if (event.input !== undefined) showChangedInput(state, event.callKey, event.input, options);
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
    case "hook_failed":
    case "restarted":
    case "late_result":
      writeLine(state, style("yellow", formatEventNote(event)));
      break;
    case "abort_requested":
      showAbort(state, event, options);
      break;
    case "final":
      if (event.runId !== state.takenBackRun) showFinal(state, event, options);
      break;
    case "step_finished":
      closeLine(state);
      state.savings = addSavings(state.savings, event.model, event.usage);
      break;
    default:
      break;
  }
}

function showFailure(
  state: RenderState,
  event: PublicEventOf<"tool_failed" | "attempt_failed">,
  { style }: RenderOptions,
): void {
  // The person or a limit stopped the model call, which the end of the run reports.
  if (event.type === "attempt_failed" && event.failure.kind === "cancelled") return;
  writeLine(state, style("yellow", formatFailedAttempt(event)));
}

/** Formats an answer without who gave it, unless the answer was overruled. */
function formatAnswer(event: PublicEventOf<"approval_answered">): string {
  return event.overruled === undefined ? formatDecisionType(event.answer) : formatDecision(event);
}

/** The text of the message that an agent in the background has ended is for the model. */
function showRequest(
  state: RenderState,
  event: PublicEventOf<"run_started" | "steered">,
  options: RenderOptions,
): void {
  if (event.finishedChild === undefined) {
    if (options.showInput === true) showInput(state, event.input, options);
    return;
  }
  const { text, color } = formatEndedAgent(event);
  writeLine(state, options.style(color, text));
}

function showInput(state: RenderState, input: readonly UserMessage[], { style }: RenderOptions): void {
  const text = input.map(textOf).join("\n");
  writeLine(state, style("bold", sanitize(text).replace(/^/gm, "> ")));
}

function showAbort(
  state: RenderState,
  { runId }: PublicEventOf<"abort_requested">,
  { style, isTranscript }: RenderOptions,
): void {
  const isTakenBack = state.queuedRuns.delete(runId);
  if (isTakenBack) state.takenBackRun = runId;
  const inProgress = isTranscript === true ? "An abort was requested." : "Aborting…";
  writeLine(state, style("yellow", isTakenBack ? "A queued message was taken back." : inProgress));
}

function showFinal(state: RenderState, { result, at }: PublicEventOf<"final">, options: RenderOptions): void {
  const { text } = result;
  const fault = result.status === "failed" ? result.error : undefined;
  const fixedTexts =
    "reason" in result && result.status !== "interrupted"
      ? [textOfEnd(result.reason), textOfEnd(result.reason, fault)]
      : [];
  if (text === "" || fixedTexts.includes(text)) flushBuffered(state);
  else if (state.bufferedTexts === null) writeAnswer(state, text);
  else writeBufferedAnswer(state, result, options.text === "data");
  writeClosingLine(state, result, at, options);
  const unread = state.unread.count();
  // In a transcript, the model may have got the message since.
  if (unread > 0 && options.showInput !== true) writeLine(state, options.style("yellow", formatUnread(unread)));
}

/** A program that reads the answer as data gets only a valid answer. */
function writeBufferedAnswer(state: RenderState, result: RunResult, isDataOnly: boolean): void {
  if (result.status === "completed" && result.output !== undefined) {
    flushBuffered(state, result.text);
    write(state, "out", formatJsonLine(result.output), "\n");
  } else if (isDataOnly || (result.status === "failed" && result.reason === "invalid_output")) flushBuffered(state);
  else writeAnswer(state, result.text);
}

function writeClosingLine(state: RenderState, result: RunResult, at: number, { style }: RenderOptions): void {
  // A renderer that has joined a run in the middle does not know how long the run took.
  const elapsedMs = state.startedAt === null || state.startedAt === at ? null : at - state.startedAt;
  writeLine(state, formatClosingLine(result, elapsedMs, style, state.savings));
}
