/**
 * pi: `agentLoop`, with a stream function of our own; every event read. pi's own providers push events as they read
 * them from the network; this one pushes them as it reads them from an async generator.
 */
import { agentLoop } from "@mariozechner/pi-agent-core";
import { createAssistantMessageEventStream } from "@mariozechner/pi-ai";
import { inputSchema, never, prompt, systemPrompt, toolDescription, usage } from "../work.mjs";

const tokens = {
  input: usage.input,
  output: usage.output,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: usage.input + usage.output,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};
const model = {
  id: "bench",
  name: "bench",
  api: "bench",
  provider: "bench",
  baseUrl: "",
  reasoning: false,
  input: ["text"],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 1_000_000,
  maxTokens: 100_000,
};

async function* deltasOf({ texts, call }) {
  yield { type: "start" };
  for (const text of texts) yield { type: "text", text };
  if (call !== null) yield { type: "call", call };
}

async function push(stream, answer) {
  const partial = {
    role: "assistant",
    content: [],
    api: "bench",
    provider: "bench",
    model: "bench",
    usage: tokens,
    stopReason: answer.call === null ? "stop" : "toolUse",
    timestamp: Date.now(),
  };
  let text = null;
  for await (const delta of deltasOf(answer)) {
    if (delta.type === "start") stream.push({ type: "start", partial });
    else if (delta.type === "text") {
      if (text === null) {
        text = { type: "text", text: "" };
        partial.content.push(text);
        stream.push({ type: "text_start", contentIndex: 0, partial });
      }
      text.text += delta.text;
      stream.push({ type: "text_delta", contentIndex: 0, delta: delta.text, partial });
    } else {
      const { id, name, input } = delta.call;
      const toolCall = { type: "toolCall", id, name, arguments: input };
      stream.push({ type: "text_end", contentIndex: 0, content: text.text, partial });
      partial.content.push(toolCall);
      stream.push({ type: "toolcall_start", contentIndex: 1, partial });
      stream.push({ type: "toolcall_end", contentIndex: 1, toolCall, partial });
    }
  }
  stream.push({ type: "done", reason: partial.stopReason, message: partial });
  stream.end();
}

function streamFunction(work) {
  return (_model, { messages }) => {
    const newest = messages.at(-1);
    const stream = createAssistantMessageEventStream();
    push(stream, work.answerTo(newest.role === "toolResult" ? newest.content[0].text : null)).catch((error) => {
      throw error;
    });
    return stream;
  };
}

export async function open(work, { onAsked } = {}) {
  const add = {
    name: "add",
    label: "Add",
    description: toolDescription,
    parameters: inputSchema,
    execute: async (_id, input) => ({ content: [{ type: "text", text: await work.add(input) }], details: undefined }),
  };
  const stream = streamFunction(work);
  const config = { model, convertToLlm: (messages) => messages };
  // pi waits in this hook until the person has approved: it has no other place for an approval.
  if (work.needsApproval)
    config.beforeToolCall = () => {
      onAsked();
      return never;
    };
  return {
    async run() {
      const events = agentLoop(
        [{ role: "user", content: prompt, timestamp: Date.now() }],
        { systemPrompt, messages: [], tools: [add] },
        config,
        undefined,
        stream,
      );
      for await (const event of events)
        if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta")
          work.consume(event.assistantMessageEvent.delta);
      await events.result();
    },
  };
}
