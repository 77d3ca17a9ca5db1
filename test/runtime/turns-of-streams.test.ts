/** Models that stream without waiting leave the turn of the event loop in time for keys, timers and requests. */
import { afterEach, expect, test, vi } from "vitest";
import { createAgent } from "../../src/index.js";
import type { Model } from "../../src/ports/model.js";
import { createTestClock } from "../../src/testing/index.js";

afterEach(() => void vi.restoreAllMocks());

function createFlood(deltas: number, onDelta = () => {}): Model {
  return {
    id: "flood",
    async *stream() {
      for (let count = 0; count < deltas; count += 1) {
        onDelta();
        yield { kind: "text-delta", id: "t", text: "word " };
      }
      yield { kind: "done", finishReason: { unified: "stop" }, usage: {} };
    },
  };
}

/** Calls a function at the end of each turn, until the promise settles. */
function atEachTurn(promise: Promise<unknown>, call: () => void): void {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  promise.then(end, end);
  const count = () => {
    call();
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
}

test("four streams that never wait give up the turn after the time of one", async () => {
  // Each look at the clock takes a millisecond, and each delta looks at it at most twice: no turn depends on the speed of the machine.
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (now += 1));
  let inTurn = 0;
  let most = 0;
  const agent = createAgent({ model: createFlood(100, () => (inTurn += 1)) });
  const runs = Promise.all([1, 2, 3, 4].map((message) => agent.run(`Message ${message}`)));
  atEachTurn(runs, () => {
    most = Math.max(most, inTurn);
    inTurn = 0;
  });
  expect((await runs).map(({ status }) => status)).toEqual(Array(4).fill("completed"));
  expect(most).toBeGreaterThan(4);
  expect(most).toBeLessThanOrEqual(30);
});

test("with a test's clock, a stream is read in the same turns however slow the machine is", async () => {
  const countTurns = async (msOfLook: number) => {
    let now = 0;
    vi.spyOn(performance, "now").mockImplementation(() => (now += msOfLook));
    let turns = 0;
    const run = createAgent({ model: createFlood(100), clock: createTestClock() }).run("Hi");
    atEachTurn(run, () => (turns += 1));
    await expect(run).resolves.toMatchObject({ status: "completed" });
    vi.restoreAllMocks();
    return turns;
  };
  expect(await countTurns(1_000)).toBe(await countTurns(0));
});

test("with a test's clock, a stream that never waits leaves turns too", async () => {
  let inTurn = 0;
  let most = 0;
  const model = createFlood(25_000, () => {
    inTurn += 1;
  });
  const run = createAgent({ model, clock: createTestClock() }).run("Hi");
  atEachTurn(run, () => {
    most = Math.max(most, inTurn);
    inTurn = 0;
  });
  await expect(run).resolves.toMatchObject({ status: "completed" });
  expect(most).toBeLessThanOrEqual(10_000);
});
