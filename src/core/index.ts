/**
 * `pawl/core`: the loop as a pure state machine. It has no I/O, no clock and no randomness, so it runs anywhere.
 */

export { type CacheBreak, textOfCacheBreak } from "./data/cache-break.js";
export type { CountedTokens } from "./data/counted-tokens.js";
export { type Difference, differenceText, excerpts, firstDifference } from "./data/difference.js";
export { type FileEdit, fileEditIn } from "./data/file-edit.js";
export { escapeCharacter, showHidden } from "./data/hidden-characters.js";
export { canonicalJson, checkJson, parseJson } from "./data/json.js";
export { type Label, labelKey, readLabel } from "./data/label.js";
export {
  type AssistantMessage,
  type AssistantPart,
  type Fault,
  type FileChange,
  type FilePart,
  type FinishReason,
  type FullOutput,
  type Json,
  type Message,
  type ModelFailure,
  type ModelFailureKind,
  type ProviderApproval,
  type ProviderMetadata,
  type ReasoningPart,
  type SourcePart,
  type TextPart,
  type ToolCallPart,
  type ToolMessage,
  type ToolOutput,
  type ToolResultPart,
  textOf,
  toolCallsOf,
  type Usage,
  type UserMessage,
  type UserPart,
} from "./data/message.js";
export { nearestName } from "./data/nearest-name.js";
export { type InterruptedReason, type Reason, reasons, statusOf } from "./data/reasons.js";
export {
  type DataPatch,
  maxDataBytes as mostDataBytes,
  maxDataKeyCharacters as mostDataKeyCharacters,
  type SessionData,
} from "./data/session-data.js";
export { type Skeleton, skeletonOf } from "./data/skeleton.js";
export { addUsage } from "./data/usage.js";
export { type Advance, advance, consequences } from "./machine/consequences.js";
export type { Effect, EffectType } from "./machine/effect.js";
export { dueAt, effects } from "./machine/effects.js";
export type {
  AfterFailure,
  Answer,
  Entry,
  Event,
  EventBody,
  EventOf,
  EventType,
  HookPoint,
  HookRecord,
  Overruled,
  PolicyDecision,
  RunOptions,
  RunToolChoice,
  Timer,
  Timing,
  ToolChoice,
} from "./machine/event.js";
export type { HistorySource, SeededHistory } from "./machine/history.js";
export { eventsOf, type InboxBody, type InboxMessage } from "./machine/inbox.js";
export type { MessageRef } from "./machine/message-ref.js";
export type { PermissionRule } from "./machine/reserved-events.js";
export type { RunLimits } from "./machine/run-limits.js";
export {
  type Aborted,
  type AwaitingHuman,
  type Call,
  type CallOutcome,
  type CallPolicy,
  type ChildSleep,
  type Completed,
  type Counters,
  type Cut,
  callOf,
  type Failed,
  type Failing,
  formatVersion,
  type HeldQuestion,
  hasCalls,
  type Idle,
  initialFormat,
  initialState,
  isAsleep,
  isResting,
  isTerminal,
  isWaiting,
  type ModelRunning,
  maxRestarts,
  type OpenQuestion,
  oldestFormat,
  openQuestionsOf,
  type Preparing,
  type Purpose,
  type Queued,
  type Recover,
  type RunState,
  type SessionBinding,
  type SessionInfo,
  type State,
  type Status,
  type Stopping,
  type TerminalState,
  type ToolRunning,
  type WaitKind,
} from "./machine/state.js";
export { nameOfCondition, type PlainCondition, type RecordedCondition } from "./machine/stop-condition.js";
export { type Refusal, refusal, transition } from "./machine/transition.js";
export { type EventFit, transitionTable } from "./machine/transition-table.js";
export { blobOf, blobsOf, outputIn } from "./transcript/blob-references.js";
export { compactionRange, summaryMessage } from "./transcript/compaction.js";
export { type CallRecord, textOfOutput } from "./transcript/results.js";
export type { RunRecord } from "./transcript/run-record.js";
export { appendEntry, createTranscript, type Transcript } from "./transcript/transcript.js";
export { type ChildPlace, type ChildQuestions, questionPlaces } from "./view/child-questions.js";
export { publicEvents } from "./view/entry-events.js";
export {
  approvalsOf,
  askedAt,
  type PendingApproval,
  type RunResult,
  type RunWait,
  resultOf,
  textOfEnd,
} from "./view/outcome.js";
export type { PublicEvent, PublicEventBody, PublicEventOf, PublicEventType } from "./view/public-event.js";
export { buildOverview, type SessionOverview } from "./view/session-overview.js";
