/**
 * All texts that the loop itself writes for a model.
 *
 * 1. Their wording is part of each request. Changing it changes the requests that are rebuilt from a log, and therefore also the golden
 *    files.
 * 2. The machine and the transcript contain no other English for models.
 */
import type { Json } from "../data/message.js";
import type { Reason } from "../data/reasons.js";
import type { CallOutcome } from "../machine/state.js";

/** Asks the model to continue an answer that was cut at the output limit. */
export const continuePrompt =
  "Your answer was cut at the output limit. Go on exactly where it stopped, with the space or line break that comes next if there is one; repeat nothing.";

/** Reminds the model that only the done tool ends the run. */
export const doneToolReminder =
  "You have not signalled that the work is done. Go on, or call the tool that signals it if there is nothing left to do.";

/** Follows the list of a handoff filter that ends with an assistant's text. */
export const handedOverPrompt = "Go on.";

/** Asks for a summary at the limit of steps. */
export const finalSummaryPrompt =
  "The limit of steps is reached, and no more tools can be used. Sum up what was done, what was found, and what is left to do.";

/** The same for a request that still has the tools of the previous steps and a prompt that asks for a schema. */
export const finalSummaryWithTools = `${finalSummaryPrompt} Answer in plain words, and call no tool.`;

/** Follows the beginning of an answer that an abort or a limit cut off. */
export const cutOffNote = "[Note, not from the user: the answer above was cut off.]";

/** Why a call above the limit per step is not run. */
export function excessCallsText(requested: number, limit: number): string {
  return `${requested} calls were asked for at once, and ${limit} may be; ask again for what is still needed`;
}

/** Why the calls of an answer with an unknown finish reason are not run. */
export const unclearEndText = "the message that asked for it ended with an unknown finish reason";

/** Why a call is skipped after a steering message. */
export const skippedBySteerText = "the user sent new directions before it started";

/** Why a call is denied if its approval expired. */
export const approvalExpiredText = "nobody answered before the approval expired";

/** The result of a tool that returned no output. */
export const noOutputText = "(no output)";

/** The result of a call that has no output from a tool. `cause` says why, if that is known. */
export function refusalText(outcome: CallOutcome, cause?: string): string {
  const suffix = cause === undefined || cause === "" ? "" : `: ${cause}`;
  switch (outcome) {
    case "ok":
      return noOutputText;
    case "error":
      return `Error: ${cause ?? "the call failed"}`;
    case "denied":
      return `Error: Denied${suffix}. The call was not run.`;
    case "blocked":
      return `Error: Blocked${suffix}. The call was not run.`;
    case "skipped":
      return `Error: Skipped: ${cause ?? "another call of this step ended the run"}. The call was not run.`;
    case "not_run":
      return `Error: Not run: ${cause === unclearEndText ? cause : "the message that asked for it was cut"}.`;
    case "aborted":
      return "Error: Aborted before it started. The call was not run.";
    case "interrupted":
      return `Error: Interrupted${suffix}. It had started and its outcome is unknown.`;
  }
}

/** The result of a call that requested a handoff; undefined if the call did not get that far. */
export function handoffText(to: string, outcome: CallOutcome): string | undefined {
  switch (outcome) {
    case "ok":
      return `Handed over to ${to}.`;
    case "error":
      return `Error: Not handed over to ${to}: this run was handed over as often as it may be. Go on without it.`;
    case "not_run":
      return `Error: Not handed over to ${to}: an earlier call of this step hands over already.`;
    case "denied":
    case "blocked":
    case "skipped":
    case "aborted":
    case "interrupted":
      return undefined;
  }
}

/** Follows the result of a call that was interrupted after some of its tool steps. */
export function finishedStepsText(names: string): string {
  return `Finished tool steps: ${names}.`;
}

/** The result of a call that its provider may run. */
export const approvedText = "Approved. The provider runs the call.";

/** Precedes the output of a call whose input a person changed. */
export function editedInputText(input: Json): string {
  return `(A person changed the input to ${JSON.stringify(input)}.)`;
}

/** Precedes an output that arrived after its call was interrupted. */
export function lateResultText(callKey: string, output: string): string {
  return `[Note, not from the user: the tool call ${callKey}, which was interrupted, has finished after all. Its output:]\n${output}`;
}

/**
 * The tools that read an output by its entry number (src/tools/outputs/output-tools.ts). These are the only tool names in the core. The
 * transcript is built from log entries alone, and the names of an agent's tools are not in an entry but in a blob, which the transcript
 * does not read.
 */
const outputTools = "read_output and search_output";

/** Follows an output that was cut. `seq` is the entry that holds the output. */
export function truncatedOutputNote(seq: number): string {
  return `[The whole is kept as output ${seq}: ${outputTools} show more of it.]`;
}

/** Precedes the output of a child session that a limit ended. */
export function cutShortText(reason: Reason): string {
  return `[Cut short: ${reason}.]`;
}

/** Replaces an old result that is omitted. `seq` is the entry that holds its output, if there is such an entry. */
export function omittedResultText(bytes: number, seq: number | undefined): string {
  const reference = seq === undefined ? "" : ` It is kept as output ${seq}: ${outputTools} show it.`;
  return `[This result, of ${bytes} bytes, is left out here by now.${reference}]`;
}

/** Replaces the messages that a compaction summarized. `retained` are texts that are kept word for word. */
export function summaryText(summary: string, retained: readonly string[]): string {
  const retainedText =
    retained.length === 0 ? "" : `Kept word for word:\n${retained.map((item) => `- ${item}`).join("\n")}\n\n`;
  return `[The conversation so far was too long to be kept; this stands for it. Go on from here.]\n\n${retainedText}${summary}`;
}
