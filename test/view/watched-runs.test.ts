/**
 * The view of runs that an agent carries out: what all chat protocols are made of.
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, type StreamItem } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { createSessionView } from "../../src/view/session-view.js";
import type { ViewChange } from "../../src/view/view-change.js";
import { createDeferred, createEchoTool } from "../support/agents.js";
import { collectPartTexts } from "./parts.js";

const ids = { sessionId: "s", runId: "r" } as const;

function fold(items: readonly StreamItem[]): readonly ViewChange[] {
  const view = createSessionView();
  return items.flatMap((item) => view.apply(item));
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
  const agent = createAgent({ model, tools: [createEchoTool().tool], store, clock });
  const stream = agent.runStream("Go", ids);
  const items: StreamItem[] = [];
  for await (const item of stream) {
    items.push(item);
    if (item.type === "attempt_failed") void clock.advance(60_000);
  }
  const live = fold(items);
  const logged: StreamItem[] = [];
  for await (const item of agent.session("s").events({ follow: false })) logged.push(item);

  const watched = collectPartTexts(live);
  const read = collectPartTexts(fold(logged));
  expect([...read.values()]).toEqual(["Think first.", "I look it up.", "It is done."]);
  // The failed attempt was seen by whoever watched it.
  expect([...watched.values()]).toEqual(["Think first.", "I look it up.", "This attempt will fail", "It is done."]);
  for (const [part, text] of read) expect(watched.get(part)).toBe(text);
  const written = live.filter(({ type }) => type === "call_opened" || type === "call_changed");
  expect(written[0]).toMatchObject({ type: "call_opened", callKey: "r/1/1", name: "echo", by: null });
  const input = written.flatMap((change) =>
    change.type === "call_changed" && change.by.type === "input_grew" ? [change.by.text] : [],
  );
  expect(input.join("")).toBe('{"a":1}');
  for (const change of written) expect(change).toMatchObject({ callKey: "r/1/1" });
  expect(live.filter(({ type }) => type === "call_ended")).toMatchObject([{ by: { type: "tool_result" } }]);
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
    const joined = createDeferred();
    const reached = createDeferred();
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
    const first = collectPartTexts(fold(whole));
    const second = collectPartTexts(fold(late));
    for (const [part, text] of first) if (text !== "") expect(second.get(part)).toBe(text);
    expect([...second.values()].join("")).toBe("HmOne two. Three.");
  }
});

test("an answer that an abort cuts off is one part with one text, live and in the log", async () => {
  const stuck = createDeferred();
  async function* cut() {
    yield { kind: "text-start", id: "1" } as const;
    yield { kind: "text-delta", id: "1", text: "I will look at" } as const;
    await stuck.promise;
  }
  const agent = createAgent({ model: createScriptedModel([{ deltas: cut() }]), store: createMemoryStore() });
  const items: StreamItem[] = [];
  for await (const item of agent.runStream("Go", ids)) {
    items.push(item);
    if (item.type === "delta" && item.delta.kind === "text-delta") await agent.session("s").abort();
  }
  stuck.resolve();
  expect([...collectPartTexts(fold(items))]).toEqual([["r/1.1.1", "I will look at"]]);
  const logged: StreamItem[] = [];
  for await (const item of agent.session("s").events({ follow: false })) logged.push(item);
  expect([...collectPartTexts(fold(logged))]).toEqual([["r/1.1.1", "I will look at"]]);
});
