/**
 * `pawl`: agents, sessions, engines and workers.
 */

export type { CompactionOptions } from "./context/compaction-options.js";
export type { ContextOptions } from "./context/context-options.js";
export { estimateTokens } from "./context/estimate.js";
export {
  type AssistantMessage,
  type AssistantPart,
  type FilePart,
  type FinishReason,
  type Json,
  type Message,
  type ModelFailure,
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
  PendingApproval,
  PublicEvent,
  PublicEventOf,
  PublicEventType,
  Reason,
  RunResult,
  RunWait,
  SessionInfo,
  State,
  Status,
  ToolChoice,
} from "./core/index.js";
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
export { createSchedules, type Schedules } from "./engine/schedules/create-schedules.js";
export type { ListedSchedule, Schedule, ScheduleInfo } from "./engine/schedules/schedule.js";
export type { Worker, WorkerOptions, WorkerReport, WorkingAgent } from "./engine/worker-options.js";
export { type ErrorCode, errorCodes, PawlError } from "./errors.js";
export type { Clock } from "./ports/clock.js";
export type { CompactionService } from "./ports/compaction.js";
export type { ContextManager, ContextSource, ContextView, Hint, RunData, SourceText } from "./ports/context.js";
export type { Hook, HookContext, HookSubject, ModelCallChange } from "./ports/hook.js";
export type {
  JsonSchema,
  MessageDelta,
  Model,
  ModelDelta,
  ModelRequest,
  ModelTimeouts,
  ToolSpecification,
} from "./ports/model.js";

export type { EventContext, Observer } from "./ports/observer.js";
export type { CanExecuteTool, Permission, PermissionRequest } from "./ports/permission.js";
export type { PromptCache } from "./ports/prompt-cache.js";
export type { RepairToolCall } from "./ports/repair.js";
export type { RetryPolicy } from "./ports/retry.js";

export type { OutputService, Price, PriceTable, Services, UsageService } from "./ports/services.js";
export type { SessionData } from "./ports/session-data.js";
export type { StepView, StopCondition } from "./ports/stop-condition.js";
export type { SessionSummary, Store } from "./ports/store.js";
export type { TokenEstimator, Tokenizer } from "./ports/tokens.js";
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
  Signalled,
  StepContext,
  Tool,
  ToolContext,
  ToolRetry,
} from "./ports/tool.js";
export type { AnswerOptions, ApprovalDecision } from "./runtime/agent/answer-types.js";
export type { Handoff, HandoffView } from "./runtime/agent/handoffs.js";
export type { History, HistoryMessage } from "./runtime/agent/history.js";
export type { Input, InputMessage, InputPart } from "./runtime/agent/input-parts.js";
export type { Limits } from "./runtime/agent/limits.js";
export type { ResumeOptions } from "./runtime/agent/local-run-options.js";
export type { RunParams } from "./runtime/agent/params.js";
export { type CallableAgent, readAgentTool } from "./runtime/agent/read-agent-tool.js";
export type { StartOptions } from "./runtime/agent/run-input.js";
export { stepCount, textMatches, toolCalled } from "./runtime/agent/stop-conditions.js";
export { createStreamRedaction } from "./runtime/agent/stream-redaction.js";
export type {
  EventsOptions,
  FamilyItem,
  MessageSnapshot,
  PreliminaryOutput,
  SessionSource,
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
export type { CompactResult } from "./runtime/api/compaction.js";
export type { ScheduledInput } from "./runtime/api/delayed.js";
export { deleteSession } from "./runtime/api/delete-session.js";
export type { RunView } from "./runtime/api/iterate.js";
export { type PruneResult, pruneSessions } from "./runtime/api/prune.js";
export type { RedactionResult } from "./runtime/api/redact.js";
export type { SendOptions, Session } from "./runtime/api/session-handle.js";
export type { SentSignal } from "./runtime/api/signal.js";
export { pendingApprovals, type StoredApproval } from "./runtime/api/stored-approvals.js";
export { type GuardOptions, type GuardVerdict, guard } from "./runtime/hooks/guard.js";
export type { Fallback } from "./runtime/model/models.js";
export type { DeepPartial, PartialOutput } from "./runtime/model/partial-output.js";
export { createRedaction, type Redact, redactJson, redactOutput } from "./runtime/observers/redact.js";
export { fromAiSdkTool } from "./runtime/tools/ai-sdk-tool.js";
export { done, TaskComplete } from "./runtime/tools/done.js";
export { StepError } from "./runtime/tools/step-error.js";
export { createMemoryStore } from "./stores/memory/index.js";
export { exportSessions } from "./stores/transfer/export.js";
export { type ImportResult, importSessions } from "./stores/transfer/import.js";
export { type DefinedTool, defineTool, defineToolFor, type InputOf } from "./tools/lib/define-tool.js";
export { type CallOf, type InferUiTools, isCallOf } from "./tools/lib/tool-types.js";
