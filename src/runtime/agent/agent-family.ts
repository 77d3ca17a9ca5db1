/**
 * The agents that an agent uses as tools, and the parent that uses the agent as a tool.
 */

import type { RunLimits } from "../../core/machine/run-limits.js";
import type { SessionInfo } from "../../core/machine/state.js";
import type { RunResult } from "../../core/view/outcome.js";
import type { CompiledInput } from "../tools/schema.js";
import type { Answers } from "./answer-types.js";
import type { ResumeOptions } from "./local-run-options.js";
import type { RunParams } from "./params.js";
import type { Replay, ReplayOptions } from "./replay-types.js";
import type { ItemsOf } from "./stream-types.js";

/** An agent that is used as a tool. Its sessions are children of the parent's sessions, in the parent's store. */
export type ChildAgent = {
  readonly name: string;
  /** Whether the agent can drive sessions of the named agent: the agent itself, or one that it hands over to. */
  readonly reaches: (agentName: string) => boolean;
  /** The unpriced models that a session of the agent may call, including those of its children. */
  readonly unpriced: readonly string[];
  /** The same for the agents that its sessions can be handed over to. */
  readonly unpricedReached: () => readonly string[];
  /** The names of its tools, and of the tools of all agents that it reaches. */
  readonly toolNames: () => readonly string[];
  readonly limits: RunLimits;
  readonly sessionInfo: (title: string) => SessionInfo;
  readonly budgetShare: number;
  /** Whether the parent continues without waiting for a call with this input. */
  readonly background: (input: unknown) => boolean;
  readonly request: (input: unknown) => string;
  /** Returns the params of the child's run. */
  readonly params?: (input: unknown, parent: { readonly params: RunParams }) => RunParams;
  /** The shape of its answers; absent if they are plain text. */
  readonly output?: CompiledInput;
  /** The families of the agents that it reaches, those of the named agent first. */
  readonly families: (agentName: string | undefined) => readonly AgentFamily[];
  /** Resumes a child session in this process, unless another process holds it. */
  readonly takeUp: (sessionId: string) => Promise<void>;
  /** If a child session is driven here and has nothing to do, resolves when its lease has been released. */
  readonly releaseIfIdle: (sessionId: string) => Promise<void>;
  /**
   * Makes sure that a child session continues, in this process or another, while a caller waits for its parent here. Calls `onEnd` when the
   * session rests or is interrupted here, with an error if it cannot continue here. Call the returned function to leave the session to
   * other processes.
   */
  readonly attend: (sessionId: string, onEnd: (error?: unknown) => void) => () => void;
  /** The items of a child session, which may not have started yet. */
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
  /** The agents that are used as tools, by the tool's name. */
  readonly children: ReadonlyMap<string, ChildAgent>;
  readonly parent?: ParentLink;
};

export type ParentLink = {
  /** Called when a child has posted to its parent's inbox. */
  readonly takeUp: (sessionId: string) => Promise<void>;
};

/** The agent that a tool calls; undefined for an ordinary tool. */
export function findChildAgent(toolName: string, family: AgentFamily): ChildAgent | undefined {
  return family.children.get(toolName);
}

/** The child agent that has this name, or that reaches the agent of this name. */
export function findAgentByName(name: string | undefined, families: readonly AgentFamily[]): ChildAgent | undefined {
  if (name === undefined) return undefined;
  for (const { children } of families) for (const child of children.values()) if (child.reaches(name)) return child;
  return undefined;
}

/** If the parent cannot be resumed here, the message in its inbox makes it due for another process. */
export async function takeUpParent(sessionId: string, { parent }: AgentFamily): Promise<void> {
  try {
    await parent?.takeUp(sessionId);
  } catch {
    // Callers that wait for the parent get the error of its own driver or follower.
  }
}

/** Joins several families into one. If two tools have the same name, the tool of the first family wins. */
export function joinFamilies(families: readonly AgentFamily[]): AgentFamily {
  const [first, ...others] = families;
  if (first !== undefined && others.length === 0) return first;
  const children = new Map<string, ChildAgent>();
  for (const family of families)
    for (const [name, child] of family.children) if (!children.has(name)) children.set(name, child);
  return { children };
}
