/**
 * The text that a renderer has written: what is on which line, what was streamed, and what is held back.
 */
import { cut, visible } from "./text.js";
import type { StyleText } from "./text-style.js";

export type Piece = { readonly to: "out" | "err"; readonly text: string };

export type RenderedText = {
  readonly pieces: Piece[];
  /** The stream whose last line is not complete. */
  openLine: "out" | "err" | null;
  /** The first half of a character, if the last delta ended with one. */
  halfCharacter: string;
  /** The text streamed since the last tool call. */
  streamed: string;
  /** Texts that may be the answer, or that calls may follow; null if text is shown live. */
  readonly held: string[] | null;
};

export function createRenderedText(when: "live" | "answer"): RenderedText {
  return { pieces: [], openLine: null, halfCharacter: "", streamed: "", held: when === "answer" ? [] : null };
}

/** Holds back the first half of a character whose second half is in the next delta. */
export function withoutHalfCharacter(state: RenderedText, text: string): string {
  const joined = state.halfCharacter + text;
  const last = joined.charCodeAt(joined.length - 1);
  state.halfCharacter = last >= 0xd800 && last <= 0xdbff ? joined.slice(-1) : "";
  return state.halfCharacter === "" ? joined : joined.slice(0, -1);
}

export function writeText(state: RenderedText, text: string): void {
  state.streamed += text;
  if (state.held === null) write(state, "out", visible(text), text);
}

/** Shows what the model said before it went on: it is not the answer. */
export function releaseHeld(state: RenderedText, answer = ""): void {
  for (const text of state.held?.splice(0) ?? []) {
    if (answer.includes(text)) continue;
    closeLine(state);
    write(state, "err", visible(text), text);
    closeLine(state);
  }
}

export function write(state: RenderedText, to: "out" | "err", shown: string, text: string): void {
  if (text === "") return;
  if (state.openLine !== to) closeLine(state);
  state.pieces.push({ to, text: shown });
  state.openLine = text.endsWith("\n") ? null : to;
}

export function closeLine(state: RenderedText): void {
  if (state.openLine !== null) state.pieces.push({ to: state.openLine, text: "\n" });
  state.openLine = null;
}

/** Writes a line to `err`. */
export function writeLine(state: RenderedText, line: string): void {
  closeLine(state);
  state.pieces.push({ to: "err", text: `${line}\n` });
}

/** Shows a text unless its deltas were shown already. */
export function writeTextOnce(state: RenderedText, text: string): void {
  closeLine(state);
  if (isStreamed(state, text)) return;
  writeText(state, text);
  closeLine(state);
}

export function isStreamed({ streamed }: RenderedText, text: string): boolean {
  return withoutSpaces(streamed).includes(withoutSpaces(text));
}

/** Shows the text that was streamed before a run was stopped. It is no answer. */
export function showCutOff(state: RenderedText, text: string): void {
  if (state.held === null) writeTextOnce(state, text);
  else state.held.push(text);
}

/** Shows the answer of a run, unless it was shown while the model wrote it. */
export function writeAnswer(state: RenderedText, answer: string): void {
  if (state.held === null) {
    writeTextOnce(state, answer);
    return;
  }
  releaseHeld(state, answer);
  write(state, "out", visible(answer), answer);
  closeLine(state);
}

export function withoutSpaces(text: string): string {
  return text.replace(/\s+/g, "");
}

/** The tool `todo()` gives its plan, a line for each item. */
export const planTool = "todo";
const mostPlanLines = 20;

export function showPlan(state: RenderedText, plan: string, style: StyleText): void {
  const lines = plan.split("\n");
  for (const line of lines.slice(0, mostPlanLines)) writeLine(state, style("dim", `    ${cut(visible(line), 100)}`));
  if (lines.length > mostPlanLines) writeLine(state, style("dim", `    … ${lines.length - mostPlanLines} more`));
}
