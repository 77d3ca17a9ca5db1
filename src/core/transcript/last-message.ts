/**
 * The last message of a run, and how the end of the run affects it: it may have been cut off or refused.
 *
 * 1. Text that was cut off is shown when the run ends, with a note. Until then another attempt may replace it.
 * 2. A refused answer leaves the conversation with all of its parts: the messages that it continued, their prompts, and the results of its
 *    calls. User messages stay.
 */
import { type AssistantMessage, guardTrippedCode, type Message } from "../data/message.js";
import type { EventOf } from "../machine/event.js";
import { createUserMessage } from "./compaction.js";
import { invalidateFrom } from "./last-sent.js";
import { continuePrompt, cutOffNote } from "./loop-prompts.js";
import {
  type AnswerAttempt,
  type CutOff,
  continuedText,
  continuesAnswer,
  type LastMessage,
  type RunRecord,
} from "./run-record.js";
import type { Transcript } from "./transcript-record.js";

/** The text that arrived before the attempt was cut off; null if there is none, or if a guard hides it. */
export function toCutOff(
  seq: number,
  { modelCallIndex, attempt, partial, failure }: EventOf<"model_failed">,
): CutOff | null {
  if (partial === undefined || failure.code === guardTrippedCode) return null;
  return { seq, modelCallIndex, attempt, text: partial.text };
}

export function endRun(transcript: Transcript, seq: number, event: EventOf<"run_finished">): void {
  const { run } = transcript;
  if (run === null) return;
  if (event.output !== undefined) run.output = event.output;
  if (event.condition !== undefined) run.condition = event.condition;
  const refusedSeq = findRefusedSeq(transcript, run, event);
  if (refusedSeq !== undefined) withdrawAnswer(transcript, run, refusedSeq);
  if (run.cutOff !== null) showCutOff(transcript, run, run.cutOff, seq);
}

/** The first entry of a refused answer. A guard may refuse an answer at a message that continues earlier ones. */
function findRefusedSeq(
  transcript: Transcript,
  { answerSeq }: RunRecord,
  { reason, refusedSeq }: EventOf<"run_finished">,
): number | undefined {
  if (reason !== "output_refused") return undefined;
  return refusedSeq ?? (continuesAnswer(transcript) ? answerSeq : undefined);
}

/** The attempt without its message, because refused content stays only in the log. */
export function toAnswerAttempt(last: LastMessage | null): AnswerAttempt | null {
  if (last === null) return null;
  const { message: _message, cut: _cut, ...attempt } = last;
  return attempt;
}

function showCutOff(transcript: Transcript, run: RunRecord, cutOff: CutOff, seq: number): void {
  const { seq: origin, modelCallIndex, attempt, text } = cutOff;
  const message: AssistantMessage = { role: "assistant", parts: [{ type: "text", text }] };
  run.last = { modelCallIndex, attempt, message, cut: true };
  run.partial = (continuedText(transcript) + text).trim();
  run.cutOff = null;
  // The request for the final summary is not part of the conversation, and neither is its answer.
  if (run.purpose === "summary") return;
  transcript.messages.push(message, createUserMessage(cutOffNote));
  transcript.seqs.push(seq, seq);
  transcript.origins.push(origin, origin);
}

function withdrawAnswer(transcript: Transcript, run: RunRecord, refusedSeq: number): void {
  run.refused = toAnswerAttempt(run.last);
  run.last = null;
  run.answer = "";
  run.doneMessage = undefined;
  transcript.countedTokens = null;
  if (refusedSeq <= run.startSeq) return;
  const { messages, seqs, origins } = transcript;
  const first = findFirstSince(transcript, refusedSeq);
  invalidateFrom(transcript.lastSent, first);
  transcript.messages = messages.filter((message, index) => index < first || isUserMessage(message));
  for (let index = messages.length - 1; index >= first; index -= 1) {
    if (isUserMessage(messages[index])) continue;
    seqs.splice(index, 1);
    origins.splice(index, 1);
  }
}

/** The index of the first message of this entry or a later one. A result stays with its call. */
function findFirstSince({ messages, seqs }: Transcript, seq: number): number {
  const index = seqs.findIndex((shownSince) => shownSince >= seq);
  if (index === -1) return messages.length;
  return messages[index]?.role === "tool" ? index - 1 : index;
}

/** Whether the message is a user message. This includes hints and notes from the agent's author, which also stay. */
function isUserMessage(message: Message | undefined): boolean {
  if (message?.role !== "user") return false;
  const [part, ...others] = message.parts;
  return others.length > 0 || part?.type !== "text" || part.text !== continuePrompt;
}
