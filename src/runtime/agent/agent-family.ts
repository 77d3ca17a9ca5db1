/**
 * The agents behind the tools of an agent, and the parent whose tool the agent is itself.
 */

import { findBackgroundChildren } from "../../core/machine/background-children.js";
import { findChildCalls } from "../../core/machine/child-reports.js";
import type { RunLimits } from "../../core/machine/run-limits.js";
import type { SessionInfo, State } from "../../core/machine/state.js";
import type { RunResult } from "../../core/view/outcome.js";
import type { CompiledInput } from "../tools/schema.js";
import type { Answers } from "./answer-types.js";
import type { ResumeOptions } from "./local-run-options.js";
import type { RunParams } from "./params.js";
import type { Replay, ReplayOptions } from "./replay-types.js";
import type { ItemsOf } from "./stream-types.js";

/** An agent behind a tool. Its sessions are children of the parent's sessions, in the parent's store. */
export type ChildAgent = {
  readonly name: string;
  /** Whether it can drive the sessions of the agent of this name: its own name, or that of one that it hands over to. */
  readonly reaches: (agentName: string) => boolean;
  /** The models without a price that a session of it may call, its own children included. */
  readonly unpriced: readonly string[];
  /** The same of the agents that its sessions can be handed over to. */
  readonly unpricedReached: () => readonly string[];
  /** The names of its tools, and of those of all agents that it reaches. */
  readonly toolNames: () => readonly string[];
  readonly limits: RunLimits;
  readonly sessionInfo: (title: string) => SessionInfo;
  readonly budgetShare: number;
  /** Whether the parent goes on without waiting for a call with this input. */
  readonly background: (input: unknown) => boolean;
  readonly request: (input: unknown) => string;
  /** Returns the params of the child's run. */
  readonly params?: (input: unknown, parent: { readonly params: RunParams }) => RunParams;
  /** The shape of its answers; absent if they are texts. */
  readonly output?: CompiledInput;
  /** The agents behind the tools of the agents that it reaches. Those of the named agent come first. */
  readonly families: (agentName: string | undefined) => readonly AgentFamily[];
  /** Takes a child session up in this process, unless another process holds it. */
  readonly takeUp: (sessionId: string) => Promise<void>;
  /** If a child session is driven here and has nothing to do, resolves when its lease was given back. */
  readonly releaseIfIdle: (sessionId: string) => Promise<void>;
  /**
   * Sees to it that a child session goes on, in this process or another, while somebody waits for its parent here. Calls
   * `onEnd` when it rests or is interrupted here, with an error if it cannot go on here. Call the returned function to
   * leave the session to others.
   */
  readonly attend: (sessionId: string, onEnd: (error?: unknown) => void) => () => void;
  /** The items of a child session, which need not have begun. */
  readonly items: ItemsOf;
  readonly session: (sessionId: string) => Answers & {
    readonly resume: (options?: ResumeOptions) => Promise<RunResult>;
    readonly leave: (options: { readonly graceMs: number }) => Promise<void>;
  };
  readonly replay: (sessionId: string, options: ReplayOptions) => Promise<Replay>;
  readonly shutdown: (options: { readonly graceMs: number }) => Promise<void>;
};

/** The children and the parent of an agent, in one process. */
export type AgentFamily = {
  /** The agents behind tools, by the tool's name. */
  readonly children: ReadonlyMap<string, ChildAgent>;
  readonly parent?: ParentLink;
};

export type ParentLink = {
  /** Called when a child has posted to the inbox of its parent. */
  readonly takeUp: (sessionId: string) => Promise<void>;
};

/** The agent behind a tool; undefined for an ordinary tool. */
export function findChildAgent(toolName: string, family: AgentFamily): ChildAgent | undefined {
  return family.children.get(toolName);
}

/**
 * Takes up the children that a state waits for. A child that cannot be taken up here is due in the store. `atWork`: only
 * those that do not wait for a person and do not sleep.
 */
export async function takeUpChildren(
  state: State,
  family: AgentFamily,
  { atWork = false }: { readonly atWork?: boolean } = {},
): Promise<void> {
  const calls = findChildCalls(state).filter(
    ({ askedAt, asleep }) => !atWork || (askedAt === undefined && asleep === undefined),
  );
  // Whether a child in the background waits is only in its own state.
  const children = [...calls, ...findBackgroundChildren(state)];
  await Promise.allSettled(children.map(({ name, childId }) => findChildAgent(name, family)?.takeUp(childId)));
}

/** If the parent cannot be taken up here, the message in its inbox makes it due for another process. */
export async function takeUpParent(sessionId: string, { parent }: AgentFamily): Promise<void> {
  try {
    await parent?.takeUp(sessionId);
  } catch {
    // Anyone who waits for the parent gets the error of its own driver or follower.
  }
}

/** Several families as one. Of two tools with the same name, that of the first family counts. */
export function joinFamilies(families: readonly AgentFamily[]): AgentFamily {
  const [first, ...others] = families;
  if (first !== undefined && others.length === 0) return first;
  const children = new Map<string, ChildAgent>();
  for (const family of families)
    for (const [name, child] of family.children) if (!children.has(name)) children.set(name, child);
  return { children };
}
