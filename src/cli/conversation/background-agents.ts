/**
 * The session's background agents: shows their questions, and drives them while the conversation is open, because no worker runs on
 * most machines.
 */
import type { Agent, State, Store, StreamItem } from "../../index.js";
import { isUnfinished } from "../agent/session-progress.js";
import { awaitOutcome } from "../run/run-on-terminal.js";
import { createSleepAlarm, type SleepAlarm } from "./sleep-alarm.js";
import type { AgentItem } from "./view/show-agent.js";

export type BackgroundAgentsDeps = {
  readonly agent: Agent;
  readonly store: Store;
  readonly sessionId: string;
  /** Shows an item of an agent. */
  readonly show: (item: AgentItem) => void;
  readonly fail: (error: unknown) => void;
  readonly signal: AbortSignal;
};

export type BackgroundAgents = {
  /** Follows an agent and drives it, unless another process does. */
  readonly follow: (child: { readonly childId: string; readonly callKey: string }) => void;
  /** Follows the session's background agents that have not ended. */
  readonly followAll: (state: State) => void;
  /** Continues an agent after an answer. A no-op if the session has no such agent. */
  readonly carryOn: (childId: string) => void;
  /** The number of agents that have not ended. */
  readonly countUnfinished: () => Promise<number>;
};

export function createBackgroundAgents(deps: BackgroundAgentsDeps): BackgroundAgents {
  const { agent, store, sessionId, show, fail, signal } = deps;
  /** The agents that are followed, by session id. Each may sleep. */
  const followed = new Map<string, SleepAlarm>();
  signal.addEventListener("abort", () => {
    for (const alarm of followed.values()) alarm.clear();
  });

  async function showItems(childId: string, callKey: string): Promise<void> {
    const parent = { sessionId, callKey };
    for await (const item of agent.session(childId).events({ signal }))
      if (isShown(item)) show({ ...item, sessionId: childId, parent, depth: 1, cursor: `${item.seq}.${item.index}` });
  }

  async function drive(childId: string): Promise<void> {
    const summary = await store.describe(childId);
    if (summary === null || !isUnfinished(summary)) return;
    const result = await awaitOutcome(agent.session(childId));
    if (result.status === "waiting" && !signal.aborted) followed.get(childId)?.set(result.waits);
  }

  function carryOn(childId: string): void {
    if (followed.has(childId)) void drive(childId).catch(failUnlessClosed);
  }

  function failUnlessClosed(error: unknown): void {
    if (!signal.aborted) fail(error);
  }

  function follow({ childId, callKey }: { readonly childId: string; readonly callKey: string }): void {
    if (followed.has(childId)) return;
    followed.set(
      childId,
      createSleepAlarm(() => carryOn(childId)),
    );
    void showItems(childId, callKey).catch(failUnlessClosed);
    carryOn(childId);
  }

  return {
    follow,
    followAll: ({ background = [] }) => background.forEach(follow),
    carryOn,
    async countUnfinished() {
      const summaries = await Promise.all([...followed.keys()].map((childId) => store.describe(childId)));
      return summaries.filter((summary) => summary !== null && isUnfinished(summary)).length;
    },
  };
}

/** The line of the agent's call has already ended, so only questions are shown. */
function isShown(
  item: StreamItem,
): item is Extract<StreamItem, { readonly type: "approval_requested" | "approval_answered" | "tool_result" }> {
  return item.type === "approval_requested" || item.type === "approval_answered" || item.type === "tool_result";
}
