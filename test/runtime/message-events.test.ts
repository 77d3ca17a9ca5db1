/**
 * The `message` event: the whole message of each step, once, and in its place.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, type Hook, type HookSubject } from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import {
  collect,
  createDeferred,
  createEchoTool,
  filterEvents,
  filterEventsOfType,
  listEventTypes,
} from "../support/agents.js";
import { verifies } from "../verifies.js";

const usage = { inputTokens: 1, outputTokens: 1 };
const rich: ScriptedStep = {
  deltas: [
    { kind: "reasoning-delta", id: "r", text: "Hm.", providerMetadata: { p: { signature: "abc" } } },
    { kind: "text-delta", id: "t", text: "A claim", providerMetadata: { p: { cited: true } } },
    { kind: "source", id: "1", url: "https://example.com", title: "Example" },
    { kind: "file", mediaType: "image/png", data: "iVBORw0KGgo=" },
    { kind: "tool-call", id: "s", name: "search", input: '{"q":1}', providerExecuted: true },
    { kind: "tool-result", id: "s", name: "search", output: { type: "json", value: [1] } },
    { kind: "done", finishReason: { unified: "stop" }, usage, providerMetadata: { p: { container: "c1" } } },
  ],
};
const richParts = [
  { type: "reasoning", text: "Hm.", providerMetadata: { p: { signature: "abc" } } },
  { type: "text", text: "A claim", providerMetadata: { p: { cited: true } } },
  { type: "source", id: "1", url: "https://example.com", title: "Example" },
  { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=" },
  { type: "tool_call", toolCallId: "s", name: "search", input: { q: 1 }, providerExecuted: true },
  {
    type: "tool_result",
    toolCallId: "s",
    name: "search",
    output: { type: "json", value: [1] },
    providerExecuted: true,
  },
];

function agentWith(script: readonly ScriptedStep[], hooks: readonly Hook[] = []) {
  const model = createScriptedModel(script);
  return createAgent({ model, tools: [createEchoTool().tool], hooks, store: createMemoryStore() });
}

describe("the message of a step", verifies("STRM-10"), () => {
  test("has all that the provider sent; that of the last step comes right before the end", async () => {
    const agent = agentWith([{ reasoning: "So.", text: "Look.", calls: [{ name: "echo", id: "c" }] }, rich]);
    const events = filterEvents(await collect(agent.runStream("Go", { sessionId: "s", runId: "r" })));
    expect(listEventTypes(events)).toEqual([
      "session_created",
      "run_started",
      "reasoning",
      "text",
      "message",
      "call_start",
      "step_finished",
      "tool_call",
      "tool_result",
      "call_complete",
      "reasoning",
      "step_finished",
      "message",
      "final",
    ]);
    const step = { runId: "r", attempt: 1 };
    expect(filterEventsOfType(events, "message")).toMatchObject([
      {
        ...step,
        modelCallIndex: 1,
        message: {
          role: "assistant",
          parts: [
            { type: "reasoning", text: "So." },
            { type: "text", text: "Look." },
            { type: "tool_call", toolCallId: "c", name: "echo" },
          ],
        },
      },
      { ...step, modelCallIndex: 2, message: { role: "assistant", parts: richParts } },
    ]);
    for (const message of filterEventsOfType(events, "message")) expect(message).not.toHaveProperty("cut");
    expect(await collect(agent.session("s").events({ follow: false }))).toEqual(events);
  });

  test("names calls as their other events do, even where the provider repeats an id", async () => {
    const call = { calls: [{ name: "echo", id: "same" }] };
    const agent = agentWith([call, call, { text: "Done." }]);
    const events = filterEvents(await collect(agent.runStream("Go")));
    const ids = filterEventsOfType(events, "message").flatMap(({ message }) =>
      message.parts.flatMap((part) => (part.type === "tool_call" ? [part.toolCallId] : [])),
    );
    expect(ids).toEqual(filterEventsOfType(events, "call_start").map(({ toolCallId }) => toolCallId));
    expect(new Set(ids).size).toBe(2);
  });

  test("comes with the text if the run goes on after all, and once", async () => {
    const hook: Hook = {
      name: "again",
      beforeStop: ({ stopPreventions }) => (stopPreventions === 0 ? { message: "Check it." } : undefined),
    };
    const agent = agentWith([{ text: "Done." }, { text: "Checked." }], [hook]);
    const events = filterEvents(await collect(agent.runStream("Go")));
    expect(listEventTypes(events).slice(2)).toEqual([
      "step_finished",
      "text",
      "message",
      "steered",
      "step_finished",
      "message",
      "final",
    ]);
  });

  test("of an answer that was complete when the run was aborted comes whole", async () => {
    const asked = createDeferred();
    const controller = new AbortController();
    const hook: Hook = {
      name: "slow",
      beforeStop: () => {
        asked.resolve();
        return new Promise(() => {});
      },
    };
    const agent = agentWith([{ text: "All of it." }], [hook]);
    const stream = agent.runStream("Go", { signal: controller.signal });
    const items = collect(stream);
    await asked.promise;
    controller.abort();
    expect(await stream.result).toMatchObject({ status: "aborted" });
    const [message] = filterEventsOfType(await items, "message");
    expect(message).toMatchObject({ message: { parts: [{ text: "All of it." }] } });
    expect(message).not.toHaveProperty("cut");
  });

  test("of the last summary comes, too", async () => {
    const agent = agentWith([{ calls: [{ name: "echo" }] }, { text: "In short." }]);
    const events = filterEvents(await collect(agent.runStream("Go", { limits: { maxSteps: 1 } })));
    expect(filterEventsOfType(events, "message").at(-1)).toMatchObject({
      modelCallIndex: 2,
      message: { parts: [{ text: "In short." }] },
    });
    expect(listEventTypes(events).slice(-2)).toEqual(["message", "final"]);
  });
});

test("what the provider says about the whole message reaches hooks and events", verifies("STRM-10"), async () => {
  const seen: HookSubject<"afterLLMCall">[] = [];
  const agent = agentWith(
    [rich, { text: "Plain." }],
    [{ name: "see", afterLLMCall: (answer) => void seen.push(answer) }],
  );
  const events = filterEvents(await collect(agent.runStream("Go", { sessionId: "s" })));
  const providerMetadata = { p: { container: "c1" } };
  expect(seen).toMatchObject([{ providerMetadata }]);
  expect(filterEventsOfType(events, "step_finished")).toMatchObject([{ providerMetadata }]);
  await agent.run("Again", { sessionId: "s" });
  expect(seen[1]).not.toHaveProperty("providerMetadata");
});
