/**
 * The hook port: code that has a part in a run, at fixed points of it.
 *
 * 1. Hooks are called in the order of the array; each sees what the one before changed.
 * 2. What a hook may change is its return type. It gets frozen data; whatever else it returns is refused.
 * 3. A hook sees what is about to be committed, and is called at least once: again where the process died before the commit.
 */

import type {
  AssistantMessage,
  FinishReason,
  Json,
  Message,
  ModelFailure,
  ToolOutput,
  Usage,
  UserMessage,
  UserPart,
} from "../core/data/message.js";
import type { Reason } from "../core/data/reasons.js";
import type { RunOptions, ToolChoice } from "../core/machine/event.js";
import type { CallOutcome, Purpose } from "../core/machine/state.js";
import type { RunResult } from "../core/view/outcome.js";

/** What every hook gets beside its subject. */
export type HookContext = {
  readonly sessionId: string;
  readonly runId: string;
  /** Aborted when the hook's time is up, and when what it was called for is not wanted any more. */
  readonly signal: AbortSignal;
  /** What the agent was given for its tools. */
  readonly deps: unknown;
};

type Call<Subject, Answer> = (subject: Subject, context: HookContext) => Answer | Promise<Answer>;
// biome-ignore lint/suspicious/noConfusingVoidType: a hook that returns nothing needs no return statement.
type Nothing = void;

export type StepSubject = { readonly modelCallIndex: number; readonly purpose: Purpose };

/** Text, parts or whole user messages. */
export type HookInput = string | readonly UserPart[] | readonly UserMessage[];

export type RunSubject = { readonly input: readonly UserMessage[] };

export type ModelCallSubject = StepSubject & {
  /** The conversation as it would be sent. */
  readonly messages: readonly Message[];
  readonly systemPrompt?: string;
  /** The tools that the model is told of, by name. */
  readonly activeTools: readonly string[];
  readonly toolChoice?: ToolChoice;
  readonly providerOptions?: RunOptions["providerOptions"];
};

export type ModelCallChange = {
  readonly systemPrompt?: string;
  /** Of the agent's tools. */
  readonly activeTools?: readonly string[];
  readonly toolChoice?: ToolChoice;
  readonly providerOptions?: RunOptions["providerOptions"];
};

export type ModelAnswerSubject = {
  readonly modelCallIndex: number;
  readonly attempt: number;
  readonly model: string;
  readonly durationMs: number;
  readonly usage?: Usage;
} & ({ readonly message: AssistantMessage; readonly finishReason: FinishReason } | { readonly failure: ModelFailure });

export type ToolCallSubject = {
  readonly callKey: string;
  readonly toolCallId: string;
  readonly name: string;
  readonly readOnly: boolean;
  readonly input: Json;
  /** A person changed the input; what is changed once more is asked about again. */
  readonly isEdited: boolean;
};

export type ToolResultSubject = {
  readonly callKey: string;
  readonly toolCallId: string;
  readonly name: string;
  readonly input: Json;
  /** What the tool gave, whole: before it is cut for the model or stored. */
  readonly output: ToolOutput;
  readonly isError: boolean;
  readonly durationMs: number;
};

export type StepResultSubject = {
  readonly modelCallIndex: number;
  /** What the model said in the step. */
  readonly text: string;
  readonly calls: readonly {
    readonly callKey: string;
    readonly name: string;
    readonly input: Json;
    readonly outcome: CallOutcome;
    readonly output: ToolOutput;
  }[];
};

export type StopSubject = {
  readonly reason: Reason;
  readonly text: string;
  /** How often the run was kept from stopping so far. */
  readonly stopPreventions: number;
};

export type FailureSubject = {
  readonly modelCallIndex: number;
  readonly attempt: number;
  readonly model: string;
  readonly failure: ModelFailure;
  /** What follows unless a hook says otherwise. */
  readonly next: "retry" | "fallback" | "compact" | "give_up";
};

export type CompactionSubject = {
  readonly summary: string;
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
};

export type Hook = {
  /** How it is called in events and messages: 1 to 100 characters. */
  readonly name: string;
  /** After this long the hook is cut off; 10,000. */
  readonly timeoutMs?: number;
  /**
   * What follows where the hook throws, is cut off, or returns what it may not. `open`: the run goes on without it. `closed`: the call
   * is blocked, the output withheld, the step failed with `hook_failed`. Default `closed` for `beforeToolCall` and `afterToolCall`, else `open`.
   */
  readonly onFailure?: "open" | "closed";
  /** Before a run's first step. May change the input, or refuse the run. */
  readonly beforeRun?: Call<RunSubject, Nothing | { readonly input: HookInput } | { readonly refuse: string }>;
  readonly beforeStep?: Call<StepSubject, Nothing>;
  /** May choose among the agent's tools, and change system prompt, tool choice and provider options of this one call. */
  readonly beforeLLMCall?: Call<ModelCallSubject, Nothing | ModelCallChange>;
  /** After each attempt that came to an answer or a failure. */
  readonly afterLLMCall?: Call<ModelAnswerSubject, Nothing>;
  /** Before the input is validated. May change the input, block the call, or stop the run; each with its reason. */
  readonly beforeToolCall?: Call<
    ToolCallSubject,
    Nothing | { readonly input: unknown } | { readonly block: string } | { readonly stop: string }
  >;
  /** After execution, errors included. Only the output that it gives is kept, `undefined` too. */
  readonly afterToolCall?: Call<ToolResultSubject, Nothing | { readonly output: unknown }>;
  /** When all calls of a step have their results. */
  readonly afterStep?: Call<StepResultSubject, Nothing>;
  /** Before a run completes. A message keeps it going, at most `limits.maxStopPreventions` times. */
  readonly beforeStop?: Call<StopSubject, Nothing | { readonly message: HookInput }>;
  /** After a failed attempt. May have it tried again, or given up. */
  readonly onError?: Call<FailureSubject, Nothing | "retry" | "giveUp">;
  readonly onCompacted?: Call<CompactionSubject, Nothing>;
  /** When the run has ended, however it did; `run` returns when this has. */
  readonly afterRun?: Call<RunResult, Nothing>;
};
