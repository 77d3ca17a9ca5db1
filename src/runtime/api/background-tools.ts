/**
 * The tools `read_agent` and `stop_agent`: what has become of the agents that a session has started in the background.
 *
 * 1. A session can only name its own children: the id must be that of a session whose parent it is.
 * 2. The answer of a child comes as the result of a call, so hooks and permissions of the parent apply to it.
 */
import { findBackgroundChildren } from "../../core/machine/background-children.js";
import { hasCalls, isAsleep, isResting, type State } from "../../core/machine/state.js";
import { textOfOutput } from "../../core/transcript/results.js";
import type { RunResult } from "../../core/view/outcome.js";
import type { Clock } from "../../ports/clock.js";
import type { Store } from "../../ports/store.js";
import type { AnyTool, Tool, ToolContext } from "../../ports/tool.js";
import { type AgentFamily, findAgentByName, findChildAgent } from "../agent/agent-family.js";
import { isBackgroundTool } from "../agent/agent-tool.js";
import { deriveChildId, describeEnd, toChildOutput } from "../effects/children.js";
import { childLost, readAgentToolName, stopAgentToolName } from "../effects/prompts.js";
import { loadRunResult } from "../log/present-result.js";
import { readTranscript } from "../log/read-log.js";

export type BackgroundToolsDeps = {
  readonly store: Store;
  readonly clock: Clock;
  /** Called when a tool runs: the family is made from the tools. */
  readonly getFamily: () => AgentFamily;
};

type Child = { readonly id: string; readonly name: string; readonly runId: string; readonly state: State | null };

/** None if no tool can start an agent in the background. A tool of the agent with the same name counts instead. */
export function createBackgroundTools(tools: readonly AnyTool[], deps: BackgroundToolsDeps): readonly AnyTool[] {
  if (!tools.some(isBackgroundTool)) return [];
  return [createReadTool(deps), createStopTool(deps)].filter(({ name }) => !tools.some((own) => own.name === name));
}

const agentSchema = {
  type: "string",
  minLength: 1,
  maxLength: 100,
  description: "Its id, as its start gave it.",
} as const;

function createReadTool(deps: BackgroundToolsDeps): Tool<{ readonly agent?: string }, string> {
  return {
    name: readAgentToolName,
    lenientInput: true,
    description:
      "Says what an agent that you started in the background does now, or gives its answer if it has ended. Without an id: lists those at work. Do not call it again and again to wait: a message tells you when an agent has ended.",
    input: { type: "object", properties: { agent: agentSchema }, additionalProperties: false },
    readOnly: true,
    execute: async ({ agent }, { sessionId }) =>
      agent === undefined ? listAtWork(sessionId, deps) : describeChild(await findChild(agent, sessionId, deps), deps),
  };
}

function createStopTool(deps: BackgroundToolsDeps): Tool<{ readonly agent: string }, string> {
  return {
    name: stopAgentToolName,
    lenientInput: true,
    description: "Stops an agent that you started in the background. What it has done stays.",
    input: { type: "object", properties: { agent: agentSchema }, required: ["agent"], additionalProperties: false },
    // The same call stops the agent once.
    recover: "rerun",
    execute: async ({ agent }, context) => stopChild(await findChild(agent, context.sessionId, deps), context, deps),
  };
}

/** @throws Error for the model, if the session has no such child */
async function findChild(id: string, sessionId: string, { store }: BackgroundToolsDeps): Promise<Child> {
  const state = (await store.load(id))?.state ?? null;
  const parent = state?.session?.parent;
  if (parent?.sessionId === sessionId && parent.background === true) {
    const name = state?.session?.agent ?? "";
    return { id, name, runId: deriveChildId(id, parent.callKey), state };
  }
  const own = (await store.load(sessionId))?.state;
  const listed = own === undefined ? undefined : findBackgroundChildren(own).find(({ childId }) => childId === id);
  if (listed === undefined || state !== null)
    throw new Error(
      `You have started no agent ${id} in the background. Without an id, ${readAgentToolName} lists those at work.`,
    );
  return { id, name: listed.name, runId: deriveChildId(id, listed.callKey), state: null };
}

async function listAtWork(sessionId: string, deps: BackgroundToolsDeps): Promise<string> {
  const own = (await deps.store.load(sessionId))?.state;
  const children = own === undefined ? [] : findBackgroundChildren(own);
  const lines: string[] = [];
  for (const { name, childId } of children) {
    const state = (await deps.store.load(childId))?.state ?? null;
    lines.push(`${childId} (${name}): ${describeWork(state)}`);
  }
  return lines.length === 0 ? "No agent works in the background." : lines.join("\n");
}

async function describeChild({ id, name, runId, state }: Child, { store }: BackgroundToolsDeps): Promise<string> {
  const result = state === null ? null : await loadRunResult(store, id, state, runId);
  if (state === null || result === null || !("reason" in result)) return `The agent "${name}" ${describeWork(state)}.`;
  return `The agent "${name}" has ended (${describeEnd(result)}). Its answer:\n${await readAnswer(id, name, state, result, store)}`;
}

async function readAnswer(id: string, name: string, state: State, result: RunResult, store: Store): Promise<string> {
  const { output } = toChildOutput(result, await readTranscript(store, id, state), name);
  return textOfOutput(output);
}

function describeWork(state: State | null): string {
  if (state === null || state.status === "idle") return "has not begun yet";
  return `${describeActivity(state)} (steps so far: ${state.counters.totalSteps})`;
}

function describeActivity(state: State): string {
  if (isResting(state)) return "has ended";
  if (state.status === "awaiting_human") return "waits for a person";
  if (isAsleep(state)) return "sleeps or waits for a signal";
  const running = hasCalls(state) ? state.calls.filter(({ status }) => status === "running") : [];
  return running.length === 0 ? "is at work" : `is at work, and runs ${running.map(({ name }) => name).join(", ")}`;
}

async function stopChild(
  { id, name, runId, state }: Child,
  { callKey, sessionId }: ToolContext,
  { store, clock, getFamily }: BackgroundToolsDeps,
): Promise<string> {
  if (state !== null && (await loadRunResult(store, id, state, runId)) !== null && isResting(state))
    return `The agent "${name}" has ended already. ${readAgentToolName} gives its answer.`;
  // A message to a session that was deleted would begin another one.
  if (state === null && (await store.describe(id)) === null) return childLost(name);
  const note = "the agent that started it has stopped it";
  await store.post(id, {
    id: `abort/${sessionId}/${callKey}`,
    at: clock.now(),
    body: { type: "abort", runId, note },
  });
  await takeUpChild(id, name, getFamily());
  return `The agent "${name}" is being stopped. A message tells you when it has ended.`;
}

/** Drives the child to its end, unless another process holds it: that process reads its inbox. */
async function takeUpChild(id: string, name: string, family: AgentFamily): Promise<void> {
  await (findChildAgent(name, family) ?? findAgentByName(name, [family]))?.takeUp(id);
}
