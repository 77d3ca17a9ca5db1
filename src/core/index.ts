/**
 * `pawl/core`: the loop as a pure state machine. No I/O, no clock, no chance; it runs anywhere.
 */

export { placeOf, summaryMessage } from "./compaction.js";
export { type Advance, advance, consequences } from "./consequences.js";
export { type Difference, differenceText, excerpts, firstDifference } from "./difference.js";
export type { Effect, EffectType } from "./effect.js";
export { dueAt, effects } from "./effects.js";
export type {
  AfterFailure,
  Answer,
  Decision,
  Entry,
  Event,
  EventBody,
  EventOf,
  EventType,
  HookPoint,
  HookRecord,
  RunOptions,
  Timer,
  Timing,
  ToolChoice,
} from "./event.js";
export { eventsOf, type InboxBody, type InboxMessage } from "./inbox.js";
export { canonicalJson, checkJson, parseJson } from "./json.js";
export { blobOf, blobsOf, outputIn } from "./kept.js";
export type { Measured } from "./measured.js";
export * from "./message.js";
export { approvalsOf, askedAt, type PendingApproval, type RunResult, resultOf } from "./outcome.js";
export { type Pair, pairs } from "./pairs.js";
export type { PublicEvent, PublicEventBody, PublicEventType } from "./public-event.js";
export { type InterruptedReason, type Reason, reasons, statusOf } from "./reasons.js";
export { type CallRecord, textOfOutput } from "./results.js";
export type { RunRecord } from "./run-record.js";
export * from "./state.js";
export { appendEntry, createTranscript, type Transcript } from "./transcript.js";
export { type Refusal, refusal, transition } from "./transition.js";
export { publicEvents } from "./view.js";
