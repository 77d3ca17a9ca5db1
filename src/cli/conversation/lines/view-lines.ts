/**
 * Renders the events of a session other than text and calls: questions, failures, notes and ends.
 */
import type { Json, PublicEvent, PublicEventOf, RunResult } from "../../../index.js";
import { formatNumber } from "../../../view/format-number.js";
import { formatDecision } from "../../decisions/format-decision.js";
import { formatQuestionTitle } from "../../decisions/question-title.js";
import { formatChoiceMark, listReplyChoices } from "../../decisions/reply-choices.js";
import { shortId } from "../../files/session-store.js";
import { questionTools } from "../../permissions/rule.js";
import { formatCallTitle } from "../../render/format-call.js";
import { formatClosingLine } from "../../render/format-closing-line.js";
import { formatCompaction } from "../../render/format-compaction.js";
import { formatEndedAgent } from "../../render/format-ended-agent.js";
import { formatFailedAttempt } from "../../render/format-failed-attempt.js";
import { formatRedaction } from "../../render/format-redaction.js";
import { formatUnread } from "../../render/unread-messages.js";
import { type Line, lineOf, spanOf, wrapLine } from "../../screen/line.js";
import { nameAsStarted } from "../../terminal/started-as.js";
import { sanitize, sanitizeStrictly } from "../../terminal/text.js";
import { plainText, type TextStyle } from "../../terminal/text-style.js";
import { formatWait } from "../../wait-text.js";
import type { AskingAgent, OpenQuestion } from "../view/questions.js";
import { renderInput } from "./exact-lines.js";

/** Wraps a sentence of the program to the width of the screen. */
export function wrapNote(text: string, columns: number, style?: TextStyle): readonly Line[] {
  return wrapLine(lineOf(nameAsStarted(text.trim()), style), Math.max(8, Math.min(100, columns - 1)));
}

/**
 * Renders the whole call of a question.
 * @param file the current text of the file that the call changes
 * @param agent the agent that asks, if it was called by the session that is shown
 */
export function renderQuestion(
  question: OpenQuestion,
  file: string | null,
  columns: number,
  agent?: AskingAgent,
): readonly Line[] {
  const isUnknown = question.childId !== undefined && agent === undefined;
  const child = isUnknown ? ` (child session ${shortId(question.childId ?? "")})` : "";
  const title: Line = [
    spanOf("? ", "yellow"),
    ...(agent === undefined ? [] : renderAgent(agent)),
    spanOf(sanitizeStrictly(question.name), "bold"),
    spanOf(`${child} ${formatQuestionTitle(question)}:`),
  ];
  const questionTexts = [question.question, question.url].filter((text) => text !== undefined);
  const width = Math.max(8, Math.min(100, columns - 1));
  const textLines = questionTexts.flatMap((text) =>
    text.split("\n").flatMap((line) => wrapIndented("    ", lineOf(sanitizeStrictly(line), "bold"), width)),
  );
  const choiceLines = renderReplyChoices(question, width);
  return [
    ...wrapLine(title, width),
    ...(isAllInQuestion(question) ? [] : renderInput(question.input, file)),
    ...textLines,
    // Text of several lines may contain its own numbers, as a plan does.
    ...(textLines.length > 1 && choiceLines.length > 0 ? [lineOf("")] : []),
    ...choiceLines,
  ];
}

/** Wraps a line whose first row begins with `lead`. The other rows are indented to match. */
function wrapIndented(lead: string, line: Line, columns: number): readonly Line[] {
  return wrapLine(line, Math.max(8, columns - lead.length)).map(
    (row, at): Line => [spanOf(at === 0 ? lead : " ".repeat(lead.length), "bold"), ...row],
  );
}

/** An input with more values is always shown. */
const maxComparedValues = 100;

/**
 * Whether the question and its choices contain all text of the input, so that the input need not be shown as well. The question of
 * another tool may contain a short value by chance.
 */
function isAllInQuestion({ why, name, input, question = "", schema }: OpenQuestion): boolean {
  if (why !== "tool" || !questionTools.has(name)) return false;
  const values = listValues(input);
  if (values.length === 0 || values.length > maxComparedValues) return false;
  const shown = [question, ...listReplyChoices(schema).map(({ label }) => label)].join("\n");
  return values.every((value) => typeof value === "string" && shown.includes(value));
}

/** The strings, numbers, booleans and nulls in JSON, at any depth. */
function listValues(json: Json): readonly Json[] {
  return typeof json === "object" && json !== null ? Object.values(json).flatMap(listValues) : [json];
}

const maxShownChoices = 20;

function renderReplyChoices({ why, schema }: OpenQuestion, width: number): readonly Line[] {
  const choices = why === "tool" ? listReplyChoices(schema) : [];
  const shown = choices.slice(0, maxShownChoices);
  return [
    ...shown.flatMap(({ label }, at) =>
      wrapIndented(`    ${formatChoiceMark(choices, at)} `, lineOf(sanitizeStrictly(label)), width),
    ),
    ...(choices.length === shown.length
      ? []
      : [lineOf(`    … ${formatNumber(choices.length - shown.length)} more, which /approve lists`, "dim")]),
  ];
}

/** The task is the model's text, so it is quoted and dim: it must not look like a part of the question. */
function renderAgent({ name, task }: AskingAgent): Line {
  const quoted = task === null ? [] : [spanOf(` "${sanitizeStrictly(task).replaceAll('"', "'")}"`, "dim")];
  return [spanOf(sanitizeStrictly(name)), ...quoted, spanOf(" · ")];
}

/** Renders an answer and who gave it. @param input the input of the call, to distinguish it from other calls of its tool */
export function renderDecision(event: PublicEventOf<"approval_answered">, input: Json, columns: number): Line {
  const title = formatCallTitle(event.name, input, columns / 2);
  return lineOf(`  ${title}: ${formatDecision(event)}`, event.overruled === undefined ? "dim" : "yellow");
}

/**
 * Renders a failed model call, what follows, and what the person can do.
 * @param nextModel the model that takes over, if one does
 */
export function renderFailure(
  event: PublicEventOf<"attempt_failed">,
  columns: number,
  nextModel: string | null = null,
): readonly Line[] {
  // The person or a limit stopped the call, which the end of the run reports.
  if (event.failure.kind === "cancelled") return [];
  const advice =
    event.failure.kind === "auth" && event.next !== "fallback"
      ? " Set another key and start pawl again."
      : event.next === "retry"
        ? " Esc stops."
        : "";
  return wrapNote(`✗ ${formatFailedAttempt(event, nextModel)}${advice}`, columns, "yellow");
}

/** Renders other events that a person should know; no lines for all others. */
export function renderNote(event: PublicEvent, columns: number): readonly Line[] {
  switch (event.type) {
    case "tool_failed":
      return wrapNote(formatFailedAttempt(event), columns, "yellow");
    case "compacted":
      return wrapNote(formatCompaction(event), columns, "dim");
    case "content_redacted":
      return wrapNote(formatRedaction(event), columns, "dim");
    case "wait_started":
      return wrapNote(`${sanitize(event.name)} is ${formatWait(event)}.`, columns, "dim");
    case "handed_off":
      return wrapNote(`Handed over to ${event.to}.`, columns, "yellow");
    case "restarted":
      return wrapNote("Continued after an interruption.", columns, "yellow");
    case "late_result":
      return wrapNote("A call that was given up has finished after all. The model gets its result.", columns, "yellow");
    case "attempt_withdrawn":
      return wrapNote("The answer above was refused.", columns, "yellow");
    case "hook_failed":
      return wrapNote(`The hook “${event.name}” failed: ${event.message}`, columns, "yellow");
    default:
      return [];
  }
}

const continueHint = "To continue: send a message, for example “go on”. /model chooses another model. Nothing is lost.";

/** Renders the end of a run; no lines if it ended with its answer. */
export function renderEnd(result: RunResult, columns: number): readonly Line[] {
  if (result.status === "completed" && (result.reason === "stop" || result.reason === "done")) return [];
  if (result.status === "aborted" && result.reason === "aborted")
    return [lineOf("Stopped. Everything that ran is recorded.", "yellow")];
  const isFailed = result.status === "failed";
  const closing = `${isFailed ? "✗ " : ""}${formatClosingLine(result, null, plainText)}`;
  return [
    ...wrapNote(closing, columns, isFailed ? "red" : "yellow"),
    ...(isFailed && result.reason === "model_error" ? wrapNote(continueHint, columns, "dim") : []),
  ];
}

/** Says what becomes of messages that were added to a run which ended before its next model call. */
export function renderUnread(count: number, columns: number): readonly Line[] {
  return count === 0 ? [] : wrapNote(formatUnread(count), columns, "yellow");
}

/**
 * Says that an agent in the background has ended.
 * @param agent the agent, if the call that started it is shown
 */
export function renderEndedAgent(
  event: PublicEventOf<"run_started" | "steered">,
  agent: AskingAgent | undefined,
  columns: number,
): readonly Line[] {
  const { text, color } = formatEndedAgent(event);
  const task = agent?.task === undefined || agent.task === null ? "" : `: ${agent.task}`;
  return wrapNote(`↳ ${text}${task}`, columns, color);
}

/** The prefix of an input that is added to the run in progress. */
export function formatSteerPrefix({ source }: PublicEventOf<"steered">): string {
  return source === "user" ? "↳ you, before the next model call: " : "↳ ";
}

type Interrupted = Extract<RunResult, { readonly status: "interrupted" }>;

/** Why a run stopped in this process without ending, where a person has to know it. */
export const interruptionTexts: { readonly [Reason in Interrupted["reason"]]: string } = {
  store_failed: "The store failed, so the run stopped here. Continue it with /resume.",
  shutdown: "",
  left: "",
  lease_lost: "Another process drives this session now.",
  held_back: "",
};
