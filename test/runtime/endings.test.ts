/**
 * How a step ends, and with it a run: the output cap, filters and errors, empty answers, the limit of steps, a tool that says
 * that it is done.
 */
import { describe, expect, onTestFinished, test } from "vitest";
import { reasons } from "../../src/core/index.js";
import { continuePrompt, doneToolReminder, finalSummaryPrompt } from "../../src/core/transcript/loop-prompts.js";
import { type AgentOptions, createAgent, createMemoryStore, defineTool, done, TaskComplete } from "../../src/index.js";
import { fromAiSdk } from "../../src/models/index.js";
import { createScriptedModel, type Script } from "../../src/testing/scripted-model.js";
import { type ScriptedReply, startProviderServer } from "../models/provider-server.js";
import { type RealProvider, realProviders } from "../models/real-providers.js";
import { collect, createEchoTool, createGateTool, filterEventsOfType } from "../support/agents.js";
import { createFailingStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const { tool: echo } = createEchoTool();
const call = { calls: [{ name: "echo", input: { a: 1 } }] };
const anyInput = { type: "object" } as const;
const noWait = { baseDelayMs: 0 } as const;

function start(script: Script, options: Partial<AgentOptions> = {}) {
  const model = createScriptedModel(script);
  const agent = createAgent({ model, tools: [echo], retry: noWait, ...options });
  const stream = agent.runStream("Go", { sessionId: "s", runId: "r" });
  return { model, agent, session: agent.session("s"), items: collect(stream), result: stream.result };
}

async function withProvider(
  provider: RealProvider,
  script: readonly ScriptedReply[],
  options: Partial<AgentOptions> = {},
) {
  const server = await startProviderServer(provider.format, script);
  onTestFinished(() => server.close());
  const model = fromAiSdk(provider.create({ baseURL: server.baseURL, apiKey: "sk-test" }));
  const agent = createAgent({ model, tools: [echo], retry: noWait, ...options });
  return { result: await agent.run("Go", { sessionId: "s" }), server, session: agent.session("s") };
}

function said(value: unknown): string {
  return JSON.stringify(value);
}

describe("an answer that is cut at the output cap", () => {
  test.each(realProviders)("is gone on with, of $name", verifies("FIN-3#output-cap"), async (provider) => {
    const { result, server } = await withProvider(provider, [
      { type: "answer", text: "The first half, and the sec", finish: "length" },
      { type: "answer", text: "ond, and a", finish: "length" },
      { type: "answer", text: " third." },
    ]);
    expect(result).toMatchObject({
      status: "completed",
      reason: "stop",
      text: "The first half, and the second, and a third.",
      steps: 3,
    });
    expect(said(server.requests[0]?.body)).not.toContain(continuePrompt);
    expect(said(server.requests[1]?.body).split(continuePrompt)).toHaveLength(2);
    expect(said(server.requests[2]?.body).split(continuePrompt)).toHaveLength(3);
  });

  test(
    "goes on under a new index, twice at most, and ends with the text so far",
    verifies("FIN-3#output-cap"),
    async () => {
      const cut = { text: "more and ", finish: "length" } as const;
      const { result, model, items } = start(() => cut);
      expect(await result).toMatchObject({
        status: "failed",
        reason: "output_limit",
        text: "more and more and more and",
      });
      expect(model.requests.map(({ modelCallIndex, attempt }) => [modelCallIndex, attempt])).toEqual([
        [1, 1],
        [2, 1],
        [3, 1],
      ]);
      expect(filterEventsOfType(await items, "step_finished").map(({ finishReason }) => finishReason.unified)).toEqual([
        "length",
        "length",
        "length",
      ]);
      const none = start(() => cut, { limits: { maxContinuations: 0 } });
      expect(await none.result).toMatchObject({ reason: "output_limit", text: "more and", steps: 1 });
    },
  );

  test(
    "with nothing said, as where thinking took it all, is gone on with too",
    verifies("FIN-3#output-cap"),
    async () => {
      const { result } = start([{ reasoning: "Hm, hm, hm", finish: "length" }, { text: "It is 3." }]);
      expect(await result).toMatchObject({ status: "completed", text: "It is 3.", steps: 2 });
      const never = start(() => ({ finish: "length" }));
      expect(await never.result).toMatchObject({ reason: "output_limit", text: reasons.output_limit.text, steps: 3 });
    },
  );

  test("is gone on with by another process, which asks once", verifies("FIN-3#output-cap"), async () => {
    const store = createFailingStore(createMemoryStore());
    const dying = start([{ text: "One, ", finish: "length" }, { text: "lost" }], { store: store.store });
    store.failCommits(3);
    expect(await dying.result).toMatchObject({ status: "interrupted" });
    store.repair();
    const model = createScriptedModel([{ text: "two." }]);
    const other = createAgent({ model, tools: [echo], store: store.store });
    expect(await other.session("s").resume()).toMatchObject({ status: "completed", text: "One, two.", steps: 2 });
    expect(said(model.requests[0]?.messages).split(continuePrompt)).toHaveLength(2);
  });
});

describe("an answer that its provider ends with", () => {
  test.each(realProviders)("a filter: $name", verifies("FIN-4"), async (provider) => {
    const some = await withProvider(provider, [{ type: "answer", text: "Well, to begin", finish: "content-filter" }]);
    expect(some.result).toMatchObject({ status: "failed", reason: "content_filter", text: "Well, to begin" });
    const none = await withProvider(provider, [{ type: "answer", finish: "content-filter" }]);
    expect(none.result).toMatchObject({
      status: "failed",
      reason: "content_filter",
      text: reasons.content_filter.text,
    });
    expect([some.server.requests.length, none.server.requests.length]).toEqual([1, 1]);
  });

  test("an error is tried again, and ends the run where it stays", verifies("FIN-4"), async () => {
    const once = start([{ text: "Half", finish: "error" }, { text: "Whole." }]);
    expect(await once.result).toMatchObject({ status: "completed", text: "Whole.", steps: 1 });
    const always = start(() => ({ text: "Half", finish: "error" }));
    expect(await always.result).toMatchObject({
      status: "failed",
      reason: "model_error",
      text: "The model could not be reached or failed: The provider ended its answer with an error.",
      error: { code: "provider" },
    });
    expect(always.model.requests).toHaveLength(6);
  });

  test("anything else completes the run", verifies("FIN-4"), async () => {
    expect(await start([{ text: "So far.", finish: "other" }]).result).toMatchObject({
      status: "completed",
      reason: "other",
      text: "So far.",
    });
    const silent = start([{ finish: "other" }]);
    expect(await silent.result).toMatchObject({ status: "completed", reason: "other", text: reasons.other.text });
    expect(silent.model.requests).toHaveLength(1);
  });
});

describe("an answer with nothing in it", () => {
  const empties: readonly (readonly [string, Script])[] = [
    ["no part at all", () => ({})],
    ["blanks", () => ({ text: " \n" })],
    ["reasoning alone", () => ({ reasoning: "Hm." })],
    ["an end for tool calls, without one", () => ({ finish: "tool-calls" })],
  ];

  test.each(empties)(
    "%s: it is asked for once more, and then the run ends",
    verifies("FIN-5"),
    async (_name, script) => {
      const { result, model, session } = start(script);
      expect(await result).toMatchObject({
        status: "failed",
        reason: "empty_response",
        text: "The model gave an empty answer twice: The answer was empty.",
        steps: 0,
      });
      expect(model.requests.map(({ modelCallIndex, attempt }) => [modelCallIndex, attempt])).toEqual([
        [1, 1],
        [1, 2],
      ]);
      // It is not part of the conversation, and was paid for.
      expect((await session.messages()).map(({ role }) => role)).toEqual(["user"]);
      expect((await result).usage).toMatchObject({ inputTokens: 20, outputTokens: 10 });
    },
  );

  test("in each step anew", verifies("FIN-5"), async () => {
    const { result } = start([{}, call, {}, { text: "There." }]);
    expect(await result).toMatchObject({ status: "completed", text: "There.", steps: 2 });
  });

  test("between failures of other kinds is still one too many", verifies("FIN-5"), async () => {
    const reset = { error: { kind: "network", message: "reset" } } as const;
    const { result, model } = start([{}, reset, {}, { text: "Never." }]);
    expect(await result).toMatchObject({ reason: "empty_response" });
    expect(model.requests).toHaveLength(3);
  });

  test.each(realProviders)("of $name", verifies("FIN-5"), async (provider) => {
    const { result, server } = await withProvider(provider, [{ type: "answer" }, { type: "answer", text: "Here." }]);
    expect(result).toMatchObject({ status: "completed", text: "Here.", steps: 1 });
    expect(server.requests).toHaveLength(2);
  });
});

describe("at the limit of steps", () => {
  const limits = { maxSteps: 2 };

  test("the summary's request begins with all of the request before, so that a provider can read it from its cache", async () => {
    const output = { type: "object", properties: { sum: { type: "number" } } } as const;
    const model = createScriptedModel([call, call, { text: "I looked twice." }]);
    const agent = createAgent({ model, tools: [echo], systemPrompt: "Be brief.", limits });
    expect(await agent.run("Go", { output })).toMatchObject({ reason: "max_steps", text: "I looked twice." });
    const [, before, summary] = model.requests;
    expect(summary?.tools).toEqual(before?.tools);
    expect(summary?.systemPrompt).toBe(before?.systemPrompt);
    expect(summary?.messages.slice(0, before?.messages.length)).toEqual(before?.messages);
    expect(summary).not.toHaveProperty("toolChoice");
    expect(summary).not.toHaveProperty("responseFormat");
  });

  test("a model that calls tools instead of summing up is asked once more, and may call none", async () => {
    const obedient = start(
      ({ toolChoice }) => (toolChoice === "none" ? { text: "I looked twice." } : { ...call, text: "" }),
      { limits },
    );
    expect(await obedient.result).toMatchObject({ reason: "max_steps", text: "I looked twice.", steps: 3 });
    expect(obedient.model.requests.map(({ toolChoice }) => toolChoice)).toEqual([
      undefined,
      undefined,
      undefined,
      "none",
    ]);
    const stubborn = start(() => call, { limits });
    expect(await stubborn.result).toMatchObject({ reason: "max_steps", text: reasons.max_steps.text });
    expect(stubborn.model.requests).toHaveLength(4);
    const replayed = await stubborn.agent.session("s").replay();
    expect(replayed).toMatchObject({ difference: null });
  });

  test("a tool choice that forces a call does not hold for the summary", async () => {
    const model = createScriptedModel([call, { text: "I looked once." }]);
    const agent = createAgent({
      model,
      tools: [echo],
      limits: { maxSteps: 1 },
      hooks: [{ name: "force", beforeLLMCall: () => ({ toolChoice: "required" }) }],
    });
    expect(await agent.run("Go")).toMatchObject({ reason: "max_steps", text: "I looked once." });
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(["required", "none"]);
  });

  test("one more call sums up: out of the history, and paid for", verifies("FIN-6"), async () => {
    const { result, model, session, agent } = start(
      [call, call, { text: "I looked twice.", ...call }, { text: "On." }],
      {
        limits,
      },
    );
    expect(await result).toMatchObject({
      status: "failed",
      reason: "max_steps",
      text: "I looked twice.",
      steps: 3,
      usage: { inputTokens: 30, outputTokens: 15 },
    });
    const request = model.requests[2];
    expect(request).toMatchObject({ tools: [{ name: "echo" }], modelCallIndex: 3 });
    expect(said(request?.messages.at(-1))).toContain(finalSummaryPrompt);
    const kept = said(await session.messages());
    expect(kept).not.toContain(finalSummaryPrompt);
    expect(kept).not.toContain("I looked twice.");
    expect(await agent.run("Go on.", { sessionId: "s" })).toMatchObject({ status: "completed", text: "On." });
    expect(said(model.requests[3]?.messages)).not.toContain("I looked twice.");
  });

  test.each(realProviders)("with $name", verifies("FIN-6"), async (provider) => {
    const one: ScriptedReply = { type: "answer", calls: [{ name: "echo", input: { a: 1 } }] };
    const { result, server } = await withProvider(provider, [one, one, { type: "answer", text: "Twice." }], { limits });
    expect(result).toMatchObject({ reason: "max_steps", text: "Twice." });
    expect(said(server.requests[2]?.body)).toContain(finalSummaryPrompt);
    expect(server.requests[2]?.body.tools).toEqual(server.requests[1]?.body.tools);
  });

  test("a sentence stands in where the summary fails, is empty or is not wanted", verifies("FIN-6"), async () => {
    const { text } = reasons.max_steps;
    const auth = { error: { kind: "auth", message: "no" } } as const;
    for (const last of [auth, {}, { finish: "content-filter" }, { finish: "error" }] as const) {
      const failing = start(({ modelCallIndex }) => (modelCallIndex < 3 ? { text: "Words.", ...call } : last), {
        limits,
      });
      expect(await failing.result).toMatchObject({ status: "failed", reason: "max_steps", text });
    }
    const stopped = start(() => call, { limits: { ...limits, onMaxSteps: "stop" } });
    expect(await stopped.result).toMatchObject({ reason: "max_steps", text, steps: 2 });
    expect(stopped.model.requests).toHaveLength(2);
  });

  test("the summary is tried again as any call is, and by a fallback", verifies("FIN-6", "RTRY-7"), async () => {
    const reset = { error: { kind: "network", message: "reset" } } as const;
    const again = start([call, call, reset, { text: "At last." }], { limits });
    expect(await again.result).toMatchObject({ reason: "max_steps", text: "At last.", steps: 3 });
    const other = start([call, call, { error: { kind: "quota", message: "no" } }], {
      limits,
      fallbacks: [createScriptedModel([{ text: "From another." }])],
    });
    expect(await other.result).toMatchObject({ reason: "max_steps", text: "From another." });
  });

  test("another process sums up where the first one died in it", verifies("FIN-6"), async () => {
    const store = createFailingStore(createMemoryStore());
    const dying = start([call, { text: "lost" }], { limits: { maxSteps: 1 }, store: store.store });
    store.failCommits(4);
    expect(await dying.result).toMatchObject({ status: "interrupted" });
    store.repair();
    const model = createScriptedModel([{ text: "Summed up." }]);
    const other = createAgent({ model, tools: [echo], store: store.store });
    expect(await other.session("s").resume()).toMatchObject({ reason: "max_steps", text: "Summed up.", steps: 2 });
    expect(model.requests).toMatchObject([{ tools: [{ name: "echo" }] }]);
    expect(said(model.requests[0]?.messages.at(-1))).toContain(finalSummaryPrompt);
  });

  test("there are 200 steps unless others are asked for", verifies("FIN-6"), async () => {
    const { result, model } = start(({ modelCallIndex }) =>
      modelCallIndex <= 200 ? { calls: [{ name: "echo", input: { step: modelCallIndex } }] } : { text: "Enough." },
    );
    expect(await result).toMatchObject({ reason: "max_steps", text: "Enough.", steps: 201 });
    expect(model.requests).toHaveLength(201);
  });
});

describe("a tool that says that the work is done", () => {
  const ends = (name: string, execute: () => unknown) =>
    defineTool({ name, description: "Ends.", input: anyInput, execute });
  const deep = () => {
    throw new TaskComplete("Thrown from below.");
  };
  const ways: readonly (readonly [string, () => unknown, string])[] = [
    ["returns done with a message", () => done("It is done."), "It is done."],
    ["returns done", () => done(), "Words of the step."],
    ["promises done", async () => done("Later."), "Later."],
    ["throws TaskComplete with a message", deep, "Thrown from below."],
    [
      "throws TaskComplete",
      () => {
        throw new TaskComplete();
      },
      "Words of the step.",
    ],
    ["rejects with TaskComplete", () => Promise.reject(new TaskComplete("Rejected.")), "Rejected."],
  ];

  test.each(ways)("%s", verifies("FIN-7"), async (_name, execute, text) => {
    const { result, items, session, agent } = start(
      [{ text: "Words of the step.", calls: [{ name: "end" }] }, { text: "Next." }],
      { tools: [ends("end", execute)] },
    );
    expect(await result).toMatchObject({ status: "completed", reason: "done", text, steps: 1 });
    expect(filterEventsOfType(await items, "tool_result")).toMatchObject([{ outcome: "ok", isError: false }]);
    // Its result stays: the conversation is whole, and goes on.
    expect((await session.messages()).map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(await agent.run("And?", { sessionId: "s" })).toMatchObject({ status: "completed", text: "Next." });
  });

  test("lets siblings that started finish; the others are skipped, asked for or not", verifies("FIN-7"), async () => {
    const gate = createGateTool();
    const calls = ["gate", "end", "end_again", "late"].map((name) => ({ name }));
    const late = createEchoTool("late");
    const { result, items } = start([{ calls }], {
      tools: [gate.tool, ends("end", () => done("First.")), ends("end_again", () => done("Second.")), late.tool],
      limits: { toolConcurrency: 2 },
    });
    await gate.started;
    gate.open("finished");
    expect(await result).toMatchObject({ reason: "done", text: "First." });
    const outcomes = new Map(
      filterEventsOfType(await items, "tool_result").map(({ name, outcome }) => [name, outcome]),
    );
    expect(outcomes).toEqual(
      new Map([
        ["gate", "ok"],
        ["end", "ok"],
        ["end_again", "skipped"],
        ["late", "skipped"],
      ]),
    );
    expect(late.inputs).toEqual([]);
  });

  test("ends a step in which somebody is asked: what was not answered is skipped", verifies("FIN-7"), async () => {
    const { result, items } = start([{ calls: [{ name: "echo" }, { name: "end" }] }], {
      tools: [echo, ends("end", () => done("Never mind."))],
      canExecuteTool: ({ tool }) => (tool.name === "echo" ? "ask" : "allow"),
    });
    expect(await result).toMatchObject({ status: "completed", reason: "done", text: "Never mind." });
    expect(filterEventsOfType(await items, "tool_result").map(({ name, outcome }) => [name, outcome])).toEqual(
      expect.arrayContaining([["echo", "skipped"]]),
    );
  });

  test(
    "is owed where that is required: an answer without calls is no end",
    verifies("FIN-7", "LOOP-12#done-tool"),
    async () => {
      const { result, model, session } = start(
        [{ text: "I think so." }, { text: "Still." }, { text: "Well.", calls: [{ name: "end" }] }],
        { tools: [ends("end", () => done())], limits: { requireDoneTool: true } },
      );
      expect(await result).toMatchObject({ status: "completed", reason: "done", text: "Well.", steps: 3 });
      expect(model.requests.map(({ messages }) => said(messages).split(doneToolReminder).length - 1)).toEqual([
        0, 1, 2,
      ]);
      expect(said(await session.messages())).toContain(doneToolReminder);
    },
  );

  test("is reminded of no more often than there are steps", verifies("FIN-7"), async () => {
    const { result, model } = start(() => ({ text: "Forgetful." }), { limits: { requireDoneTool: true, maxSteps: 3 } });
    expect(await result).toMatchObject({ status: "failed", reason: "max_steps", steps: 4 });
    expect(said(model.requests.at(-1)?.messages.at(-1))).toContain(finalSummaryPrompt);
  });
});
