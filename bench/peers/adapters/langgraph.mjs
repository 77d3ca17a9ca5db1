/**
 * LangGraph: its prebuilt agent over a chat model of our own, streamed as messages.
 */
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessageChunk } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { tool } from "@langchain/core/tools";
import { interrupt, MemorySaver } from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { inputSchema, prompt, systemPrompt, toolDescription, usage } from "../work.mjs";

// Tracing is off unless these are set.
delete process.env.LANGSMITH_TRACING;
delete process.env.LANGCHAIN_TRACING_V2;

class ScriptedChatModel extends BaseChatModel {
  constructor(work) {
    super({});
    this.work = work;
  }
  _llmType() {
    return "bench";
  }
  bindTools() {
    return this;
  }
  async _generate() {
    throw new Error("Only streaming is measured.");
  }
  async *_streamResponseChunks(messages, _options, runManager) {
    const newest = messages.at(-1);
    const { texts, call } = this.work.answerTo(newest.getType() === "tool" ? newest.content : null);
    for (const text of texts) {
      const chunk = new ChatGenerationChunk({ text, message: new AIMessageChunk({ content: text }) });
      yield chunk;
      await runManager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk });
    }
    const message = new AIMessageChunk({
      content: "",
      tool_call_chunks:
        call === null
          ? []
          : [{ type: "tool_call_chunk", index: 0, id: call.id, name: call.name, args: JSON.stringify(call.input) }],
      usage_metadata: {
        input_tokens: usage.input,
        output_tokens: usage.output,
        total_tokens: usage.input + usage.output,
      },
    });
    const chunk = new ChatGenerationChunk({ text: "", message });
    yield chunk;
    await runManager?.handleLLMNewToken("", undefined, undefined, undefined, undefined, { chunk });
  }
}

let threads = 0;

export async function open(work, { checkpointer } = {}) {
  const add = tool(
    (input) => {
      if (work.needsApproval) interrupt("May it run?");
      return work.add(input);
    },
    { name: "add", description: toolDescription, schema: inputSchema },
  );
  const saver = checkpointer ?? (work.needsApproval ? new MemorySaver() : undefined);
  const agent = createReactAgent({
    llm: new ScriptedChatModel(work),
    tools: [add],
    prompt: systemPrompt,
    ...(saver === undefined ? {} : { checkpointer: saver }),
  });
  return {
    async run() {
      threads += 1;
      const configurable = { thread_id: `thread-${threads}` };
      const stream = await agent.stream(
        { messages: [{ role: "user", content: prompt }] },
        { streamMode: "messages", recursionLimit: 2 * work.steps + 10, configurable },
      );
      for await (const [chunk, { langgraph_node: node }] of stream)
        if (node === "agent" && chunk.content !== "") work.consume(chunk.content);
      // An application keeps this to go on after an approval; the graph's memory keeps the rest.
      return configurable;
    },
  };
}
