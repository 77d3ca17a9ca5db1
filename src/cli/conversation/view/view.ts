/**
 * The view of a session on a terminal. It turns the changes that items make to the session's view into lines of the history
 * and the lines that are open now. It does not depend on a terminal.
 *
 * 1. A line of the history never changes. Lines that can still change are in `open`.
 * 2. Of several open questions, only the first is shown: the one that the keys answer. The next one follows when the first is
 *    answered, so that no other question comes between a question and its keys.
 */
import { type Json, textOfOutput } from "../../../core/index.js";
import { addUsage, type PublicEvent, type PublicEventOf, type StreamItem } from "../../../index.js";
import { createSessionView } from "../../../view/session-view.js";
import {
  type Attempt,
  type CallChange,
  findLogEvent,
  type TextKind,
  type ViewChange,
} from "../../../view/view-change.js";
import { isAgentTool } from "../../permissions/rule.js";
import { formatRepair } from "../../render/format-repair.js";
import { formatResultText } from "../../render/render-calls.js";
import { type Line, lineOf } from "../../screen/line.js";
import { createPairJoiner } from "../../terminal/surrogate-pairs.js";
import { renderEndedCall } from "../lines/call-lines.js";
import { createMarkdownLines } from "../lines/markdown-lines.js";
import {
  renderDecision,
  renderEnd,
  renderFailure,
  renderNote,
  renderQuestion,
  renderUnread,
  wrapNote,
} from "../lines/view-lines.js";
import {
  type Activity,
  appendLines,
  continueIfAnswered,
  endText,
  endWaits,
  type FoldState,
  findActivity,
  findNextModel,
  renderOpen,
  updateCall,
} from "./fold.js";
import { createOpenQuestions, type OpenQuestion, type OpenQuestions } from "./questions.js";
import { type AgentItem, forgetAgents, nameAgent, nameBackgroundAgent, showAgentItem } from "./show-agent.js";
import { addQueued, releaseHeld, showRequest, showSteered } from "./show-message.js";
import { splitIntoPieces } from "./split-text.js";
import type { ViewState } from "./view-state.js";

export type View = {
  /** Adds an item. */
  readonly show: (item: StreamItem, columns: number, now: number) => void;
  /** Does the same in short steps. Between two steps, the view can be drawn and other methods can be called. */
  readonly showInSteps: (item: StreamItem, columns: number, now: number) => Iterable<void>;
  /** Adds an item of an agent that the session called. */
  readonly showAgent: (item: AgentItem, columns: number, isBackground?: boolean) => void;
  /**
   * Adds lines that are not part of the session, for example the output of a command. The block that the model is writing stays
   * open below them, because its rest would be other Markdown: in a code block, prose.
   */
  readonly say: (lines: readonly Line[]) => void;
  /** Ends the text that the model is writing: nothing of it follows. */
  readonly endText: (columns: number) => void;
  /** Puts a blank line before the next lines, whatever they are: they are about something else. */
  readonly separate: () => void;
  /** The lines of the history since the last call. */
  readonly takeHistory: () => readonly Line[];
  /** The open lines, at most `maxLines`. */
  readonly open: (columns: number, maxLines: number, now: number) => readonly Line[];
  readonly questions: OpenQuestions;
  /** Shows a question again whose answer was refused, unless it is no longer open. */
  readonly askAgain: (question: OpenQuestion, columns: number) => void;
  /** Sets an activity outside the session, such as a command; null if there is none. */
  readonly setOwn: (activity: Activity | null) => void;
  readonly state: () => ViewState;
};

export type { ViewState } from "./view-state.js";

export type ViewOptions = {
  /** The current text of the file that the call of an open question changes; null if there is none, or if it is unknown. */
  readonly fileOf?: (question: OpenQuestion) => string | null;
  /** The ids of the agent's models, in the order in which they are tried. Default: unknown. */
  readonly models?: readonly string[];
};

export function createView({ fileOf = () => null, models = [] }: ViewOptions = {}): View {
  const fold: FoldState = {
    session: createSessionView(),
    history: [],
    markdown: createMarkdownLines(),
    pairs: createPairJoiner(),
    shownAttempt: null,
    calls: new Map(),
    questions: createOpenQuestions(),
    agents: new Map(),
    callsOfAgents: new Map(),
    backgroundAgents: new Set(),
    agentsAtWork: new Set(),
    shownQuestion: null,
    runId: null,
    isWaiting: false,
    waits: [],
    isStopping: false,
    model: null,
    fallback: null,
    ownCommand: null,
    usage: {},
    queued: [],
    held: [],
    unread: 0,
    last: "none",
    endsBlank: false,
    fileOf,
    models,
  };
  return {
    show(item, columns, now) {
      for (const _ of showItem(fold, item, columns, now));
    },
    showInSteps: (item, columns, now) => showItem(fold, item, columns, now),
    showAgent(item, columns, isBackground = false) {
      if (isBackground) fold.backgroundAgents.add(item.sessionId);
      if (!showAgentItem(fold, item, columns)) return;
      continueIfAnswered(fold);
      showFirstQuestion(fold, columns);
    },
    say(lines) {
      appendLines(fold, "note", lines);
    },
    endText(columns) {
      endText(fold, columns);
    },
    separate() {
      if (fold.last === "note") fold.last = "separator";
    },
    takeHistory: () => fold.history.splice(0),
    open: (columns, maxLines, now) => renderOpen(fold, columns, maxLines, now),
    questions: fold.questions,
    askAgain(question, columns) {
      fold.questions.askAgain(question);
      showFirstQuestion(fold, columns);
    },
    setOwn(activity) {
      fold.ownCommand = activity;
    },
    state: () => ({
      runId: fold.runId,
      isWaiting: fold.isWaiting,
      waits: fold.waits,
      isStopping: fold.isStopping,
      activity: findActivity(fold),
      fallback: fold.fallback,
      usage: fold.usage,
      queued: fold.queued,
      agentsAtWork: fold.agentsAtWork.size,
    }),
  };
}

/** Adds text from the model. */
function addText(fold: FoldState, text: string, columns: number): void {
  if (text !== "") appendLines(fold, "text", fold.markdown.add(text, columns));
}

/** Adds long text in steps. */
function* addLongText(fold: FoldState, text: string, columns: number): Generator<void> {
  for (const piece of splitIntoPieces(text)) {
    addText(fold, piece, columns);
    yield;
  }
}

function* showItem(fold: FoldState, item: StreamItem, columns: number, now: number): Generator<void> {
  for (const change of fold.session.apply(item)) yield* showChange(fold, change, columns, now);
}

function* showChange(fold: FoldState, change: ViewChange, columns: number, now: number): Generator<void> {
  switch (change.type) {
    case "step_started":
      beginAttempt(fold, change, columns);
      return;
    case "part_started":
      fold.pairs.reset();
      if (change.kind === "reasoning") showModel(fold, "model thinks", now);
      return;
    case "part_grew":
      yield* showGrowth(fold, change, columns, now);
      return;
    case "call_opened":
      if (change.by === null) showModel(fold, `model writes a call of ${change.name}`, now);
      break;
    case "call_changed":
      updateLiveCall(fold, change.callKey, change.by);
      break;
    case "note":
      // A call that the model's provider runs.
      if (change.item.type === "delta" && change.item.delta.kind === "tool-input-start")
        showModel(fold, `model writes a call of ${change.item.delta.name}`, now);
      break;
    default:
      break;
  }
  const event = findLogEvent(change);
  if (event !== null) showEvent(fold, event, columns, now);
}

function beginAttempt(fold: FoldState, { runId, modelCallIndex, attempt }: Attempt, columns: number): void {
  fold.unread = 0;
  const last = fold.shownAttempt;
  fold.shownAttempt = { runId, modelCallIndex, attempt, hasText: false };
  const isAnotherTry = last?.runId === runId && last.modelCallIndex === modelCallIndex && last.attempt !== attempt;
  if (!isAnotherTry || !last.hasText) return;
  endText(fold, columns);
  appendLines(fold, "note", [lineOf("The answer above was cut off. The model begins it again.", "yellow")]);
}

/** Sets the model's activity. */
function showModel(fold: FoldState, name: string, now: number): void {
  fold.model = { name, since: fold.model?.since ?? now };
}

type Growth = { readonly kind: TextKind; readonly text: string };

function* showGrowth(fold: FoldState, { kind, text }: Growth, columns: number, now: number): Generator<void> {
  showModel(fold, kind === "text" ? "model" : "model thinks", now);
  if (kind === "reasoning") return;
  if (fold.shownAttempt !== null && text.trim() !== "") fold.shownAttempt = { ...fold.shownAttempt, hasText: true };
  // The text of a message from the log is whole, and buffered deltas are joined, so it may be long.
  yield* addLongText(fold, fold.pairs.add(text), columns);
}

/** Shows the progress of a running call. */
function updateLiveCall(fold: FoldState, callKey: string, by: CallChange): void {
  if (by.type === "progress") updateCall(fold, callKey, { note: by.note });
  if (by.type === "preliminary") updateCall(fold, callKey, { output: textOfOutput(by.output) });
}

function showEvent(fold: FoldState, event: PublicEvent, columns: number, now: number): void {
  // The beginning of the run may be before the entries that are shown.
  if (event.type === "step_finished" || event.type === "suspended") fold.runId ??= event.runId;
  switch (event.type) {
    case "run_queued":
      addQueued(fold, event);
      break;
    case "run_started":
      fold.queued = fold.queued.filter(({ runId }) => runId !== event.runId);
      [fold.runId, fold.isWaiting, fold.isStopping, fold.fallback] = [event.runId, false, false, null];
      [fold.usage, fold.model, fold.waits] = [{}, { name: "model", since: now }, []];
      showRequest(fold, event, columns);
      break;
    case "steered":
      showSteered(fold, event, columns);
      break;
    case "tool_call":
      endText(fold, columns);
      fold.calls.set(event.callKey, {
        name: event.name,
        input: event.input,
        since: now,
        output: "",
        note: "",
        wasAsked: false,
        result: "",
        at: event.at,
      });
      if (event.repair !== undefined && event.repair.by !== "call_tool")
        appendLines(fold, "note", wrapNote(formatRepair(event.name, event.repair), columns, "dim"));
      break;
    case "tool_result":
      updateCall(fold, event.callKey, { result: formatResultText(event) || "(no output)" });
      nameBackgroundAgent(fold, event);
      endWaits(fold, ({ callKey }) => callKey === event.callKey);
      // A call can end without an answer, for example if a message from elsewhere skips it.
      if (fold.questions.close(event.callKey)) {
        continueIfAnswered(fold);
        showFirstQuestion(fold, columns);
      }
      break;
    case "call_complete":
      showEnded(fold, event, columns, now);
      break;
    case "child_started":
      nameAgent(fold, event);
      break;
    case "step_finished":
      endText(fold, columns);
      releaseHeld(fold, columns);
      fold.usage = addUsage(fold.usage, event.usage);
      if (fold.fallback !== null) fold.fallback = event.model;
      fold.model = null;
      break;
    case "attempt_failed":
      endText(fold, columns);
      fold.model = { name: "model", since: now + (event.retryInMs ?? 0) };
      if (event.next === "fallback") fold.fallback = findNextModel(fold, event.model);
      appendLines(fold, "note", renderFailure(event, columns, fold.fallback));
      break;
    case "final":
      if (fold.runId === null || fold.runId === event.runId) {
        endText(fold, columns);
        releaseHeld(fold, columns);
      }
      showEnd(fold, event, columns);
      break;
    default:
      showAsking(fold, event, columns, now);
  }
}

/** Handles the events about questions. */
function showAsking(fold: FoldState, event: PublicEvent, columns: number, now: number): void {
  switch (event.type) {
    case "approval_requested":
      fold.questions.ask(event);
      showFirstQuestion(fold, columns);
      break;
    case "approval_answered":
      fold.questions.answered(event);
      continueIfAnswered(fold);
      updateCall(fold, event.callKey, { since: now, ...(event.input === undefined ? {} : { input: event.input }) });
      appendLines(fold, "note", [renderDecision(event, fold.calls.get(event.callKey)?.input ?? {}, columns)]);
      showFirstQuestion(fold, columns);
      break;
    case "suspended":
      endText(fold, columns);
      [fold.isWaiting, fold.model, fold.waits] = [true, null, event.waits ?? []];
      fold.questions.replace(event.approvals, event.sessionId);
      showFirstQuestion(fold, columns);
      break;
    case "wait_over":
      updateCall(fold, event.callKey, { since: now });
      endWaits(fold, (wait) => wait.callKey === event.callKey && wait.on !== "child" && wait.step === event.step);
      break;
    default:
      showNote(fold, event, columns, now);
  }
}

function showNote(fold: FoldState, event: PublicEvent, columns: number, now: number): void {
  if (event.type === "compacted" && event.usage !== undefined) fold.usage = addUsage(fold.usage, event.usage);
  if (event.type === "abort_requested") fold.isStopping = event.runId === fold.runId;
  // A queued run that was aborted never starts.
  if (event.type === "abort_requested") fold.queued = fold.queued.filter(({ runId }) => runId !== event.runId);
  if (event.type === "restarted") {
    // Calls that were in progress get their results, or run again: each of them ends once.
    for (const callKey of fold.calls.keys()) updateCall(fold, callKey, { since: now, output: "", note: "" });
    [fold.runId, fold.isWaiting, fold.waits] = [event.runId, false, []];
    fold.model = { name: "model", since: now };
  }
  const lines = renderNote(event, columns);
  if (lines.length === 0) return;
  endText(fold, columns);
  appendLines(fold, "note", lines);
}

/** Shows the question that the keys answer now, unless it is already shown. */
function showFirstQuestion(fold: FoldState, columns: number): void {
  const [question] = fold.questions.all();
  if (question === undefined || question === fold.shownQuestion) return;
  fold.shownQuestion = question;
  updateCall(fold, question.callKey, { wasAsked: true });
  appendLines(
    fold,
    "note",
    [[], ...renderQuestion(question, fold.fileOf(question), columns, fold.agents.get(question.childId ?? ""))].slice(
      fold.last === "note" ? 0 : 1,
    ),
  );
}

function showEnded(fold: FoldState, event: PublicEventOf<"call_complete">, columns: number, now: number): void {
  const call = fold.calls.get(event.callKey);
  fold.calls.delete(event.callKey);
  endText(fold, columns);
  const input: Json = call?.input ?? {};
  const endedCall = { name: event.name, input, result: call?.result ?? "", isOk: event.status === "ok" };
  // The log has no duration for the call of an agent, which no process runs.
  const durationMs = isAgentTool(event.name) && call !== undefined ? event.at - call.at : event.durationMs;
  appendLines(fold, "call", renderEndedCall({ ...endedCall, durationMs, wasAsked: call?.wasAsked === true }, columns));
  if (fold.calls.size === 0) fold.model = { name: "model", since: now };
}

function showEnd(fold: FoldState, { runId, result }: PublicEventOf<"final">, columns: number): void {
  fold.queued = fold.queued.filter((one) => one.runId !== runId);
  // A queued run that was aborted also ends with `final`.
  if (fold.runId !== null && fold.runId !== runId) return;
  // The result also counts the usage of called agents.
  if (fold.runId === runId) fold.usage = result.usage;
  fold.calls.clear();
  fold.questions.clear();
  forgetAgents(fold);
  [fold.runId, fold.isWaiting, fold.waits] = [null, false, []];
  [fold.isStopping, fold.model, fold.fallback] = [false, null, null];
  appendLines(fold, "note", [...renderEnd(result, columns), ...renderUnread(fold.unread, columns)]);
  fold.unread = 0;
}
