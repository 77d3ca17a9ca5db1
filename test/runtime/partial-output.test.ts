/**
 * Answers with a shape while they are streamed.
 */
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  createAgent,
  createMemoryStore,
  type DeepPartial,
  defineTool,
  done,
  type ModelDelta,
  type PartialOutput,
  type StreamItem,
} from "../../src/index.js";
import { createPartialJson } from "../../src/runtime/model/partial-json.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/index.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { measureTime } from "../bounds/plain-pass.js";
import { collect } from "../support/agents.js";
import { verifies } from "../verifies.js";

const shape = z.object({ title: z.string(), tags: z.array(z.string()), count: z.number() });
const answer = '{"title":"A pawl \\u00e9","tags":["catch","wheel"],"count":12}';

const partials = (items: readonly StreamItem[]) => items.filter((item) => item.type === "partial_output");

/** A model that yields these texts, with time between them. */
function streaming(texts: readonly string[], clock: ReturnType<typeof createTestClock>, ms: number) {
  async function* deltas(): AsyncGenerator<ModelDelta> {
    for (const text of texts) {
      yield { kind: "text-delta", id: "1", text };
      await clock.advance(ms);
    }
    yield { kind: "done", finishReason: { unified: "stop" }, usage: {} };
  }
  return createScriptedModel([{ deltas: deltas() }]);
}

describe("partial output", verifies("OUT-3"), () => {
  test("holds what can be said so far, is typed, and is in no log", async () => {
    const clock = createTestClock();
    const store = createMemoryStore();
    const agent = createAgent({ model: streaming([...answer], clock, 60), store, clock });
    const stream = agent.runStream("Go", { sessionId: "s", output: shape });
    const items: StreamItem[] = [];
    for await (const item of stream) {
      if (item.type === "partial_output") expectTypeOf(item.value.tags).toEqualTypeOf<readonly string[] | undefined>();
      items.push(item as StreamItem);
    }
    const values = partials(items).map(({ value }) => value);
    expect(values[0]).toEqual({});
    expect(values).toContainEqual({ title: "A pa" });
    expect(values).toContainEqual({ title: "A pawl é", tags: ["catch", "wh"] });
    expect(values.at(-1)).toEqual({ title: "A pawl é", tags: ["catch", "wheel"], count: 12 });
    expect(partials(items)[0]).toMatchObject({ modelCallIndex: 1, attempt: 1 });
    for (const { value } of partials(items)) expect(Object.isFrozen(value)).toBe(true);
    expect((await stream.result).status).toBe("completed");
    const again = await collect(agent.session("s").events({ follow: false }));
    expect(partials(again)).toEqual([]);
  });

  test("comes at most 20 times a second, and the last one always", async () => {
    const clock = createTestClock();
    const agent = createAgent({ model: streaming([...answer], clock, 5), clock });
    const items = await collect(agent.runStream("Go", { output: shape }));
    const shown = partials(items as StreamItem[]);
    expect(shown.length).toBeGreaterThan(2);
    expect(shown.length).toBeLessThanOrEqual(2 + (answer.length * 5) / 50);
    expect(shown.at(-1)?.value).toEqual({ title: "A pawl é", tags: ["catch", "wheel"], count: 12 });
  });

  test("starts anew with each attempt, and none comes without a shape", async () => {
    const model = createScriptedModel([
      { text: '{"title":"Half', error: { kind: "overloaded", message: "no", statusCode: 529 } },
      { text: answer },
    ]);
    const clock = createTestClock();
    const agent = createAgent({ model, clock });
    const stream = agent.runStream("Go", { output: shape });
    const collected = collect(stream);
    await clock.runUntilIdle({ maxMs: 60_000 });
    const shown = partials((await collected) as StreamItem[]);
    expect(shown.find(({ attempt }) => attempt === 1)?.value).toEqual({ title: "Half" });
    expect(shown.at(-1)).toMatchObject({ attempt: 2, value: { count: 12 } });
    const plain = createAgent({ model: createScriptedModel([{ text: answer }]) });
    expect(partials(await collect(plain.runStream("Go")))).toEqual([]);
  });

  test("several answers joined: a message that goes on continues the value, and the whole is checked", async () => {
    const [first, second] = [answer.slice(0, 30), answer.slice(30)];
    const model = createScriptedModel([{ text: first, finish: "length" }, { text: second }]);
    const agent = createAgent({ model });
    const stream = agent.runStream("Go", { output: shape });
    const shown = partials((await collect(stream)) as StreamItem[]);
    expect(shown.at(-1)).toMatchObject({ modelCallIndex: 2, value: { title: "A pawl é", count: 12 } });
    expect(await stream.result).toMatchObject({ status: "completed", output: { count: 12 } });
  });

  test("begins anew if the model was reminded of the done tool, and goes on after a pause of its provider", async () => {
    const finish = defineTool({
      name: "finish",
      description: "Ends.",
      input: { type: "object" },
      execute: () => done(answer),
    });
    const model = createScriptedModel([{ text: "I think." }, { text: answer, calls: [{ name: "finish" }] }]);
    const reminded = createAgent({ model, tools: [finish], limits: { requireDoneTool: true } });
    const shown = partials((await collect(reminded.runStream("Go", { output: shape }))) as StreamItem[]);
    expect(shown.at(-1)).toMatchObject({ modelCallIndex: 2, value: { title: "A pawl é", count: 12 } });

    const paused: ScriptedStep = {
      deltas: [
        { kind: "text-delta", id: "1", text: answer.slice(0, 30) },
        { kind: "done", finishReason: { unified: "stop", raw: "pause_turn" }, usage: {} },
      ],
    };
    const pausing = createAgent({ model: createScriptedModel([paused, { text: answer.slice(30) }]) });
    const joined = partials((await collect(pausing.runStream("Go", { output: shape }))) as StreamItem[]);
    expect(joined.at(-1)).toMatchObject({ modelCallIndex: 2, value: { title: "A pawl é", count: 12 } });
  });

  test("the types", () => {
    type Deep = DeepPartial<{ a: { b: readonly { c: number }[] } }>;
    expectTypeOf<Deep>().toEqualTypeOf<{ readonly a?: { readonly b?: readonly { readonly c?: number }[] } }>();
    expectTypeOf<PartialOutput["type"]>().toEqualTypeOf<"partial_output">();
  });
});

describe("the reader of half a JSON", verifies("OUT-3"), () => {
  const read = (...pieces: readonly string[]) => {
    const json = createPartialJson();
    for (const piece of pieces) json.add(piece);
    return json.value();
  };

  test.for<[string, unknown]>([
    ["", undefined],
    ["  {", {}],
    ['{"a', {}],
    ['{"a":', {}],
    ['{"a":1', {}],
    ['{"a":1,', { a: 1 }],
    ['{"a":-1.5e3}', { a: -1500 }],
    ['{"a":tru', {}],
    ['{"a":true ', { a: true }],
    ['{"a":null,"b":"x', { a: null, b: "x" }],
    ['{"a":"x\\', { a: "x" }],
    ['{"a":"x\\n\\u00', { a: "x\n" }],
    ['{"a":"\ud83d', { a: "" }],
    ['{"a":[{"b":[1,2', { a: [{ b: [1] }] }],
    ['```json\n{"a":[1]}\n```', { a: [1] }],
    ["```\n[1,", [1]],
    ["Here it is: {}", undefined],
    ['{"a":1} and more', { a: 1 }],
    ['{"a":1,}', { a: 1 }],
    ['{"a":01,"b":2}', {}],
    ['{"__proto__":1,"b":2}', {}],
    ['{"a":[1}', { a: [1] }],
  ])("%j", ([text, value]) => {
    expect(read(text)).toEqual(value);
    expect(read(...text)).toEqual(value);
  });

  test("what is complete is what JSON.parse gives, however it comes", () => {
    const value = { a: [1, -2.5, true, null, 'x"\\\n\u2028é😀'], b: { c: {}, d: [[], [{}]] }, "": "e" };
    const text = JSON.stringify(value, null, 1);
    for (let at = 0; at < text.length; at += 1) expect(read(text.slice(0, at), text.slice(at))).toEqual(value);
  });

  test("each value says no less than the one before", () => {
    const json = createPartialJson();
    let before = 0;
    for (const character of answer) {
      json.add(character);
      const size = JSON.stringify(json.value() ?? null).length;
      expect(size).toBeGreaterThanOrEqual(before - 4);
      before = size;
    }
  });

  test("takes linear time, and no depth breaks it", () => {
    const text = `{"a":[${'{"b":"xxxxxxxx"},'.repeat(40_000)}1]}`;
    const plain = Math.max(
      2,
      measureTime(() => JSON.parse(text)),
    );
    expect(measureTime(() => read(...(text.match(/.{1,10}/gs) ?? [])))).toBeLessThan(plain * 100);
    expect(read("[".repeat(100_000))).toBeDefined();
  });
});
