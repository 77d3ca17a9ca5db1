/**
 * Pawl: an agent loop that never slips back.
 */

export { estimateTokens } from "./context/estimate.js";
export type {
  Entry,
  Event,
  HookPoint,
  HookRecord,
  PendingApproval,
  PublicEvent,
  PublicEventType,
  Reason,
  RunLimits,
  RunResult,
  SessionInfo,
  State,
  Status,
  ToolChoice,
} from "./core/index.js";
export * from "./core/message.js";
export { type Agent, type AgentOptions, type AnyModel, createAgent } from "./create-agent.js";
export {
  createEngine,
  type Engine,
  type EngineAgent,
  type EngineOptions,
  type Plugin,
  type PluginContext,
} from "./create-engine.js";
export { createWorker } from "./create-worker.js";
export type { Contributions } from "./engine/contributions.js";
export { createPluginManager, type PluginManager } from "./engine/plugins.js";
export type { Worker, WorkerOptions, WorkerReport, WorkingAgent } from "./engine/worker.js";
export { type ErrorCode, errorCodes, PawlError } from "./errors.js";
export type { Clock } from "./ports/clock.js";
export type {
  CompactionService,
  CompactionTask,
  CompactionView,
  ContextSize,
  Summary,
  SummaryPrompt,
} from "./ports/compaction.js";
export type { Context, ContextManager, ContextView, Hint, RunData } from "./ports/context.js";
export type {
  CompactionSubject,
  FailureSubject,
  Hook,
  HookContext,
  HookInput,
  ModelAnswerSubject,
  ModelCallChange,
  ModelCallSubject,
  RunSubject,
  StepResultSubject,
  StepSubject,
  StopSubject,
  ToolCallSubject,
  ToolResultSubject,
} from "./ports/hook.js";
export type {
  JsonSchema,
  MessageDelta,
  Model,
  ModelDelta,
  ModelRequest,
  ModelTimeouts,
  RecordedAttempt,
  ToolSpecification,
} from "./ports/model.js";
export type { Observer } from "./ports/observer.js";
export type { RetryOptions, RetryPolicy } from "./ports/retry.js";
export type { OutputService, Price, PriceTable, Rates, Services, UsageService } from "./ports/services.js";
export type { Owner, SessionSummary, Store } from "./ports/store.js";
export type { Sized, TokenCount, TokenEstimator, Tokenizer } from "./ports/tokens.js";
export type {
  AnyTool,
  CanExecuteTool,
  Permission,
  PermissionContext,
  PermissionRequest,
  Reconciled,
  Tool,
  ToolContext,
} from "./ports/tool.js";
export type {
  LoopTrace,
  TracedAttempt,
  TracedCall,
  TracedHook,
  TracedWait,
  TraceRecord,
  TraceRecordOf,
  TraceSpan,
} from "./ports/trace.js";
export type { RunStream } from "./runtime/agent.js";
export { type AiSdkTool, fromAiSdkTool } from "./runtime/ai-sdk-tool.js";
export type { AnswerOptions, Answers, Decision } from "./runtime/answer.js";
export type { OpenTextPart } from "./runtime/assembled.js";
export {
  type Client,
  type ClientOptions,
  type ClientSession,
  createClient,
  type GivenAnswer,
} from "./runtime/client.js";
export type { CompactionOptions } from "./runtime/compaction.js";
export type { ContextOptions } from "./runtime/context-options.js";
export { done, TaskComplete } from "./runtime/done.js";
export type { View } from "./runtime/iterate.js";
export type { Callbacks, WatchOptions } from "./runtime/listeners.js";
export { modelRequests } from "./runtime/model-requests.js";
export type { Fallback } from "./runtime/models.js";
export type { Limits } from "./runtime/parts.js";
export { createRedaction, type Redact, type RedactOptions, redactJson } from "./runtime/redact.js";
export { recordedAttempts } from "./runtime/replay/recorded-attempts.js";
export type { Replay, ReplayDifference, ReplayOptions } from "./runtime/replay/replay.js";
export type { Input, OutputOptions, StartOptions } from "./runtime/request.js";
export type { LocalOptions } from "./runtime/run-locals.js";
export type { ServiceOptions } from "./runtime/services.js";
export type { Resume, SendOptions, Session } from "./runtime/session.js";
export type { Run } from "./runtime/start-run.js";
export { pendingApprovals, type StoredApproval } from "./runtime/stored-approvals.js";
export type { Snapshot, StreamItem } from "./runtime/subscription.js";
export type { Tools } from "./runtime/tools.js";
export { type TraceOptions, traceSession } from "./runtime/trace/trace-session.js";
export { createMemoryStore } from "./stores/memory.js";
export { isOwnerDead } from "./stores/owner.js";
export { type Pruned, pruneSessions } from "./stores/prune.js";
export { defineTool } from "./tools/define.js";
