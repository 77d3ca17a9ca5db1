/**
 * Shows the messages that a session gets: requests, messages to the run in progress, and the ends of agents in the background.
 */
import type { PublicEventOf, UserMessage } from "../../../index.js";
import { summarizeMessage } from "../../agent/attachments.js";
import { formatEndedAgent } from "../../render/format-ended-agent.js";
import { spanOf, wrapLine } from "../../screen/line.js";
import { formatSteerPrefix } from "../lines/view-lines.js";
import { appendLines, endText, type FoldState } from "./fold.js";
import { joinInput } from "./sent-text.js";
import { showEndedAgent } from "./show-agent.js";

export function addQueued(fold: FoldState, event: PublicEventOf<"run_queued">): void {
  const text = event.finishedChild === undefined ? joinInput(event.input) : formatEndedAgent(event).text;
  fold.queued = [...fold.queued, { runId: event.runId, text }];
}

/** Shows the request of a run that begins. */
export function showRequest(fold: FoldState, event: PublicEventOf<"run_started">, columns: number): void {
  [fold.held, fold.unread] = [[], 0];
  if (event.finishedChild === undefined) showMessage(fold, "> ", event.input, columns);
  else showEndedAgent(fold, event, columns);
}

/** A message that arrives while the model writes follows the model's text: the model gets it with its next call. */
export function showSteered(fold: FoldState, event: PublicEventOf<"steered">, columns: number): void {
  if (fold.model !== null) fold.held = [...fold.held, event];
  else showAdded(fold, event, columns);
}

/** Shows the messages that came while the model wrote, after its text. */
export function releaseHeld(fold: FoldState, columns: number): void {
  for (const event of fold.held) showAdded(fold, event, columns);
  fold.held = [];
}

function showAdded(fold: FoldState, event: PublicEventOf<"steered">, columns: number): void {
  if (event.finishedChild !== undefined) {
    showEndedAgent(fold, event, columns);
    return;
  }
  showMessage(fold, formatSteerPrefix(event), event.input, columns);
  if (event.source === "user") fold.unread++;
}

function showMessage(fold: FoldState, prefix: string, input: readonly UserMessage[], columns: number): void {
  endText(fold, columns);
  const lines = joinInput(input).split("\n");
  const width = Math.max(8, Math.min(100, columns - 1));
  appendLines(
    fold,
    "message",
    lines.flatMap((line, at) => wrapLine([spanOf(at === 0 ? prefix : "  ", "cyan"), spanOf(line, "bold")], width)),
  );
  const attachments = input.flatMap((message) => summarizeMessage(message).joined);
  appendLines(
    fold,
    "message-part",
    attachments.map((part) => [spanOf("  + ", "cyan"), spanOf(part, "dim")]),
  );
}
