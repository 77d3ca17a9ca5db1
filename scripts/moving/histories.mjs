/**
 * For each program whose messages docs/moving turns into a history: one conversation, made by that program. In all of them somebody asks
 * for two orders, the model says a word and calls a tool twice, and then answers.
 */
import assert from "node:assert/strict";
import { Agent as PiAgent } from "@earendil-works/pi-agent-core";
import { createAssistantMessageEventStream, Type } from "@earendil-works/pi-ai";
import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { MessageList } from "@mastra/core/agent";
import { Agent, MemorySession, Runner, tool, Usage } from "@openai/agents";
import { z } from "zod";
import { createAgent, createMemoryStore } from "../../dist/index.js";
import { createScriptedModel } from "../../dist/testing/index.js";

const asked = "Where are my orders?";
const said = "I will look.";
const calls = [
  { id: "call_1", name: "find_order", input: { order: "1041" } },
  { id: "call_2", name: "find_order", input: { order: "1042" } },
];
const found = ({ order }) => `Order ${order} is on its way.`;
const answered = "Both are on their way.";

export const messagesOf = {
  "from-openai-agents": async () => {
    const session = new MemorySession();
    const text = (value) => ({ type: "output_text", text: value });
    const message = (value) => ({ type: "message", role: "assistant", status: "completed", content: [text(value)] });
    const answers = [
      [
        message(said),
        ...calls.map(({ id, name, input }) => ({
          type: "function_call",
          callId: id,
          name,
          status: "completed",
          arguments: JSON.stringify(input),
        })),
      ],
      [message(answered)],
    ];
    const findOrder = tool({
      name: "find_order",
      description: "Finds an order.",
      parameters: z.object({ order: z.string() }),
      execute: found,
    });
    const model = { getResponse: async () => ({ usage: new Usage(), output: answers.shift() }) };
    const agent = new Agent({ name: "support", model, tools: [findOrder] });
    await new Runner({ tracingDisabled: true }).run(agent, asked, { session });
    return session.getItems();
  },

  "from-langgraph": async () => [
    new SystemMessage("You answer customers."),
    new HumanMessage(asked),
    new AIMessage({
      content: [{ type: "text", text: said }],
      tool_calls: calls.map(({ input, ...call }) => ({ ...call, args: input })),
    }),
    ...calls.map(({ id, input }) => new ToolMessage({ content: found(input), tool_call_id: id })),
    new AIMessage(answered),
  ],

  "from-mastra": async () => {
    const list = new MessageList({ threadId: "thread", resourceId: "ada" });
    list.add({ role: "user", content: asked }, "input");
    const toolCalls = calls.map(({ id, name, input }) => ({
      type: "tool-call",
      toolCallId: id,
      toolName: name,
      input,
    }));
    list.add({ role: "assistant", content: [{ type: "text", text: said }, ...toolCalls] }, "response");
    const results = calls.map(({ id, name, input }) => ({
      type: "tool-result",
      toolCallId: id,
      toolName: name,
      output: { type: "text", value: found(input) },
    }));
    list.add({ role: "tool", content: results }, "response");
    list.add({ role: "assistant", content: answered }, "response");
    return list.get.all.db();
  },

  "from-pi": async () => {
    const findOrder = {
      name: "find_order",
      label: "Find order",
      description: "Finds an order.",
      parameters: Type.Object({ order: Type.String() }),
      execute: async (_id, input) => ({ content: [{ type: "text", text: found(input) }], details: undefined }),
    };
    const usage = {
      input: 1,
      output: 1,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 2,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    };
    const answers = [
      [
        { type: "text", text: said },
        ...calls.map(({ input, ...call }) => ({ type: "toolCall", ...call, arguments: input })),
      ],
      [
        { type: "thinking", thinking: "Both are there." },
        { type: "text", text: answered },
      ],
    ];
    const streamFn = () => {
      const content = answers.shift();
      const stopReason = answers.length === 0 ? "stop" : "toolUse";
      const message = {
        role: "assistant",
        content,
        api: "none",
        provider: "none",
        model: "none",
        usage,
        stopReason,
        timestamp: 0,
      };
      const stream = createAssistantMessageEventStream();
      stream.push({ type: "done", reason: stopReason, message });
      stream.end();
      return stream;
    };
    const agent = new PiAgent({
      initialState: { systemPrompt: "You answer customers.", tools: [findOrder] },
      streamFn,
    });
    await agent.prompt(asked);
    return agent.state.messages;
  },
};

/** What is wrong with a history of that conversation, or null: a session begins with it, and the next run sees all of it. */
export async function problemOf(history) {
  const model = createScriptedModel([{ text: "Tomorrow." }]);
  const agent = createAgent({ name: "support", model, store: createMemoryStore() });
  try {
    await agent.session("moved").seed(history);
    const result = await agent.run("And when do they come?", { sessionId: "moved" });
    assert.equal(result.status, "completed");
    const [first, step, results, last] = await agent.session("moved").messages();
    assert.deepEqual([first.role, ...first.parts.map(({ text }) => text)], ["user", asked]);
    assert.deepEqual(
      step.parts.map(({ type, text, toolCallId, name, input }) => ({ type, text, id: toolCallId, name, input })),
      [
        { type: "text", text: said, id: undefined, name: undefined, input: undefined },
        ...calls.map((call) => ({ type: "tool_call", text: undefined, ...call })),
      ],
    );
    assert.deepEqual(
      results.parts.map(({ toolCallId, name, output }) => ({ toolCallId, name, text: output.text ?? output.value })),
      calls.map(({ id, name, input }) => ({ toolCallId: id, name, text: found(input) })),
    );
    assert.deepEqual(
      last.parts.map(({ text }) => text),
      [answered],
    );
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
