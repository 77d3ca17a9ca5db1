/**
 * What a model is told of a call that did not run, was edited, or came in late.
 */

import type { Json, ToolCallPart, ToolOutput, ToolResultPart } from "../data/message.js";
import type { CallOutcome } from "../machine/state.js";
import { describeFile } from "./blob-references.js";

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
  cause?: { readonly seq: number; readonly text?: string; readonly output?: ToolOutput };
  /** How it ended; `seq` is the entry that holds the output. */
  result?: {
    readonly outcome: CallOutcome;
    readonly output: ToolOutput;
    readonly seq: number;
    readonly durationMs?: number;
  };
};

/** What is known of the results that a model is shown. */
export type ShownResults = {
  /** Bytes of all that the next model call is shown; undefined where there is no bound. */
  budget: number | undefined;
  /** Some have held files. */
  hasFiles: boolean;
};

const seqs = new WeakMap<ToolResultPart, number>();

/** The entry that holds the output of a result that a transcript shows. */
export function seqOfShown(part: ToolResultPart): number | undefined {
  return seqs.get(part);
}

/** A result as the model gets it, with what is to be known of it. */
export function noteShown(results: ShownResults, call: CallRecord): ToolResultPart {
  const part = shownOutput(call);
  if (call.result !== undefined) seqs.set(part, call.result.seq);
  if (part.output.type === "content") results.hasFiles = true;
  return part;
}

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

/** A result as the model gets it: a person's edit is said before it, and after it where the whole is that was cut. */
function shownOutput(call: CallRecord): ToolResultPart {
  const { part, result } = call;
  const output = result === undefined ? textOutput(refusalText("interrupted", undefined)) : withReference(result);
  const shown = call.edited ? after(`(A person changed the input to ${JSON.stringify(call.input)}.)`, output) : output;
  const isError = result?.outcome !== "ok";
  const { toolCallId, name } = part;
  return isError
    ? { type: "tool_result", toolCallId, name, output: shown, isError }
    : { type: "tool_result", toolCallId, name, output: shown };
}

function textOutput(text: string): ToolOutput {
  return { type: "text", text };
}

/** The number of an entry is what `read_output` and `search_output` take. */
function withReference({ output, seq }: { readonly output: ToolOutput; readonly seq: number }): ToolOutput {
  if (output.type === "json" || output.full === undefined) return output;
  const note = `[The whole is kept as output ${seq}: read_output and search_output show more of it.]`;
  return output.type === "text"
    ? { type: "text", text: `${output.text}\n${note}` }
    : { type: "content", parts: [...output.parts, { type: "text", text: note }] };
}

function after(note: string, output: ToolOutput): ToolOutput {
  return output.type === "content"
    ? { type: "content", parts: [{ type: "text", text: note }, ...output.parts] }
    : textOutput(`${note}\n${textOfOutput(output)}`);
}

/** A result that came after its call was given up, as a note. It is a tool's output, and grants nothing. */
export function noteText(callKey: string, output: ToolOutput | undefined, seq: number): string {
  const text = output === undefined ? "(no output)" : textOfOutput(withReference({ output, seq }));
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
      return output.parts.map((part) => (part.type === "text" ? part.text : `[${describeFile(part)}]`)).join("\n");
  }
}
