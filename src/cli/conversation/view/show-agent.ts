/**
 * Shows the items of agents that the session called: asks their questions, and shows their work on the line of the call.
 */
import type { FamilyItem, Json, PublicEvent, PublicEventOf } from "../../../index.js";
import { formatNumber } from "../../../view/format-number.js";
import { agentToolPrefix, isAgentTool } from "../../permissions/rule.js";
import { formatCallTitle } from "../../render/format-call.js";
import { formatCount, toOneLine, truncate } from "../../terminal/text.js";
import { renderDecision, renderEndedAgent } from "../lines/view-lines.js";
import { type AgentWork, appendLines, endText, type FoldState, updateCall } from "./fold.js";
import type { AskingAgent } from "./questions.js";

/** An item of a child session, at any depth. */
export type AgentItem = Exclude<FamilyItem, { readonly type: "children_omitted" }>;

/** Columns of the call that an agent runs. */
const maxActivity = 40;

/** Remembers which agent a call has started, and its task, for its questions. */
export function nameAgent(
  fold: FoldState,
  { callKey, childId }: Pick<Extract<PublicEvent, { readonly type: "child_started" }>, "callKey" | "childId">,
): void {
  const call = fold.calls.get(callKey);
  if (call !== undefined) fold.agents.set(childId, toAskingAgent(call));
}

/** Does the same for a call that started its agent in the background. */
export function nameBackgroundAgent(
  fold: FoldState,
  { callKey, startedChild }: Pick<Extract<PublicEvent, { readonly type: "tool_result" }>, "callKey" | "startedChild">,
): void {
  if (startedChild === undefined) return;
  nameAgent(fold, { callKey, childId: startedChild });
  fold.backgroundAgents.add(startedChild);
  fold.agentsAtWork.add(startedChild);
}

/** Shows that an agent in the background has ended. The text of the message is for the model. */
export function showEndedAgent(
  fold: FoldState,
  event: PublicEventOf<"run_started" | "steered">,
  columns: number,
): void {
  const { finishedChild = "" } = event;
  fold.agentsAtWork.delete(finishedChild);
  endText(fold, columns);
  appendLines(fold, "note", renderEndedAgent(event, fold.agents.get(finishedChild), columns));
}

/** Forgets the agents that the ended run waited for. */
export function forgetAgents(fold: FoldState): void {
  for (const childId of fold.agents.keys()) if (!fold.backgroundAgents.has(childId)) fold.agents.delete(childId);
  fold.callsOfAgents.clear();
}

function toAskingAgent({ name, input }: { readonly name: string; readonly input: Json }): AskingAgent {
  const agent = isAgentTool(name) ? name.slice(agentToolPrefix.length) : name;
  const task = typeof input === "object" && input !== null && "task" in input ? input.task : undefined;
  return { name: agent, task: typeof task === "string" ? truncate(toOneLine(task), maxTask) : null };
}

/** Columns. */
const maxTask = 40;

/** @returns whether the open questions have changed */
export function showAgentItem(fold: FoldState, item: AgentItem, columns: number): boolean {
  if (item.parent === undefined) return false;
  const callKey = fold.callsOfAgents.get(item.parent.sessionId) ?? item.parent.callKey;
  fold.callsOfAgents.set(item.sessionId, callKey);
  switch (item.type) {
    case "tool_call":
      addWork(fold, callKey, ({ calls }) => ({
        calls: calls + 1,
        activity: formatCallTitle(item.name, item.input, maxActivity),
      }));
      return false;
    case "tool_result":
      addWork(fold, callKey, () => ({ activity: "" }));
      return fold.questions.close(item.callKey);
    case "step_finished": {
      const { inputTokens = 0, outputTokens = 0 } = item.usage;
      addWork(fold, callKey, ({ tokens }) => ({ tokens: tokens + inputTokens + outputTokens }));
      return false;
    }
    case "approval_requested":
      addWork(fold, callKey, () => ({ activity: "waits for you" }));
      fold.questions.ask(item, { childId: item.sessionId, isBackground: fold.backgroundAgents.has(item.sessionId) });
      return true;
    case "approval_answered": {
      addWork(fold, callKey, () => ({ activity: "" }));
      const question = fold.questions.all().find(({ callKey: asked }) => asked === item.callKey);
      if (question !== undefined) appendLines(fold, "note", [renderDecision(item, question.input, columns)]);
      fold.questions.answered(item);
      return true;
    }
    default:
      return false;
  }
}

function addWork(fold: FoldState, callKey: string, change: (work: AgentWork) => Partial<AgentWork>): void {
  const work = fold.calls.get(callKey)?.work ?? { calls: 0, tokens: 0, activity: "" };
  const next = { ...work, ...change(work) };
  updateCall(fold, callKey, { work: next, note: formatWork(next), shortNote: next.activity });
}

/** `2 calls · 1,200 tokens · shell npm test` */
function formatWork({ calls, tokens, activity }: AgentWork): string {
  const tokensText = tokens === 0 ? "" : `${formatNumber(tokens)} tokens`;
  const parts = [formatCount(calls, "call"), tokensText, activity];
  return parts.filter((part) => part !== "").join(" · ");
}
