/**
 * A conversation that is longer than its window: the model and the tool that make it, and the model that sums it up.
 */
const words = "Found another file of the kind that was looked for, and noted its name. ".repeat(4);
const output = "one line of what the file holds, as long as lines are\n".repeat(12);

/** Asks for one call in each step. It reports no usage, so Pawl estimates the size of the conversation. */
export function modelOf(steps) {
  return {
    id: "bench",
    contextWindow: 8_000,
    async *stream({ modelCallIndex }) {
      yield { kind: "start" };
      if (modelCallIndex > steps) yield { kind: "text-delta", id: "t", text: "Done." };
      else {
        yield { kind: "text-delta", id: "t", text: `${modelCallIndex}. ${words}` };
        yield { kind: "tool-call", id: `call_${modelCallIndex}`, name: "read", input: `{"file":${modelCallIndex}}` };
      }
      yield { kind: "done", finishReason: { unified: modelCallIndex > steps ? "stop" : "tool-calls" }, usage: {} };
    },
  };
}

export const summarizer = {
  id: "summarizer",
  async *stream() {
    yield {
      kind: "text-delta",
      id: "t",
      text: "## Keep\n- Look at every file.\n\n## Summary\nMany files were looked at.",
    };
    yield { kind: "done", finishReason: { unified: "stop" }, usage: { inputTokens: 100, outputTokens: 20 } };
  },
};

export const read = {
  name: "read",
  description: "Reads a file.",
  input: { type: "object", properties: { file: { type: "number" } } },
  readOnly: true,
  execute: () => output,
};
