/**
 * OpenAI Agents: a `Model` of our own, `run` with `stream: true`, every event read; tracing off.
 */
import { Agent, Runner, setTracingDisabled, tool, Usage } from "@openai/agents";
import { inputSchema, prompt, systemPrompt, toolDescription, usage } from "../work.mjs";

setTracingDisabled(true);

function modelOf(work) {
  return {
    async getResponse() {
      throw new Error("Only streaming is measured.");
    },
    async *getStreamedResponse({ input }) {
      const newest = typeof input === "string" ? null : input.at(-1);
      const { texts, call } = work.answerTo(newest?.type === "function_call_result" ? resultOf(newest) : null);
      yield { type: "response_started" };
      for (const delta of texts) yield { type: "output_text_delta", delta };
      const output = [
        {
          type: "message",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: texts.join("") }],
        },
      ];
      if (call !== null)
        output.push({
          type: "function_call",
          callId: call.id,
          name: call.name,
          status: "completed",
          arguments: JSON.stringify(call.input),
        });
      yield {
        type: "response_done",
        response: {
          id: "response",
          usage: new Usage({
            requests: 1,
            inputTokens: usage.input,
            outputTokens: usage.output,
            totalTokens: usage.input + usage.output,
          }),
          output,
        },
      };
    },
  };
}

function resultOf({ output }) {
  return typeof output === "string" ? output : output.text;
}

export async function open(work) {
  const add = tool({
    name: "add",
    description: toolDescription,
    parameters: inputSchema,
    strict: true,
    needsApproval: work.needsApproval,
    execute: (input) => work.add(input),
  });
  const agent = new Agent({ name: "bench", instructions: systemPrompt, model: modelOf(work), tools: [add] });
  const runner = new Runner({ tracingDisabled: true });
  return {
    async run() {
      const result = await runner.run(agent, prompt, { stream: true, maxTurns: work.steps + 2 });
      for await (const event of result)
        if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta")
          work.consume(event.data.delta);
      await result.completed;
      // An application keeps this to go on after an approval.
      return result.state;
    },
  };
}
