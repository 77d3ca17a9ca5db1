/**
 * The transcript: the part of the log that a model sees. Each entry updates it, so a step costs the same at the end of a long session as at
 * its start.
 *
 * 1. Every tool call has exactly one result, in the order of the calls. A message with calls is followed by all of their results.
 * 2. A model call sees the log up to its `contextSeq`. Later input is shown after the message and the results of that call. While a
 *    provider pauses, input waits until its turn is over.
 * 3. Call ids are unique within the transcript, even if the provider repeats an id.
 * 4. A message that was shown to a model never changes, and its object stays the same. A compaction removes the oldest messages; it may
 *    restore the provider's ids in kept messages. The end of a run may remove a refused answer.
 * 5. The size of the transcript grows with the messages that the model sees, not with the log.
 */

import { toCountedTokens } from "../data/counted-tokens.js";
import { type Message, type ToolOutput, type Usage, type UserMessage, untrimmedTextOf } from "../data/message.js";
import { applyPatch, type DataPatch, emptyData } from "../data/session-data.js";
import { addUsage } from "../data/usage.js";
import type { Entry, Event, EventOf } from "../machine/event.js";
import type { ReservedEventType } from "../machine/reserved-events.js";
import type { CallOutcome } from "../machine/state.js";
import { createCacheRecord, recordCachedCall, recordCacheUsage } from "./cache-breaks.js";
import { countRepeats, createCallRecords, lastFault, recordCallEntry, recordSkip } from "./call-records.js";
import { addWithUniqueIds, applyCompactionEvent, createUserMessage, recordSummary } from "./compaction.js";
import { applyHandoff } from "./handoff.js";
import { addHistory } from "./history.js";
import { endRun, toAnswerAttempt, toCutOff } from "./last-message.js";
import { createLastSent, invalidateFrom, recordSent } from "./last-sent.js";
import { approvedText, finishedStepsText, handoffText, refusalText, unclearEndText } from "./loop-prompts.js";
import { resolveReferences } from "./message-references.js";
import { isPromptShown, promptForPurpose } from "./next-call.js";
import { countPause, noPauses } from "./pauses.js";
import { type CallRecord, lateResultNote, showResult, trackStoredOutput } from "./results.js";
import {
  continuesAnswer,
  createRunRecord,
  type RunRecord,
  recordFailedAttempt,
  recordHooks,
  recordPrepared,
  recordRepeatWarning,
} from "./run-record.js";
import { noteAdditions } from "./source-notes.js";
import { listFinishedSteps } from "./tool-steps.js";
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
    lastSent: createLastSent(),
    cache: createCacheRecord(),
    data: emptyData,
    countedTokens: null,
  };
}

const noRequests: Transcript["queued"] = new Map();
const noOptions = {};

/** Adds the next entry of the log to the transcript. Mutates the transcript. */
export function appendEntry(transcript: Transcript, { seq, event }: Entry): void {
  if (event.hooks !== undefined && transcript.run !== null) recordHooks(transcript.run, event.hooks);
  applyDataChange(transcript, event);
  switch (event.type) {
    case "history_added":
      addHistory(transcript, seq, event);
      break;
    case "run_started":
      startRun(transcript, seq, event);
      break;
    case "run_queued":
      addQueuedRun(transcript, seq, event);
      break;
    case "steered":
      addSteer(transcript, seq, event);
      break;
    case "late_result":
      addLateResult(transcript, seq, event);
      break;
    case "prepared":
      applyPrepared(transcript, seq, event);
      break;
    case "compaction_requested":
    case "compacted":
      applyCompactionEvent(transcript, event);
      break;
    case "model_finished":
      addModelMessage(transcript, seq, event);
      break;
    case "model_failed":
      if (transcript.run !== null) recordFailure(transcript.run, seq, event);
      break;
    case "tool_decided":
      recordCallEntry(transcript.calls, { seq, event });
      if (transcript.run !== null) recordRepeatWarning(transcript.run, event);
      break;
    case "answered":
    case "tool_failed":
    case "timer_fired":
    case "tool_step_started":
    case "tool_step_finished":
    case "tool_asked":
      recordCallEntry(transcript.calls, { seq, event });
      break;
    case "tool_finished":
      addToolResult(transcript, seq, event);
      break;
    case "handed_off":
      applyHandoff(transcript, seq, event);
      break;
    case "run_finished":
      endRun(transcript, seq, event);
      break;
    case "abort_requested":
      for (const [queuedSeq, { runId }] of transcript.queued)
        if (runId === event.runId) removeQueuedRun(transcript, queuedSeq);
      break;
    default:
      event satisfies EventOf<ReservedEventType | UnseenEventType>;
  }
}

function addSteer(transcript: Transcript, seq: number, { input, skip }: EventOf<"steered">): void {
  for (const message of input) transcript.later.push({ seq, message });
  if (skip !== undefined) recordSkip(transcript.calls, seq);
}

function addLateResult(transcript: Transcript, seq: number, event: EventOf<"late_result">): void {
  transcript.later.push({ seq, message: createUserMessage(lateResultNote(event, seq)) });
  trackStoredOutput(transcript.shownResults, { output: event.output, seq });
}

function addQueuedRun(transcript: Transcript, seq: number, event: EventOf<"run_queued">): void {
  const { runId, input, options, by, traceparent, sessionInKeys } = event;
  const request = {
    runId,
    input,
    ...(options === undefined ? {} : { options }),
    ...(by === undefined ? {} : { by }),
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(sessionInKeys === undefined ? {} : { sessionInKeys }),
  };
  transcript.queued = new Map([...transcript.queued, [seq, request]]);
}

function removeQueuedRun(transcript: Transcript, seq: number): void {
  const rest = [...transcript.queued].filter(([queuedSeq]) => queuedSeq !== seq);
  transcript.queued = rest.length === 0 ? noRequests : new Map(rest);
}

function addMessage(transcript: Transcript, seq: number, message: Message, origin = seq): void {
  transcript.messages.push(message);
  transcript.seqs.push(seq);
  transcript.origins.push(origin);
}

/** Shows the input that arrived during a model call. */
function addLaterInput(transcript: Transcript, contextSeq: number, shownAt?: number): void {
  if (transcript.later.length === 0) return;
  const rest: Transcript["later"] = [];
  for (const item of transcript.later) {
    if (item.seq <= contextSeq)
      addMessage(transcript, shownAt ?? Math.max(transcript.seqs.at(-1) ?? 0, item.seq), item.message, item.seq);
    else rest.push(item);
  }
  transcript.later = rest;
}

function startRun(transcript: Transcript, seq: number, event: EventOf<"run_started">): void {
  const queued = event.queuedSeq === undefined ? undefined : transcript.queued.get(event.queuedSeq);
  if (event.queuedSeq !== undefined) removeQueuedRun(transcript, event.queuedSeq);
  addLaterInput(transcript, seq);
  const input = event.input ?? queued?.input ?? [];
  const origin = event.input === undefined ? event.queuedSeq : seq;
  for (const message of input) addMessage(transcript, seq, message, origin);
  transcript.calls = new Map();
  transcript.runs = transcript.runs.concat(seq);
  // Another agent may have different context sources.
  if ((event.options ?? queued?.options)?.agent !== undefined) transcript.sources = null;
  const options = event.options ?? queued?.options ?? noOptions;
  transcript.run = createRunRecord(event, { seq, input, options, sent: queued ?? event });
}

function recordFailure(run: RunRecord, seq: number, event: EventOf<"model_failed">): void {
  run.cutOff = toCutOff(seq, event);
  recordFailedAttempt(run, event);
  if (event.usage !== undefined) addStepUsage(run, event, event.usage);
}

function addStepUsage(run: RunRecord, { modelCallIndex }: { readonly modelCallIndex: number }, usage: Usage): void {
  const stepUsage = run.stepUsage.modelCallIndex === modelCallIndex ? run.stepUsage.usage : {};
  run.stepUsage = { modelCallIndex, usage: addUsage(stepUsage, usage) };
}

function applyPrepared(transcript: Transcript, seq: number, event: EventOf<"prepared">): void {
  const { run } = transcript;
  if (run === null) return;
  recordPrepared(run, seq, event);
  if (event.params !== undefined) run.params = event.params;
  if (event.runPrompt !== undefined) run.prompt = event.runPrompt;
  if (event.purpose !== "unpause" || transcript.calls.size > 0) run.pausedSince = null;
  else run.pausedSince ??= event.modelCallIndex;
  transcript.shownResults.budget = event.resultBytes;
  if (event.promptHash !== undefined) transcript.promptHash = event.promptHash;
  if (event.toolsHash !== undefined) transcript.toolsHash = event.toolsHash;
  if (event.settings !== undefined) transcript.settings = event.settings;
  transcript.promptCache = event.promptCache ?? null;
  if (event.input !== undefined) replaceInput(transcript, run, event.input);
  const prompt = promptForPurpose(event);
  if (prompt !== null) showPrompt(transcript, run, seq, event, prompt);
  else if (!continuesAnswer(transcript)) run.answer = "";
  // A provider that paused has not finished its turn, so nothing may come between its messages.
  if (event.purpose !== "unpause") addLaterInput(transcript, event.contextSeq, seq);
  for (const message of event.append ?? []) addMessage(transcript, seq, message);
  noteAdditions(transcript, seq, event);
  transcript.sentList = event.messages === undefined ? null : resolveReferences(transcript, seq, event.messages);
  const { count } = transcript.lastSent;
  recordSent(transcript, run);
  recordCachedCall(transcript, run, event, { count });
  transcript.pauses = countPause(transcript.pauses, event.at);
}

/** Replaces the input of a run. A hook may do this before a model has seen the input. */
function replaceInput(transcript: Transcript, run: RunRecord, input: readonly UserMessage[]): void {
  const { messages, seqs, origins, lastSent } = transcript;
  run.input = input;
  const from = seqs.indexOf(run.startSeq);
  if (from === -1) return;
  invalidateFrom(lastSent, from);
  const count = seqs.lastIndexOf(run.startSeq) - from + 1;
  transcript.messages = [...messages.slice(0, from), ...input, ...messages.slice(from + count)];
  seqs.splice(from, count, ...input.map(() => run.startSeq));
  origins.splice(from, count, ...input.map(() => run.startSeq));
}

/** Shows a prompt once per step, because a restart prepares the same step again. */
function showPrompt(
  transcript: Transcript,
  run: RunRecord,
  seq: number,
  { modelCallIndex }: EventOf<"prepared">,
  text: string,
): void {
  if (isPromptShown(run, { modelCallIndex })) return;
  run.lastPrompt = { modelCallIndex, seq };
  addMessage(transcript, seq, createUserMessage(text));
}

function addModelMessage(transcript: Transcript, seq: number, event: EventOf<"model_finished">): void {
  const { run } = transcript;
  if (run === null) return;
  addStepUsage(run, event, event.usage);
  recordCacheUsage(transcript.cache, event);
  transcript.pauses = { lastCallAt: event.timing.startedAt, count: transcript.pauses.count };
  run.steps = event.modelCallIndex;
  run.leftSteps = 0;
  run.doneMessage = undefined;
  const text = untrimmedTextOf(event.message);
  // The model continues exactly where it stopped, possibly within a word, so nothing is inserted between the parts.
  const isContinuation = continuesAnswer(transcript);
  run.answer = isContinuation ? run.answer + text : text;
  if (!isContinuation) run.answerSeq = seq;
  run.cutOff = null;
  const { modelCallIndex, attempt, providerMetadata } = event;
  const received = providerMetadata === undefined ? event.message : { ...event.message, providerMetadata };
  const message = run.purpose === "summary" ? event.message : addWithUniqueIds(transcript, received);
  const continues = isContinuation ? toAnswerAttempt(run.last) : null;
  run.last =
    continues === null ? { modelCallIndex, attempt, message } : { modelCallIndex, attempt, message, continues };
  if (run.purpose === "summary") return void recordSummary(transcript, run, seq);
  transcript.calls = createCallRecords(event.runId, event.modelCallIndex, message);
  run.lastCall = countRepeats(transcript.calls, seq, run.limits.maxToolCallsPerStep, run.lastCall);
  if (event.ending === "unclear")
    for (const call of transcript.calls.values()) call.cause = { seq, text: unclearEndText };
  addMessage(transcript, seq, message);
  // The count covers what was sent. If that was not the conversation, it says nothing about the conversation's size.
  if (transcript.sentList === null)
    transcript.countedTokens = toCountedTokens(event.usage, transcript.messages.length) ?? transcript.countedTokens;
}

function addToolResult(transcript: Transcript, seq: number, event: EventOf<"tool_finished">): void {
  const call = transcript.calls.get(event.callKey);
  if (call === undefined || call.result !== undefined) return;
  const cause = event.causeSeq !== undefined && call.cause?.seq === event.causeSeq ? call.cause : undefined;
  const output: ToolOutput = event.output ??
    cause?.output ?? {
      type: "text",
      text: describeMissingOutput(call, event.outcome, cause?.text ?? lastFault(call)),
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

function describeMissingOutput(call: CallRecord, outcome: CallOutcome, cause: string | undefined): string {
  const handedOver = call.handoff === undefined ? undefined : handoffText(call.handoff, outcome);
  if (handedOver !== undefined) return handedOver;
  if (outcome === "ok" && call.part.approvalId !== undefined) return approvedText;
  const finished = outcome === "interrupted" ? listFinishedSteps(call) : undefined;
  const text = refusalText(outcome, cause);
  return finished === undefined ? text : `${text} ${finishedStepsText(finished)}`;
}

/** Shows the results of a step together, in the order of the calls, as soon as the last result is known. */
function showResults(transcript: Transcript, seq: number): void {
  for (const call of transcript.calls.values()) if (call.result === undefined) return;
  const parts = [...transcript.calls.values()].map((call) => showResult(transcript.shownResults, call));
  addMessage(transcript, seq, { role: "tool", parts });
}

function applyDataChange(transcript: Transcript, event: Event): void {
  const patch = findPatch(event);
  if (patch !== undefined) transcript.data = applyPatch(transcript.data, patch);
}

/** The change to the session's data that an entry contains. */
function findPatch(event: Event): DataPatch | undefined {
  switch (event.type) {
    case "data_changed":
      return event.patch;
    case "tool_finished":
    case "tool_step_finished":
    case "tool_asked":
      return event.data;
    default:
      return undefined;
  }
}
