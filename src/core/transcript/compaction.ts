/**
 * Compaction of the transcript: a summary replaces the oldest messages.
 *
 * 1. The transcript after a compaction follows from the entries from `readFrom` on. A process that reads only these builds the same
 *    transcript as a process that reads the whole log.
 * 2. A result stays with its call.
 */

import { type AssistantMessage, type ToolMessage, toolCallsOf, type UserMessage } from "../data/message.js";
import type { EventOf } from "../machine/event.js";
import { createCacheRecord } from "./cache-breaks.js";
import { makeIdsUnique } from "./call-ids.js";
import { resetLastSent } from "./last-sent.js";
import { summaryText } from "./loop-prompts.js";
import { noPauses } from "./pauses.js";
import { forgetAttempts, plainSummary, type RunRecord } from "./run-record.js";
import { forgetNotes, sourcesAfterCompaction } from "./source-notes.js";
import type { Transcript } from "./transcript-record.js";

/** The message that the model sees in place of the replaced messages. */
export function summaryMessage(summary: string, retained: readonly string[] = []): UserMessage {
  return createUserMessage(summaryText(summary, retained));
}

export function createUserMessage(text: string): UserMessage {
  return { role: "user", parts: [{ type: "text", text }] };
}

/**
 * The entries that a reader needs after a compaction that keeps the messages shown since entry `since`. Content of kept messages may be in
 * earlier entries, and so may input that is not shown yet and the start of an answer that continues.
 */
export function compactionRange(transcript: Transcript, since: number): CompactionRange {
  const { seqs, origins, later, queued, run, runs, summaries } = transcript;
  const cut = findCutIndex(transcript, since);
  const keptFrom = seqs[cut] ?? since;
  const unshown = [...later.map(({ seq }) => seq), ...queued.keys()];
  const first = Math.min(keptFrom, ...origins.slice(cut), ...unshown, run?.answerSeq ?? keptFrom);
  // A reader that begins within the call for a final summary would take its answer for part of the conversation.
  const readFrom = summaries.find(({ from, until }) => from < first && first <= until)?.from ?? first;
  const runStartSeq = runs.findLast((start) => start < readFrom);
  return {
    keptFrom,
    ...(readFrom < keptFrom ? { readFrom } : {}),
    ...(runStartSeq === undefined ? {} : { runStartSeq }),
  };
}

type CompactionRange = Pick<EventOf<"compacted">, "keptFrom" | "readFrom" | "runStartSeq">;

/** Records a summary that ends a run. It is not shown, and its calls are not run. A compaction must not begin within its call. */
export function recordSummary(transcript: Transcript, { preparedSeq }: RunRecord, seq: number): void {
  transcript.summaries = [...transcript.summaries, { from: preparedSeq, until: seq }];
  transcript.calls = new Map();
}

/** Records a person's request, or applies the compaction, which answers all earlier requests. */
export function applyCompactionEvent(
  transcript: Transcript,
  event: EventOf<"compaction_requested" | "compacted">,
): void {
  if (event.type === "compacted") applyCompaction(transcript, event);
  transcript.asked = event.type === "compacted" ? null : (transcript.asked ?? event);
}

function applyCompaction(transcript: Transcript, event: EventOf<"compacted">): void {
  if (transcript.run !== null) forgetAttempts(transcript.run);
  const { run, messages, seqs, origins, runs } = transcript;
  const { keptFrom, summary, runStartSeq, retained = [] } = event;
  if (keptFrom === undefined || summary === undefined) return;
  const current = messages.findLast((message) => message.role === "assistant");
  const cut = findCutIndex(transcript, keptFrom);
  transcript.messages = [summaryMessage(summary, retained), ...messages.slice(cut)];
  const dropped = seqs.splice(0, cut, keptFrom - 1);
  origins.splice(0, cut, keptFrom);
  if (runStartSeq !== undefined) transcript.runs = runs.slice(Math.max(0, runs.indexOf(runStartSeq)));
  transcript.summaries = transcript.summaries.filter(({ until }) => until >= keptFrom);
  transcript.compaction = { summary, retained };
  transcript.shownResults.keptSeq = findKeptSeq(transcript, keptFrom);
  transcript.countedTokens = null;
  transcript.sentList = null;
  transcript.settings = null;
  transcript.promptCache = null;
  transcript.pauses = noPauses;
  resetLastSent(transcript.lastSent);
  transcript.cache = createCacheRecord("compaction");
  // A process that reads the log from `readFrom` on does not know these hashes, so the next `prepared` event must contain them.
  transcript.promptHash = undefined;
  transcript.toolsHash = undefined;
  // The sources in an earlier entry may belong to an agent that has handed the session over since.
  transcript.sources = sourcesAfterCompaction(event.sources);
  forgetNotes(transcript);
  if (transcript.appended !== null && dropped.includes(transcript.appended.seq)) transcript.appended = null;
  if (run !== null) {
    run.compacted = event;
    run.params = event.params ?? null;
    run.prompt = event.runPrompt ?? null;
    // Only a process that has read the whole log knows which earlier step it was.
    if (run.leftSteps < run.steps) run.leftSteps = 0;
    // The next model call records its own values. A process that reads the log from `readFrom` on may not know the last call.
    run.purpose = "step";
    run.summary = plainSummary;
    run.preparedSeq = run.startSeq;
    run.lastCall = null;
    run.repeatWarningStep = null;
    if (run.lastPrompt !== null && dropped.includes(run.lastPrompt.seq)) run.lastPrompt = null;
  }
  const renewed = reassignIds(transcript, current);
  if (run?.last != null && renewed !== undefined && run.last.message === current)
    run.last = { ...run.last, message: renewed };
}

/**
 * The entry of a stored output of which the model still sees a part. Otherwise, the entry of the compaction's cut if the summary mentions
 * an output, or 0.
 */
function findKeptSeq({ compaction, origins, later, shownResults }: Transcript, keptFrom: number): number {
  const { keptSeq } = shownResults;
  if (keptSeq >= keptFrom || origins.includes(keptSeq) || later.some(({ seq }) => seq === keptSeq)) return keptSeq;
  const texts = [compaction?.summary ?? "", ...(compaction?.retained ?? [])];
  return texts.some((text) => /output \d/i.test(text)) ? keptFrom : 0;
}

/** The index of the first message to keep. Results are kept together with their calls, which are in the previous message. */
function findCutIndex({ messages, seqs }: Transcript, from: number): number {
  const index = seqs.findIndex((seq) => seq >= from);
  const cut = index === -1 ? messages.length : index;
  return messages[cut]?.role === "tool" ? cut - 1 : cut;
}

/**
 * Makes ids unique among the kept messages. An id that was changed because of a replaced message gets the provider's id back. `current` is
 * the message with the calls of the current step; it is returned with its new ids.
 */
function reassignIds(transcript: Transcript, current: AssistantMessage | undefined): AssistantMessage | undefined {
  const { messages, ids, originals } = transcript;
  ids.clear();
  transcript.originals = null;
  let renewedCurrent = current === undefined ? undefined : (originals?.get(current) ?? current);
  messages.forEach((message, index) => {
    if (message.role !== "assistant") return;
    const renewed = addWithUniqueIds(transcript, originals?.get(message) ?? message, message);
    if (message === current) renewedCurrent = renewed;
    if (renewed === message) return;
    messages[index] = renewed;
    const results = messages[index + 1];
    if (results?.role === "tool") messages[index + 1] = alignResultIds(renewed, results);
  });
  if (renewedCurrent === undefined) return undefined;
  const calls = toolCallsOf(renewedCurrent);
  [...transcript.calls].forEach(([callKey, record], position) => {
    const part = calls[position];
    if (part !== undefined && part !== record.part) transcript.calls.set(callKey, { ...record, part });
  });
  return renewedCurrent;
}

/** The message with ids that are unique in the transcript. Returns `known` if it already has exactly these ids. */
export function addWithUniqueIds(
  transcript: Transcript,
  message: AssistantMessage,
  known?: AssistantMessage,
): AssistantMessage {
  const unique = makeIdsUnique(transcript.ids, message);
  if (unique === message) return message;
  const same = known !== undefined && hasSameIds(unique, known) ? known : unique;
  transcript.originals = (transcript.originals ?? new Map()).set(same, message);
  return same;
}

function hasSameIds(a: AssistantMessage, b: AssistantMessage): boolean {
  return a.parts.every((part, index) => {
    const other = b.parts[index];
    return (
      !("toolCallId" in part) || (other !== undefined && "toolCallId" in other && part.toolCallId === other.toolCallId)
    );
  });
}

/** The results with the ids of the calls in the preceding message. */
export function alignResultIds(message: AssistantMessage, results: ToolMessage): ToolMessage {
  const calls = toolCallsOf(message);
  return {
    role: "tool",
    parts: results.parts.map((part, index) => ({ ...part, toolCallId: calls[index]?.toolCallId ?? part.toolCallId })),
  };
}
