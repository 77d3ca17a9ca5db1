/**
 * A long conversation that was never compacted: who reads it again in the same process reads from a place near the end. The
 * stores are memory stores that count the entries which are read.
 */
import { expect, test } from "vitest";
import { createAgent, createClient, createMemoryStore, type PublicEvent, type Store } from "../../src/index.js";
import { sessionSteps } from "../../src/inspect.js";
import { createScriptedModel } from "../../src/testing/index.js";
import { createEchoTool } from "../support/agents.js";

const steps = 600;

async function written(store: Store, sessionId = "long") {
  let at = 0;
  const model = createScriptedModel(
    () => {
      at += 1;
      // The provider repeats its ids: what comes later has other ids than it would have alone.
      return at === steps
        ? { text: `Done with ${sessionId}.` }
        : { calls: [{ name: "echo", input: { at }, id: "same" }] };
    },
    { record: false },
  );
  const limits = { maxSteps: steps + 1, onRepeatedCall: "ignore" as const };
  await createAgent({ name: "walker", store, model, tools: [createEchoTool().tool], limits }).run("Go.", { sessionId });
}

/** The store, and the number of entries that were read of it. */
function counting(store: Store): { readonly store: Store; readonly count: () => number } {
  let count = 0;
  const read: Store["read"] = async (...given) => {
    const entries = await store.read(...given);
    count += entries.length;
    return entries;
  };
  const counted = Object.create(store, { read: { value: read } }) as Store;
  return { store: counted, count: () => count };
}

async function eventsFrom(store: Store, after: number): Promise<readonly PublicEvent[]> {
  const events: PublicEvent[] = [];
  for await (const item of createClient({ store }).session("long").events({ after, follow: false }))
    if ("seq" in item) events.push(item);
  return events;
}

test("is read once, and then from near its end, with the same events", async () => {
  const written1 = createMemoryStore();
  await written(written1);
  const { seq = 0 } = (await written1.load("long")) ?? {};
  expect(seq).toBeGreaterThan(2_000);
  const all = (await eventsFrom(written1, 0)).filter((event) => event.seq > seq - 20);
  const { store, count } = counting(written1);
  expect(await eventsFrom(store, seq - 20)).toEqual(all);
  const first = count();
  expect(first).toBeGreaterThanOrEqual(seq);
  for (let round = 0; round < 4; round += 1) expect(await eventsFrom(store, seq - 20)).toEqual(all);
  await createClient({ store }).session("long").result();
  await sessionSteps(store, "long", { after: seq - 100 });
  // Six readers together read less than the first one did.
  expect(count() - first).toBeLessThan(first);
  const ids = all.flatMap((event) => (event.type === "tool_call" ? [event.toolCallId] : []));
  expect(new Set(ids).size).toBe(ids.length);
});

test("that takes the place of a deleted one is not mistaken for it", async () => {
  const store = createMemoryStore();
  await written(store);
  const { seq = 0 } = (await store.load("long")) ?? {};
  await eventsFrom(store, seq - 5);
  await store.delete("long", { now: Date.now(), force: true });
  await written(store);
  expect(await createClient({ store }).session("long").result()).toMatchObject({ text: "Done with long." });
  const runs = (await eventsFrom(store, 0)).flatMap((event) => (event.type === "run_started" ? [event.runId] : []));
  const last = (await eventsFrom(store, seq - 5)).flatMap((event) => (event.type === "final" ? [event.runId] : []));
  expect(last).toEqual(runs);
});
