/**
 * The context of an effect while it runs: the agent, the session's state, and its subscribers.
 */
import type { ToolOutput, UserMessage } from "../../core/data/message.js";
import type { Effect } from "../../core/machine/effect.js";
import type { EventBody, EventOf } from "../../core/machine/event.js";
import type { RunPrompt } from "../../core/machine/model-events.js";
import type { SourceChange, SourceReference } from "../../core/machine/sources.js";
import type { State } from "../../core/machine/state.js";
import type { QuestionAnswer } from "../../core/transcript/tool-steps.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import type { HookContext } from "../../ports/hook.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import type { RunParams } from "../agent/params.js";
import type { Cancellation } from "../lib/cancellation.js";
import type { MessageAssembly } from "../model/message-assembly.js";
import type { Subscribers } from "../subscribers/broadcast.js";
import type { CallChanges } from "./data-changes.js";
import { createPromptBlobs, type PromptBlobs } from "./prompt-blobs.js";

export type EffectContext = {
  readonly sessionId: string;
  readonly agent: CompiledAgent;
  /** The state that wants the effect. */
  readonly state: State;
  readonly transcript: Transcript;
  readonly memory: ProcessMemory;
  readonly runMemory: RunMemory;
  now(): number;
  readonly hold: LeaseHold;
  /** Commits events while the effect is in progress. */
  readonly recorder: Recorder;
  /** Receive deltas and progress. */
  readonly subscribers: Subscribers;
};

/** Commits events of an effect before it settles. */
export type Recorder = {
  /**
   * Adds events to the next commit; `events` creates them for the state that they will be applied to. `recorded`: they are durable.
   * `stale`: `events` returned none, because the work has ended. `closed`: this process no longer drives the session, and the work
   * continues elsewhere.
   */
  readonly record: (events: (state: State) => readonly EventBody[]) => Promise<"recorded" | "stale" | "closed">;
  /** True if this process no longer drives the session, or is releasing it, and `isOpen` says that the work had not ended at that point. */
  readonly isLost: (isOpen: (state: State) => boolean) => boolean;
  /** True if this process drives the session, and `isOpen` says that the work had not ended in the last commit. */
  readonly isDriving: (isOpen: (state: State) => boolean) => boolean;
  /** Resolves when the commits in progress have ended. Null if there are none. */
  readonly committing: () => Promise<void> | null;
  /** Set in a replay: nothing may be done that is not recorded. */
  readonly isReplay?: true;
  /** Whether the lease is being released: another process may have the session, so nothing may start here. */
  readonly isReleased: () => boolean;
  /** Whether the process is shutting down. */
  readonly isDraining: () => boolean;
  /** Calls the listener when the process begins to shut down, or immediately if it already has. @returns removes the listener */
  readonly onDraining: (listener: () => void) => () => void;
  /** Marks the effect with this key as one that will not settle here, so that a shutdown does not wait for it. */
  readonly detachJob: (key: string) => void;
};

/** The context that a hook or a permission check gets, and the cancellation of its signal. */
export type CancellableHookContext = { readonly hookContext: HookContext; readonly cancellation: Cancellation };
/** This process's hold on the session. It may be lost unnoticed, while the process sleeps or its clock jumps. */
export type LeaseHold = {
  /** Whether no other process can have claimed the session. */
  readonly isFresh: () => boolean;
  /** Renews the lease. False if the session is no longer held here. */
  readonly refresh: () => Promise<boolean>;
};

/** The texts of context sources that a run uses. */
export type LoadedSources = {
  /** The agent whose sources they are. A run may be handed over, and the next run may begin with another agent. */
  readonly agent: string;
  readonly list: readonly SourceReference[];
  /** The contents of these texts, and of the texts in the system prompt, by blob; null if the store has lost them. */
  readonly words: ReadonlyMap<string, string | null>;
  /** How a recording informed the model of changes, for a replay. */
  readonly recorded?: { readonly report: EventOf<"prepared">["sourcesTold"] };
  /** How the model is informed; computed again when the transcript has other texts. */
  cached: { readonly of: unknown; readonly sources: CallSources } | null;
};

/** How a model call gets the texts of context sources. */
export type CallSources = {
  readonly list: readonly SourceReference[];
  /** The texts in the system prompt: the current ones, or earlier ones. */
  readonly inPrompt: readonly SourceReference[];
  /** The texts in the form in which they follow the system prompt; empty if there are none. */
  readonly prompt: string;
  /** The current texts, in the same form. Sent if the messages that report changes are omitted. */
  readonly present: string;
  /** How the texts differ from those of the previous run. */
  readonly changes: readonly SourceChange[];
  /** The message that reports the changes; null if there is nothing to report. */
  readonly note: { readonly kind: "changes" | "prompt"; readonly message: UserMessage } | null;
};

/**
 * What a process has loaded for one run. Each run has its own memory: a run may still be loading texts when its end has been decided and
 * the next run has begun, and must not replace what the next run has loaded.
 */
export type RunMemory = {
  /** Null before the session's first run. */
  readonly runId: string | null;
  /** The texts of context sources. */
  sources: LoadedSources | null;
  /** The system prompt that the agent's function returned. `reference` is null if the store has lost the text. */
  prompt: { readonly agent: string; readonly text: string; readonly reference: RunPrompt | null } | null;
  /** The validated params. */
  params: RunParams | null;
  /** Whether it was recorded that this process does not have the run's stop conditions. */
  hasReportedConditions: boolean;
  /** Whether it was recorded that this process does not have the run's tools. */
  hasReportedTools: boolean;
};

/** The memory of this run: the existing one, or a new one. */
export function openRunMemory(memory: ProcessMemory, runId: string | null): RunMemory {
  if (memory.run.runId !== runId) memory.run = createRunMemory(runId);
  return memory.run;
}

function createRunMemory(runId: string | null): RunMemory {
  return {
    runId,
    sources: null,
    prompt: null,
    params: null,
    hasReportedConditions: false,
    hasReportedTools: false,
  };
}

/** A process's own memory of a session. Another process can continue without it. */
export type ProcessMemory = {
  /** The name of the process as a holder of leases. */
  readonly holder: string;
  /** Prompts and specifications that the log refers to by hash. */
  readonly texts: PromptBlobs;
  /** The memory of the run whose effects started last. */
  run: RunMemory;
  /** The texts of context sources that were loaded last, by blob: the next run usually needs the same texts. */
  words: LoadedSources["words"] | null;
  /** Validated inputs by call key, until their tools take them. */
  validated: Map<string, unknown> | null;
  /** Uncommitted changes of the session's data by running calls, by call key. */
  changes: Map<string, CallChanges> | null;
  /** The context of a hook that did not read its signal. The next hook of the run reuses it. */
  spareHookContext: CancellableHookContext | null;
  /** The message that is being streamed. */
  partial: MessageAssembly | null;
  /** The latest preliminary results of running calls, by call key. */
  preliminary: Map<string, ToolOutput> | null;
  /** The waiters for answers to questions of running calls, by call key and question. */
  answerWaiters: Map<string, (answer: QuestionAnswer) => void> | null;
};

/** Whether a person can be asked in this run (HITL-6). */
export function isInteractive({ transcript }: EffectContext): boolean {
  return transcript.run?.options.interactive !== false;
}

export function createProcessMemory(sessionId: string, store: CompiledAgent["store"], holder: string): ProcessMemory {
  return {
    holder,
    texts: createPromptBlobs(sessionId, store),
    run: createRunMemory(null),
    words: null,
    validated: null,
    changes: null,
    spareHookContext: null,
    partial: null,
    preliminary: null,
    answerWaiters: null,
  };
}

export type EffectOf<Type extends Effect["type"]> = Extract<Effect, { readonly type: Type }>;
