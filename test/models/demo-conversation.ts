import type { AssistantMessage, Json, Message, ToolMessage } from "../../src/core/data/message.js";
import { createDemoModel } from "../../src/models/demo/demo-model.js";
import type { ModelDelta, ModelRequest } from "../../src/ports/model.js";
import type { AnyTool } from "../../src/ports/tool.js";
import { compileTool } from "../../src/runtime/tools/compile-tools.js";
import { runTool } from "../tools/folder.js";

type Call = { readonly id: string; readonly name: string; readonly input: object };

export type DemoReply = {
  readonly text: string;
  readonly calls: readonly Call[];
  readonly deltas: readonly ModelDelta[];
};

export function createUserMessage(text: string): Message {
  return { role: "user", parts: [{ type: "text", text }] };
}

/** What the demo model says next in a conversation. */
export async function replyTo(
  messages: readonly Message[],
  tools: readonly AnyTool[],
  overrides: Partial<ModelRequest> = {},
): Promise<DemoReply> {
  const request: ModelRequest = {
    sessionId: "s",
    runId: "r",
    modelCallIndex: messages.length,
    attempt: 1,
    messages,
    tools: tools.map((tool) => compileTool(tool).specification),
    ...overrides,
  };
  const deltas: ModelDelta[] = [];
  for await (const delta of createDemoModel().stream(request, new AbortController().signal)) deltas.push(delta);
  const text = deltas.map((delta) => (delta.kind === "text-delta" ? delta.text : "")).join("");
  const calls = deltas.flatMap((delta) =>
    delta.kind === "tool-call" ? [{ id: delta.id, name: delta.name, input: JSON.parse(delta.input) as object }] : [],
  );
  return { text, calls, deltas };
}

export type Conversation = {
  readonly messages: readonly Message[];
  /** The calls of each step, without their ids. */
  readonly steps: readonly (readonly [name: string, input: object][])[];
  readonly answer: string;
};

/** Gives the result of a call. A text that begins with `Error: ` is an error. */
export type RunCall = (name: string, input: object) => string | Promise<string>;

/** Loops over the model and the tools until the model answers, as an agent does. It goes on with an earlier conversation. */
export async function converse(
  request: string,
  tools: readonly AnyTool[],
  earlierMessages: readonly Message[] = [],
  runCall: RunCall = (name, input) => runTool(tools, name, input),
): Promise<Conversation> {
  const messages: Message[] = [...earlierMessages, createUserMessage(request)];
  const steps: [string, object][][] = [];
  for (let modelCall = 1; modelCall <= 4; modelCall++) {
    const { text, calls } = await replyTo(messages, tools);
    messages.push(createAssistantMessage(text, calls));
    if (calls.length === 0) return { messages, steps, answer: text };
    steps.push(calls.map(({ name, input }) => [name, input]));
    const texts = await Promise.all(calls.map(({ name, input }) => runCall(name, input)));
    messages.push(createToolMessage(calls, texts));
  }
  throw new Error("The demo model did not come to an end within four model calls.");
}

export function createAssistantMessage(text: string, calls: readonly Call[]): AssistantMessage {
  const parts = calls.map(({ id, name, input }) => ({
    type: "tool_call" as const,
    toolCallId: id,
    name,
    input: input as Json,
  }));
  return { role: "assistant", parts: [{ type: "text", text }, ...parts] };
}

export function createToolMessage(calls: readonly Call[], texts: readonly string[]): ToolMessage {
  const parts = calls.map(({ id, name }, index) => {
    const text = texts[index] ?? "";
    const output = { type: "text" as const, text };
    return { type: "tool_result" as const, toolCallId: id, name, output, isError: text.startsWith("Error: ") };
  });
  return { role: "tool", parts };
}
