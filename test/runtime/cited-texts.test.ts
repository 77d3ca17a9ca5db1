/**
 * Providers cut one sentence into several text parts, for example at each citation. A text for people joins them as
 * they came.
 */
import { expect, test } from "vitest";
import { createAgent, type ModelDelta, textOf } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { collect, createEchoTool, filterEventsOfType } from "../support/agents.js";
import { verifies } from "../verifies.js";

const proven = verifies("FIN-1");

/** As Anthropic streams an answer with citations: a part for each claim, its source, and a part for what is between. */
const parts = ["Pawls:\n- ", "They catch a ratchet.", "\n- ", "They click.", " So it is."];
const cited: readonly ModelDelta[] = [
  ...parts.flatMap((text, index): readonly ModelDelta[] => [
    { kind: "text-start", id: String(index) },
    { kind: "text-delta", id: String(index), text },
    { kind: "text-end", id: String(index) },
    ...(index % 2 === 1 ? [{ kind: "source", id: String(index), url: "https://example.com" } as const] : []),
  ]),
  { kind: "done", finishReason: { unified: "stop" }, usage: {} },
];
const joined = "Pawls:\n- They catch a ratchet.\n- They click. So it is.";

test("the result of a run, and the text of its message", proven, async () => {
  const agent = createAgent({ model: createScriptedModel([{ deltas: cited }]) });
  const stream = agent.runStream("What is a pawl?");
  const items = await collect(stream);
  expect((await stream.result).text).toBe(joined);
  const [message] = filterEventsOfType(items, "message");
  expect(message === undefined ? "" : textOf(message.message)).toBe(joined);
});

test("what hooks see, and the answer as data", proven, async () => {
  const seen: string[] = [];
  const json = ['{"n": ', "1", "}"];
  const deltas: readonly ModelDelta[] = [
    ...json.map((text, index) => ({ kind: "text-delta", id: String(index), text }) as const),
    { kind: "done", finishReason: { unified: "stop" }, usage: {} },
  ];
  const agent = createAgent({
    model: createScriptedModel([{ deltas }]),
    hooks: [{ name: "see", beforeStop: ({ text }) => void seen.push(text) }],
  });
  const result = await agent.run("One", { output: { type: "object", properties: { n: { type: "number" } } } });
  expect(result).toMatchObject({ status: "completed", output: { n: 1 } });
  expect(seen).toEqual(['{"n": 1}']);
});

test("what the summarizer of a compaction reads", proven, async () => {
  const summarizer = createScriptedModel([{ text: "It was explained." }], { id: "summarizer" });
  const model = createScriptedModel([
    { deltas: cited },
    { text: "It clicks. ".repeat(600), usage: {} },
    { text: "Well." },
  ]);
  const agent = createAgent({
    model,
    tools: [createEchoTool().tool],
    compaction: { contextWindow: 2_000, model: summarizer, keepTurns: 1 },
  });
  for (const input of ["What is a pawl?", "And what does it do?", "Go on"]) await agent.run(input, { sessionId: "s" });
  expect(textOf(summarizer.requests[0]?.messages[0] ?? { role: "user", parts: [] })).toContain(`[agent]\n${joined}`);
});

test("the parts of a user's message stand on lines of their own: a person wrote them apart", proven, () => {
  expect(
    textOf({
      role: "user",
      parts: [
        { type: "text", text: "Compare:" },
        { type: "text", text: "one" },
      ],
    }),
  ).toBe("Compare:\none");
});
