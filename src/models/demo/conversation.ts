/**
 * The conversation as the demo model reads it: requests, and what was asked of tools for each.
 */
import { type Json, type Message, type ToolOutput, textOf, toolCallsOf } from "../../core/data/message.js";

/** A call that the demo model asks for. */
export type PlannedCall = { readonly name: string; readonly input: { readonly [key: string]: Json } };

export type CallResult = { readonly name: string; readonly text: string; readonly isError: boolean };

/** One request of the person, and the results of each step since, in the order of its calls. */
export type Turn = { readonly request: string; readonly steps: readonly (readonly CallResult[])[] };

/** Oldest first. What stands before the first request, and notes that no person wrote, begin no turn. */
export function readTurns(messages: readonly Message[]): readonly Turn[] {
  const turns: { request: string; steps: CallResult[][] }[] = [];
  let step: Map<string, CallResult> = new Map();
  for (const message of messages) {
    const turn = turns.at(-1);
    switch (message.role) {
      case "user": {
        const request = textOf(message);
        if (!request.startsWith("[Note, not from the user")) turns.push({ request, steps: [] });
        break;
      }
      case "assistant": {
        const calls = toolCallsOf(message);
        step = new Map(calls.map((call) => [call.toolCallId, { name: call.name, text: "", isError: true }]));
        if (calls.length > 0) turn?.steps.push([...step.values()]);
        break;
      }
      case "tool":
        for (const { toolCallId, name, output, isError } of message.parts)
          step.set(toolCallId, { name, text: textOfOutput(output), isError: isError === true });
        turn?.steps.splice(-1, 1, [...step.values()]);
        break;
    }
  }
  return turns;
}

function textOfOutput(output: ToolOutput): string {
  switch (output.type) {
    case "text":
      return output.text;
    case "json":
      return JSON.stringify(output.value, null, 2);
    case "content":
      return output.parts.map((part) => (part.type === "text" ? part.text : `[${part.mediaType}]`)).join("\n");
  }
}
