/**
 * What happens in a session besides text and calls, as lines: questions, failures, notes and ends.
 */
import type { Json, PublicEvent, RunResult } from "../../index.js";
import { answerText } from "../answer-text.js";
import { callTitle } from "../call-title.js";
import { closingLine } from "../closing-line.js";
import { compactionNote } from "../compaction-note.js";
import { failedAttempt } from "../failed-attempt.js";
import { shortId } from "../home.js";
import { redactionNote } from "../redaction-note.js";
import { type Line, lineOf, spanOf, wrapLine } from "../screen/line.js";
import { exact } from "../text.js";
import { plainText, type TextStyle } from "../text-style.js";
import { inputLines } from "./exact-lines.js";
import { askedOf, type OpenQuestion } from "./questions.js";

type EventNamed<Type extends PublicEvent["type"]> = Extract<PublicEvent, { readonly type: Type }>;

/** A sentence as lines. */
export function wrappedNote(text: string, columns: number, style?: TextStyle): readonly Line[] {
  return wrapLine(lineOf(text.trim(), style), Math.max(8, Math.min(100, columns - 1)));
}

/** The whole call that a person is asked about. @param file the present text of the file that it changes */
export function questionLines(question: OpenQuestion, file: string | null, columns: number): readonly Line[] {
  const child = question.childId === undefined ? "" : ` (child session ${shortId(question.childId)})`;
  const title: Line = [
    spanOf("? ", "yellow"),
    spanOf(exact(question.name), "bold"),
    spanOf(`${child} ${askedOf(question)}:`),
  ];
  const asked = [question.question, question.url].filter((text) => text !== undefined);
  const words = asked.flatMap((text) => text.split("\n").map((line) => lineOf(`    ${exact(line)}`, "bold")));
  return [...wrapLine(title, Math.max(8, Math.min(100, columns - 1))), ...inputLines(question.input, file), ...words];
}

/** How a question was answered, and by whom. @param input the input of the call, which tells it from others of its tool */
export function answerLine(event: EventNamed<"approval_answered">, input: Json, columns: number): Line {
  const title = callTitle(event.name, input, columns / 2);
  return lineOf(`  ${title}: ${answerText(event)}`, event.overruled === undefined ? "dim" : "yellow");
}

/** A model call that failed, what follows, and what a person can do. */
export function failureLines(event: EventNamed<"attempt_failed">, columns: number): readonly Line[] {
  // The person, or a limit, has stopped it: the end of the run says so.
  if (event.failure.kind === "cancelled") return [];
  const advice =
    event.failure.kind === "auth"
      ? " Set another key and start pawl again."
      : event.next === "retry"
        ? " Esc stops."
        : "";
  return wrappedNote(`✗ ${failedAttempt(event)}${advice}`, columns, "yellow");
}

/** Other events that a person should know of; no lines for all others. */
export function noteLines(event: PublicEvent, columns: number): readonly Line[] {
  switch (event.type) {
    case "tool_failed":
      return wrappedNote(failedAttempt(event), columns, "yellow");
    case "compacted":
      return wrappedNote(compactionNote(event), columns, "dim");
    case "content_redacted":
      return wrappedNote(redactionNote(event), columns, "dim");
    case "handed_off":
      return wrappedNote(`Handed over to ${event.to}.`, columns, "yellow");
    case "restarted":
      return wrappedNote("Carried on after an interruption.", columns, "yellow");
    case "late_result":
      return wrappedNote(
        "A call that was given up has finished after all. The model gets its result.",
        columns,
        "yellow",
      );
    case "attempt_withdrawn":
      return wrappedNote("The answer above was refused.", columns, "yellow");
    case "hook_failed":
      return wrappedNote(`The hook ${event.name} failed: ${event.message}`, columns, "yellow");
    default:
      return [];
  }
}

const howToGoOn = "To continue: send a message, for example “go on”. /model chooses another model. Nothing is lost.";

/** How a run ended; no lines if it ended with its answer. */
export function finalLines(result: RunResult, columns: number): readonly Line[] {
  if (result.status === "completed" && (result.reason === "stop" || result.reason === "done")) return [];
  if (result.status === "aborted" && result.reason === "aborted")
    return [lineOf("Stopped. What had run is recorded.", "yellow")];
  const isFailed = result.status === "failed";
  const closing = `${isFailed ? "✗ " : ""}${closingLine(result, null, plainText)}`;
  return [
    ...wrappedNote(closing, columns, isFailed ? "red" : "yellow"),
    ...(isFailed && result.reason === "model_error" ? wrappedNote(howToGoOn, columns, "dim") : []),
  ];
}
