/**
 * The last row of the screen: what is under way, and what it has used.
 */
import type { Usage } from "../../index.js";
import { dollars } from "../closing-line.js";
import type { Mode } from "../permissions/mode.js";
import { type Line, lineOf, spanOf, widthOfLine } from "../screen/line.js";
import { duration, oneLine } from "../text.js";
import type { ViewState } from "./view.js";

const spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/** Milliseconds that the spinner stays as it is. */
export const spinnerMs = 120;

export type StatusOptions = {
  readonly columns: number;
  readonly now: number;
  /** Questions that wait for the person. */
  readonly questions: number;
  /** Which calls run without a question. */
  readonly mode?: Mode;
  /** Said instead of everything else, for example while the session is being opened. */
  readonly notice?: string;
};

/** The facts that do not fit are left out, those at the end first. */
export function statusLine(state: ViewState, { columns, now, questions, mode, notice }: StatusOptions): Line {
  const facts = [mode === "edits" ? "edits allowed" : "", tokensOf(state.usage), costOf(state.usage)];
  if (notice !== undefined) return lineOf(notice, "dim");
  const { activity } = state;
  if (questions > 0) return fitting([spanOf("waiting for you", "yellow")], [countOf(questions), ...facts], columns);
  if (state.isStopping)
    return fitting([spanOf("stopping…", "yellow")], ["enter: your draft is next", ...facts], columns);
  if (state.isWaiting) return fitting([spanOf("waiting for a result from outside", "yellow")], facts, columns);
  if (activity === null && state.runId === null) {
    const held = state.queued.length === 0 ? [] : [`${state.queued.length} queued: enter starts, alt-↑ takes back`];
    return fitting([spanOf("ready", "dim")], [...held, ...facts], columns);
  }
  const since = activity?.since ?? now;
  const time = since > now ? `again in ${duration(since - now)}` : duration(now - since);
  const sign = spinner[Math.floor(now / spinnerMs) % spinner.length] ?? "";
  const queued = state.queued.length === 0 ? [] : [`${state.queued.length} queued`];
  const head = [spanOf(`${sign} `, "cyan"), spanOf(`${oneLine(activity?.name ?? "pawl")} ${time}`, "dim")];
  return fitting(head, ["esc stops", ...queued, ...facts], columns);
}

function countOf(questions: number): string {
  return questions === 1 ? "1 question" : `1 of ${questions} questions`;
}

function fitting(head: Line, facts: readonly string[], columns: number): Line {
  let line = head;
  for (const fact of facts.filter((one) => one !== "")) {
    const longer = [...line, spanOf(` · ${fact}`, "dim")];
    if (widthOfLine(longer) >= columns) break;
    line = longer;
  }
  return line;
}

export function tokensOf({ inputTokens, outputTokens }: Usage): string {
  if (inputTokens === undefined && outputTokens === undefined) return "";
  return `${((inputTokens ?? 0) + (outputTokens ?? 0)).toLocaleString("en-US")} tokens`;
}

export function costOf({ costUsd, partial }: Usage): string {
  if (costUsd === undefined) return "";
  return partial === true ? `at least ${dollars(costUsd)}` : dollars(costUsd);
}
