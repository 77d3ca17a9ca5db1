/**
 * What a model is told of a call that did not run, was edited, or came in late.
 */
import type { Json, ToolCallPart, ToolOutput, ToolResultPart } from "./message.js";
import type { CallOutcome } from "./state.js";

/** What is known of a call of the step under way (or the last one). */
export type CallRecord = {
  readonly callKey: string;
  /** The call as the model asked for it, under an id that is unique here. */
  readonly part: ToolCallPart;
  /** What would run now: after hooks and edits. */
  input: Json;
  /** It was decided on, and is thereby known to the world. */
  decided: boolean;
  /** The input is no longer what the model wrote. */
  changed: boolean;
  /** A person changed the input. */
  edited: boolean;
  /** How often the model has asked for this call in a row, this time included. */
  timesInRow: number;
  /** Where somebody is asked: what, and since when. */
  question?: string;
  /** Why it did not run, or what a person gave as its result, by the entry that says so. */
  because?: { readonly seq: number; readonly text?: string; readonly output?: ToolOutput };
  /** How it ended. */
  result?: { readonly outcome: CallOutcome; readonly output: ToolOutput; readonly durationMs?: number };
};

/** The text of a result that no tool gave. */
export function refusalText(outcome: CallOutcome, why: string | undefined): string {
  const because = why === undefined || why === "" ? "" : `: ${why}`;
  switch (outcome) {
    case "ok":
      return "(no output)";
    case "error":
      return `Error: ${why ?? "the call failed"}`;
    case "denied":
      return `Error: Denied${because}. The call was not run.`;
    case "blocked":
      return `Error: Blocked${because}. The call was not run.`;
    case "skipped":
      return "Error: Skipped: another call of this step ended the run. The call was not run.";
    case "not_run":
      return "Error: Not run: the message that asked for it was cut.";
    case "aborted":
      return "Error: Aborted before it started. The call was not run.";
    case "interrupted":
      return `Error: Interrupted${because}. It had started and its outcome is unknown.`;
  }
}

/** A result as the model gets it. A person's edit is said before it. */
export function shownOutput(call: CallRecord): ToolResultPart {
  const { part, result } = call;
  const output = result?.output ?? { type: "text", text: refusalText("interrupted", undefined) };
  const shown = call.edited ? after(`(A person changed the input to ${JSON.stringify(call.input)}.)`, output) : output;
  const isError = result?.outcome !== "ok";
  const { toolCallId, name } = part;
  return isError
    ? { type: "tool_result", toolCallId, name, output: shown, isError }
    : { type: "tool_result", toolCallId, name, output: shown };
}

function after(note: string, output: ToolOutput): ToolOutput {
  return output.type === "content"
    ? { type: "content", parts: [{ type: "text", text: note }, ...output.parts] }
    : { type: "text", text: `${note}\n${textOfOutput(output)}` };
}

/** A result that came after its call was given up, as a note. It is a tool's output, and grants nothing. */
export function noteText(callKey: string, output: ToolOutput | undefined): string {
  const text = output === undefined ? "(no output)" : textOfOutput(output);
  return `[Note, not from the user: the tool call ${callKey}, which was interrupted, has finished after all. Its output:]\n${text}`;
}

/** An output as text: for people, and where only text can go. */
export function textOfOutput(output: ToolOutput): string {
  switch (output.type) {
    case "text":
      return output.text;
    case "json":
      return JSON.stringify(output.value);
    case "content":
      return output.parts
        .map((part) =>
          part.type === "text"
            ? part.text
            : `[${part.mediaType}${part.filename === undefined ? "" : ` ${part.filename}`}]`,
        )
        .join("\n");
  }
}
