/**
 * The stream of a session as parts that begin, grow and end: what all chat protocols are made of.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, type StreamItem } from "../../src/index.js";
import { createMessageFlow, type FlowItem } from "../../src/protocols/message-flow.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createEcho, deferred } from "../support/agents.js";

const ids = { sessionId: "s", runId: "r" } as const;

/** Checks the grammar of a flow, and gives the text of each part. */
function partsOf(flow: readonly FlowItem[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  const open = new Set<string>();
  let steps = 0;
  for (const item of flow) {
    if (item.type === "step_started") steps += 1;
    if (item.type === "step_ended") {
      steps -= 1;
      expect(open.size).toBe(0);
    }
    expect(steps === 0 || steps === 1).toBe(true);
    if (item.type === "part_started") {
      expect(texts.has(item.part)).toBe(false);
      expect(steps).toBe(1);
      texts.set(item.part, "");
      open.add(item.part);
    } else if (item.type === "part_added") {
      expect(open.has(item.part)).toBe(true);
      texts.set(item.part, `${texts.get(item.part)}${item.text}`);
    } else if (item.type === "part_ended") expect(open.delete(item.part)).toBe(true);
  }
  expect(steps).toBe(0);
  return texts;
}

function flowOf(items: readonly StreamItem[]): readonly FlowItem[] {
  const take = createMessageFlow();
  return items.flatMap(take);
}

test("a run that is watched and one that is read from its log have the same parts", async () => {
  const store = createMemoryStore();
  const clock = createTestClock();
  const failure = { kind: "overloaded", message: "Busy.", statusCode: 529 } as const;
  const model = createScriptedModel([
    {
      reasoning: "Think first.",
      text: "I look it up.",
      calls: [{ name: "echo", input: { a: 1 }, raw: '{"a":1}' }],
      chunk: 3,
    },
    { text: "This attempt will fail", error: failure },
    { text: "It is done.", chunk: 2 },
  ]);
  const agent = createAgent({ model, tools: [createEcho().tool], store, clock });
  const stream = agent.runStream("Go", ids);
  const items: StreamItem[] = [];
  for await (const item of stream) {
    items.push(item);
    if (item.type === "attempt_failed") void clock.advance(60_000);
  }
  const live = flowOf(items);
  const logged: StreamItem[] = [];
  for await (const item of agent.session("s").events({ follow: false })) logged.push(item);

  const watched = partsOf(live);
  const read = partsOf(flowOf(logged));
  expect([...read.values()]).toEqual(["Think first.", "I look it up.", "It is done."]);
  // The failed attempt was seen by whoever watched it.
  expect([...watched.values()]).toEqual(["Think first.", "I look it up.", "This attempt will fail", "It is done."]);
  for (const [part, text] of read) expect(watched.get(part)).toBe(text);
  const inputs = live.filter((item) => item.type === "input_started" || item.type === "input_added");
  expect(inputs).toMatchObject([
    { callKey: "r/1/1", name: "echo" },
    ...inputs.slice(1).map(() => ({ callKey: "r/1/1" })),
  ]);
  expect(live.some((item) => item.type === "input_dropped")).toBe(false);
});

test("who joins at any delta gets the parts whole, under the same names", async () => {
  const deltas = [
    { kind: "reasoning-start", id: "1" },
    { kind: "reasoning-delta", id: "1", text: "Hm" },
    { kind: "reasoning-end", id: "1" },
    { kind: "text-start", id: "1" },
    { kind: "text-delta", id: "1", text: "One " },
    { kind: "text-delta", id: "1", text: "two." },
    { kind: "text-end", id: "1" },
    { kind: "text-start", id: "2" },
    { kind: "text-start", id: "3" },
    { kind: "text-delta", id: "3", text: " Three." },
    { kind: "text-end", id: "3" },
    { kind: "done", finishReason: { unified: "stop" }, usage: {} },
  ] as const;
  for (let joinsAt = 0; joinsAt < deltas.length; joinsAt += 1) {
    const joined = deferred();
    const reached = deferred();
    async function* paused() {
      for (const [index, delta] of deltas.entries()) {
        if (index === joinsAt) {
          reached.resolve();
          await joined.promise;
        }
        yield delta;
      }
    }
    const agent = createAgent({ model: createScriptedModel([{ deltas: paused() }]), store: createMemoryStore() });
    const stream = agent.runStream("Go", ids);
    const whole: StreamItem[] = [];
    const watching = (async () => {
      for await (const item of stream) whole.push(item);
    })();
    await reached.promise;
    const late: StreamItem[] = [];
    for await (const item of agent.session("s").events()) {
      late.push(item);
      joined.resolve();
      if (item.type === "final") break;
    }
    await watching;
    const first = partsOf(flowOf(whole));
    const second = partsOf(flowOf(late));
    for (const [part, text] of first) if (text !== "") expect(second.get(part)).toBe(text);
    expect([...second.values()].join("")).toBe("HmOne two. Three.");
  }
});
