/**
 * The view of a run as the session updates of ACP.
 *
 * 1. A call is named by its `callKey`. Its `tool_call` comes once, and everything else about it is an update.
 * 2. Notices and compactions are sent to an editor that shows them.
 */
import type {
  ClientCapabilities,
  ContentBlock,
  PlanEntry,
  SessionUpdate,
  ToolCallContent,
  ToolCallStatus,
} from "@agentclientprotocol/sdk";
import type { FilePart, PublicEvent, SourcePart, ToolOutput, UserMessage } from "../../index.js";
import type { TodoItem } from "../../tools/index.js";
import type { CallChange, Noted, ViewChange } from "../../view/view-change.js";
import { shownOutput, textOfOutput } from "../shown-output.js";
import { type CallView, viewOfCall } from "./call-view.js";
import { contentOf } from "./prompt-input.js";

/** What is known of a stream of updates. */
export type UpdateState = {
  /** The folder that paths start from. */
  readonly root: string;
  readonly client: ClientCapabilities;
  /** The model's context window in tokens, if it is known. */
  readonly contextWindow: number | undefined;
  readonly calls: Map<string, CallView>;
  /** The plans of calls of `todo` that have no result yet. */
  readonly plans: Map<string, readonly PlanEntry[]>;
  readonly spent: {
    /** What the session has cost in US dollars; null once that is not known. */
    costUsd: number | null;
  };
};

export function createUpdateState(fields: Omit<UpdateState, "calls" | "plans" | "spent">): UpdateState {
  return { ...fields, calls: new Map(), plans: new Map(), spent: { costUsd: 0 } };
}

export function updatesOf(item: ViewChange, state: UpdateState): readonly SessionUpdate[] {
  switch (item.type) {
    case "part_grew": {
      const sessionUpdate = item.kind === "text" ? "agent_message_chunk" : "agent_thought_chunk";
      return [{ sessionUpdate, content: { type: "text", text: item.text } }];
    }
    case "part_whole":
      return wholePart(item.content);
    case "call_opened":
      return item.by?.type === "tool_call"
        ? wholeCall(item.callKey, item.name, item.by.input, state)
        : beginCall(item.callKey, item.name, {}, state);
    case "call_changed":
      return changedCall(item.callKey, item.by, state);
    case "call_ended": {
      const { callKey, by } = item;
      if (by === null) return [change(callKey, "failed", state, "The model did not finish this call.")];
      const isError = by.isError === true;
      return [resultOf(callKey, by, state), ...planUpdate(callKey, isError, state)];
    }
    case "question_opened": {
      const { childId, callKey, name, input } = item.question;
      const call = childId === undefined ? [] : wholeCall(callKey, name, input, state);
      return [...call, change(callKey, "pending", state)];
    }
    case "question_closed": {
      if (item.by === null) return [];
      const { callKey, name, input } = item.by;
      const call = input === undefined ? [] : wholeCall(callKey, name, input, state);
      return [...call, change(callKey, "in_progress", state)];
    }
    case "note":
      return noteUpdates(item.item, state);
    case "step_started":
    case "step_ended":
    case "part_started":
    case "part_ended":
    case "run_started":
    case "run_ended":
    case "gap":
      return [];
  }
}

/** The messages of a person, for an editor that loads a session. */
export function userUpdates(messages: readonly UserMessage[], messageId: string): readonly SessionUpdate[] {
  return messages.flatMap(({ parts }) =>
    parts.map((part) => ({ sessionUpdate: "user_message_chunk" as const, messageId, content: contentOf(part) })),
  );
}

function beginCall(toolCallId: string, name: string, input: unknown, state: UpdateState): readonly SessionUpdate[] {
  if (state.calls.has(toolCallId)) return [];
  const view = viewOfCall(name, input, state.root);
  state.calls.set(toolCallId, view);
  return [{ sessionUpdate: "tool_call", toolCallId, title: view.title, name, kind: view.kind, status: "pending" }];
}

/** The call with its input, which was not known when the call began. */
function wholeCall(callKey: string, name: string, input: unknown, state: UpdateState): readonly SessionUpdate[] {
  const view = viewOfCall(name, input, state.root);
  const { title, kind, locations, content } = view;
  const isNew = !state.calls.has(callKey);
  state.calls.set(callKey, view);
  const plan = planIn(name, input);
  if (plan !== null) state.plans.set(callKey, plan);
  return [
    {
      sessionUpdate: isNew ? "tool_call" : "tool_call_update",
      toolCallId: callKey,
      title,
      name,
      kind,
      status: "in_progress",
      rawInput: input,
      locations,
      content,
    },
  ];
}

function change(toolCallId: string, status: ToolCallStatus, state: UpdateState, note?: string): SessionUpdate {
  const update = { sessionUpdate: "tool_call_update", toolCallId, status } as const;
  return note === undefined ? update : { ...update, content: [...changesOf(toolCallId, state), textContent(note)] };
}

function changesOf(callKey: string, { calls }: UpdateState): readonly ToolCallContent[] {
  return calls.get(callKey)?.content ?? [];
}

function textContent(text: string): ToolCallContent {
  return { type: "content", content: { type: "text", text } };
}

type Given = { readonly output: ToolOutput; readonly returned?: ToolOutput; readonly isError?: boolean };

function resultOf(callKey: string, given: Given, state: UpdateState): SessionUpdate {
  const { output, returned = output, isError = false } = given;
  const changes = isError ? [] : changesOf(callKey, state);
  return {
    sessionUpdate: "tool_call_update",
    toolCallId: callKey,
    status: isError ? "failed" : "completed",
    content: changes.length > 0 ? [...changes] : contentsOf(output),
    rawOutput: shownOutput(returned),
  };
}

function contentsOf(output: ToolOutput): ToolCallContent[] {
  if (output.type !== "content") return [textContent(textOfOutput(output))];
  return output.parts.map((part) => ({ type: "content", content: contentOf(part) }));
}

function wholePart(part: FilePart | SourcePart): readonly SessionUpdate[] {
  if (part.type === "file") return [{ sessionUpdate: "agent_message_chunk", content: contentOf(part) }];
  if (part.url === undefined) return [];
  const content: ContentBlock = { type: "resource_link", name: part.title ?? part.url, uri: part.url };
  return [{ sessionUpdate: "agent_message_chunk", content }];
}

function changedCall(callKey: string, by: CallChange, state: UpdateState): readonly SessionUpdate[] {
  switch (by.type) {
    case "call_start":
      return beginCall(callKey, by.name, {}, state);
    case "tool_call":
      return wholeCall(callKey, by.name, by.input, state);
    case "progress":
      return [change(callKey, "in_progress", state, by.note)];
    case "preliminary":
      return [change(callKey, "in_progress", state, textOfOutput(by.output))];
    case "input_grew":
    case "child_started":
    case "tool_step":
    case "tool_failed":
      return [];
  }
}

function noteUpdates(item: Noted, state: UpdateState): readonly SessionUpdate[] {
  switch (item.type) {
    case "step_finished":
      return usageUpdate(item, state);
    case "attempt_failed":
      return item.next === "retry" || item.next === "fallback"
        ? notice("warning", "The model failed, and is asked again.", item.failure.message, state)
        : [];
    case "attempt_withdrawn":
      return notice("warning", "The last answer was refused: take no notice of it.", undefined, state);
    case "restarted":
      return notice("info", "The run was interrupted and goes on.", item.fault?.message, state);
    case "handed_off":
      return notice("info", `${item.to} goes on.`, undefined, state);
    case "compacted":
      return compaction(item, state);
    default:
      // Every other event is for other readers: the trace, the log, a page of one's own.
      return [];
  }
}

function usageUpdate(
  { usage: { inputTokens = 0, outputTokens = 0, costUsd } }: Extract<PublicEvent, { readonly type: "step_finished" }>,
  { contextWindow: size, spent }: UpdateState,
): readonly SessionUpdate[] {
  spent.costUsd = spent.costUsd === null || costUsd === undefined ? null : spent.costUsd + costUsd;
  if (size === undefined) return [];
  const cost =
    spent.costUsd === null ? {} : { cost: { amount: Math.round(spent.costUsd * 1e9) / 1e9, currency: "USD" } };
  return [{ sessionUpdate: "usage_update", used: inputTokens + outputTokens, size, ...cost }];
}

const planStatuses = { open: "pending", in_progress: "in_progress", done: "completed" } as const;

/** The plan that a call of `todo` sends; null for any other call. */
function planIn(name: string, input: unknown): readonly PlanEntry[] | null {
  const items =
    name === "todo" && input !== null && typeof input === "object" ? (input as { items?: unknown }).items : null;
  if (!Array.isArray(items)) return null;
  const entries = items.flatMap((item: Partial<TodoItem> | null): readonly PlanEntry[] => {
    const status = item?.status === undefined ? undefined : planStatuses[item.status];
    return typeof item?.text === "string" && status !== undefined
      ? [{ content: item.text, priority: "medium", status }]
      : [];
  });
  return entries.length === items.length ? entries : null;
}

/** The plan holds once the call has kept it. */
function planUpdate(callKey: string, isError: boolean, { plans }: UpdateState): readonly SessionUpdate[] {
  const entries = plans.get(callKey);
  plans.delete(callKey);
  return entries === undefined || isError ? [] : [{ sessionUpdate: "plan", entries: [...entries] }];
}

function notice(
  severity: "info" | "warning",
  title: string,
  description: string | undefined,
  { client }: UpdateState,
): readonly SessionUpdate[] {
  if (client.session?.notices == null) return [];
  return [{ sessionUpdate: "notice", severity, title, ...(description === undefined ? {} : { description }) }];
}

function compaction(
  { seq, summary, fault }: Extract<PublicEvent, { readonly type: "compacted" }>,
  { client }: UpdateState,
): readonly SessionUpdate[] {
  if (client.session?.compaction == null) return [];
  const compactionId = `compaction-${seq}`;
  return [
    {
      sessionUpdate: "compaction_update",
      compactionId,
      status: fault === undefined ? "completed" : "failed",
      ...(summary === undefined ? {} : { summary: [{ type: "text", text: summary }] }),
      ...(fault === undefined ? {} : { error: fault.message }),
    },
  ];
}
