/**
 * The options of an agent: their names and kinds. Their values are checked where they are compiled.
 */
import {
  aFunction,
  anArray,
  anObject,
  anyValue,
  aStore,
  aString,
  checkOptions,
  type OptionTable,
  oneOf,
} from "../../check-options.js";
import type { CompactionOptions } from "../../context/compaction-options.js";
import type { ContextOptions } from "../../context/context-options.js";
import type { ServiceOptions } from "../../context/services.js";
import type { ModelSettings } from "../../core/data/model-settings.js";
import type { Clock, MakeId } from "../../ports/clock.js";
import type { SystemPrompt } from "../../ports/context.js";
import type { Hook } from "../../ports/hook.js";
import type { Model, ModelTimeouts, RunModel } from "../../ports/model.js";
import type { CanExecuteTool } from "../../ports/permission.js";
import { type PromptCache, promptCacheModes } from "../../ports/prompt-cache.js";
import type { RepairToolCall } from "../../ports/repair.js";
import type { RetryOptions, RetryPolicy } from "../../ports/retry.js";
import type { StopCondition } from "../../ports/stop-condition.js";
import type { Store } from "../../ports/store.js";
import type { InputSchema, RunTool } from "../../ports/tool.js";
import type { Handoff } from "../agent/handoffs.js";
import type { Limits } from "../agent/limits.js";
import type { Fallback } from "../model/models.js";
import type { WatchOptions } from "../observers/listeners.js";
import type { Tools } from "../tools/compile-tools.js";

// biome-ignore lint/suspicious/noExplicitAny: a list of options of agents with different deps has no narrower type.
export type AgentOptions<ModelLike = Model, Deps = any, Params = any> = WatchOptions &
  ServiceOptions & {
    /** The agent's name. Sessions belong to the agent with this name. Default: "agent". */
    readonly name?: string;
    /** Any AI SDK language model (specification v3 or v4), or your own `Model`. */
    readonly model: ModelLike;
    /**
     * Models that a run (`model: "fast"`) or a `beforeLLMCall` hook can choose by name. Each may have its own retry policy and timeouts.
     */
    readonly models?: { readonly [name: string]: ModelLike | Fallback<ModelLike> };
    /** Settings of every model call. A run's settings override them, and a hook's settings override those of the run. */
    readonly settings?: ModelSettings;
    /**
     * Whether providers are asked to keep the beginning of requests in their prompt cache, and for how long. Default:
     * `"auto"`.
     */
    readonly promptCache?: PromptCache;
    /** The tools that the model can call: a list, or the AI SDK's record of tools. Default: none. */
    readonly tools?: Tools<NoInfer<Deps>, NoInfer<Params>>;
    /**
     * The system prompt: a string, or a function that returns one for each run, given the run's `params`, its principal and the
     * session's data. The function is called once per run, before the first model call. The run keeps the prompt until it ends, in
     * other processes as well. If the function throws or takes more than 10 seconds, the run fails with `hook_failed`. Default: none.
     */
    readonly systemPrompt?: SystemPrompt<NoInfer<Deps>, NoInfer<Params>>;
    /** The limits of its runs. */
    readonly limits?: Limits;
    /**
     * Stops a run between two steps as soon as one of these conditions holds. The run is then completed, with the reason
     * `stop_condition`.
     */
    readonly stopWhen?: StopCondition | readonly StopCondition[];
    /** What a model sees in addition to the conversation: stable data, and hints that change. */
    readonly context?: ContextOptions;
    /** How conversations that grow too long are compacted. With null or `{ auto: false }`, Pawl never compacts on its own. */
    readonly compaction?: CompactionOptions<ModelLike> | null;
    /** Models to try in order. When the retry policy gives up on a model, the next one is used for the rest of the run. */
    readonly fallbacks?: readonly (ModelLike | Fallback<ModelLike>)[];
    /** A retry policy, or changes to the default policy. */
    readonly retry?: RetryOptions | RetryPolicy;
    /** How long to wait for a model, in milliseconds. */
    readonly timeouts?: ModelTimeouts;
    /** The agents that the model can hand a session over to. The conversation stays; prompt, tools and model change. */
    readonly handoffs?: readonly Handoff[];
    /** Decides whether a call may run: allow, ask or deny. Default: all calls are allowed. */
    readonly canExecuteTool?: CanExecuteTool<NoInfer<Deps>, NoInfer<Params>>;
    /**
     * Repairs calls that cannot be used as the model wrote them. It runs after the built-in repairs: near names; JSON with fences, comments
     * or trailing commas. Null: no call is repaired.
     */
    readonly repairToolCall?: RepairToolCall | null;
    /** Code that is called at points of a run, in this order. */
    readonly hooks?: readonly Hook<NoInfer<Deps>, NoInfer<Params>>[];
    /** Passed to tools, hooks and policies as `context.deps`. Its type must satisfy all of them. */
    readonly deps?: Deps;
    /**
     * The schema of the params of a run (`run(input, { params })`): an object of plain JSON, for example with a tenant and a language.
     * Tools, hooks, policies and a dynamic system prompt get them as `params`. Default: runs accept no params.
     */
    readonly params?: InputSchema<Params>;
    /**
     * Runs tool calls instead of the tools' `execute`: in another process, from a record, or not at all. Child agents and
     * handoffs inherit it.
     */
    readonly runTool?: RunTool;
    /** Makes model calls instead of the models' `stream`. Child agents and handoffs inherit it. */
    readonly runModel?: RunModel;
    /** The folder in which the agent works. Sessions are bound to it. */
    readonly root?: string;
    /** Default: an in-memory store, which agents created by `with` share. */
    readonly store?: Store;
    /** Default: the system clock. Tests may pass their own. */
    readonly clock?: Clock;
    /** Creates the ids of sessions and runs. Default: random UUIDs. Tests may pass their own. */
    readonly makeId?: MakeId;
    /** How long a lease lasts without being renewed, in milliseconds. At least 100. Default: 15,000. */
    readonly leaseMs?: number;
    /**
     * Where other processes reach this one: `http://10.0.0.5:4111`, `https://…` or `unix:/path`. Every reader of the store
     * sees it in the record of the lease. A server of another process gets deltas there (`createServer({ peers })`).
     */
    readonly address?: string;
  };

const optionRules: OptionTable<AgentOptions<unknown>> = {
  name: anyValue,
  model: anyValue,
  models: anObject,
  settings: anObject,
  promptCache: oneOf(...promptCacheModes),
  tools: anyValue,
  systemPrompt: {
    accepts: (value) => typeof value === "string" || typeof value === "function",
    expected: "a string, or a function that returns one",
  },
  limits: anObject,
  stopWhen: anyValue,
  context: anObject,
  compaction: anyValue,
  fallbacks: anArray,
  retry: anObject,
  timeouts: anObject,
  handoffs: anArray,
  canExecuteTool: aFunction,
  repairToolCall: { accepts: (value) => value === null || typeof value === "function", expected: "a function or null" },
  hooks: anArray,
  deps: anyValue,
  runTool: aFunction,
  runModel: aFunction,
  params: anyValue,
  root: aString,
  store: aStore,
  clock: anObject,
  makeId: aFunction,
  leaseMs: anyValue,
  address: aString,
  usage: anyValue,
  toolOutput: anyValue,
  tokens: anObject,
  services: anObject,
  observers: anArray,
  redact: aFunction,
  onText: aFunction,
  onToolCall: aFunction,
  onToolResult: aFunction,
  onStepFinish: aFunction,
  onResponse: aFunction,
  onCompacted: aFunction,
};

/** The names of other libraries for these options. */
const otherNames = {
  instructions: "systemPrompt",
  system: "systemPrompt",
  prompt: "systemPrompt",
  systemMessage: "systemPrompt",
  system_prompt: "systemPrompt",
  llm: "model",
  maxSteps: "limits.maxSteps",
  maxTurns: "limits.maxSteps",
  maxIterations: "limits.maxSteps",
  recursionLimit: "limits.maxSteps",
  maxTokens: "limits.maxTokens",
  maxCostUsd: "limits.maxCostUsd",
  maxRetries: "retry.maxRetries",
  temperature: "settings.temperature",
  topP: "settings.topP",
  maxOutputTokens: "settings.maxOutputTokens",
  modelSettings: "settings",
  checkpointer: "store",
  memory: "store",
  storage: "store",
  toolChoice: "the option toolChoice of run",
  activeTools: "the option activeTools of run",
  output: "the option output of run",
  outputType: "the option output of run",
  responseFormat: "the option output of run",
  middleware: "hooks",
  callbacks: "hooks, observers, or onText and its like",
  onStepEnd: "onStepFinish",
  onFinish: "onResponse",
  subagents: "tools, with agent.asTool()",
  context_window: "compaction.contextWindow",
  contextWindow: "compaction.contextWindow",
  dependencies: "deps",
  cwd: "root",
};

/** @throws PawlError `bad_configuration` for an unknown name, or a value of the wrong kind */
export function checkAgentOptions<ModelLike>(options: AgentOptions<ModelLike>): void {
  checkOptions<AgentOptions<unknown>>("createAgent()", optionRules, options, { otherNames });
}

/** The options that are plain lists and records. The others are objects with an identity, such as a model or a store. */
const plainOptionNames = [
  "tools",
  "limits",
  "context",
  "compaction",
  "fallbacks",
  "models",
  "settings",
  "timeouts",
  "handoffs",
  "hooks",
  "stopWhen",
  "usage",
  "toolOutput",
  "services",
  "observers",
] as const;

/** A frozen copy, which the agent can hand out. If the author changes the original objects later, the agent does not change. */
export function freezeOptions<ModelLike>(options: AgentOptions<ModelLike>): AgentOptions<ModelLike> {
  const closed: { [name: string]: unknown } = { ...options };
  for (const name of plainOptionNames) {
    const value = options[name];
    if (Array.isArray(value)) closed[name] = Object.freeze([...value]);
    else if (typeof value === "object" && value !== null) closed[name] = Object.freeze({ ...value });
  }
  return Object.freeze(closed) as AgentOptions<ModelLike>;
}
