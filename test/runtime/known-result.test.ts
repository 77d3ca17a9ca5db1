/**
 * The subscription of a caller that asks for a run that another process has ended meanwhile.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, type PublicEvent, type StreamItem } from "../../src/index.js";
import { readEvents } from "../../src/runtime/log/read-log.js";
import { awaitKnownResult } from "../../src/runtime/session/known-result.js";
import { startCursor } from "../../src/stream/cursor.js";
import { createItems, createTail, endTail, pushItem, readFromLog } from "../../src/stream/tail/tail.js";
import { createScriptedModel } from "../../src/testing/index.js";

/** A run that has ended, and a subscription that began after an entry of its log. */
async function endRun() {
  const store = createMemoryStore();
  const agent = createAgent({ model: createScriptedModel([{ text: "Done." }]), store });
  await agent.run("Go", { sessionId: "s", runId: "run" });
  const log: PublicEvent[] = [];
  for await (const event of readEvents(store, "s", startCursor)) if (event.type !== "session_created") log.push(event);
  const source = { logged: (after: typeof startCursor) => readEvents(store, "s", after), inProgress: () => [] };
  return {
    log,
    subscribe: (after: number) => createTail(source, after, { runId: "run", onLeave: () => {} }),
    async readAfterResult(tail: ReturnType<typeof createTail>): Promise<readonly StreamItem[]> {
      await awaitKnownResult({ sessionId: "s", waiters: [], agent: { store } }, "run", tail, async () => {});
      endTail(tail);
      const got: StreamItem[] = [];
      for await (const item of createItems(tail)) got.push(item);
      return got;
    },
  };
}

test("the events that wait for the consumer come before the end of the run", async () => {
  const { log, subscribe, readAfterResult } = await endRun();
  const tail = subscribe(0);
  for (const event of log.slice(0, -1)) pushItem(tail, event);
  expect(await readAfterResult(tail)).toEqual(log);
});

test("a consumer that begins after the end of the run gets it, also from the log", async () => {
  const { log, subscribe, readAfterResult } = await endRun();
  const end = log.at(-1);
  expect(await readAfterResult(subscribe(end?.seq ?? 0))).toEqual([end]);
  const behind = subscribe(end?.seq ?? 0);
  readFromLog(behind);
  expect((await readAfterResult(behind)).filter((item) => item.type !== "lagged")).toEqual([end]);
});
