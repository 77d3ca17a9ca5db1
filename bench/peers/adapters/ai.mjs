/**
 * The AI SDK: `streamText`, its loop over steps, and `fullStream` read to the end.
 */
import { languageModel } from "../language-model.mjs";
import { inputSchema, prompt, systemPrompt, toolDescription } from "../work.mjs";

export async function openWith(ai, work, { version, system }) {
  const model = languageModel(work, version);
  const add = ai.tool({
    description: toolDescription,
    inputSchema: ai.jsonSchema(inputSchema),
    needsApproval: work.needsApproval,
    execute: (input) => work.add(input),
  });
  return {
    async run() {
      const result = ai.streamText({
        model,
        tools: { add },
        [system]: systemPrompt,
        prompt,
        stopWhen: ai.stepCountIs(work.steps + 2),
        onError({ error }) {
          throw error;
        },
      });
      for await (const part of result.fullStream) {
        if (part.type === "text-delta") work.consume(part.text);
        else if (part.type === "error") throw part.error;
      }
      // An application keeps this to go on after an approval.
      return (await result.response).messages;
    },
  };
}
