/**
 * The state of a renderer's text: which line is open, what was streamed, and what is buffered.
 */
import { sanitize, truncate } from "../terminal/text.js";
import type { StyleText } from "../terminal/text-style.js";

export type Piece = { readonly to: "out" | "err"; readonly text: string };

export type TextState = {
  readonly pieces: Piece[];
  /** The stream whose last line is not complete; null if there is none. */
  openLine: "out" | "err" | null;
  /** The first half of a surrogate pair, if the last delta ended with one. */
  halfCharacter: string;
  /** The text streamed since the last tool call. */
  streamed: string;
  /** Texts that may be the answer, or may be followed by calls; null if text is shown live. */
  readonly bufferedTexts: string[] | null;
};

export function createTextState(when: "live" | "answer"): TextState {
  return { pieces: [], openLine: null, halfCharacter: "", streamed: "", bufferedTexts: when === "answer" ? [] : null };
}

/** Buffers the first half of a surrogate pair whose second half is in the next delta. */
export function takeWholeCharacters(state: TextState, text: string): string {
  const joined = state.halfCharacter + text;
  const last = joined.charCodeAt(joined.length - 1);
  state.halfCharacter = last >= 0xd800 && last <= 0xdbff ? joined.slice(-1) : "";
  return state.halfCharacter === "" ? joined : joined.slice(0, -1);
}

export function writeText(state: TextState, text: string): void {
  state.streamed += text;
  if (state.bufferedTexts === null) write(state, "out", sanitize(text), text);
}

/** Shows the buffered texts: the model continued after them, so they are not the answer. */
export function flushBuffered(state: TextState, answer = ""): void {
  for (const text of state.bufferedTexts?.splice(0) ?? []) {
    if (answer.includes(text)) continue;
    closeLine(state);
    write(state, "err", sanitize(text), text);
    closeLine(state);
  }
}

export function write(state: TextState, to: "out" | "err", shown: string, text: string): void {
  if (text === "") return;
  if (state.openLine !== to) closeLine(state);
  state.pieces.push({ to, text: shown });
  state.openLine = text.endsWith("\n") ? null : to;
}

export function closeLine(state: TextState): void {
  if (state.openLine !== null) state.pieces.push({ to: state.openLine, text: "\n" });
  state.openLine = null;
}

/** Writes a line to `err`. */
export function writeLine(state: TextState, line: string): void {
  closeLine(state);
  state.pieces.push({ to: "err", text: `${line}\n` });
}

/** Shows a text unless its deltas were already shown. */
export function writeTextOnce(state: TextState, text: string): void {
  closeLine(state);
  if (isStreamed(state, text)) return;
  writeText(state, text);
  closeLine(state);
}

export function isStreamed({ streamed }: TextState, text: string): boolean {
  return removeSpaces(streamed).includes(removeSpaces(text));
}

/** Shows the text that was streamed before a run was stopped. It is not an answer. */
export function showPartialText(state: TextState, text: string): void {
  if (state.bufferedTexts === null) writeTextOnce(state, text);
  else state.bufferedTexts.push(text);
}

/** Shows the answer of a run, unless it was already shown live. */
export function writeAnswer(state: TextState, answer: string): void {
  if (state.bufferedTexts === null) {
    writeTextOnce(state, answer);
    return;
  }
  flushBuffered(state, answer);
  write(state, "out", sanitize(answer), answer);
  closeLine(state);
}

export function removeSpaces(text: string): string {
  return text.replace(/\s+/g, "");
}

/** The tool of `todo()`. Its result is the plan, one line for each item. */
export const planTool = "todo";
const maxPlanLines = 20;

export function showPlan(state: TextState, plan: string, style: StyleText): void {
  const lines = plan.split("\n");
  for (const line of lines.slice(0, maxPlanLines))
    writeLine(state, style("dim", `    ${truncate(sanitize(line), 100)}`));
  if (lines.length > maxPlanLines) writeLine(state, style("dim", `    … ${lines.length - maxPlanLines} more`));
}
