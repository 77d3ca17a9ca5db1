/**
 * The wait before another attempt is a time in the store: whoever dies in it loses nothing, and whoever is there when it is
 * over goes on.
 */
import { describe, expect, test } from "vitest";
import { buildWorker } from "../../src/engine/worker.js";
import { createAgent, type WorkerReport } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createEchoTool } from "../support/agents.js";
import { createWatchedClock, type WatchedClock } from "../support/clock.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const startAt = 1_000_000;
const usage = { inputTokens: 7, outputTokens: 2 };
const overloaded = { kind: "overloaded", message: "busy", statusCode: 503, retryAfterMs: 45_000 } as const;

/** Calls what is due now, and no more, until a promise settles: files take their own time. */
async function during<T>(clock: WatchedClock, promise: Promise<T>): Promise<T> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  promise.then(over, over);
  while (!isOver) await clock.advance(0);
  return promise;
}

describe.each(localStores)("a wait, with the store $name", (kind) => {
  test(
    "is taken up by a worker once it is over, and not before; what was done is not done again",
    verifies("RTRY-3", "REC-1"),
    () =>
      withStore(kind.open, async (store) => {
        const echo = createEchoTool();
        const script = [
          { calls: [{ name: "echo" }], usage },
          { text: "Half", error: overloaded, usage },
        ] as const;
        const dying = createWatchedClock(startAt);
        const agent = createAgent({ model: createScriptedModel(script), tools: [echo.tool], store, clock: dying });
        // Its clock stands still from here on: nothing of this process happens any more.
        void agent.run("Go", { sessionId: "s" });
        await dying.waitFor(45_000);

        const clock = createWatchedClock(startAt);
        const model = createScriptedModel([{ text: "At last.", usage }]);
        const other = createAgent({ model, tools: [echo.tool], store, clock });
        const reports: WorkerReport[] = [];
        const worker = buildWorker(
          { store, agents: [other], onReport: (report) => reports.push(report) },
          { clock, isDead: () => false, random: () => 0 },
        );

        await clock.advance(44_999);
        await worker.runUntilIdle();
        expect(reports).toEqual([]);
        expect(await store.due(clock.now(), 10, () => false)).toEqual([]);
        expect((await store.load("s"))?.state).toMatchObject({
          status: "model_running",
          modelCallIndex: 2,
          attempt: 1,
          backoff: { until: startAt + 45_000, ms: 45_000 },
        });

        await clock.advance(1);
        await during(clock, worker.runUntilIdle());
        expect(reports.map(({ type }) => type)).toEqual(["taken", "left"]);
        const result = await other.session("s").result();
        expect(result).toMatchObject({ status: "completed", text: "At last.", steps: 2 });
        // The attempt that failed was paid for too.
        expect(result?.usage).toEqual({ inputTokens: 21, outputTokens: 6, partial: true });
        expect(echo.inputs).toHaveLength(1);
        expect(model.requests).toMatchObject([{ modelCallIndex: 2, attempt: 2 }]);
      }),
  );

  test("counts on where it was: retries, empty answers and time are not begun anew", verifies("RTRY-2", "FIN-5"), () =>
    withStore(kind.open, async (store) => {
      const asked: (readonly [number, number])[] = [];
      const retry = {
        decide(_failure: unknown, attempt: number, elapsedMs: number) {
          asked.push([attempt, elapsedMs]);
          return { retryInMs: 10_000 };
        },
      };
      const failing = { error: { kind: "network", message: "reset" } } as const;
      const scripts = [[failing], [{}, failing], [failing], [{}]] as const;
      for (const [life, script] of scripts.entries()) {
        const clock = createWatchedClock(startAt + life * 20_000);
        const agent = createAgent({ model: createScriptedModel(script), store, clock, retry });
        const session = agent.session("s");
        const result = life === 0 ? agent.run("Go", { sessionId: "s" }) : session.resume();
        if (life < scripts.length - 1) await during(clock, clock.waitFor(10_000));
        else expect(await during(clock, result)).toMatchObject({ status: "failed", reason: "empty_response" });
      }
      expect(asked).toEqual([
        [1, 0],
        [3, 20_000],
        [4, 40_000],
      ]);
    }),
  );
});
