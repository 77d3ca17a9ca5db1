/**
 * What an effect has in hand while it runs: the agent, the session as it stands, and those who follow it.
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
  readonly parts: CompiledAgent;
  /** The state that asks for the effect. */
  readonly state: State;
  readonly transcript: Transcript;
  readonly memory: ProcessMemory;
  readonly runMemory: RunMemory;
  now(): number;
  readonly hold: LeaseHold;
  /** Commits what happens while the effect goes on. */
  readonly recorder: Recorder;
  /** Who hears of deltas and progress. */
  readonly subscribers: Subscribers;
};

/** What an effect may commit before it settles. */
export type Recorder = {
  /**
   * Adds events to the next commit; `events` makes them for the state that they will be applied to. `recorded`: they
   * are durable. `stale`: `events` gave none, because the work is over. `closed`: this process does not drive the
   * session any more, and the work goes on elsewhere.
   */
  readonly record: (events: (state: State) => readonly EventBody[]) => Promise<"recorded" | "stale" | "closed">;
  /** This process drives the session no more, or gives it back, and `isOpen` says that the work was not over then. */
  readonly isLost: (isOpen: (state: State) => boolean) => boolean;
  /** This process drives the session, and `isOpen` says that the work was not over in the last commit. */
  readonly isDriving: (isOpen: (state: State) => boolean) => boolean;
  /** Ends with the commits that are under way. Null if there are none. */
  readonly committing: () => Promise<void> | null;
  /** A replay: nothing may be done that is not recorded. */
  readonly isReplay?: true;
  /** The lease is being given back: another process may have the session, so nothing may start here. */
  readonly isReleased: () => boolean;
  /** The process shuts down. */
  readonly isDraining: () => boolean;
  /** Calls the listener when the process begins to shut down, or at once if it has. @returns removes the listener */
  readonly onDraining: (listener: () => void) => () => void;
  /** The effect of this key will not settle here: a shutdown does not wait for it. */
  readonly detachJob: (key: string) => void;
};

/** What a hook or a permission check gets beside its subject, and the way to abort its signal. */
export type CancellableHookContext = { readonly hookContext: HookContext; readonly cancellation: Cancellation };
/** This process's hold on the session. It may be lost without a word: while the process sleeps, or its clock jumps. */
export type LeaseHold = {
  /** Whether no other process can have claimed the session. */
  readonly isFresh: () => boolean;
  /** Renews the lease. False if the session is no longer held here. */
  readonly refresh: () => Promise<boolean>;
};

/** The texts of context sources that a run goes by. */
export type LoadedSources = {
  /** The agent whose sources they are. A run may be handed over, and the next one may begin with another agent. */
  readonly agent: string;
  readonly list: readonly SourceReference[];
  /** The words of these texts, and of those in the system prompt, by blob; null if the store has lost them. */
  readonly words: ReadonlyMap<string, string | null>;
  /** How a recording told what changed, for a replay. */
  readonly recorded?: { readonly told: EventOf<"prepared">["sourcesTold"] };
  /** How the model is told; made anew when the transcript has other texts. */
  told: { readonly of: unknown; readonly sources: ToldSources } | null;
};

/** How a model call gets the texts of context sources. */
export type ToldSources = {
  readonly list: readonly SourceReference[];
  /** The texts in the system prompt: those that count, or earlier ones. */
  readonly inPrompt: readonly SourceReference[];
  /** As they follow the system prompt; empty if there are none. */
  readonly prompt: string;
  /** The texts that count, in the same form. It is sent if the messages that tell changes are left out. */
  readonly present: string;
  /** How the texts differ from those of the run before. */
  readonly changes: readonly SourceChange[];
  /** The message that tells what changed; null if there is nothing to tell. */
  readonly note: { readonly kind: "changes" | "prompt"; readonly message: UserMessage } | null;
};

/**
 * What a process has loaded for one run. Each run has its own: a run may still load texts when its end has been decided and the
 * next run has begun, and must not replace what the next run has loaded.
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

/** The memory of this run: the one that this process has, or a new one. */
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

/** What one process remembers of a session. Another process can go on without it. */
export type ProcessMemory = {
  /** The name of the process as a holder of leases. */
  readonly holder: string;
  /** Prompts and specifications that the log names by their hashes. */
  readonly texts: PromptBlobs;
  /** What was loaded for the run whose effects started last. */
  run: RunMemory;
  /** The texts of context sources that were loaded last, by blob: the next run mostly needs the same. */
  words: LoadedSources["words"] | null;
  /** Validated inputs by call key, until their tools take them. */
  validated: Map<string, unknown> | null;
  /** What running calls have changed in the session's data and is not committed, by call key. */
  changes: Map<string, CallChanges> | null;
  /** The context of a hook that did not read its signal: the next hook of the run gets it. */
  spareHookContext: CancellableHookContext | null;
  /** The message that is being streamed. */
  partial: MessageAssembly | null;
  /** The newest preliminary results of the calls that are running, by call key. */
  preliminary: Map<string, ToolOutput> | null;
  /** Who waits for the answers to questions of calls that are running, by call key and question. */
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
