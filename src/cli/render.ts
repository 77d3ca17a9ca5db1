/**
 * What happens in a session, as lines for a person: a fold over the items of its stream.
 *
 * 1. What the model says goes to `out`, everything about it to `err`; so the answer can be piped.
 * 2. Text that came as deltas is not shown again when its event comes; text that did not, is.
 * 3. Nothing reaches a terminal but what `visible` lets through.
 */
import { type Json, textOfOutput } from "../core/index.js";
import {
  type MessageDelta,
  type PublicEvent,
  type RunResult,
  type StreamItem,
  textOf,
  type UserMessage,
} from "../index.js";
import { closingLine, fixedText } from "./closing-line.js";
import { compactionNote } from "./compaction-note.js";
import { failedAttempt } from "./failed-attempt.js";
import { cut, duration, shortInput, shortResult, visible } from "./text.js";
import type { Paint } from "./text-style.js";

export type Piece = { readonly to: "out" | "err"; readonly text: string };

export type RenderOptions = {
  readonly paint: Paint;
  /** Columns of a line. */
  readonly columns: number;
  /** What the person asked for is shown as well. */
  readonly showInput?: boolean;
  /** Questions are put to the person, and need not be announced. */
  readonly canAsk?: boolean;
};

export type Renderer = {
  readonly show: (item: StreamItem) => readonly Piece[];
  /** The last line; of a run that stopped without an event as well. */
  readonly end: (result: RunResult, at: number) => readonly Piece[];
  /** Nothing stands on the present line. */
  readonly isAtLineStart: () => boolean;
};

type EventNamed<Type extends PublicEvent["type"]> = Extract<PublicEvent, { readonly type: Type }>;

/** What is remembered between items. */
type Page = {
  readonly pieces: Piece[];
  /** Where a line stands open. */
  line: "out" | "err" | null;
  /** The end of a delta that may be half a character. */
  half: string;
  /** Text that was streamed since the last call, and where the present attempt began in it. */
  streamed: string;
  attempt: { readonly key: string; readonly from: number };
  /** Reasoning that was streamed in the present attempt. */
  thought: string;
  /** Calls run side by side: a result has to say which it belongs to. */
  isSideBySide: boolean;
  /** Calls that are open. One that began before this page did has no input here. */
  readonly calls: Map<string, { readonly input?: Json; readonly result?: string }>;
  startedAt: number | null;
};

export function createRenderer(options: RenderOptions): Renderer {
  const page: Page = {
    pieces: [],
    line: null,
    half: "",
    streamed: "",
    attempt: { key: "", from: 0 },
    thought: "",
    isSideBySide: false,
    calls: new Map(),
    startedAt: null,
  };
  return {
    show(item) {
      if ("at" in item) page.startedAt ??= item.at;
      showItem(page, item, options);
      return page.pieces.splice(0);
    },
    end(result, at) {
      note(page, closingLine(result, page.startedAt === null ? null : at - page.startedAt, options.paint));
      return page.pieces.splice(0);
    },
    isAtLineStart: () => page.line === null,
  };
}

function showItem(page: Page, item: StreamItem, options: RenderOptions): void {
  switch (item.type) {
    case "delta":
      showDelta(page, item.delta, options);
      break;
    case "snapshot":
      beginAttempt(page, item);
      say(page, textOf(item.message));
      break;
    case "lagged":
      // What was missed comes from the log, whole.
      page.streamed = "";
      closeLine(page);
      break;
    case "progress":
      break;
    default:
      showEvent(page, item, options);
  }
}

function showDelta(page: Page, delta: MessageDelta, { paint }: RenderOptions): void {
  switch (delta.kind) {
    case "start":
      beginAttempt(page, delta);
      break;
    case "text-start":
    case "text-end":
    case "reasoning-start":
    case "reasoning-end":
      page.half = "";
      closeLine(page);
      break;
    case "text-delta":
      say(page, whole(page, delta.text));
      break;
    case "reasoning-delta": {
      const text = whole(page, delta.text);
      page.thought += text;
      write(page, "err", paint("dim", visible(text)), text);
      break;
    }
    default:
      break;
  }
}

function beginAttempt(
  page: Page,
  {
    runId,
    modelCallIndex,
    attempt,
  }: { readonly runId: string; readonly modelCallIndex: number; readonly attempt: number },
): void {
  closeLine(page);
  const step = `${runId}/${modelCallIndex}`;
  // A new attempt takes the place of what the one before it said.
  if (page.attempt.key.startsWith(`${step}/`)) page.streamed = page.streamed.slice(0, page.attempt.from);
  page.attempt = { key: `${step}/${attempt}`, from: page.streamed.length };
  page.thought = "";
}

/** Keeps back the first half of a character whose second half is in the next delta. */
function whole(page: Page, text: string): string {
  const joined = page.half + text;
  const last = joined.charCodeAt(joined.length - 1);
  page.half = last >= 0xd800 && last <= 0xdbff ? joined.slice(-1) : "";
  return page.half === "" ? joined : joined.slice(0, -1);
}

function say(page: Page, text: string): void {
  page.streamed += text;
  write(page, "out", visible(text), text);
}

function write(page: Page, to: "out" | "err", shown: string, text: string): void {
  if (text === "") return;
  if (page.line !== to) closeLine(page);
  page.pieces.push({ to, text: shown });
  page.line = text.endsWith("\n") ? null : to;
}

function closeLine(page: Page): void {
  if (page.line !== null) page.pieces.push({ to: page.line, text: "\n" });
  page.line = null;
}

/** A line about what happens. */
function note(page: Page, line: string): void {
  closeLine(page);
  page.pieces.push({ to: "err", text: `${line}\n` });
}

function showEvent(page: Page, event: PublicEvent, options: RenderOptions): void {
  const { paint } = options;
  switch (event.type) {
    case "run_started":
    case "run_queued":
    case "steered":
      if (options.showInput === true) showInput(page, event.input, options);
      break;
    case "text":
      sayOnce(page, event.text);
      break;
    case "reasoning":
      if (!squeeze(page.thought).includes(squeeze(event.text))) note(page, paint("dim", visible(event.text)));
      break;
    case "tool_call":
      showCall(page, event, options);
      break;
    case "approval_requested":
      if (options.canAsk !== true) note(page, paint("yellow", `  ${visible(event.name)} waits for an answer`));
      break;
    case "approval_answered":
      note(page, paint("dim", `  ${visible(event.name)}: ${answers[event.answer] ?? visible(event.answer)}`));
      break;
    case "tool_result":
      page.calls.set(event.callKey, { ...page.calls.get(event.callKey), result: textOfOutput(event.output) });
      break;
    case "call_complete":
      showResult(page, event, options);
      break;
    case "attempt_failed":
      note(page, paint("yellow", failedAttempt(event)));
      break;
    case "compacted":
      note(page, paint("dim", compactionNote(event)));
      break;
    case "abort_requested":
      note(page, paint("yellow", "Aborting…"));
      break;
    case "restarted":
      note(page, paint("yellow", "Carrying on after an interruption."));
      break;
    case "late_result":
      note(page, paint("yellow", "A call that was given up has finished after all; the model is told."));
      break;
    case "final":
      showFinal(page, event, options);
      break;
    case "session_created":
    case "call_start":
    case "step_finished":
    case "suspended":
      break;
  }
}

const answers: { readonly [answer: string]: string | undefined } = {
  approve: "approved",
  deny: "denied",
  modify: "approved with changes",
  rerun: "to be run again",
  fail: "counted as failed",
};

function showInput(page: Page, input: readonly UserMessage[], { paint }: RenderOptions): void {
  const text = input.map(textOf).join("\n");
  note(page, paint("bold", visible(text).replace(/^/gm, "> ")));
}

/** Shows a text unless it was streamed. */
function sayOnce(page: Page, text: string): void {
  closeLine(page);
  if (squeeze(page.streamed).includes(squeeze(text))) return;
  say(page, text);
  closeLine(page);
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, "");
}

function showCall(page: Page, { callKey, name, input }: EventNamed<"tool_call">, options: RenderOptions): void {
  const title = visible(name);
  page.streamed = "";
  page.attempt = { ...page.attempt, from: 0 };
  if (page.calls.size > 0) page.isSideBySide = true;
  page.calls.set(callKey, { input });
  note(page, `${options.paint("cyan", `▸ ${title}`)} ${shortInput(input, options.columns - title.length - 3)}`);
}

function showResult(page: Page, event: EventNamed<"call_complete">, { paint, columns }: RenderOptions): void {
  const call = page.calls.get(event.callKey);
  const isOk = event.status === "ok";
  const mark = paint(isOk ? "green" : "red", isOk ? "✓" : "✗");
  const isNamed = page.isSideBySide || call?.input === undefined;
  const title = isNamed ? `${`${visible(event.name)} ${shortInput(call?.input ?? {}, 30)}`.trimEnd()}: ` : "";
  const took = ` · ${duration(event.durationMs)}`;
  const said = cut(`${title}${shortResult(call?.result ?? "", isOk)}`, Math.max(20, columns - 4 - took.length));
  note(page, `  ${mark} ${said}${paint("dim", took)}`);
  page.calls.delete(event.callKey);
  if (page.calls.size === 0) page.isSideBySide = false;
}

function showFinal(page: Page, { result, at }: EventNamed<"final">, options: RenderOptions): void {
  const { text } = result;
  const fixed = "reason" in result && result.status !== "interrupted" ? fixedText(result.reason) : "";
  if (text !== fixed) sayOnce(page, text);
  note(page, closingLine(result, page.startedAt === null ? null : at - page.startedAt, options.paint));
  page.startedAt = null;
  page.streamed = "";
}
