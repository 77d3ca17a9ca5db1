/**
 * The hook port: an author's code that takes part in a run at fixed points.
 *
 * 1. Hooks are called in the order of the array. Each sees the changes of the hooks before it.
 * 2. A hook gets frozen data, and changes a run only through its return value. A value outside its return type is refused.
 * 3. A hook is called at least once, before the commit. If the process dies before the commit, the hook is called again.
 */

import type {
  AssistantMessage,
  FinishReason,
  Json,
  Message,
  ModelFailure,
  ProviderMetadata,
  ToolOutput,
  Usage,
  UserMessage,
  UserPart,
} from "../core/data/message.js";
import type { ModelSettings } from "../core/data/model-settings.js";
import type { Reason } from "../core/data/reasons.js";
import type { RunOptions, ToolChoice } from "../core/machine/event.js";
import type { CallOutcome, Purpose } from "../core/machine/state.js";
import type { RunResult } from "../core/view/outcome.js";
import type { SessionData } from "./session-data.js";

/** Passed to every hook, after its subject. */
export type HookContext<Deps = unknown, Params = unknown> = {
  readonly sessionId: string;
  readonly runId: string;
  /** Who started the session, as its tools see it. Absent if no principal was named. */
  readonly principal?: string;
  /** Aborted when the hook's time is up, or when its result is no longer needed. */
  readonly signal: AbortSignal;
  /** The agent's `deps`, as its tools get them. */
  readonly deps: Deps;
  /** The `params` of the run, as its tools get them. */
  readonly params: Params;
  /** The session's data, frozen. */
  readonly data: SessionData;
};

type HookFunction<Subject, Answer, Deps, Params> = (
  subject: Subject,
  context: HookContext<Deps, Params>,
) => Answer | Promise<Answer>;
// biome-ignore lint/suspicious/noConfusingVoidType: a hook that returns nothing needs no return statement.
type Nothing = void;

/** The model call that is about to begin. */
export type StepSubject = { readonly modelCallIndex: number; readonly purpose: Purpose };

/** Text, parts or whole user messages. */
export type HookInput = string | readonly UserPart[] | readonly UserMessage[];

/** The run that is about to begin. */
export type RunSubject = {
  /** The request. */
  readonly input: readonly UserMessage[];
};

/** The request that is about to be sent to a model. */
export type ModelCallSubject = StepSubject & {
  /** The messages to be sent: the conversation, or the list of a context manager or of a hook before this one. */
  readonly messages: readonly Message[];
  readonly systemPrompt?: string;
  /** The names of the tools that the model may call. */
  readonly activeTools: readonly string[];
  readonly toolChoice?: ToolChoice;
  readonly providerOptions?: RunOptions["providerOptions"];
  /** The model that the run or a hook before this one chose by name. */
  readonly model?: string;
  /** The merged settings of the agent, the run and the hooks before this one. */
  readonly settings?: ModelSettings;
};

/** How a hook changes a model call. Fields that are left out stay unchanged. */
export type ModelCallChange = {
  readonly systemPrompt?: string;
  /** Names of the agent's tools. */
  readonly activeTools?: readonly string[];
  readonly toolChoice?: ToolChoice;
  readonly providerOptions?: RunOptions["providerOptions"];
  /**
   * The name of one of the agent's `models`, for this call. If the retry policy gives that model up, the call continues with the run's
   * usual model.
   */
  readonly model?: string;
  /** Settings for this call. They take precedence over those of the agent and the run. */
  readonly settings?: ModelSettings;
  /**
   * The messages that this call sends instead. Messages may be left out, shortened or added; those that stay must be the same objects that
   * the hook was shown. The list applies to this call and its retries only and does not change the conversation.
   *
   * The list must not be empty, may take at most 8 MiB as JSON, and must end with a message from the user or a tool. Each call must be
   * answered by the next message, once and in the order of the calls, and call ids must be unique. An invalid list is refused, and
   * `onFailure` decides what follows.
   */
  readonly messages?: readonly Message[];
};

/** The subject of a hook that runs during a model call: the messages that the model is sent, or its answer so far. */
export type ModelStreamSubject = {
  readonly modelCallIndex: number;
  readonly attempt: number;
  /** What the model is sent, without the system prompt. */
  readonly messages: readonly Message[];
} /** The model is about to be called. */ & (
  | {
      /** The model is about to be called. */
      readonly stage: "input";
    }
  /** The model is answering, or has answered. */
  | {
      /** The answer so far. */
      readonly stage: "output";
      /** The text of the answer, including the messages that it continues. */
      readonly text: string;
      /** False while the answer is being streamed: the hook is asked every 500 characters. */
      readonly isComplete: boolean;
      /** The complete message contains tool calls, so it is not the final answer. */
      readonly hasCalls: boolean;
    }
);

/** How an attempt of a model call ended. */
export type ModelAnswerSubject = {
  readonly modelCallIndex: number;
  readonly attempt: number;
  readonly model: string;
  readonly durationMs: number;
  readonly usage?: Usage;
  /** What the provider reports about the whole message, for example the id of a container. */
  readonly providerMetadata?: ProviderMetadata;
} & (
  | {
      /** The message of the model. */
      readonly message: AssistantMessage;
      readonly finishReason: FinishReason;
    }
  | { readonly failure: ModelFailure }
);

/** A tool call that is about to be checked. */
export type ToolCallSubject = {
  readonly callKey: string;
  readonly toolCallId: string;
  readonly name: string;
  /** Whether the tool is declared read-only. */
  readonly readOnly: boolean;
  readonly input: Json;
  /** True if a person changed the input. If the hook changes it again, a person is asked again. */
  readonly isEdited: boolean;
};

/** The result of a tool call. */
export type ToolResultSubject = {
  /** The key of the call. For a call that the provider ran, its `toolCallId`. */
  readonly callKey: string;
  readonly toolCallId: string;
  readonly name: string;
  /** The input of the call; null if it is no longer known. */
  readonly input: Json;
  /** The tool's whole output, before it is cut for the model or stored. */
  readonly output: ToolOutput;
  readonly isError: boolean;
  /** 0 if no tool ran here. */
  readonly durationMs: number;
  /**
   * Where the result came from: a tool that ran here, the model's provider, or the agent that a tool runs. The provider ran its calls
   * itself, so the deltas of the answer have already shown those results.
   *
   * For a tool with `toModelOutput` the hook is called twice: first for what the tool returned, which people see, and then with
   * "toModelOutput" for what the model reads.
   */
  readonly source: "tool" | "provider" | "agent" | "toModelOutput";
};

/** A step whose calls all have results. */
export type StepResultSubject = {
  readonly modelCallIndex: number;
  /** The text of the model's answer in this step. */
  readonly text: string;
  /** The calls, in the order of the message. */
  readonly calls: readonly {
    readonly callKey: string;
    readonly name: string;
    readonly input: Json;
    readonly outcome: CallOutcome;
    /** The output as the model sees it. */
    readonly output: ToolOutput;
  }[];
};

/** A run that is about to end. */
export type StopSubject = {
  /** Why it would end. */
  readonly reason: Reason;
  /** The answer. */
  readonly text: string;
  /** How often hooks have kept the run from stopping so far. */
  readonly stopPreventions: number;
  /**
   * Whether returning a `message` continues the run. False at a limit of the run, and after `limits.maxStopPreventions` messages: the run
   * then ends, and a hook can only refuse the answer.
   */
  readonly mayGoOn: boolean;
};

/** A failed attempt of a model call. */
export type FailureSubject = {
  readonly modelCallIndex: number;
  readonly attempt: number;
  readonly model: string;
  readonly failure: ModelFailure;
  /** What follows if no hook decides otherwise. */
  readonly next: "retry" | "fallback" | "compact" | "give_up";
};

/** A compaction that is about to begin. */
export type CompactionStartSubject = {
  /** `manual`: a person requested it. `auto`: the conversation is about to fill the context window, or has filled it. */
  readonly trigger: "manual" | "auto";
  /** What the summary must preserve: from the request, and from the hooks before this one. */
  readonly keep?: string;
  /** The estimated size of the conversation. */
  readonly tokensBefore: number;
};

/** A compaction that is committed. */
export type CompactionSubject = {
  /** The text that replaces the earlier messages. */
  readonly summary: string;
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
};

/** Functions that an author's program adds at points of a run. Each is optional. */
export type Hook<Deps = unknown, Params = unknown> = {
  /** Its name in events and messages: 1 to 100 characters. */
  readonly name: string;
  /** Milliseconds after which a call of the hook counts as failed. Default: 10,000. */
  readonly timeoutMs?: number;
  /**
   * What follows if the hook throws, times out, or returns an invalid value. `open`: the run continues without the hook. `closed`: the tool
   * call is blocked, the tool's output is withheld, the answer is refused (`beforeStop`), the requested compaction is skipped
   * (`beforeCompaction`), or the step fails with `hook_failed`. Default:
   * `closed` for `besideLLMCall`, `beforeToolCall` and `afterToolCall`, otherwise `open`.
   */
  readonly onFailure?: "open" | "closed";
  /** Called before a run's first step. May change the input or refuse the run. */
  readonly beforeRun?: HookFunction<
    RunSubject,
    Nothing | { readonly input: HookInput } | { readonly refuse: string },
    Deps,
    Params
  >;
  /** Called before each step. Cannot change anything. */
  readonly beforeStep?: HookFunction<StepSubject, Nothing, Deps, Params>;
  /**
   * Called before each model call. May choose among the agent's tools and models, and may change the system prompt, tool choice, settings,
   * provider options and messages of this call.
   */
  readonly beforeLLMCall?: HookFunction<ModelCallSubject, Nothing | ModelCallChange, Deps, Params>;
  /**
   * Called during a model call: at the start, every 500 characters of the answer, and at the end. The attempt counts only after the hook
   * has answered. `{ trip: reason }` ends the call and the run: with `refused` at the start, and otherwise with `output_refused`. `guard`
   * creates such a hook. `onFailure` is `closed` by default, so a failure trips.
   */
  readonly besideLLMCall?: HookFunction<ModelStreamSubject, Nothing | { readonly trip: string }, Deps, Params>;
  /** With `besideLLMCall`: holds back the deltas of an answer until the hook has passed it. Default: false. */
  readonly hold?: boolean;
  /** Called after each attempt that ended with an answer or a failure, but not after one that was aborted. */
  readonly afterLLMCall?: HookFunction<ModelAnswerSubject, Nothing, Deps, Params>;
  /** Called before the input is validated. May change the input, block the call with a reason, or stop the run with a reason. */
  readonly beforeToolCall?: HookFunction<
    ToolCallSubject,
    Nothing | { readonly input: unknown } | { readonly block: string } | { readonly stop: string },
    Deps,
    Params
  >;
  /**
   * Called after execution, even if the tool failed, and also for results from the provider and from agents that tools run. A returned
   * `output` replaces the tool's output, even if it is undefined.
   */
  readonly afterToolCall?: HookFunction<ToolResultSubject, Nothing | { readonly output: unknown }, Deps, Params>;
  /** Called when all calls of a step have results. */
  readonly afterStep?: HookFunction<StepResultSubject, Nothing, Deps, Params>;
  /**
   * Called before a run completes. A message continues the run, at most `limits.maxStopPreventions` times. A refusal ends the run with
   * reason `output_refused`: the answer leaves the conversation and appears in no event or result. The reason of the refusal becomes the
   * message of the result's error.
   */
  readonly beforeStop?: HookFunction<
    StopSubject,
    Nothing | { readonly message: HookInput } | { readonly refuse: string },
    Deps,
    Params
  >;
  /** Called after a failed attempt. May retry the call or give it up. */
  readonly onError?: HookFunction<FailureSubject, Nothing | "retry" | "giveUp", Deps, Params>;
  /**
   * Called before a conversation is compacted. `{ keep }` is what the summary must also preserve, in words for the summarizer.
   * `{ skip: reason }` leaves the conversation as it is. It is ignored if `trigger` is `auto`, because without compaction the run would end
   * when the context window is full.
   */
  readonly beforeCompaction?: HookFunction<
    CompactionStartSubject,
    Nothing | { readonly keep: string } | { readonly skip: string },
    Deps,
    Params
  >;
  /** Called after a conversation was compacted. Cannot change anything. */
  readonly onCompacted?: HookFunction<CompactionSubject, Nothing, Deps, Params>;
  /** Called when the run has ended, however it ended. `run` resolves afterwards. */
  readonly afterRun?: HookFunction<RunResult, Nothing, Deps, Params>;
};

/** The first argument of the hook of this name: `HookSubject<"beforeToolCall">`. */
export type HookSubject<Name extends Exclude<keyof Hook, "name" | "timeoutMs" | "onFailure" | "hold">> = Parameters<
  NonNullable<Hook[Name]>
>[0];
