/**
 * Converts the view of a run to ACP session updates.
 *
 * 1. A call is identified by its `callKey`. Its `tool_call` is sent once, followed by updates.
 * 2. Notices and compactions are sent only to editors that show them.
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
import type { CallChange, NotedItem, ViewChange } from "../../view/view-change.js";
import { formatOutput, toDisplayValue } from "../display-output.js";
import { type CallView, createCallView } from "./call-view.js";
import { toContentBlock } from "./prompt-input.js";

/** The state of a stream of updates. */
export type UpdateState = {
  /** The folder to which paths are relative. */
  readonly root: string;
  readonly client: ClientCapabilities;
  /** The model's context window in tokens, if known. */
  readonly contextWindow: number | undefined;
  readonly calls: Map<string, CallView>;
  /** The plans of `todo` calls that have no result yet. */
  readonly plans: Map<string, readonly PlanEntry[]>;
  readonly spent: {
    /** The cost of the session in US dollars; null once any cost is unknown. */
    costUsd: number | null;
  };
};

export function createUpdateState(fields: Omit<UpdateState, "calls" | "plans" | "spent">): UpdateState {
  return { ...fields, calls: new Map(), plans: new Map(), spent: { costUsd: 0 } };
}

export function toUpdates(item: ViewChange, state: UpdateState): readonly SessionUpdate[] {
  switch (item.type) {
    case "part_grew": {
      const sessionUpdate = item.kind === "text" ? "agent_message_chunk" : "agent_thought_chunk";
      return [{ sessionUpdate, content: { type: "text", text: item.text } }];
    }
    case "part_whole":
      return toPartUpdates(item.content);
    case "call_opened":
      return item.by?.type === "tool_call"
        ? completeCall(item.callKey, item.name, item.by.input, state)
        : startCall(item.callKey, item.name, {}, state);
    case "call_changed":
      return toCallUpdates(item.callKey, item.by, state);
    case "call_ended": {
      const { callKey, by } = item;
      if (by === null) return [createCallUpdate(callKey, "failed", state, "The model did not finish this call.")];
      const isError = by.isError === true;
      return [toResultUpdate(callKey, by, state), ...takePlanUpdates(callKey, isError, state)];
    }
    case "question_opened": {
      const { childId, callKey, name, input } = item.question;
      const call = childId === undefined ? [] : completeCall(callKey, name, input, state);
      return [...call, createCallUpdate(callKey, "pending", state)];
    }
    case "question_closed": {
      if (item.by === null) return [];
      const { callKey, name, input } = item.by;
      const call = input === undefined ? [] : completeCall(callKey, name, input, state);
      return [...call, createCallUpdate(callKey, "in_progress", state)];
    }
    case "note":
      return toNoteUpdates(item.item, state);
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

/** Converts a person's messages, for an editor that loads a session. */
export function toUserUpdates(messages: readonly UserMessage[], messageId: string): readonly SessionUpdate[] {
  return messages.flatMap(({ parts }) =>
    parts.map((part) => ({ sessionUpdate: "user_message_chunk" as const, messageId, content: toContentBlock(part) })),
  );
}

function startCall(toolCallId: string, name: string, input: unknown, state: UpdateState): readonly SessionUpdate[] {
  if (state.calls.has(toolCallId)) return [];
  const view = createCallView(name, input, state.root);
  state.calls.set(toolCallId, view);
  return [{ sessionUpdate: "tool_call", toolCallId, title: view.title, name, kind: view.kind, status: "pending" }];
}

/** Sends the call again with its input, which was unknown when the call began. */
function completeCall(callKey: string, name: string, input: unknown, state: UpdateState): readonly SessionUpdate[] {
  const view = createCallView(name, input, state.root);
  const { title, kind, locations, content } = view;
  const isNew = !state.calls.has(callKey);
  state.calls.set(callKey, view);
  const plan = parsePlan(name, input);
  if (plan !== null) state.plans.set(callKey, plan);
  // The person is asked to approve a proposed plan, so the editor shows it before the call has a result.
  const proposed = parseProposedPlan(name, input);
  return [
    ...(proposed === null ? [] : [{ sessionUpdate: "plan" as const, entries: [...proposed] }]),
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

function createCallUpdate(
  toolCallId: string,
  status: ToolCallStatus,
  state: UpdateState,
  note?: string,
): SessionUpdate {
  const update = { sessionUpdate: "tool_call_update", toolCallId, status } as const;
  return note === undefined
    ? update
    : { ...update, content: [...getCallChanges(toolCallId, state), toTextContent(note)] };
}

function getCallChanges(callKey: string, { calls }: UpdateState): readonly ToolCallContent[] {
  return calls.get(callKey)?.content ?? [];
}

function toTextContent(text: string): ToolCallContent {
  return { type: "content", content: { type: "text", text } };
}

type CallResult = { readonly output: ToolOutput; readonly returned?: ToolOutput; readonly isError?: boolean };

function toResultUpdate(callKey: string, result: CallResult, state: UpdateState): SessionUpdate {
  const { output, returned = output, isError = false } = result;
  const changes = isError ? [] : getCallChanges(callKey, state);
  return {
    sessionUpdate: "tool_call_update",
    toolCallId: callKey,
    status: isError ? "failed" : "completed",
    content: changes.length > 0 ? [...changes] : toContents(output),
    rawOutput: toDisplayValue(returned),
  };
}

function toContents(output: ToolOutput): ToolCallContent[] {
  if (output.type !== "content") return [toTextContent(formatOutput(output))];
  return output.parts.map((part) => ({ type: "content", content: toContentBlock(part) }));
}

function toPartUpdates(part: FilePart | SourcePart): readonly SessionUpdate[] {
  if (part.type === "file") return [{ sessionUpdate: "agent_message_chunk", content: toContentBlock(part) }];
  if (part.url === undefined) return [];
  const content: ContentBlock = { type: "resource_link", name: part.title ?? part.url, uri: part.url };
  return [{ sessionUpdate: "agent_message_chunk", content }];
}

function toCallUpdates(callKey: string, by: CallChange, state: UpdateState): readonly SessionUpdate[] {
  switch (by.type) {
    case "call_start":
      return startCall(callKey, by.name, {}, state);
    case "tool_call":
      return completeCall(callKey, by.name, by.input, state);
    case "progress":
      return [createCallUpdate(callKey, "in_progress", state, by.note)];
    case "preliminary":
      return [createCallUpdate(callKey, "in_progress", state, formatOutput(by.output))];
    case "input_grew":
    case "child_started":
    case "tool_step":
    case "tool_failed":
      return [];
  }
}

function toNoteUpdates(item: NotedItem, state: UpdateState): readonly SessionUpdate[] {
  switch (item.type) {
    case "step_finished":
      return toUsageUpdates(item, state);
    case "attempt_failed":
      return item.next === "retry" || item.next === "fallback"
        ? createStatusUpdates("warning", "The model call failed and is retried.", item.failure.message, state)
        : [];
    case "attempt_withdrawn":
      return createStatusUpdates("warning", "The last answer was withdrawn. Ignore it.", undefined, state);
    case "restarted":
      return createStatusUpdates("info", "The run was interrupted and has resumed.", item.fault?.message, state);
    case "handed_off":
      return createStatusUpdates("info", `${item.to} takes over.`, undefined, state);
    case "compacted":
      return toCompactionUpdates(item, state);
    default:
      // Every other event is for other consumers: the trace, the log, an author's own page.
      return [];
  }
}

function toUsageUpdates(
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
function parsePlan(name: string, input: unknown): readonly PlanEntry[] | null {
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

/** The plan that a call of `finish_plan` shows the person; null for any other call. */
function parseProposedPlan(name: string, input: unknown): readonly PlanEntry[] | null {
  const steps =
    name === "finish_plan" && input !== null && typeof input === "object" ? (input as { steps?: unknown }).steps : null;
  if (!Array.isArray(steps) || !steps.every((step) => typeof step === "string")) return null;
  return steps.map((content: string) => ({ content, priority: "medium", status: "pending" }));
}

/** Shows a plan only after its call has stored it. */
function takePlanUpdates(callKey: string, isError: boolean, { plans }: UpdateState): readonly SessionUpdate[] {
  const entries = plans.get(callKey);
  plans.delete(callKey);
  return entries === undefined || isError ? [] : [{ sessionUpdate: "plan", entries: [...entries] }];
}

function createStatusUpdates(
  severity: "info" | "warning",
  title: string,
  description: string | undefined,
  { client }: UpdateState,
): readonly SessionUpdate[] {
  if (client.session?.notices == null) return [];
  return [{ sessionUpdate: "notice", severity, title, ...(description === undefined ? {} : { description }) }];
}

function toCompactionUpdates(
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
