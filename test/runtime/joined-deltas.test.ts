/**
 * A consumer that wants the deltas of one text that wait for it as one (`joinDeltas`).
 */
import { expect, test } from "vitest";
import { createAgent, createMemoryStore, type StreamItem } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { settled } from "../../src/testing/test-clock.js";
import { collect } from "../support/agents.js";
import { verifies } from "../verifies.js";

const words = Array.from({ length: 2_000 }, (_, index) => `word${index} `);

async function* talk() {
  yield { kind: "text-start", id: "a" } as const;
  for (const text of words) yield { kind: "text-delta", id: "a", text } as const;
  yield { kind: "text-delta", id: "a", text: "signed ", providerMetadata: { p: { signature: "s" } } } as const;
  yield { kind: "text-delta", id: "a", text: "last" } as const;
  yield { kind: "text-end", id: "a" } as const;
  yield { kind: "reasoning-start", id: "b" } as const;
  for (const text of words.slice(0, 10)) yield { kind: "reasoning-delta", id: "b", text } as const;
  yield { kind: "reasoning-end", id: "b" } as const;
  yield { kind: "done", finishReason: { unified: "stop" }, usage: {} } as const;
}

type DeltaItem = Extract<StreamItem, { type: "delta" }>;

async function streamed(joinDeltas: boolean) {
  const model = createScriptedModel([{ text: "Hello." }, { deltas: talk() }]);
  const agent = createAgent({ model, store: createMemoryStore() });
  const session = agent.session("s");
  await agent.run("Hi", { sessionId: "s" });
  const { seq } = await session.state();
  const items = session.events({ after: seq, joinDeltas, signal: AbortSignal.timeout(20_000) });
  const first = items.next();
  await settled();
  // The consumer reads nothing while the model speaks.
  await agent.run("Go", { sessionId: "s" });
  const rest: StreamItem[] = [];
  const begun = await first;
  if (begun.done !== true) rest.push(begun.value);
  for await (const item of items) {
    rest.push(item);
    if (item.type === "final") break;
  }
  return rest;
}

test("deltas of one text that wait come as one, with all numbers", verifies("STRM-7"), async () => {
  const items = await streamed(true);
  expect(items.map(({ type }) => type)).not.toContain("lagged");
  const deltas = items.filter((item): item is DeltaItem => item.type === "delta");
  expect(deltas.length).toBeLessThan(30);
  let last = 0;
  for (const { delta, n = 1 } of deltas) {
    expect(delta.seq - n).toBe(last);
    last = delta.seq;
  }
  const textOf = (kind: string) =>
    deltas.map(({ delta }) => (delta.kind === kind && "text" in delta ? delta.text : "")).join("");
  expect(textOf("text-delta")).toBe(`${words.join("")}signed last`);
  expect(textOf("reasoning-delta")).toBe(words.slice(0, 10).join(""));
  const signed = deltas.find(({ delta }) => "providerMetadata" in delta);
  expect(signed).toMatchObject({ delta: { text: "signed " } });
  for (const { delta } of deltas) if ("text" in delta) expect(delta.text.length).toBeLessThan(4_200);
});

test("a consumer that does not ask for it gets each delta, or is told that it fell behind", async () => {
  const items = await streamed(false);
  expect(items.map(({ type }) => type)).toContain("lagged");
  for (const item of items) expect(item).not.toHaveProperty("n");
});

test("joined deltas and children do not go together", async () => {
  const agent = createAgent({ model: createScriptedModel([{ text: "Hello." }]), store: createMemoryStore() });
  await agent.run("Hi", { sessionId: "s" });
  const items = agent.session("s").events({ children: true, joinDeltas: true, follow: false });
  await expect(collect(items)).rejects.toMatchObject({ code: "bad_input" });
});
