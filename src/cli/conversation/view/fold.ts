/**
 * The state that the view of a session keeps between items, and the activity that it derives from it.
 */
import type { PublicEventOf, RunWait, Usage } from "../../../index.js";
import type { SessionView } from "../../../view/session-view.js";
import type { Attempt } from "../../../view/view-change.js";
import { type Line, spanOf } from "../../screen/line.js";
import type { PairJoiner } from "../../terminal/surrogate-pairs.js";
import { type OpenCall, renderRunningCall } from "../lines/call-lines.js";
import type { MarkdownLines } from "../lines/markdown-lines.js";
import { formatSteerPrefix, renderEndedAgent } from "../lines/view-lines.js";
import type { AskingAgent, OpenQuestion, OpenQuestions } from "./questions.js";
import { joinInput } from "./sent-text.js";

export type Activity = { readonly name: string; readonly since: number };

export type QueuedRun = { readonly runId: string; readonly text: string };

export type FoldState = {
  readonly session: SessionView;
  readonly history: Line[];
  readonly markdown: MarkdownLines;
  readonly pairs: PairJoiner;
  /** The last attempt with visible output. */
  shownAttempt: (Attempt & { readonly hasText: boolean }) | null;
  readonly calls: Map<string, StartedCall>;
  readonly questions: OpenQuestions;
  /** The agents that the session called, with their tasks, by their sessions. */
  readonly agents: Map<string, AskingAgent>;
  /** For each session of an agent, at any depth: the call of the shown session that it works for. */
  readonly callsOfAgents: Map<string, string>;
  /** The sessions of agents in the background. */
  readonly backgroundAgents: Set<string>;
  /** Those that have not reported their end. */
  readonly agentsAtWork: Set<string>;
  /** The last question that was shown. */
  shownQuestion: OpenQuestion | null;
  runId: string | null;
  isWaiting: boolean;
  /** The sleeps and waits for signals of the run. */
  waits: readonly RunWait[];
  isStopping: boolean;
  model: Activity | null;
  /** The model that has taken over in this run; null while the session's own model is in use. */
  fallback: string | null;
  /** The person's own command, if one is running. */
  ownCommand: Activity | null;
  usage: Usage;
  queued: readonly QueuedRun[];
  /** Messages that were added while the model writes. They stay below its text, so that they do not split a sentence. */
  held: readonly PublicEventOf<"steered">[];
  /** How many of the person's messages were added to the run after its last model call began, without those in `held`. */
  unread: number;
  readonly fileOf: (question: OpenQuestion) => string | null;
  /** The ids of the agent's models, in the order in which they are tried. */
  readonly models: readonly string[];
  /** The kind of the last lines. */
  last: "text" | "call" | "message" | "message-part" | "note" | "separator" | "none";
  /** Whether the last line is blank. */
  endsBlank: boolean;
};

export type StartedCall = OpenCall & {
  /** Empty until the call has a result. */
  readonly result: string;
  /** When the model made the call, according to the log; epoch milliseconds. */
  readonly at: number;
  /** The work of the agent that the call started, and of the agents below it. */
  readonly work?: AgentWork;
};

export type AgentWork = { readonly calls: number; readonly tokens: number; readonly activity: string };

/** Adds lines to the history, with a blank line before lines of another kind. */
export function appendLines(fold: FoldState, kind: FoldState["last"], lines: readonly Line[]): void {
  if (lines.length === 0) return;
  const needsBlankLine = fold.last !== "none" && kind !== "message-part" && (fold.last !== kind || kind === "message");
  // The text of the model can begin or end with a blank line, if other lines came between its blocks.
  if (needsBlankLine && !fold.endsBlank && lines[0]?.length !== 0) fold.history.push([]);
  for (const line of lines) fold.history.push(line);
  fold.last = kind;
  fold.endsBlank = lines.at(-1)?.length === 0;
}

/** Ends the open block, because the next lines are not part of the text. */
export function endText(fold: FoldState, columns: number): void {
  appendLines(fold, "text", fold.markdown.end(columns));
}

/** The model that is tried after this one. Its id is known only if this process has the agent's models. */
export function findNextModel({ models }: FoldState, model: string): string {
  const at = models.indexOf(model);
  return (at < 0 ? undefined : models[at + 1]) ?? "another model";
}

export function updateCall(fold: FoldState, callKey: string, change: Partial<StartedCall>): void {
  const call = fold.calls.get(callKey);
  if (call !== undefined) fold.calls.set(callKey, { ...call, ...change });
}

/** Ends waits of the run, which continues when all of its questions, sleeps and waits are over. */
export function endWaits(fold: FoldState, isOver: (wait: RunWait) => boolean): void {
  const remaining = fold.waits.filter((wait) => !isOver(wait));
  if (remaining.length === fold.waits.length) return;
  fold.waits = remaining;
  continueIfAnswered(fold);
}

export function continueIfAnswered(fold: FoldState): void {
  if (fold.questions.all().length === 0 && fold.waits.length === 0) fold.isWaiting = false;
}

/** The calls that run, as far as this process knows: calls without a result that do not wait for an answer. */
function listRunningCalls({ calls, questions }: FoldState): readonly OpenCall[] {
  const questionedCalls = new Set(questions.all().map(({ callKey }) => callKey));
  return [...calls].filter(([key, { result }]) => result === "" && !questionedCalls.has(key)).map(([, call]) => call);
}

export function findActivity(fold: FoldState): Activity | null {
  if (fold.isWaiting) return fold.ownCommand;
  const calls = listRunningCalls(fold);
  const [first] = calls;
  if (first === undefined) return fold.model ?? fold.ownCommand;
  const more = calls.length > 1 ? ` and ${calls.length - 1} more` : "";
  return { name: `${first.name}${more}`, since: first.since };
}

function renderHeld(fold: FoldState, event: PublicEventOf<"steered">, columns: number): readonly Line[] {
  if (event.finishedChild !== undefined)
    return renderEndedAgent(event, fold.agents.get(event.finishedChild), columns).slice(0, 1);
  return [[spanOf(formatSteerPrefix(event), "cyan"), spanOf(joinInput(event.input).replace(/\s+/g, " "))]];
}

export function renderOpen(fold: FoldState, columns: number, maxLines: number, now: number): readonly Line[] {
  const queued = fold.queued
    .slice(0, 3)
    .map(({ text }, at): Line => [spanOf(`next: ${at + 1} `, "dim"), spanOf(text.replace(/\s+/g, " "))]);
  const held = fold.held.slice(0, 3).flatMap((event) => renderHeld(fold, event, columns));
  const room = Math.max(0, maxLines - queued.length - held.length);
  const calls = listRunningCalls(fold).slice(0, 4);
  const others = Math.max(0, calls.length - 1);
  const running = calls.flatMap((call, at) =>
    renderRunningCall(call, columns, at === calls.length - 1 ? Math.min(6, room - others) : 1, now),
  );
  const text = fold.markdown.open(columns).slice(-Math.max(0, room - running.length));
  const lines = running.length >= room ? running.slice(0, room) : [...text, ...running];
  return [...lines, ...held, ...queued];
}
