/** Several models that stream at once share a turn of the event loop, so that a key, a timer or a request is served soon. */
import { afterEach, expect, test, vi } from "vitest";
import { createAgent } from "../../src/index.js";
import type { Model } from "../../src/ports/model.js";

afterEach(() => void vi.restoreAllMocks());

test("four streams that never wait give up the turn after the time of one", async () => {
  // Each look at the clock takes a millisecond, and each delta looks at it once: no turn depends on the speed of the machine.
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (now += 1));
  let inTurn = 0;
  let most = 0;
  const model: Model = {
    id: "flood",
    async *stream() {
      for (let count = 0; count < 100; count += 1) {
        inTurn += 1;
        yield { kind: "text-delta", id: "t", text: "word " };
      }
      yield { kind: "done", finishReason: { unified: "stop" }, usage: {} };
    },
  };
  let isOver = false;
  const countTurn = () => {
    most = Math.max(most, inTurn);
    inTurn = 0;
    if (!isOver) setImmediate(countTurn);
  };
  setImmediate(countTurn);
  const agent = createAgent({ model });
  const results = await Promise.all([1, 2, 3, 4].map((message) => agent.run(`Message ${message}`)));
  isOver = true;
  expect(results.map(({ status }) => status)).toEqual(Array(4).fill("completed"));
  expect(most).toBeGreaterThan(4);
  expect(most).toBeLessThanOrEqual(30);
});
