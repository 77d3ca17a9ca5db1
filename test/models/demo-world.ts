import type { AssistantMessage, Message, ToolMessage } from "../../src/core/data/message.js";
import { createDemoModel } from "../../src/models/demo/demo-model.js";
import type { ModelDelta } from "../../src/ports/model.js";
import type { AnyTool } from "../../src/ports/tool.js";
import { compileTool } from "../../src/runtime/tools/compile-tools.js";
import { runTool } from "../tools/folder.js";

export type Said = {
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
  readonly deltas: readonly ModelDelta[];
};

/** What the demo model says next in a conversation. */
export async function say(messages: readonly Message[], tools: readonly AnyTool[]): Promise<Said> {
  const request = {
    sessionId: "s",
    runId: "r",
    modelCallIndex: messages.length,
    attempt: 1,
    messages,
    tools: tools.map((tool) => compileTool(tool).specification),
  };
  const deltas: ModelDelta[] = [];
  for await (const delta of createDemoModel().stream(request, new AbortController().signal)) deltas.push(delta);
  const text = deltas.map((delta) => (delta.kind === "text-delta" ? delta.text : "")).join("");
  const calls = deltas.flatMap((delta) =>
    delta.kind === "tool-call" ? [{ id: delta.id, name: delta.name, input: JSON.parse(delta.input) as unknown }] : [],
  );
  return { text, calls, deltas };
}

export type Conversation = {
  readonly messages: Message[];
  /** What was called in each step, by name. */
  readonly steps: readonly (readonly string[])[];
  readonly answer: string;
};

/** Loops over the model and real tools until it answers, as an agent does; goes on with an earlier conversation. */
export async function converse(
  request: string,
  tools: readonly AnyTool[],
  earlier: readonly Message[] = [],
): Promise<Conversation> {
  const messages: Message[] = [...earlier, { role: "user", parts: [{ type: "text", text: request }] }];
  const steps: string[][] = [];
  for (let step = 0; step < 20; step++) {
    const { text, calls } = await say(messages, tools);
    const parts = calls.map(({ id, name, input }) => ({
      type: "tool_call" as const,
      toolCallId: id,
      name,
      input: input as never,
    }));
    const answer: AssistantMessage = { role: "assistant", parts: [{ type: "text", text }, ...parts] };
    messages.push(answer);
    if (calls.length === 0) return { messages, steps, answer: text };
    steps.push(calls.map((call) => call.name));
    const results: ToolMessage["parts"][number][] = [];
    for (const { id, name, input } of calls) {
      const output = await runTool(tools, name, input as object);
      const isError = output.startsWith("Error: ");
      results.push({
        type: "tool_result",
        toolCallId: id,
        name,
        output: { type: "text", text: output },
        ...(isError && { isError }),
      });
    }
    messages.push({ role: "tool", parts: results });
  }
  throw new Error("It did not come to an end.");
}
