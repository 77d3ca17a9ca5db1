/**
 * What performing an effect may know and do: the parts of the agent, the session as it stands, and ways to be heard.
 */
import type { Effect } from "../../core/machine/effect.js";
import type { EventBody } from "../../core/machine/event.js";
import type { State } from "../../core/machine/state.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import type { HookContext } from "../../ports/hook.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import type { Cancellation } from "../lib/cancellation.js";
import type { MessageAssembly } from "../model/message-assembly.js";
import type { Subscribers } from "../subscribers/broadcast.js";
import { createPromptBlobs, type PromptBlobs } from "./prompt-blobs.js";

export type EffectContext = {
  readonly sessionId: string;
  readonly parts: CompiledAgent;
  /** The state in which the effect is wanted. */
  readonly state: State;
  readonly transcript: Transcript;
  readonly memory: ProcessMemory;
  now(): number;
  /** Who hears of it while it is done. */
  readonly hearers: Subscribers;
};

/** What one process remembers of a run and another can do without. */
export type ProcessMemory = {
  /** The process's name as a holder of leases. */
  readonly holder: string;
  /** Prompts and specifications, as the log names them. */
  readonly texts: PromptBlobs;
  /** Inputs as their schema gave them, by call key, until their tools take them. */
  validated: Map<string, unknown> | null;
  /** The message that is being streamed. */
  partial: MessageAssembly | null;
  /** What gave a model call its signal, where nobody listens to that any more. */
  unheard: Cancellation | null;
  /** For the next hook of the run, where no hook has it. */
  hookContext: OwnContext | null;
};

/** The context of one hook. */
export type OwnContext = {
  readonly context: HookContext;
  /** The signal was looked at. */
  readonly isUsed: () => boolean;
  readonly end: () => void;
};

/** Somebody can be asked in this run (HITL-6). */
export function isInteractive({ transcript }: EffectContext): boolean {
  return transcript.run?.options.interactive !== false;
}

export function createProcessMemory(sessionId: string, store: CompiledAgent["store"], holder: string): ProcessMemory {
  return {
    holder,
    texts: createPromptBlobs(sessionId, store),
    validated: null,
    partial: null,
    hookContext: null,
    unheard: null,
  };
}

/** For a wait that may be long: a process may hold many sessions that wait. */
export function forgetSpares(memory: ProcessMemory): void {
  memory.hookContext = null;
  memory.unheard = null;
}

/** Carries out one effect; what it settles with is the event that happened, if any. */
export type Perform<E extends Effect = Effect> = (
  effect: E,
  work: EffectContext,
  cancellation: Cancellation,
) => EventBody | undefined | Promise<EventBody | undefined>;

export type EffectOf<Type extends Effect["type"]> = Extract<Effect, { readonly type: Type }>;
