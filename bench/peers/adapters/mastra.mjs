/**
 * Mastra: an `Agent` without memory or storage, its `stream`, and `fullStream` read to the end.
 */
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { languageModel } from "../language-model.mjs";
import { prompt, systemPrompt, toolDescription } from "../work.mjs";

export async function open(work) {
  const add = createTool({
    id: "add",
    description: toolDescription,
    inputSchema: z.strictObject({ a: z.number(), b: z.number() }),
    requireApproval: work.needsApproval,
    execute: (input) => work.add(input),
  });
  const agent = new Agent({
    id: "bench",
    name: "bench",
    instructions: systemPrompt,
    model: languageModel(work, "v3"),
    tools: { add },
  });
  return {
    async run() {
      const result = await agent.stream(prompt, { maxSteps: work.steps + 2 });
      for await (const part of result.fullStream) {
        if (part.type === "text-delta") work.consume(part.payload.text);
        else if (part.type === "error") throw part.payload.error;
      }
      return result.runId;
    },
  };
}
