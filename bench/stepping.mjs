/**
 * The work that benches of the loop share: steps of five text deltas and one tool call.
 */
import { setTimeout as wait } from "node:timers/promises";

const words = ["I ", "will ", "add ", "the ", "numbers."];

/**
 * A model that asks for one call in each of `steps` answers, then ends. Remembers when each call came, and when its
 * answer was complete. `thinksMs`: the time until an answer begins, as over a network; unless given, the answer is
 * there at once.
 */
export function steppingModel(steps, { thinksMs } = {}) {
  const startedAt = new Float64Array(steps + 2);
  const endedAt = new Float64Array(steps + 2);
  let count = 0;
  return {
    id: "bench",
    startedAt,
    endedAt,
    async *stream() {
      const index = count;
      startedAt[index] = performance.now();
      count += 1;
      if (thinksMs !== undefined) await wait(thinksMs);
      yield { kind: "start" };
      yield { kind: "text-start", id: "t" };
      for (const text of words) yield { kind: "text-delta", id: "t", text };
      yield { kind: "text-end", id: "t" };
      const calls = count <= steps;
      if (calls) yield { kind: "tool-call", id: `call_${count}`, name: "add", input: `{"a":${count},"b":2}` };
      const unified = calls ? "tool-calls" : "stop";
      endedAt[index] = performance.now();
      yield { kind: "done", finishReason: { unified }, usage: { inputTokens: 100, outputTokens: 20 } };
    },
  };
}

export const add = {
  name: "add",
  description: "Adds two numbers.",
  input: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
    additionalProperties: false,
  },
  execute: ({ a, b }) => a + b,
};
