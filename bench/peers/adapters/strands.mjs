/**
 * Strands Agents: an `Agent` with a model of our own, its `stream` read to the end. Its window of messages is so
 * wide that nothing is cut.
 */
import { Agent, FunctionTool, Model, SlidingWindowConversationManager } from "@strands-agents/sdk";
import { inputSchema, prompt, systemPrompt, toolDescription, usage } from "../work.mjs";

class ScriptedModel extends Model {
  constructor(work) {
    super();
    this.work = work;
  }
  updateConfig() {}
  getConfig() {
    return { modelId: "bench", contextWindowLimit: 100_000_000 };
  }
  async *stream(messages) {
    const { texts, call } = this.work.answerTo(newestResult(messages));
    yield { type: "modelMessageStartEvent", role: "assistant" };
    yield { type: "modelContentBlockStartEvent" };
    for (const text of texts) yield { type: "modelContentBlockDeltaEvent", delta: { type: "textDelta", text } };
    yield { type: "modelContentBlockStopEvent" };
    if (call !== null) {
      yield {
        type: "modelContentBlockStartEvent",
        start: { type: "toolUseStart", name: call.name, toolUseId: call.id },
      };
      yield {
        type: "modelContentBlockDeltaEvent",
        delta: { type: "toolUseInputDelta", input: JSON.stringify(call.input) },
      };
      yield { type: "modelContentBlockStopEvent" };
    }
    yield { type: "modelMessageStopEvent", stopReason: call === null ? "endTurn" : "toolUse" };
    yield {
      type: "modelMetadataEvent",
      usage: { inputTokens: usage.input, outputTokens: usage.output, totalTokens: usage.input + usage.output },
    };
  }
}

function newestResult(messages) {
  const block = messages.at(-1).content.at(-1);
  return block.type === "toolResultBlock" ? block.content[0].text : null;
}

export async function open(work) {
  const add = new FunctionTool({
    name: "add",
    description: toolDescription,
    inputSchema,
    callback: (input) => work.add(input),
  });
  return {
    async run() {
      const agent = new Agent({
        model: new ScriptedModel(work),
        systemPrompt,
        tools: [add],
        printer: false,
        conversationManager: new SlidingWindowConversationManager({ windowSize: 4 * work.steps + 10 }),
      });
      for await (const event of agent.stream(prompt))
        if (event.type === "modelStreamUpdateEvent" && event.event.type === "modelContentBlockDeltaEvent") {
          if (event.event.delta.type === "textDelta") work.consume(event.event.delta.text);
        }
      return agent;
    },
  };
}
