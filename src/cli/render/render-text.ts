/**
 * The state of a renderer's text: which line is open, what was shown, and what is buffered.
 */
import { createPairJoiner, type PairJoiner } from "../terminal/surrogate-pairs.js";
import { sanitize, truncate } from "../terminal/text.js";
import type { StyleText } from "../terminal/text-style.js";

export type Piece = { readonly to: "out" | "err"; readonly text: string };

export type TextState = {
  readonly pieces: Piece[];
  /** The stream whose last line is not complete; null if there is none. */
  openLine: "out" | "err" | null;
  readonly pairs: PairJoiner;
  /** The run's text that went to `out` while the model wrote it. */
  shownText: string;
  /** Text that is either the answer or is followed by calls; null if text is shown live. */
  readonly bufferedTexts: string[] | null;
};

export function createTextState(when: "live" | "answer"): TextState {
  return {
    pieces: [],
    openLine: null,
    pairs: createPairJoiner(),
    shownText: "",
    bufferedTexts: when === "answer" ? [] : null,
  };
}

/** Shows more of the text that the model writes. */
export function growText(state: TextState, text: string): void {
  if (state.bufferedTexts !== null) return;
  state.shownText += text;
  write(state, "out", sanitize(text), text);
}

/** Shows the buffered text. The model continued after it, so it is not the answer. */
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

/** The end joins the text in one write: a program may copy `out` to the same terminal, and a line of `err` must not come between. */
export function closeLine(state: TextState): void {
  const { openLine: to, pieces } = state;
  state.openLine = null;
  if (to === null) return;
  const last = pieces.at(-1);
  if (last?.to === to) pieces[pieces.length - 1] = { to, text: `${last.text}\n` };
  else pieces.push({ to, text: "\n" });
}

/** Writes a line to `err`. */
export function writeLine(state: TextState, line: string): void {
  closeLine(state);
  state.pieces.push({ to: "err", text: `${line}\n` });
}

/** Shows the answer of a run, unless it was the last text shown live. */
export function writeAnswer(state: TextState, answer: string): void {
  if (removeSpaces(state.shownText).endsWith(removeSpaces(answer))) return;
  flushBuffered(state, answer);
  closeLine(state);
  write(state, "out", sanitize(answer), answer);
  closeLine(state);
}

function removeSpaces(text: string): string {
  return text.replace(/\s+/g, "");
}

const maxPlanLines = 20;

export function showPlan(state: TextState, plan: string, style: StyleText): void {
  const lines = plan.split("\n");
  for (const line of lines.slice(0, maxPlanLines))
    writeLine(state, style("dim", `    ${truncate(sanitize(line), 100)}`));
  if (lines.length > maxPlanLines) writeLine(state, style("dim", `    … ${lines.length - maxPlanLines} more`));
}
