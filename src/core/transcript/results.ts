/**
 * The results of tool calls as a model sees them, with notes about an edit, a cut or a late arrival.
 */

import type { Fault, Json, ProviderApproval, ToolCallPart, ToolOutput, ToolResultPart } from "../data/message.js";
import type { Reason } from "../data/reasons.js";
import type { EventOf, Repair } from "../machine/event.js";
import type { CallOutcome } from "../machine/state.js";
import { describeFile } from "./blob-references.js";
import {
  cutShortText,
  editedInputText,
  lateResultText,
  noOutputText,
  refusalText,
  truncatedOutputNote,
} from "./loop-prompts.js";
import type { CallSteps } from "./tool-steps.js";

/** A call of the current step, or of the last step of a run that has ended. */
export type CallRecord = {
  readonly callKey: string;
  /** The call as the model requested it, under an id that is unique in the transcript. */
  readonly part: ToolCallPart;
  /** The input that would run now, after hooks and edits. */
  input: Json;
  /** The tool to run instead of the one that the model named, if the call was repaired. */
  tool?: string;
  /** How the call was repaired. */
  repair?: Repair;
  /** Whether the call was decided, so that its `tool_call` event is public. */
  decided: boolean;
  /** Whether a hook or a person changed the input that the model wrote. */
  changed: boolean;
  /** Whether a person changed the input. */
  edited: boolean;
  /** The call before a person's edit. The person is asked about it again if the edit is unusable. */
  beforeEdit?: {
    /** The input before a person changed it. */
    readonly input: Json;
    /** Whether a hook or a person had already changed that input. */
    readonly changed: boolean;
  };
  /** How many times in a row the model has requested this call, including this time. */
  timesInRow: number;
  /** The question to the person, if a person is asked. */
  question?: string;
  /** The agent that the call hands the session over to. */
  handoff?: string;
  /** Why the call did not run, or the result that a person provided instead. `seq` is the entry that records this. */
  cause?: {
    readonly seq: number;
    /** The text of the result. */
    readonly text?: string;
    /** The output that a person provided. */
    readonly output?: ToolOutput;
  };
  /** The durable steps of its tool; absent if there are none. */
  steps?: CallSteps;
  /** The attempts that failed and were retried. */
  failed?: readonly FailedTry[];
  /** How the call ended. `seq` is the entry that holds the output. */
  result?: {
    readonly outcome: CallOutcome;
    readonly output: ToolOutput;
    readonly seq: number;
    readonly durationMs?: number;
    /** The limit that ended the child session. */
    readonly cut?: Reason;
  };
};

/** A failed attempt of a tool call. */
export type FailedTry = {
  readonly attempt: number;
  readonly fault: Fault;
  readonly durationMs: number;
  readonly retryInMs: number;
};

/** The name of the tool that a call runs. */
export function toolNameOf({ tool, part }: Pick<CallRecord, "tool" | "part">): string {
  return tool ?? part.name;
}

/** Facts about all results that the model sees. */
export type ShownResults = {
  /** The maximum size of the results in the next model call, in bytes; undefined if there is no limit. */
  budget: number | undefined;
  /** Whether any result has contained files. */
  hasFiles: boolean;
  /** The last entry whose output the model sees only in part, so that it may want to read the rest; 0 if there is none. */
  keptSeq: number;
};

/** In bytes. A smaller result is always shown, because a note in its place would save nothing. */
export const minOmittedBytes = 400;

/** Only for results that may be omitted or that contain files, because storing an entry here costs more than all other work on a result. */
const resultSeqs = new WeakMap<ToolResultPart, number>();

/** The entry that holds the output of a result, if a note may replace the result. */
export function findResultSeq(part: ToolResultPart): number | undefined {
  return resultSeqs.get(part);
}

/** Renders a result for the model. Also records its entry and whether it contains files. */
export function showResult(results: ShownResults, call: CallRecord): ToolResultPart {
  const part = renderResult(call);
  if (call.result !== undefined && !isSmall(part.output)) resultSeqs.set(part, call.result.seq);
  if (part.output.type === "content") results.hasFiles = true;
  if (call.result !== undefined) trackStoredOutput(results, call.result);
  return part;
}

/** Avoids counting bytes: a UTF-16 unit takes at most three bytes. */
function isSmall(output: ToolOutput): boolean {
  if (output.type === "json") return typeof output.value !== "object" && typeof output.value !== "string";
  return output.type === "text" && output.text.length * 3 < minOmittedBytes;
}

/** Records an output that was truncated, or that contains files, which some models cannot be shown. */
export function trackStoredOutput(
  results: ShownResults,
  { output, seq }: { readonly output: ToolOutput | undefined; readonly seq: number },
): void {
  if (output === undefined || output.type === "json") return;
  const hasFile = output.type === "content" && output.parts.some(({ type }) => type === "file");
  if (hasFile || output.full !== undefined) results.keptSeq = Math.max(results.keptSeq, seq);
}

/** Renders a result: a note about an edit comes first, and a note about a truncated output last. */
function renderResult(call: CallRecord): ToolResultPart {
  const { part, result } = call;
  const output =
    result === undefined ? textOutput(refusalText("interrupted")) : addCutNote(addReference(result), result.cut);
  const shown = call.edited ? prependNote(editedInputText(call.input), output) : output;
  const isError = result?.outcome !== "ok";
  const { toolCallId, name, providerMetadata, approvalId } = part;
  const resultPart = { type: "tool_result", toolCallId, name, output: shown } as const;
  const markedPart = isError ? { ...resultPart, isError } : resultPart;
  if (providerMetadata === undefined && approvalId === undefined) return markedPart;
  return {
    ...markedPart,
    ...(approvalId === undefined ? {} : { approval: toProviderApproval(approvalId, call) }),
    // Providers expect some of this metadata back with the result, for example the caller or a signature.
    ...(providerMetadata === undefined ? {} : { providerMetadata }),
  };
}

/** The decision that a provider asked for. A call that ended without a person's decision is denied. */
function toProviderApproval(approvalId: string, { result, cause }: CallRecord): ProviderApproval {
  if (result?.outcome === "ok") return { approvalId, approved: true };
  const reason = cause?.text ?? (result === undefined ? undefined : textOfOutput(result.output));
  return { approvalId, approved: false, ...(reason === undefined ? {} : { reason }) };
}

function textOutput(text: string): ToolOutput {
  return { type: "text", text };
}

/** Adds a note to a truncated output with the number under which the model can read all of it. */
function addReference({ output, seq }: { readonly output: ToolOutput; readonly seq: number }): ToolOutput {
  if (output.type === "json" || output.full === undefined) return output;
  const note = truncatedOutputNote(seq);
  return output.type === "text"
    ? { type: "text", text: `${output.text}\n${note}` }
    : { type: "content", parts: [...output.parts, { type: "text", text: note }] };
}

/** Adds a note before the output of a child session that a limit ended. */
function addCutNote(output: ToolOutput, cut: Reason | undefined): ToolOutput {
  return cut === undefined ? output : prependNote(cutShortText(cut), output);
}

function prependNote(note: string, output: ToolOutput): ToolOutput {
  return output.type === "content"
    ? { type: "content", parts: [{ type: "text", text: note }, ...output.parts] }
    : textOutput(`${note}\n${textOfOutput(output)}`);
}

/**
 * A result that arrived after its call was interrupted, as a note. It is a tool's output, so it must not be mistaken for a user's message.
 */
export function lateResultNote({ callKey, output, cut }: EventOf<"late_result">, seq: number): string {
  const text = output === undefined ? noOutputText : textOfOutput(addCutNote(addReference({ output, seq }), cut));
  return lateResultText(callKey, text);
}

/** An output as text, for people and for APIs that accept only text. */
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
