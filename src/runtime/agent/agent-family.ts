/**
 * The agents behind the tools of an agent, and the parent whose tool the agent is itself.
 */

import type { RunLimits } from "../../core/machine/run-limits.js";
import { hasCalls, type SessionInfo, type State } from "../../core/machine/state.js";
import type { RunResult } from "../../core/view/outcome.js";
import type { Answers } from "./answer-types.js";
import type { Replay, ReplayOptions } from "./replay-types.js";

/** An agent behind a tool. Its sessions are children of the parent's sessions, in the parent's store. */
export type ChildAgent = {
  readonly name: string;
  /** The models without a price that a session of it may call, its own children included. */
  readonly unpriced: readonly string[];
  readonly limits: RunLimits;
  readonly sessionInfo: (title: string) => SessionInfo;
  readonly budgetShare: number;
  readonly request: (input: unknown) => string;
  /** Takes a child session up in this process, unless another process holds it. */
  readonly takeUp: (sessionId: string) => Promise<void>;
  readonly session: (sessionId: string) => Answers & { readonly resume: () => Promise<RunResult> };
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
  /** Called when a child waits for a person: its parent then waits for that person, too. */
  readonly tellWaiting: (sessionId: string) => Promise<void>;
};

/** The agent behind a tool; undefined for an ordinary tool. */
export function childAgentOf(toolName: string, family: AgentFamily): ChildAgent | undefined {
  return family.children.get(toolName);
}

/** The child sessions that a state waits for. */
export function waitingChildren(state: State): readonly { readonly name: string; readonly childId: string }[] {
  if (!hasCalls(state)) return [];
  return state.calls.flatMap((call) =>
    call.status === "waiting" && call.on === "child" && call.childId !== undefined
      ? [{ name: call.name, childId: call.childId }]
      : [],
  );
}

/** Takes up the children that a state waits for. A child that cannot be taken up here is due in the store. */
export function takeUpChildren(state: State, family: AgentFamily): void {
  for (const { name, childId } of waitingChildren(state)) void childAgentOf(name, family)?.takeUp(childId);
}
