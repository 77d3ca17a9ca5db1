/**
 * The agent of benches whose steps cost nothing by themselves: it looks at something in each step but the last.
 */
export const lookingModel = (steps) => ({
  id: "bench",
  async *stream({ modelCallIndex }) {
    yield { kind: "start" };
    const isLast = modelCallIndex === steps;
    if (isLast) yield { kind: "text-delta", id: "t", text: "It is done." };
    else
      yield { kind: "tool-call", id: `call_${modelCallIndex}`, name: "look", input: `{"at":"page ${modelCallIndex}"}` };
    yield { kind: "done", finishReason: { unified: isLast ? "stop" : "tool-calls" }, usage: {} };
  },
});

export const look = {
  name: "look",
  description: "Looks at something.",
  input: { type: "object", properties: { at: { type: "string" } } },
  execute: () => "There is nothing new.",
};
