/**
 * The last row of the screen: the activity in progress, and the usage so far.
 */
import type { Usage } from "../../../index.js";
import { formatNumber } from "../../../view/format-number.js";
import type { Mode } from "../../permissions/mode.js";
import { formatDollars } from "../../render/format-closing-line.js";
import { type Line, lineOf, measureLine, spanOf } from "../../screen/line.js";
import { formatCount, formatDuration, toOneLine } from "../../terminal/text.js";
import { formatWaits } from "../../wait-text.js";
import type { ViewState } from "../view/view.js";

const spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/** The duration of one frame of the spinner; milliseconds. */
export const spinnerMs = 120;

export type StatusOptions = {
  readonly columns: number;
  readonly now: number;
  /** Questions that wait for the person. */
  readonly questions: number;
  /** Which calls run without asking. */
  readonly mode?: Mode;
  /** Commands of the session that run in the background. Default: 0. */
  readonly processes?: number;
  /** Shown instead of everything else, for example while the session is being opened. */
  readonly waitText?: string;
};

const modeFacts: { readonly [Name in Mode]: string } = { ask: "", edits: "edits allowed", plan: "plan mode" };

/** Facts that do not fit are omitted, starting at the end. */
export function renderStatusLine(
  state: ViewState,
  { columns, now, questions, mode, processes = 0, waitText }: StatusOptions,
): Line {
  const fallback = state.fallback === null ? "" : `${toOneLine(state.fallback)} serves`;
  const agents = state.agentsAtWork === 0 ? "" : `${formatCount(state.agentsAtWork, "agent")} at work`;
  const running = processes === 0 ? "" : `${processes} ${processes === 1 ? "process" : "processes"} running`;
  const facts = [fallback, mode === undefined ? "" : modeFacts[mode], agents, running, ...formatUsage(state, columns)];
  if (waitText !== undefined) return lineOf(waitText, "dim");
  const { activity } = state;
  if (questions > 0)
    return appendFitting([spanOf("waiting for you", "yellow")], [formatQuestionCount(questions), ...facts], columns);
  if (state.isStopping)
    return appendFitting([spanOf("stopping…", "yellow")], ["enter: your draft is next", ...facts], columns);
  if (state.isWaiting) {
    const isAsleep = state.waits.length > 0;
    const reason = isAsleep ? formatWaits(state.waits) : "waiting for an external result";
    return appendFitting([spanOf(reason, "yellow")], [isAsleep ? "esc stops" : "", ...facts], columns);
  }
  if (activity === null && state.runId === null) {
    const queuedNote =
      state.queued.length === 0 ? [] : [`${state.queued.length} queued: enter starts, alt-↑ takes back`];
    return appendFitting([spanOf("ready", "dim")], [...queuedNote, ...facts], columns);
  }
  const since = activity?.since ?? now;
  const time = since > now ? `again in ${formatDuration(since - now)}` : formatDuration(now - since);
  const spinnerFrame = spinner[Math.floor(now / spinnerMs) % spinner.length] ?? "";
  const queued = state.queued.length === 0 ? [] : [`${state.queued.length} queued`];
  const head = [spanOf(`${spinnerFrame} `, "cyan"), spanOf(`${toOneLine(activity?.name ?? "pawl")} ${time}`, "dim")];
  return appendFitting(head, ["esc stops", ...queued, ...facts], columns);
}

/** Narrower screens show the usage without a label, to save room. */
const labelledColumns = 60;

/** Tokens and cost of the run in progress, or of the last one. `/cost` has those of the session. */
function formatUsage({ usage, runId }: ViewState, columns: number): readonly string[] {
  const [tokens, cost] = [formatTokens(usage), formatCost(usage)];
  const label = runId === null ? "last run" : "this run";
  return columns < labelledColumns || tokens === "" ? [tokens, cost] : [`${label}: ${tokens}`, cost];
}

function formatQuestionCount(questions: number): string {
  return questions === 1 ? "1 question" : `1 of ${questions} questions`;
}

function appendFitting(head: Line, facts: readonly string[], columns: number): Line {
  let line = head;
  for (const fact of facts.filter((text) => text !== "")) {
    const longer = [...line, spanOf(` · ${fact}`, "dim")];
    if (measureLine(longer) >= columns) break;
    line = longer;
  }
  return line;
}

export function formatTokens({ inputTokens, outputTokens }: Usage): string {
  if (inputTokens === undefined && outputTokens === undefined) return "";
  return `${formatNumber((inputTokens ?? 0) + (outputTokens ?? 0))} tokens`;
}

export function formatCost({ costUsd, partial }: Usage): string {
  if (costUsd === undefined) return "";
  return partial === true ? `at least ${formatDollars(costUsd)}` : formatDollars(costUsd);
}
