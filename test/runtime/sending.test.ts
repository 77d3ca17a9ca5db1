/**
 * What is said to a session, when nothing is under way and when something is.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, type Message, type Store, type UserMessage } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { settled } from "../../src/testing/test-clock.js";
import { collect, createDeferred, createEchoTool, createGateTool, filterEventsOfType } from "../support/agents.js";
import { createPausedReleaseStore } from "../support/paused-release-store.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const code = (code: string) => expect.objectContaining({ name: "PawlError", code });
const textsOf = (messages: readonly Message[] = []) =>
  messages.flatMap((message) => message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])));

describe.each(localStores)("on $name", ({ open }) => {
  test("an unknown session is created, a known one goes on", verifies("LOOP-11"), async () => {
    await withStore(open, async (store) => {
      const model = createScriptedModel([{ text: "One." }, { text: "Two." }]);
      const agent = createAgent({ model, store, name: "worker" });
      expect(await agent.run("First", { sessionId: "mine" })).toMatchObject({ sessionId: "mine", text: "One." });
      expect(await store.list()).toMatchObject([
        { sessionId: "mine", status: "completed", info: { agent: "worker", model: "scripted", title: "First" } },
      ]);
      await agent.run("Second", { sessionId: "mine" });
      expect(textsOf(model.requests[1]?.messages)).toEqual(["First", "One.", "Second"]);
      const fresh = await agent.run("Alone");
      expect(fresh.sessionId).toMatch(/^[0-9a-z]{26}$/);
      expect(await store.verify()).toEqual([]);
    });
  });

  test("a run that is known starts nothing: while it is active, and after", verifies("LOOP-11"), async () => {
    await withStore(open, async (store) => {
      const gate = createGateTool();
      const model = createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "Once." }, { text: "Other." }]);
      const agent = createAgent({ model, tools: [gate.tool], store });
      const ids = { sessionId: "s", runId: "r" };
      const first = agent.run("Go", ids);
      await gate.started;
      const second = agent.run("Go", ids);
      const third = agent.runStream("Something else", ids);
      const session = agent.session("s");
      expect(await session.send("Go", { runId: "r" })).toEqual({ runId: "r", isNew: false });
      gate.open("ok");
      const result = await first;
      expect(result).toMatchObject({ status: "completed", text: "Once.", runId: "r" });
      expect(await second).toEqual(result);
      expect(await third.result).toEqual(result);
      expect(await agent.run("Go", ids)).toEqual(result);
      const items = await collect(agent.runStream("Go", ids));
      expect(filterEventsOfType(items, "final").map((event) => event.result)).toEqual([result]);
      expect(await session.send("Go", { runId: "r" })).toEqual({ runId: "r", isNew: false });

      await agent.run("Next", { sessionId: "s" });
      expect(await agent.run("Go", ids)).toEqual(result);
      // Another process, or agent: the same.
      expect(await createAgent({ model: createScriptedModel([]), store }).run("Go", ids)).toEqual(result);
      expect(model.requests).toHaveLength(3);
      expect(gate.runs()).toBe(1);
    });
  });

  test("two runs never interleave: what is sent is queued, in order", verifies("LOOP-8#one-process"), async () => {
    await withStore(open, async (store) => {
      const gate = createGateTool();
      const model = createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "1" }, { text: "2" }, { text: "3" }]);
      const agent = createAgent({ model, tools: [gate.tool], store });
      const first = agent.run("One", { sessionId: "s" });
      await gate.started;
      const session = agent.session("s");
      const second = agent.run("Two", { sessionId: "s" });
      await settled();
      const { runId, isNew } = await session.send("Three", { mode: "queue" });
      expect(isNew).toBe(true);
      gate.open("ok");
      expect([await first, await second]).toMatchObject([{ text: "1" }, { text: "2" }]);
      expect(await agent.run("Three", { sessionId: "s", runId })).toMatchObject({ text: "3", runId });
      const events = await collect(session.events({ follow: false }));
      const order = events.filter(
        (event) => "type" in event && (event.type === "run_started" || event.type === "final"),
      );
      expect(order.map((event) => event.type)).toEqual([
        "run_started",
        "final",
        "run_started",
        "final",
        "run_started",
        "final",
      ]);
      expect(textsOf(model.requests[3]?.messages)).toEqual(["One", "1", "Two", "2", "Three"]);
    });
  });

  test("a steer goes in before the next model call, and drops no call", verifies("LOOP-8#one-process"), async () => {
    await withStore(open, async (store) => {
      const gate = createGateTool();
      const model = createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "Understood." }]);
      const agent = createAgent({ model, tools: [gate.tool], store });
      const result = agent.run("Go", { sessionId: "s" });
      await gate.started;
      await agent.session("s").steer("Be quick.");
      gate.open("the gate's result");
      expect(await result).toMatchObject({ text: "Understood.", steps: 2 });
      expect(model.requests[1]?.messages.map((message) => message.role)).toEqual(["user", "assistant", "tool", "user"]);
      expect(textsOf(model.requests[1]?.messages)).toEqual(["Go", "Be quick."]);
      expect(JSON.stringify(model.requests[1]?.messages)).toContain("the gate's result");
    });
  });

  test("a steer during the last model call prevents completion", verifies("LOOP-8#one-process"), async () => {
    await withStore(open, async (store) => {
      const asked = createDeferred();
      const answer = createDeferred();
      const model = createScriptedModel((request) => {
        if (request.modelCallIndex > 1) return { text: "Both." };
        asked.resolve();
        return { text: "One.", wait: answer.promise };
      });
      const agent = createAgent({ model, store });
      const stream = agent.runStream("Go", { sessionId: "s" });
      const items = collect(stream);
      await asked.promise;
      await agent.session("s").steer("And this too.");
      answer.resolve();
      expect(await stream.result).toMatchObject({ status: "completed", text: "Both.", steps: 2 });
      expect(textsOf(model.requests[1]?.messages)).toEqual(["Go", "One.", "And this too."]);
      expect(filterEventsOfType(await items, "final")).toHaveLength(1);
      expect(filterEventsOfType(await items, "text").map((event) => event.text)).toEqual(["One."]);
    });
  });

  test("after an abort a steer stays first, and nothing starts by itself", verifies("LOOP-8#one-process"), async () => {
    await withStore(open, async (store) => {
      const gate = createGateTool();
      const model = createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "Two." }, { text: "Three." }]);
      const agent = createAgent({ model, tools: [gate.tool], store });
      const first = agent.run("One", { sessionId: "s" });
      await gate.started;
      const session = agent.session("s");
      await session.send("Two", { runId: "two" });
      await session.steer("Mind the step.");
      await session.abort();
      expect(await first).toMatchObject({ status: "aborted" });
      await settled();
      expect(model.requests).toHaveLength(1);
      expect((await session.state()).queue.map((queued) => queued.kind)).toEqual(["run", "steer"]);

      const third = agent.run("Three", { sessionId: "s" });
      expect(await third).toMatchObject({ text: "Two." });
      expect(textsOf(model.requests[1]?.messages)).toEqual(["One", "Mind the step.", "Three"]);
      expect(await agent.run("Two", { sessionId: "s", runId: "two" })).toMatchObject({ text: "Three.", runId: "two" });
    });
  });
});

test("reject refuses what would have to wait", verifies("LOOP-8#one-process"), async () => {
  const gate = createGateTool();
  const agent = createAgent({
    model: createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "1" }]),
    tools: [gate.tool],
  });
  const result = agent.run("One", { sessionId: "s" });
  await gate.started;
  const session = agent.session("s");
  await expect(session.send("Two", { mode: "reject" })).rejects.toThrow(code("session_busy"));
  gate.open("ok");
  expect(await result).toMatchObject({ text: "1" });
  expect((await session.state()).queue).toEqual([]);
});

test("of two that are sent with reject at once, one is refused", verifies("LOOP-8#one-process"), async () => {
  const answer = createDeferred();
  const model = createScriptedModel(() => ({ text: "Yes.", wait: answer.promise }));
  const session = createAgent({ model }).session("s");
  const sent = await Promise.allSettled([
    session.send("One", { mode: "reject" }),
    session.send("Two", { mode: "reject" }),
    session.send("Three", { mode: "reject", runId: "three" }),
  ]);
  expect(sent.map((one) => one.status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
  for (const one of sent) if (one.status === "rejected") expect(one.reason).toEqual(code("session_busy"));
  answer.resolve();
});

test("a steer where nothing is under way starts a run", verifies("LOOP-8#one-process"), async () => {
  const model = createScriptedModel([{ text: "Done." }, { text: "Yes?" }]);
  const agent = createAgent({ model });
  await agent.run("Go", { sessionId: "s" });
  const session = agent.session("s");
  const { runId } = await session.send("Hello", { mode: "steer" });
  expect(await agent.run("Hello", { sessionId: "s", runId })).toMatchObject({
    status: "completed",
    text: "Yes?",
    runId,
  });
});

test(
  "many at once: each is taken once, in some order, and all end",
  verifies("LOOP-8#one-process", "LOOP-11"),
  async () => {
    const agent = createAgent({ model: createScriptedModel((request) => ({ text: request.runId })) });
    const runIds = Array.from({ length: 40 }, (_, index) => `run-${index % 20}`);
    const results = await Promise.all(runIds.map((runId) => agent.run(`Say ${runId}`, { sessionId: "s", runId })));
    expect(results.map((result) => result.text)).toEqual(runIds);
    const events = await collect(agent.session("s").events({ follow: false }));
    expect(filterEventsOfType(events, "run_started")).toHaveLength(20);
    expect(filterEventsOfType(events, "final")).toHaveLength(20);
  },
);

test("an id that a steer took gives no run", verifies("LOOP-11"), async () => {
  const gate = createGateTool();
  const agent = createAgent({
    model: createScriptedModel([{ calls: [{ name: "gate" }] }, { text: "1" }]),
    tools: [gate.tool],
  });
  const result = agent.run("One", { sessionId: "s" });
  await gate.started;
  await agent.session("s").send("Quick", { mode: "steer", runId: "mine" });
  gate.open("ok");
  await result;
  await expect(agent.run("Two", { sessionId: "s", runId: "mine" })).rejects.toThrow(code("bad_input"));
});

describe("input", () => {
  const model = () => createScriptedModel([{ text: "Seen." }]);
  const picture = { type: "file", mediaType: "image/png", data: "iVBORw0KGgo=", filename: "dot.png" } as const;

  test("may be text, parts of several kinds, or messages", verifies("LOOP-11"), async () => {
    const parts = [{ type: "text", text: "What is this?" }, picture] as const;
    const messages: readonly UserMessage[] = [
      { role: "user", parts: [{ type: "text", text: "Look." }] },
      { role: "user", parts },
    ];
    for (const [input, expected] of [
      ["Hello", [{ role: "user", parts: [{ type: "text", text: "Hello" }] }]],
      [parts, [{ role: "user", parts }]],
      [messages, messages],
    ] as const) {
      const seen = model();
      await createAgent({ model: seen }).run(input);
      expect(seen.requests[0]?.messages).toEqual(expected);
    }
  });

  test("is taken as it was when it was sent", verifies("LOOP-11"), async () => {
    const seen = createScriptedModel([{ text: "1" }, { text: "2" }]);
    const store = createMemoryStore();
    const agent = createAgent({ model: seen, store });
    const part = { type: "text" as const, text: "before" };
    const providerOptions = { any: { level: "low" } };
    const result = agent.run([part], { sessionId: "s", providerOptions });
    part.text = "after";
    providerOptions.any.level = "high";
    await result;
    await agent.run("Next", { sessionId: "s" });
    expect(textsOf(seen.requests[1]?.messages)).toEqual(["before", "1", "Next"]);
    expect(seen.requests[0]?.providerOptions).toEqual({ any: { level: "low" } });
    expect(JSON.stringify(await store.read("s"))).not.toContain("after");
  });

  test("with options of its own: prompt, tools, choice", verifies("LOOP-11", "LOOP-12#toolChoice"), async () => {
    const seen = createScriptedModel([{ calls: [{ name: "b" }] }, { text: "ok" }, { text: "plain" }]);
    const tools = [createEchoTool("a").tool, createEchoTool("b").tool];
    const agent = createAgent({ model: seen, tools, systemPrompt: "Usual." });
    const options = {
      sessionId: "s",
      systemPrompt: "Special.",
      activeTools: ["a"],
      toolChoice: { tool: "a" },
    } as const;
    await agent.run("Go", options);
    expect(seen.requests[0]).toMatchObject({
      systemPrompt: "Special.",
      toolChoice: { tool: "a" },
      tools: [{ name: "a" }],
    });
    expect(JSON.stringify(seen.requests[1]?.messages)).toContain("Unknown tool 'b'");
    await agent.run("Go", { sessionId: "s" });
    expect(seen.requests[2]).toMatchObject({
      systemPrompt: "Usual.",
      tools: [{ name: "a" }, { name: "b" }],
    });
    expect(seen.requests[2]?.toolChoice).toBeUndefined();
  });
});

test("what comes while a session is being given back is taken all the same", verifies("LOOP-11"), async () => {
  const { store: held, inner, written, acknowledge } = createPausedReleaseStore();
  const store: Store = {
    ...held,
    // The answer to the commit that gives the session back is on its way when the next request is looked for.
    async inbox(sessionId) {
      const messages = await inner.inbox(sessionId);
      if (messages.length > 0) {
        acknowledge();
        await settled();
      }
      return messages;
    },
  };
  const agent = createAgent({ model: createScriptedModel([{ text: "One." }, { text: "Two." }]), store });
  const first = agent.run("First", { sessionId: "s" });
  await written;
  await agent.session("s").send("Second", { runId: "second" });
  expect(await first).toMatchObject({ text: "One." });
  await expect.poll(() => inner.inbox("s")).toEqual([]);
  expect(await agent.run("Second", { sessionId: "s", runId: "second" })).toMatchObject({ text: "Two." });
});
