/**
 * What performing an effect may know and do: the parts of the agent, the session as it stands, and ways to be heard.
 */
import type { Effect } from "../../core/machine/effect.js";
import type { EventBody } from "../../core/machine/event.js";
import type { State } from "../../core/machine/state.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import type { HookContext } from "../../ports/hook.js";
import type { AgentParts } from "../agent/agent-parts.js";
import type { Cancellation } from "../lib/cancellation.js";
import type { Assembly } from "../model/message-assembly.js";
import type { Hearers } from "../subscribers/broadcast.js";
import { createNamedTexts, type NamedTexts } from "./prompt-blobs.js";

export type Work = {
  readonly sessionId: string;
  readonly parts: AgentParts;
  /** The state in which the effect is wanted. */
  readonly state: State;
  readonly transcript: Transcript;
  readonly memory: WorkMemory;
  now(): number;
  /** Who hears of it while it is done. */
  readonly hearers: Hearers;
};

/** What one process remembers of a run and another can do without. */
export type WorkMemory = {
  /** The process's name as a holder of leases. */
  readonly owner: string;
  /** Prompts and specifications, as the log names them. */
  readonly texts: NamedTexts;
  /** Inputs as their schema gave them, by call key, until their tools take them. */
  validated: Map<string, unknown> | null;
  /** The message that is being streamed. */
  partial: Assembly | null;
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
export function isInteractive({ transcript }: Work): boolean {
  return transcript.run?.options.interactive !== false;
}

export function createMemory(sessionId: string, store: AgentParts["store"], owner: string): WorkMemory {
  return {
    owner,
    texts: createNamedTexts(sessionId, store),
    validated: null,
    partial: null,
    hookContext: null,
    unheard: null,
  };
}

/** For a wait that may be long: a process may hold many sessions that wait. */
export function forgetSpares(memory: WorkMemory): void {
  memory.hookContext = null;
  memory.unheard = null;
}

/** Carries out one effect; what it settles with is the event that happened, if any. */
export type Perform<E extends Effect = Effect> = (
  effect: E,
  work: Work,
  cancellation: Cancellation,
) => EventBody | undefined | Promise<EventBody | undefined>;

export type EffectOf<Type extends Effect["type"]> = Extract<Effect, { readonly type: Type }>;
