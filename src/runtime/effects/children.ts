/**
 * Child sessions: how a parent starts one, ends one, and is told by one.
 *
 * 1. A child's id follows from the parent's id and the call, by a keyed hash: a restart finds it, a stranger cannot guess it.
 * 2. The child is asked through its inbox before the parent's commit says that it waits: either may be repeated, neither counts twice.
 * 3. A child tells its parent through the parent's inbox, and goes on wanting to until that is done.
 */
import { createHmac } from "node:crypto";
import type { ToolOutput } from "../../core/data/message.js";
import type { EventBody } from "../../core/machine/event.js";
import type { InboxBody } from "../../core/machine/inbox.js";
import { type RunResult, resultOf } from "../../core/view/outcome.js";
import { type ChildAgent, childAgentOf } from "../agent/agent-family.js";
import { capOrWhole } from "../work/cap-output.js";
import type { EffectContext, EffectOf } from "../work/effect-context.js";
import { reserveFor, within } from "./child-budget.js";

export function childIdOf(sessionId: string, callKey: string): string {
  return createHmac("sha256", sessionId).update(callKey).digest("hex").slice(0, 32);
}

/** Asks the child; the same call asks the same child, once. */
export async function startChild(
  { runId, callKey }: EffectOf<"run_tool">,
  child: ChildAgent,
  input: unknown,
  work: EffectContext,
): Promise<EventBody> {
  const { sessionId, state, parts } = work;
  const childId = childIdOf(sessionId, callKey);
  const reserved = reserveFor(callKey, state, parts.family);
  if (reserved === "nothing") {
    const output = {
      type: "text",
      text: "Error: The run's budget is used up; nothing is left for another agent.",
    } as const;
    return { type: "tool_finished", runId, callKey, outcome: "error", output };
  }
  const text = child.request(input);
  const body: InboxBody = {
    type: "input",
    mode: "queue",
    runId: childIdOf(childId, callKey),
    input: [{ role: "user", parts: [{ type: "text", text }] }],
    limits: within(reserved, child.limits),
    session: { ...child.sessionInfo(text), parent: { sessionId, callKey }, top: state.session?.top ?? sessionId },
  };
  await parts.store.post(childId, { id: `run/${body.runId}`, at: work.now(), body });
  return {
    type: "tool_waiting",
    runId,
    callKey,
    on: "child",
    childId,
    ...reserved,
  };
}

/** Aborts a child. Its end comes as its result, as any other. */
export async function cancelChild(effect: EffectOf<"cancel_child">, { parts, now }: EffectContext): Promise<undefined> {
  const { childId, callKey } = effect;
  await parts.store.post(childId, {
    id: `abort/${callKey}`,
    at: now(),
    body: { type: "abort", note: "the parent was aborted" },
  });
  await childAgentOf(effect.name, parts.family)?.takeUp(childId);
  return undefined;
}

/** Gives the parent the result of the call that started this session. */
export async function notifyParent(effect: EffectOf<"notify_parent">, work: EffectContext): Promise<EventBody> {
  const { sessionId, state, transcript, parts } = work;
  const { parent, runId } = effect;
  const result = resultOf(sessionId, state, transcript);
  const body: InboxBody = {
    type: "result",
    callKey: parent.callKey,
    output: await capOrWhole(outputOf(result, parts.name), parent.sessionId, parts.services),
    ...(result?.status === "completed" ? {} : { isError: true }),
    child: { usage: result?.usage ?? {} },
  };
  await parts.store.post(parent.sessionId, { id: `child/${sessionId}/${runId}`, at: work.now(), body });
  // Where the parent is not of this process, its mail makes it due.
  await parts.family.parent?.takeUp(parent.sessionId);
  return { type: "parent_notified", runId };
}

function outputOf(result: RunResult | null, name: string): ToolOutput {
  if (result?.status === "completed")
    return result.output === undefined ? { type: "text", text: result.text } : { type: "json", value: result.output };
  const why = result === null || !("reason" in result) ? "it did not end" : `${result.status}, ${result.reason}`;
  return { type: "text", text: `Error: The agent "${name}" did not finish (${why}): ${result?.text ?? ""}` };
}
