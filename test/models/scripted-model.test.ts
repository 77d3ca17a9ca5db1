import { describe, expect, test } from "vitest";
import { createAgent } from "../../src/index.js";
import type { ModelDelta, ModelRequest } from "../../src/ports/model.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";

const request: ModelRequest = {
  sessionId: "session",
  runId: "run",
  modelCallIndex: 0,
  attempt: 1,
  messages: [{ role: "user", parts: [{ type: "text", text: "Hello" }] }],
  tools: [],
};

async function deltasOf(step: ScriptedStep, signal = new AbortController().signal): Promise<readonly ModelDelta[]> {
  const deltas: ModelDelta[] = [];
  for await (const delta of createScriptedModel([step]).stream(request, signal)) deltas.push(delta);
  return deltas;
}

describe("createScriptedModel", () => {
  test("streams an answer part by part, a word in each delta", async () => {
    const step = {
      reasoning: "I think so",
      text: "Let me  see.",
      calls: [{ name: "add", input: { a: 1 } }, { name: "now" }],
    };
    expect(await deltasOf(step)).toEqual([
      { kind: "start" },
      { kind: "reasoning-start", id: "reasoning" },
      { kind: "reasoning-delta", id: "reasoning", text: "I " },
      { kind: "reasoning-delta", id: "reasoning", text: "think " },
      { kind: "reasoning-delta", id: "reasoning", text: "so" },
      { kind: "reasoning-end", id: "reasoning" },
      { kind: "text-start", id: "text" },
      { kind: "text-delta", id: "text", text: "Let " },
      { kind: "text-delta", id: "text", text: "me  " },
      { kind: "text-delta", id: "text", text: "see." },
      { kind: "text-end", id: "text" },
      { kind: "tool-call", id: "call_1_1", name: "add", input: '{"a":1}' },
      { kind: "tool-call", id: "call_1_2", name: "now", input: "{}" },
      { kind: "done", finishReason: { unified: "tool-calls" }, usage: { inputTokens: 10, outputTokens: 5 } },
    ]);
  });

  test("cuts text and arguments where it is asked to, and gives arguments that are no JSON", async () => {
    const deltas = await deltasOf({
      text: "abcde",
      calls: [{ name: "add", raw: '{"a', id: "x" }],
      chunk: 2,
      finish: "length",
      usage: { outputTokens: 7 },
    });
    expect(deltas.slice(1)).toEqual([
      { kind: "text-start", id: "text" },
      ...["ab", "cd", "e"].map((text) => ({ kind: "text-delta", id: "text", text })),
      { kind: "text-end", id: "text" },
      { kind: "tool-input-start", id: "x", name: "add" },
      { kind: "tool-input-delta", id: "x", text: '{"' },
      { kind: "tool-input-delta", id: "x", text: "a" },
      { kind: "tool-input-end", id: "x" },
      { kind: "tool-call", id: "x", name: "add", input: '{"a' },
      { kind: "done", finishReason: { unified: "length" }, usage: { outputTokens: 7 } },
    ]);
  });

  test("fails in the middle of what it says", async () => {
    const failure = { kind: "network", message: "reset" } as const;
    const deltas = await deltasOf({ text: "half", error: failure });
    expect(deltas.map((delta) => delta.kind)).toEqual(["start", "text-start", "text-delta", "error"]);
    expect(deltas.at(-1)).toEqual({ kind: "error", failure });
    await expect(deltasOf({ text: "half", throws: new Error("broken") })).rejects.toThrow("broken");
  });

  test("gives the deltas that it was given", async () => {
    const deltas: ModelDelta[] = [{ kind: "text-delta", id: "1", text: "out of order" }];
    expect(await deltasOf({ deltas })).toEqual(deltas);
    async function* later() {
      yield* deltas;
    }
    expect(await deltasOf({ deltas: later() })).toEqual(deltas);
  });

  test("takes a step for each request, and keeps the requests as they were", async () => {
    let { messages } = request;
    const model = createScriptedModel([{ text: "one" }, { text: "two" }], { id: "mine", contextWindow: 1000 });
    const said: ModelDelta[] = [];
    for (const attempt of [1, 2, 3])
      for await (const delta of model.stream({ ...request, messages, attempt }, new AbortController().signal)) {
        // Each request has an array of its own, as the loop makes them.
        if (delta.kind === "text-start") messages = [...messages, { role: "user", parts: [] }];
        if (delta.kind === "text-delta" || delta.kind === "error") said.push(delta);
      }
    expect(model).toMatchObject({ id: "mine", contextWindow: 1000 });
    expect(said).toMatchObject([
      { text: "one" },
      { text: "two" },
      {
        kind: "error",
        failure: {
          kind: "invalid_request",
          message: "The script has no step 3 (it has 2). Add a step, or pass a function of the request.",
        },
      },
    ]);
    expect(model.requests.map((kept) => [kept.attempt, kept.messages.length])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
  });

  test("answers as a function of the request", async () => {
    const model = createScriptedModel(({ modelCallIndex }) => ({ text: `step ${modelCallIndex}` }), { record: false });
    const texts: string[] = [];
    for await (const delta of model.stream({ ...request, modelCallIndex: 4 }, new AbortController().signal))
      if (delta.kind === "text-delta") texts.push(delta.text);
    expect(texts.join("")).toBe("step 4");
    expect(model.requests).toEqual([]);
  });

  test("refuses unknown members, which would make an empty answer", async () => {
    const script = [{ text: "one" }, { toolCalls: [{ toolName: "add", args: {} }] }];
    expect(() => createScriptedModel(script)).toThrow(
      'Step 2 of the script has no option "toolCalls". Do you mean calls?',
    );
    expect(() => createScriptedModel([{ calls: [{ name: "add", args: {} } as never] }])).toThrow(
      'Step 1 of the script, call 1, has no option "args". Do you mean input?',
    );
    const result = await createAgent({ model: createScriptedModel(() => script[1]) }).run("Add.");
    expect(result).toMatchObject({ status: "failed", reason: "model_error", error: { code: "invalid_request" } });
    expect(result.text).toContain("Do you mean calls?");
  });

  test("ends without an error once it is aborted, waiting or speaking", async () => {
    const controller = new AbortController();
    const waiting = deltasOf({ wait: new Promise(() => {}), text: "never" }, controller.signal);
    controller.abort();
    expect(await waiting).toEqual([]);

    const speaking = new AbortController();
    const kinds: string[] = [];
    for await (const delta of createScriptedModel([{ text: "a b c" }]).stream(request, speaking.signal)) {
      kinds.push(delta.kind);
      if (delta.kind === "text-delta") speaking.abort();
    }
    expect(kinds).toEqual(["start", "text-start", "text-delta"]);
    expect(await deltasOf({ wait: Promise.resolve(), text: "a" })).toHaveLength(5);
  });
});
