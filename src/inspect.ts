/**
 * `pawl/inspect`: what a recorded session did. Its steps with their times, the trace of every decision, the requests that its models
 * got, and where it is held.
 */

export { isHeldHere, isHolderDead } from "./platform/holder.js";
export type { RecordedAttempt } from "./ports/model.js";
export type {
  LoopTrace,
  TracedAttempt,
  TracedCall,
  TracedHook,
  TracedSource,
  TracedToolStep,
  TracedTry,
  TracedWait,
  TraceRecord,
  TraceRecordOf,
  TraceSpan,
} from "./ports/trace.js";
export type { Replay, ReplayDifference, ReplayOptions } from "./runtime/agent/replay-types.js";
export { isDrivenBy } from "./runtime/api/build-agent.js";
export type { ModelRequestOptions } from "./runtime/api/check-call-options.js";
export {
  type ModelRequestsOptions,
  modelRequest,
  modelRequests,
  type RequestOfStep,
} from "./runtime/api/model-requests.js";
export {
  findBeginning,
  findOpenRun,
  readSessionLook,
  type SessionBeginning,
} from "./runtime/api/session-beginning.js";
export { recordedAttempts } from "./runtime/replay/recorded-attempts.js";
export {
  type SessionStep,
  type SessionStepCall,
  type StepsOptions,
  type StepsPage,
  sessionSteps,
} from "./runtime/trace/session-steps.js";
export {
  sessionTracePage,
  type TraceOptions,
  type TracePage,
  type TracePageOptions,
  traceSession,
} from "./runtime/trace/trace-session.js";
