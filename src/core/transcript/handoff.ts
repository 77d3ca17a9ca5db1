/**
 * The changes to a transcript when another agent takes over the session.
 *
 * 1. The list of a handoff replaces the conversation once. Later messages follow the list.
 * 2. Each message of the list belongs to an entry, and the entry numbers never decrease. An added message belongs to the entry that the
 *    list names for it, or otherwise to the entry of the next message that was already there. After the last such message, it belongs to
 *    the handoff. A later compaction therefore removes it together with its neighbours, and a reader that begins at that compaction builds
 *    the same transcript.
 * 3. A reference to content that a compaction removed resolves to nothing.
 * 4. Results have the ids of the calls in the preceding message. A process that begins to read at a later compaction may know the calls
 *    under other ids than the filter saw.
 */

import type { Message } from "../data/message.js";
import type { EventOf, RunOptions } from "../machine/event.js";
import type { MessageRef } from "../machine/message-ref.js";
import { recordHandoff } from "./cache-breaks.js";
import { alignResultIds } from "./compaction.js";
import { hasFiles } from "./history.js";
import { invalidateFrom } from "./last-sent.js";
import { isRange } from "./message-references.js";
import { forgetNotes } from "./source-notes.js";
import type { Transcript } from "./transcript-record.js";

/** From here on another agent continues, with its own prompt, tools and hooks, and with a provider that has not counted any tokens. */
export function applyHandoff(transcript: Transcript, seq: number, { messages }: EventOf<"handed_off">): void {
  transcript.countedTokens = null;
  if (messages !== undefined) replaceMessages(transcript, seq, messages);
  transcript.sources = null;
  const { run } = transcript;
  if (run === null) return;
  run.prompt = null;
  // A prompt belongs to its model call, and the filter may have removed it.
  if (messages !== undefined) run.lastPrompt = null;
  dropOverrides(run);
  recordHandoff(transcript.cache);
  // The hooks of the previous agent, if any, were already called for its steps and compactions.
  run.leftSteps = run.steps;
  run.compacted = null;
}

/**
 * A run's overrides belong to the agent that the run began with, except its output schema, its params and whether a person can be asked.
 */
export function dropOverrides(run: { options: RunOptions }): void {
  const { interactive, providerOptions, output, params } = run.options;
  run.options = {
    ...(interactive === undefined ? {} : { interactive }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
    ...(output === undefined ? {} : { output }),
    ...(params === undefined ? {} : { params }),
  };
}

type PositionedMessage = { readonly message: Message; readonly seq: number; readonly origin: number };

function replaceMessages(transcript: Transcript, seq: number, refs: readonly MessageRef[]): void {
  const { messages: before, seqs, origins, ids, compaction, appended } = transcript;
  const summary = compaction === null ? undefined : before[0];
  const positioned = alignCallIds(resolvePositions(transcript, seq, refs));
  const changedAt = positioned.findIndex(({ message }, index) => message !== before[index]);
  invalidateFrom(transcript.lastSent, changedAt === -1 ? positioned.length : changedAt);
  const messages = positioned.map(({ message }) => message);
  transcript.messages = messages;
  seqs.splice(0, seqs.length, ...positioned.map((item) => item.seq));
  origins.splice(0, origins.length, ...positioned.map(({ origin }) => origin));
  // If it is not the first message, the summary is an ordinary message.
  if (summary !== undefined && messages[0] !== summary) transcript.compaction = null;
  if (appended?.messages.some((message) => !messages.includes(message))) transcript.appended = null;
  forgetNotes(transcript);
  ids.clear();
  for (const message of messages)
    if (message.role === "assistant")
      for (const part of message.parts) if (part.type === "tool_call") ids.add(part.toolCallId);
}

function alignCallIds(positioned: readonly PositionedMessage[]): readonly PositionedMessage[] {
  return positioned.map((item, index) => {
    const calls = positioned[index - 1]?.message;
    const results = item.message;
    if (results.role !== "tool" || calls?.role !== "assistant") return item;
    const message = alignResultIds(calls, results);
    const isSame = message.parts.every(({ toolCallId }, at) => toolCallId === results.parts[at]?.toolCallId);
    return isSame ? item : { ...item, message };
  });
}

function resolvePositions(
  transcript: Transcript,
  handoffSeq: number,
  refs: readonly MessageRef[],
): readonly PositionedMessage[] {
  const { messages, seqs, origins } = transcript;
  const firsts = new Map<number, number>();
  for (let index = seqs.length - 1; index >= 0; index -= 1) firsts.set(seqs[index] ?? 0, index);
  const ownerSeqs = resolveSeqs(refs, handoffSeq);
  return refs.flatMap((ref, position): readonly PositionedMessage[] => {
    const seq = ownerSeqs[position] ?? handoffSeq;
    if (!isRange(ref)) {
      if (!("message" in ref)) return [];
      if (hasFiles(ref.message)) transcript.shownResults.hasFiles = true;
      return [{ message: ref.message, seq, origin: handoffSeq }];
    }
    const [, nth, count] = ref;
    const first = firsts.get(seq);
    if (first === undefined) return [];
    const range: PositionedMessage[] = [];
    let origin = seq;
    for (let index = first; index < first + nth + count && seqs[index] === seq; index += 1) {
      // A process that reads the log later must also find the preceding messages of the entry, to count them.
      origin = Math.min(origin, origins[index] ?? seq);
      const message = messages[index];
      // Results are shown only together with their calls, which are in the previous message.
      if (message?.role === "tool") origin = Math.min(origin, origins[index - 1] ?? seq);
      if (message !== undefined && index >= first + nth) range.push({ message, seq, origin });
    }
    return range;
  });
}

/** The entry of each reference, resolved from last to first. The numbers never decrease within the list. */
function resolveSeqs(refs: readonly MessageRef[], handoffSeq: number): readonly number[] {
  const ownerSeqs: number[] = [];
  let next = handoffSeq;
  for (const [reverseIndex, ref] of refs.toReversed().entries()) {
    if (isRange(ref)) next = ref[0];
    else if ("message" in ref && ref.seq !== undefined) next = Math.min(ref.seq, next);
    ownerSeqs[refs.length - 1 - reverseIndex] = next;
  }
  return ownerSeqs;
}
