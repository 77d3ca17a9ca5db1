/**
 * The conversation as the demo model reads it: the user's requests, and the tool results after each.
 */
import { type Json, type Message, textOf, toolCallsOf, type UserPart } from "../../core/data/message.js";
import {
  continuePrompt,
  doneToolReminder,
  finalSummaryPrompt,
  finalSummaryWithTools,
} from "../../core/transcript/loop-prompts.js";
import { textOfOutput } from "../../core/transcript/results.js";

export type PlannedCall = { readonly name: string; readonly input: { readonly [key: string]: Json } };

/** `input` is the model's own. A person may have changed it before the call ran; the text of the result then says so. */
export type CallResult = {
  readonly name: string;
  readonly input: Json;
  readonly text: string;
  readonly isError: boolean;
};

/** A request, and the results of each step since then. */
export type ConversationTurn = {
  readonly request: string;
  /** The user's own words, without what was attached to the message. */
  readonly own: string;
  readonly steps: readonly (readonly CallResult[])[];
  /** Whether the user first wants to see a plan: in plan mode, or because a plan has been shown since the request. */
  readonly wantsPlan: boolean;
};

/** The tool that shows the user a plan in plan mode, on the command line. */
export const planTool = "finish_plan";

/** Oldest first. Results whose request was lost in a compaction belong to no turn. */
export function readTurns(messages: readonly Message[]): readonly ConversationTurn[] {
  const turns: { request: string; own: string; steps: (readonly CallResult[])[] }[] = [];
  let isPlanMode = false;
  let inputs: ReadonlyMap<string, Json> = new Map();
  for (const message of messages) {
    switch (message.role) {
      case "user": {
        const request = textOf(message);
        isPlanMode ||= saysPlanMode(request);
        if (!isLoopMessage(request)) turns.push({ request, own: readFirstText(message.parts), steps: [] });
        break;
      }
      case "assistant":
        inputs = new Map(toolCallsOf(message).map((call) => [call.toolCallId, call.input]));
        break;
      case "tool": {
        const results = message.parts.map(({ toolCallId, name, output, isError }) => ({
          name,
          input: inputs.get(toolCallId) ?? {},
          text: textOfOutput(output),
          isError: isError === true,
        }));
        turns.at(-1)?.steps.push(results);
        break;
      }
    }
  }
  return turns.map((turn, at) => {
    const hasPlan = turn.steps.some((results) => results.some(({ name }) => name === planTool));
    return { ...turn, wantsPlan: hasPlan || (isPlanMode && at === turns.length - 1) };
  });
}

/** Whether it is the hint of the command line's agent, with which each request ends as long as the mode is on. */
function saysPlanMode(text: string): boolean {
  return text.startsWith("[Not from the user: how things stand now.]") && /^mode: Plan mode is on/m.test(text);
}

function readFirstText(parts: readonly UserPart[]): string {
  return parts.find((part) => part.type === "text")?.text ?? "";
}

/** The loop also adds messages in the role of the user: prompts, late results, hints, and the summary of a compaction. */
function isLoopMessage(text: string): boolean {
  if ([continuePrompt, doneToolReminder, finalSummaryPrompt, finalSummaryWithTools].includes(text)) return true;
  return /^\[(?:Note, not from the user|Not from the user|The conversation so far was too long)/.test(text);
}
