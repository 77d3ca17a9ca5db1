/**
 * `pawl`: agents, sessions, engines and workers.
 */

export type { CompactionOptions } from "./context/compaction-options.js";
export type { ContextOptions } from "./context/context-options.js";
export { estimateTokens } from "./context/estimate.js";
export type { ServiceOptions, ToolOutputOptions } from "./context/services.js";
export type { CacheBreak, CacheUsage } from "./core/data/cache-break.js";
export type { CountedTokens } from "./core/data/counted-tokens.js";
export {
  type AssistantMessage,
  type AssistantPart,
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
} from "./core/data/message.js";
export type { ModelSettings, ReasoningEffort } from "./core/data/model-settings.js";
export { addUsage } from "./core/data/usage.js";
export type {
  CallOutcome,
  PendingApproval,
  PermissionRule,
  PublicEvent,
  PublicEventOf,
  PublicEventType,
  Reason,
  RunLimits,
  RunResult,
  RunToolChoice,
  RunWait,
  SessionInfo,
  State,
  Status,
  ToolChoice,
} from "./core/index.js";
export type { SourceTrust } from "./core/machine/sources.js";
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
export { createPluginManager, type PluginManager } from "./engine/plugins.js";
export { createSchedules, type Schedules, type SchedulesOptions } from "./engine/schedules/create-schedules.js";
export type {
  ListedSchedule,
  Schedule,
  ScheduleBody,
  ScheduleInfo,
  ScheduleTime,
} from "./engine/schedules/schedule.js";
export type { Worker, WorkerOptions, WorkerReport, WorkingAgent } from "./engine/worker-options.js";
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
export type {
  Context,
  ContextManager,
  ContextSource,
  ContextView,
  Hint,
  RunData,
  RunPromptContext,
  SourceText,
  SystemPrompt,
} from "./ports/context.js";
export type {
  CompactionStartSubject,
  CompactionSubject,
  FailureSubject,
  Hook,
  HookContext,
  HookInput,
  ModelAnswerSubject,
  ModelCallChange,
  ModelCallSubject,
  ModelStreamSubject,
  RunSubject,
  StepResultSubject,
  StepSubject,
  StopSubject,
  ToolCallSubject,
  ToolResultSubject,
} from "./ports/hook.js";
export type {
  DeltaBody,
  JsonSchema,
  MessageDelta,
  Model,
  ModelDelta,
  ModelRequest,
  ModelRun,
  ModelTimeouts,
  ProviderToolReference,
  RunModel,
  ToolSpecification,
} from "./ports/model.js";

export type { EventContext, Observer } from "./ports/observer.js";
export type { CanExecuteTool, Permission, PermissionRequest } from "./ports/permission.js";
export type { PromptCache } from "./ports/prompt-cache.js";
export type { RepairRequest, RepairToolCall } from "./ports/repair.js";
export type { RetryOptions, RetryPolicy } from "./ports/retry.js";

export type { OutputService, Price, PriceTable, Rates, Services, UsageService, WholeOutput } from "./ports/services.js";
export type { SessionData, ToolData } from "./ports/session-data.js";
export type { Signal, SignalResult } from "./ports/signal.js";
export type { StepView, StopCondition } from "./ports/stop-condition.js";
export type { SessionSummary, Store } from "./ports/store.js";
export type { TokenCount, TokenEstimator, Tokenizer } from "./ports/tokens.js";
export type {
  Answered,
  AnyTool,
  FinishedToolStep,
  InputSchema,
  Jsonified,
  PermissionContext,
  Question,
  Reconciled,
  RecoverOption,
  RunTool,
  Signalled,
  SleepOptions,
  StepContext,
  StepOptions,
  Tool,
  ToolContext,
  ToolResult,
  ToolRetry,
  ToolRun,
  WaitForOptions,
} from "./ports/tool.js";
export type { NoticeFailure, PushSubscriptions, SubscribeResult, WorkerNotices } from "./ports/worker-notices.js";
export type { WorkerScores } from "./ports/worker-scores.js";
export type { AgentToolOptions } from "./runtime/agent/agent-tool.js";
export type { AbortOptions, AnswerOptions, Answers, ApprovalDecision } from "./runtime/agent/answer-types.js";
export type { DelayOptions } from "./runtime/agent/delay.js";
export type { Handoff, HandoffAgent, HandoffView } from "./runtime/agent/handoffs.js";
export type { History, HistoryMessage, HistoryOptions } from "./runtime/agent/history.js";
export type { Input, InputFile, InputMessage, InputPart } from "./runtime/agent/input-parts.js";
export type { Limits } from "./runtime/agent/limits.js";
export type { ResumeOptions } from "./runtime/agent/local-run-options.js";
export type { RunParams } from "./runtime/agent/params.js";
export { type CallableAgent, readAgentTool } from "./runtime/agent/read-agent-tool.js";
export type { OutputOptions, Sender, StartOptions, SteerOptions } from "./runtime/agent/run-input.js";
export { stepCount, textMatches, toolCalled } from "./runtime/agent/stop-conditions.js";
export { createStreamRedaction, type StreamRedactionOptions } from "./runtime/agent/stream-redaction.js";
export type {
  EventsOptions,
  FamilyItem,
  Preliminary,
  SessionSource,
  Snapshot,
  StreamItem,
} from "./runtime/agent/stream-types.js";
export type { RunStream } from "./runtime/api/build-agent.js";
export {
  type Client,
  type ClientOptions,
  type ClientSession,
  createClient,
  type GivenAnswer,
  type PostOptions,
} from "./runtime/api/client.js";
export {
  type ClientOption,
  type ClientRequest,
  type ClientRunOptions,
  createClientCheck,
} from "./runtime/api/client-requests.js";
export type { CompactOptions, CompactResult } from "./runtime/api/compaction.js";
export type { Delayed, ScheduledInput, ScheduledOptions } from "./runtime/api/delayed.js";
export type { View } from "./runtime/api/iterate.js";
export type { RedactionOptions, RedactionResult } from "./runtime/api/redact.js";
export type { Resume, SendOptions, Session } from "./runtime/api/session-handle.js";
export type { SentSignal, SignalOptions } from "./runtime/api/signal.js";
export { type PendingApprovalsOptions, pendingApprovals, type StoredApproval } from "./runtime/api/stored-approvals.js";
export {
  type GuardInput,
  type GuardOptions,
  type GuardOutput,
  type GuardVerdict,
  guard,
} from "./runtime/hooks/guard.js";
export type { OpenTextPart, WrittenInput } from "./runtime/model/assembled-message.js";
export type { Fallback } from "./runtime/model/models.js";
export type { DeepPartial, PartialOutput } from "./runtime/model/partial-output.js";
export type { Callbacks, WatchOptions } from "./runtime/observers/listeners.js";
export {
  createRedaction,
  type Redact,
  type RedactOptions,
  redactJson,
  redactOutput,
} from "./runtime/observers/redact.js";
export { type AiSdkTool, fromAiSdkTool } from "./runtime/tools/ai-sdk-tool.js";
export type { Tools } from "./runtime/tools/compile-tools.js";
export { type Done, done, TaskComplete } from "./runtime/tools/done.js";
export { StepError, type StepErrorCode } from "./runtime/tools/step-error.js";
export { createMemoryStore } from "./stores/memory/index.js";
export { type DeleteOptions, deleteSession } from "./stores/shared/delete-session.js";
export { type Pruned, type PruneOptions, pruneSessions } from "./stores/shared/prune.js";
export { type ExportOptions, exportSessions } from "./stores/transfer/export.js";
export { type Imported, type ImportOptions, importSessions } from "./stores/transfer/import.js";
export { type DefinedTool, defineTool, defineToolFor, type InputOf, type RawInputOf } from "./tools/lib/define-tool.js";
export { type CallOf, type InferUiTools, isCallOf } from "./tools/lib/tool-types.js";
