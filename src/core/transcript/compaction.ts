/**
 * What a compaction does to the transcript: a summary takes the place of its oldest messages.
 *
 * 1. What is left of the transcript follows from the entries from `readFrom` on, so that a process that reads no more of the
 *    log sees the same as one that read it all.
 * 2. A result stays with its call.
 */

import {
  type AssistantMessage,
  type Message,
  type ToolMessage,
  toolCallsOf,
  type UserMessage,
} from "../data/message.js";
import type { EventOf } from "../machine/event.js";
import { withUniqueIds } from "./call-ids.js";
import type { Transcript } from "./transcript-record.js";

/** What the model is shown in the place of what was replaced. */
export function summaryMessage(summary: string, retained: readonly string[] = []): UserMessage {
  const kept =
    retained.length === 0 ? "" : `Kept word for word:\n${retained.map((item) => `- ${item}`).join("\n")}\n\n`;
  const text = `[The conversation so far was too long to be kept; this stands for it. Go on from here.]\n\n${kept}${summary}`;
  return userText(text);
}

export function userText(text: string): UserMessage {
  return { role: "user", parts: [{ type: "text", text }] };
}

/**
 * Where a compaction that keeps what is shown since an entry leaves the log to be read from: what is kept may come from before it,
 * and so may what was not shown yet, and the answer that is still being given.
 */
export function compactionRange(transcript: Transcript, since: number): CompactionRange {
  const { seqs, origins, later, queued, run, runs } = transcript;
  const cut = cutAt(transcript, since);
  const keptFrom = seqs[cut] ?? since;
  const unseen = [...later.map(({ seq }) => seq), ...queued.keys()];
  const readFrom = Math.min(keptFrom, ...origins.slice(cut), ...unseen, run?.answerSeq ?? keptFrom);
  const runStartSeq = runs.findLast((start) => start < readFrom);
  return {
    keptFrom,
    ...(readFrom < keptFrom ? { readFrom } : {}),
    ...(runStartSeq === undefined ? {} : { runStartSeq }),
  };
}

type CompactionRange = Pick<EventOf<"compacted">, "keptFrom" | "readFrom" | "runStartSeq">;

export function compact(transcript: Transcript, event: EventOf<"compacted">): void {
  const { run, messages, seqs, origins, runs } = transcript;
  const { keptFrom, summary, runStartSeq, retained = [] } = event;
  if (keptFrom === undefined || summary === undefined) return;
  const asking = messages.findLast((message) => message.role === "assistant");
  const cut = cutAt(transcript, keptFrom);
  messages.splice(0, cut, summaryMessage(summary, retained));
  const dropped = seqs.splice(0, cut, keptFrom - 1);
  origins.splice(0, cut, keptFrom);
  if (runStartSeq !== undefined) transcript.runs = runs.slice(Math.max(0, runs.indexOf(runStartSeq)));
  transcript.compaction = { summary, retained };
  transcript.countedTokens = null;
  // Whoever reads the log from here on does not know them: the next call names them anew.
  transcript.promptHash = undefined;
  transcript.toolsHash = undefined;
  if (transcript.appended !== null && dropped.includes(transcript.appended.seq)) transcript.appended = null;
  if (run !== null) {
    run.compacted = event;
    run.lastCall = null;
    run.toldOfRepeat = null;
    if (run.told !== null && dropped.includes(run.told.seq)) run.told = null;
  }
  renewIds(transcript, asking);
}

/** The first message that is kept: the first of an entry, and a result together with its calls, which are the message before it. */
function cutAt({ messages, seqs }: Transcript, from: number): number {
  const kept = seqs.findIndex((seq) => seq >= from);
  const cut = kept === -1 ? messages.length : kept;
  return messages[cut]?.role === "tool" ? cut - 1 : cut;
}

/**
 * Ids are unique within what is kept: those that were changed for the sake of a message that is gone are what the provider
 * gave again. `asking` is the message whose calls are the present ones.
 */
function renewIds(transcript: Transcript, asking: AssistantMessage | undefined): void {
  const { messages, ids, given } = transcript;
  ids.clear();
  transcript.given = null;
  let present = asking === undefined ? undefined : (given?.get(asking) ?? asking);
  messages.forEach((message, index) => {
    if (message.role !== "assistant") return;
    const renewed = uniqueIn(transcript, given?.get(message) ?? message, message);
    if (message === asking) present = renewed;
    if (renewed === message) return;
    messages[index] = renewed;
    const results = messages[index + 1];
    if (results?.role === "tool") messages[index + 1] = withIdsOf(renewed, results);
  });
  if (present === undefined) return;
  const calls = toolCallsOf(present);
  [...transcript.calls].forEach(([callKey, record], position) => {
    const part = calls[position];
    if (part !== undefined && part !== record.part) transcript.calls.set(callKey, { ...record, part });
  });
}

/** A message under ids that are unique in the transcript; `known` where that is what it is already. */
export function uniqueIn(
  transcript: Transcript,
  message: AssistantMessage,
  known?: AssistantMessage,
): AssistantMessage {
  const unique = withUniqueIds(transcript.ids, message);
  if (unique === message) return message;
  const same = known !== undefined && hasIdsOf(unique, known) ? known : unique;
  transcript.given = (transcript.given ?? new Map()).set(same, message);
  return same;
}

function hasIdsOf(a: AssistantMessage, b: AssistantMessage): boolean {
  return a.parts.every((part, index) => {
    const other = b.parts[index];
    return (
      !("toolCallId" in part) || (other !== undefined && "toolCallId" in other && part.toolCallId === other.toolCallId)
    );
  });
}

function withIdsOf(message: AssistantMessage, results: ToolMessage): Message {
  const calls = toolCallsOf(message);
  return {
    role: "tool",
    parts: results.parts.map((part, index) => ({ ...part, toolCallId: calls[index]?.toolCallId ?? part.toolCallId })),
  };
}
