/**
 * The transcript: the part of the log that a model sees. Each entry updates it, so a step costs the same at the end of
 * a long session as at its start.
 *
 * 1. Every tool call has exactly one result, in the order of the calls; a message with calls is followed by all of
 *    them.
 * 2. A model call sees the log up to its `contextSeq`. Later input is shown after the message and the results of that
 *    call. While a provider pauses, input waits until its turn is over.
 * 3. Ids of calls are unique within the transcript, even if the provider repeats an id.
 * 4. A message that was shown to a model never changes, and its object stays the same. A compaction removes the oldest
 *    messages; it may restore the provider's ids in kept messages. The end of a run may remove a refused answer.
 * 5. The size of the transcript grows with the messages that the model sees, not with the log.
 */

import { countedTokensOf } from "../data/counted-tokens.js";
import { type Message, type ToolOutput, type Usage, type UserMessage, untrimmedTextOf } from "../data/message.js";
import { addUsage } from "../data/usage.js";
import type { Entry, EventOf } from "../machine/event.js";
import type { ReservedEventType } from "../machine/reserved-events.js";
import type { CallOutcome } from "../machine/state.js";
import { noCache, noteAnswer, noteCall } from "./cache-breaks.js";
import { callRecords, countCalls, lastFault, recordEntry, recordSkip } from "./call-records.js";
import { compact, noteSummary, uniqueIn, userText } from "./compaction.js";
import { handOver } from "./handoff.js";
import { addHistory } from "./history.js";
import { answerAttempt, cutOffOf, endRun } from "./last-message.js";
import { approvedText, finishedStepsText, handoffText, refusalText, unclearEndText } from "./loop-prompts.js";
import { listedMessages } from "./message-references.js";
import { countPause, noPauses } from "./pauses.js";
import { type CallRecord, lateResultNote, noteKept, noteShown } from "./results.js";
import { changedFrom, noteSent, nothingSent } from "./reuse.js";
import {
  continuesAnswer,
  createRun,
  noteFailedAttempt,
  noteHooks,
  notePrepared,
  noteWarning,
  type RunRecord,
} from "./run-record.js";
import { changeData, noData } from "./session-data.js";
import { isShown, promptOf } from "./shown-next.js";
import { noteAdditions } from "./source-notes.js";
import { finishedSteps } from "./tool-steps.js";
import type { Transcript, UnseenEventType } from "./transcript-record.js";

export type { Transcript } from "./transcript-record.js";

/** An empty transcript. */
export function createTranscript(): Transcript {
  return {
    messages: [],
    seqs: [],
    origins: [],
    calls: new Map(),
    later: [],
    queued: noRequests,
    runs: [],
    summaries: [],
    run: null,
    ids: new Set(),
    originals: null,
    compaction: null,
    asked: null,
    appended: null,
    shownResults: { budget: undefined, hasFiles: false, keptSeq: 0 },
    promptHash: null,
    toolsHash: null,
    sources: null,
    sourceNotes: null,
    settings: null,
    promptCache: null,
    pauses: noPauses,
    sentList: null,
    lastSent: nothingSent(),
    cache: noCache(),
    data: noData,
    countedTokens: null,
  };
}

const noRequests: Transcript["queued"] = new Map();
const noOptions = {};

/** Mutates the transcript: adds the next entry of the log. */
export function appendEntry(transcript: Transcript, { seq, event }: Entry): void {
  if (event.hooks !== undefined && transcript.run !== null) noteHooks(transcript.run, event.hooks);
  changeData(transcript, event);
  switch (event.type) {
    case "history_added":
      addHistory(transcript, seq, event);
      break;
    case "run_started":
      startRun(transcript, seq, event);
      break;
    case "run_queued":
      queue(transcript, seq, event);
      break;
    case "steered":
      steer(transcript, seq, event);
      break;
    case "late_result":
      addLateResult(transcript, seq, event);
      break;
    case "prepared":
      prepare(transcript, seq, event);
      break;
    case "compaction_requested":
    case "compacted":
      compact(transcript, event);
      break;
    case "model_finished":
      addAnswer(transcript, seq, event);
      break;
    case "model_failed":
      if (transcript.run !== null) noteFailure(transcript.run, seq, event);
      break;
    case "tool_decided":
      recordEntry(transcript.calls, { seq, event });
      if (transcript.run !== null) noteWarning(transcript.run, event);
      break;
    case "answered":
    case "tool_failed":
    case "timer_fired":
    case "tool_step_started":
    case "tool_step_finished":
    case "tool_asked":
      recordEntry(transcript.calls, { seq, event });
      break;
    case "tool_finished":
      finish(transcript, seq, event);
      break;
    case "handed_off":
      handOver(transcript, seq, event);
      break;
    case "run_finished":
      endRun(transcript, seq, event);
      break;
    case "abort_requested":
      for (const [queuedSeq, { runId }] of transcript.queued) if (runId === event.runId) unqueue(transcript, queuedSeq);
      break;
    default:
      event satisfies EventOf<ReservedEventType | UnseenEventType>;
  }
}

function steer(transcript: Transcript, seq: number, { input, skip }: EventOf<"steered">): void {
  for (const message of input) transcript.later.push({ seq, message });
  if (skip !== undefined) recordSkip(transcript.calls, seq);
}

function addLateResult(transcript: Transcript, seq: number, event: EventOf<"late_result">): void {
  transcript.later.push({ seq, message: userText(lateResultNote(event, seq)) });
  noteKept(transcript.shownResults, { output: event.output, seq });
}

function queue(transcript: Transcript, seq: number, event: EventOf<"run_queued">): void {
  const { runId, input, options, by, traceparent } = event;
  const request = {
    runId,
    input,
    ...(options === undefined ? {} : { options }),
    ...(by === undefined ? {} : { by }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
  transcript.queued = new Map([...transcript.queued, [seq, request]]);
}

function unqueue(transcript: Transcript, seq: number): void {
  const rest = [...transcript.queued].filter(([queuedSeq]) => queuedSeq !== seq);
  transcript.queued = rest.length === 0 ? noRequests : new Map(rest);
}

function show(transcript: Transcript, seq: number, message: Message, origin = seq): void {
  transcript.messages.push(message);
  transcript.seqs.push(seq);
  transcript.origins.push(origin);
}

/** Shows the input that arrived during a model call. */
function showLater(transcript: Transcript, contextSeq: number, shownAt?: number): void {
  if (transcript.later.length === 0) return;
  const rest: Transcript["later"] = [];
  for (const item of transcript.later) {
    if (item.seq <= contextSeq)
      show(transcript, shownAt ?? Math.max(transcript.seqs.at(-1) ?? 0, item.seq), item.message, item.seq);
    else rest.push(item);
  }
  transcript.later = rest;
}

function startRun(transcript: Transcript, seq: number, event: EventOf<"run_started">): void {
  const queued = event.queuedSeq === undefined ? undefined : transcript.queued.get(event.queuedSeq);
  if (event.queuedSeq !== undefined) unqueue(transcript, event.queuedSeq);
  showLater(transcript, seq);
  const input = event.input ?? queued?.input ?? [];
  const origin = event.input === undefined ? event.queuedSeq : seq;
  for (const message of input) show(transcript, seq, message, origin);
  transcript.calls = new Map();
  transcript.runs = transcript.runs.concat(seq);
  // Another agent may have other context sources.
  if ((event.options ?? queued?.options)?.agent !== undefined) transcript.sources = null;
  const options = event.options ?? queued?.options ?? noOptions;
  transcript.run = createRun(event, { seq, input, options, sent: queued ?? event });
}

function noteFailure(run: RunRecord, seq: number, event: EventOf<"model_failed">): void {
  run.cutOff = cutOffOf(seq, event);
  noteFailedAttempt(run, event);
  if (event.usage !== undefined) countUsage(run, event, event.usage);
}

function countUsage(run: RunRecord, { modelCallIndex }: { readonly modelCallIndex: number }, usage: Usage): void {
  const known = run.stepUsage.modelCallIndex === modelCallIndex ? run.stepUsage.usage : {};
  run.stepUsage = { modelCallIndex, usage: addUsage(known, usage) };
}

function prepare(transcript: Transcript, seq: number, event: EventOf<"prepared">): void {
  const { run } = transcript;
  if (run === null) return;
  notePrepared(run, seq, event);
  if (event.purpose !== "unpause" || transcript.calls.size > 0) run.pausedSince = null;
  else run.pausedSince ??= event.modelCallIndex;
  transcript.shownResults.budget = event.resultBytes;
  if (event.promptHash !== undefined) transcript.promptHash = event.promptHash;
  if (event.toolsHash !== undefined) transcript.toolsHash = event.toolsHash;
  if (event.settings !== undefined) transcript.settings = event.settings;
  transcript.promptCache = event.promptCache ?? null;
  if (event.input !== undefined) changeInput(transcript, run, event.input);
  const prompt = promptOf(event);
  if (prompt !== null) showPrompt(transcript, run, seq, event, prompt);
  else if (!continuesAnswer(transcript)) run.answer = "";
  // A provider that paused has not finished its turn: nothing may come between its messages.
  if (event.purpose !== "unpause") showLater(transcript, event.contextSeq, seq);
  for (const message of event.append ?? []) show(transcript, seq, message);
  noteAdditions(transcript, seq, event);
  transcript.sentList = event.messages === undefined ? null : listedMessages(transcript, seq, event.messages);
  const { count } = transcript.lastSent;
  noteSent(transcript, run);
  noteCall(transcript, run, event, { count });
  transcript.pauses = countPause(transcript.pauses, event.at);
}

/** A hook may change the input of a run before a model has seen it. */
function changeInput(transcript: Transcript, run: RunRecord, input: readonly UserMessage[]): void {
  const { messages, seqs, origins, lastSent } = transcript;
  run.input = input;
  const from = seqs.indexOf(run.startSeq);
  if (from === -1) return;
  changedFrom(lastSent, from);
  const count = seqs.lastIndexOf(run.startSeq) - from + 1;
  transcript.messages = [...messages.slice(0, from), ...input, ...messages.slice(from + count)];
  seqs.splice(from, count, ...input.map(() => run.startSeq));
  origins.splice(from, count, ...input.map(() => run.startSeq));
}

/** Shows a prompt once per step: a restart prepares the same step again. */
function showPrompt(
  transcript: Transcript,
  run: RunRecord,
  seq: number,
  { modelCallIndex }: EventOf<"prepared">,
  text: string,
): void {
  if (isShown(run, { modelCallIndex })) return;
  run.lastPrompt = { modelCallIndex, seq };
  show(transcript, seq, userText(text));
}

function addAnswer(transcript: Transcript, seq: number, event: EventOf<"model_finished">): void {
  const { run } = transcript;
  if (run === null) return;
  countUsage(run, event, event.usage);
  noteAnswer(transcript.cache, event);
  transcript.pauses = { lastCallAt: event.timing.startedAt, count: transcript.pauses.count };
  run.steps = event.modelCallIndex;
  run.leftSteps = 0;
  run.doneMessage = undefined;
  const text = untrimmedTextOf(event.message);
  // The model goes on exactly where it stopped, which may be within a word: nothing comes between the parts.
  const goesOn = continuesAnswer(transcript);
  run.answer = goesOn ? run.answer + text : text;
  if (!goesOn) run.answerSeq = seq;
  run.cutOff = null;
  const { modelCallIndex, attempt, providerMetadata } = event;
  const received = providerMetadata === undefined ? event.message : { ...event.message, providerMetadata };
  const message = run.purpose === "summary" ? event.message : uniqueIn(transcript, received);
  const continues = goesOn ? answerAttempt(run.last) : null;
  run.last =
    continues === null ? { modelCallIndex, attempt, message } : { modelCallIndex, attempt, message, continues };
  if (run.purpose === "summary") return void noteSummary(transcript, run, seq);
  transcript.calls = callRecords(event.runId, event.modelCallIndex, message);
  run.lastCall = countCalls(transcript.calls, seq, run.limits.maxToolCallsPerStep, run.lastCall);
  if (event.ending === "unclear")
    for (const call of transcript.calls.values()) call.cause = { seq, text: unclearEndText };
  show(transcript, seq, message);
  // The count is of what was sent. Another list than the conversation says nothing of the conversation's size.
  if (transcript.sentList === null)
    transcript.countedTokens = countedTokensOf(event.usage, transcript.messages.length) ?? transcript.countedTokens;
}

function finish(transcript: Transcript, seq: number, event: EventOf<"tool_finished">): void {
  const call = transcript.calls.get(event.callKey);
  if (call === undefined || call.result !== undefined) return;
  const cause = event.causeSeq !== undefined && call.cause?.seq === event.causeSeq ? call.cause : undefined;
  const output: ToolOutput = event.output ??
    cause?.output ?? {
      type: "text",
      text: textWithoutOutput(call, event.outcome, cause?.text ?? lastFault(call)),
    };
  const { timing, cut } = event;
  call.result = {
    outcome: event.outcome,
    output,
    seq: event.output === undefined && cause?.output !== undefined ? cause.seq : seq,
    ...(timing === undefined ? {} : { durationMs: timing.durationMs }),
    ...(cut === undefined ? {} : { cut }),
  };
  const { run } = transcript;
  if (run !== null && event.done?.message !== undefined) run.doneMessage ??= event.done.message;
  showResults(transcript, seq);
}

function textWithoutOutput(call: CallRecord, outcome: CallOutcome, cause: string | undefined): string {
  const handedOver = call.handoff === undefined ? undefined : handoffText(call.handoff, outcome);
  if (handedOver !== undefined) return handedOver;
  if (outcome === "ok" && call.part.approvalId !== undefined) return approvedText;
  const finished = outcome === "interrupted" ? finishedSteps(call) : undefined;
  const text = refusalText(outcome, cause);
  return finished === undefined ? text : `${text} ${finishedStepsText(finished)}`;
}

/** Shows the results of a step together, in the order of the calls, as soon as the last result is known. */
function showResults(transcript: Transcript, seq: number): void {
  for (const call of transcript.calls.values()) if (call.result === undefined) return;
  const parts = [...transcript.calls.values()].map((call) => noteShown(transcript.shownResults, call));
  show(transcript, seq, { role: "tool", parts });
}
