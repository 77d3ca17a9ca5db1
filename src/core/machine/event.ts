/**
 * Events: what happened. The log of a session is a sequence of them, each an entry with a gap-free number.
 *
 * Events carry every time and id that the machine needs, so that folding a log needs no clock and no chance.
 */
import type {
  AssistantMessage,
  Fault,
  FinishReason,
  Json,
  ModelFailure,
  ToolOutput,
  Usage,
  UserMessage,
} from "../data/message.js";
import type { Reason } from "../data/reasons.js";
import type { CallOutcome, CallPolicy, Purpose, RunLimits, SessionInfo, State } from "./state.js";

/** What a run was asked to do differently from its agent. Plain data: it is in the log. */
export type RunOptions = {
  readonly systemPrompt?: string;
  readonly activeTools?: readonly string[];
  readonly toolChoice?: ToolChoice;
  /** False where nobody can be asked: ask then means deny (HITL-6). */
  readonly interactive?: boolean;
  readonly providerOptions?: { readonly [provider: string]: { readonly [key: string]: Json } };
  /** The JSON Schema that the answer must fit. */
  readonly output?: { readonly [key: string]: Json };
};

export type ToolChoice = "auto" | "none" | "required" | { readonly tool: string };

/** When an attempt or a call ran: epoch milliseconds and milliseconds. */
export type Timing = { readonly startedAt: number; readonly durationMs: number; readonly firstDeltaMs?: number };

/** What a policy says of a call, after parsing and validation. `input` only where a hook or a person changed it. */
export type PolicyDecision =
  | { readonly verdict: "allow"; readonly policy: CallPolicy; readonly input?: Json; readonly inputHash?: string }
  | {
      readonly verdict: "ask";
      readonly policy: CallPolicy;
      readonly input?: Json;
      readonly inputHash: string;
      readonly question?: string;
      readonly expiresAt?: number;
    }
  | { readonly verdict: "deny"; readonly reason: string; readonly stopRun?: boolean }
  /** `repeated`: the model asks for the same call again and again (TOOL-10). */
  | { readonly verdict: "block"; readonly reason: string; readonly stopRun?: boolean; readonly repeated?: boolean }
  /** It cannot be run: an unknown tool, arguments that do not parse or fit. */
  | { readonly verdict: "reject"; readonly message: string };

/** What a person says of a call that asks. The last three answer a question of recovery. */
export type Answer =
  | { readonly type: "approve" }
  | { readonly type: "deny"; readonly note?: string }
  | { readonly type: "modify"; readonly input: Json; readonly inputHash: string }
  | { readonly type: "rerun" }
  | { readonly type: "result"; readonly output: ToolOutput; readonly isError?: boolean }
  | { readonly type: "fail"; readonly note?: string };

/** What follows a failed attempt. */
export type AfterFailure =
  | { readonly type: "retry"; readonly inMs: number }
  | { readonly type: "fallback"; readonly index: number }
  | { readonly type: "compact" }
  | { readonly type: "give_up"; readonly reason: Reason };

/** Where a hook is called. */
export type HookPoint =
  | "beforeRun"
  | "beforeStep"
  | "beforeLLMCall"
  | "afterLLMCall"
  | "beforeToolCall"
  | "afterToolCall"
  | "afterStep"
  | "beforeStop"
  | "onError"
  | "onCompacted"
  | "afterRun";

/** What became of a hook; it rides on the event that the hook had a part in. */
export type HookRecord = {
  readonly name: string;
  readonly hook: HookPoint;
  /** How long it took, in milliseconds. */
  readonly ms: number;
  /** `changed`: what it returned was taken. `refused`: it returned what a hook may not return there. */
  readonly outcome: "ok" | "changed" | "threw" | "timed_out" | "refused";
  /** What went wrong. */
  readonly message?: string;
};

export type Timer = "backoff" | "grace" | "approval" | "wall_clock";

type OfRun = { readonly runId: string };
type OfStep = OfRun & { readonly modelCallIndex: number };
type OfCall = OfRun & { readonly callKey: string };

type Body =
  | ({ readonly type: "session_created"; readonly v: number } & SessionInfo)
  | (OfRun & {
      readonly type: "run_started";
      readonly limits: RunLimits;
      /** The request itself, or the entry that holds it where it was queued. */
      readonly input?: readonly UserMessage[];
      readonly queuedSeq?: number;
      readonly options?: RunOptions;
    })
  | (OfRun & {
      readonly type: "run_queued";
      readonly limits: RunLimits;
      readonly input: readonly UserMessage[];
      readonly options?: RunOptions;
    })
  | {
      readonly type: "steered";
      readonly input: readonly UserMessage[];
      readonly source: "user" | "before_stop" | "output";
    }
  | (OfStep & {
      readonly type: "prepared";
      readonly contextSeq: number;
      readonly purpose: Purpose;
      /** The run's input, where a hook changed it. */
      readonly input?: readonly UserMessage[];
      /** What hooks chose in the place of the run's options. */
      readonly activeTools?: readonly string[];
      readonly toolChoice?: ToolChoice;
      /** What is shown to the model after everything else, and from then on belongs to the conversation. */
      readonly append?: readonly UserMessage[];
      /** The blobs of the system prompt and the tool specifications (null: none); only where they are others than in the call before. */
      readonly promptHash?: string | null;
      readonly toolsHash?: string | null;
      readonly providerOptions?: { readonly [provider: string]: { readonly [key: string]: Json } };
      /** Bytes of results that the model is shown in all, where the agent bounds them: older ones are left out. */
      readonly resultBytes?: number;
    })
  /** The context is to be made smaller before the step's model is called. */
  | (OfStep & { readonly type: "compaction_started" })
  | (OfRun & {
      readonly type: "compacted";
      /** The first entry that is still shown as it is, and what stands for the rest; both, or nothing changes. */
      readonly keptFrom?: number;
      readonly summary?: string;
      /** Where reading the log begins for who carries on, where that is before `from`. */
      readonly readFrom?: number;
      /** The start of the run that this is within. */
      readonly runStartSeq?: number;
      /** What is kept word for word before the summary, from earlier compactions too. */
      readonly retained?: readonly string[];
      /** How many messages the summary stands for, and the first entry that they come from. */
      readonly replaced?: { readonly from: number; readonly messages: number };
      /** Estimates of what a model is sent, before and after. */
      readonly tokensBefore?: number;
      readonly tokensAfter?: number;
      /** The model that summed up. */
      readonly model?: string;
      readonly timing?: Timing;
      readonly usage?: Usage;
      /** Why nothing changes. */
      readonly fault?: Fault;
    })
  | (OfStep & {
      readonly type: "model_finished";
      readonly attempt: number;
      readonly model: string;
      readonly message: AssistantMessage;
      readonly finishReason: FinishReason;
      readonly usage: Usage;
      readonly timing: Timing;
      readonly providerMetadata?: { readonly [provider: string]: { readonly [key: string]: Json } };
      /** The context window ended the message, and nothing can be done about it. */
      readonly cut?: "context";
    })
  | (OfStep & {
      readonly type: "model_failed";
      readonly attempt: number;
      readonly model: string;
      readonly failure: ModelFailure;
      readonly next: AfterFailure;
      readonly usage?: Usage;
      readonly timing: Timing;
    })
  | (OfRun & {
      readonly type: "timer_fired";
      readonly timer: Timer;
      readonly callKey?: string;
      readonly attempt?: number;
    })
  | (OfCall & { readonly type: "tool_decided"; readonly decision: PolicyDecision })
  | (OfCall & {
      readonly type: "tool_waiting";
      readonly on: "child" | "external";
      readonly childId?: string;
      /** The parts of the run's budgets that are kept for a child. */
      readonly reservedTokens?: number;
      readonly reservedCostUsd?: number;
    })
  | (OfCall & {
      readonly type: "tool_finished";
      readonly outcome: CallOutcome;
      /** What the tool gave; absent where the machine made the result, whose text follows from `because`. */
      readonly output?: ToolOutput;
      readonly causeSeq?: number;
      readonly attempt?: number;
      readonly timing?: Timing;
      /** What a child session used. */
      readonly usage?: Usage;
      /** The tool said that the run is done (FIN-7). */
      readonly done?: { readonly message?: string };
    })
  | (OfCall & {
      readonly type: "answered";
      readonly answerId: string;
      readonly answer: Answer;
      /** Who decided, as the caller names them. */
      readonly by?: string;
      /** The hash of the input that was shown; an answer to another input does not count. */
      readonly inputHash?: string;
    })
  | (OfRun & { readonly type: "abort_requested"; readonly note?: string; readonly by?: string })
  /** What was in flight is in doubt. `fault`: no process died; this kept the step from going on as it was prepared. */
  | (OfRun & { readonly type: "restarted"; readonly holder: string; readonly fault?: Fault })
  | {
      readonly type: "late_result";
      readonly callKey: string;
      readonly outcome: CallOutcome;
      readonly output?: ToolOutput;
    }
  | (OfRun & {
      readonly type: "run_finished";
      readonly reason: Reason;
      readonly fault?: Fault;
      readonly output?: Json;
      /** The step whose preparation ended the run: a hook that refused or failed, a budget. */
      readonly modelCallIndex?: number;
      /** Hooks are still to be called: `after_run_hooks_called` follows. */
      readonly afterRunHooksPending?: true;
    })
  /** The hooks that come after a run were called. */
  | (OfRun & { readonly type: "after_run_hooks_called" })
  | (OfRun & { readonly type: "parent_notified" })
  | { readonly type: "migrated"; readonly from: number; readonly state: State };

/** `hooks`: those that had a part in it, in the order in which they were called. */
export type EventBody = Body & { readonly hooks?: readonly HookRecord[] };

/** An event, and when it happened (epoch milliseconds). */
export type Event = EventBody & { readonly at: number };
export type EventType = Event["type"];
export type EventOf<Type extends EventType> = Extract<Event, { readonly type: Type }>;

/** One line of the log. Numbers start at 1 and have no gaps. */
export type Entry = { readonly seq: number; readonly event: Event };
