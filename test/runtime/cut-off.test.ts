/**
 * What was streamed before a stop stays: it is in the log, in the conversation, in an event and in the result.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createMemoryStore, type Message, type Model, type ModelDelta } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import {
  collect,
  createDeferred,
  createEchoTool,
  filterEvents,
  filterEventsOfType,
  listEventTypes,
} from "../support/agents.js";
import { createWatchedClock } from "../support/clock.js";
import { verifies } from "../verifies.js";

const note = "[Note, not from the user: the answer above was cut off.]";
const user = (text: string): Message => ({ role: "user", parts: [{ type: "text", text }] });
const assistant = (text: string): Message => ({ role: "assistant", parts: [{ type: "text", text }] });
const saying = (...texts: readonly string[]): readonly ModelDelta[] =>
  texts.map((text, index) => ({ kind: "text-delta", id: String(index), text }));

/** A model that streams these deltas and then never ends; later calls answer "Fine.". `said` settles at the wait. */
function speaking(deltas: readonly ModelDelta[], from = 1) {
  const said = createDeferred();
  const requests: Message[][] = [];
  const model: Model = {
    id: "m",
    async *stream({ messages }) {
      requests.push([...messages]);
      if (requests.length === from) {
        yield* deltas;
        said.resolve();
        await new Promise(() => {});
      }
      const isFirst = requests.length < from;
      yield { kind: "text-delta", id: "1", text: isFirst ? "The first part" : "Fine." };
      yield { kind: "done", finishReason: { unified: isFirst ? "length" : "stop" }, usage: {} };
    },
  };
  return { model, said: said.promise, requests };
}

async function abortedRun(deltas: readonly ModelDelta[], from = 1) {
  const { model, said, requests } = speaking(deltas, from);
  const store = createMemoryStore();
  const agent = createAgent({ model, store, tools: [createEchoTool().tool] });
  const controller = new AbortController();
  const stream = agent.runStream("Go", { sessionId: "s", runId: "r", signal: controller.signal });
  const items = collect(stream);
  await said;
  controller.abort();
  return { result: await stream.result, events: filterEvents(await items), agent, store, requests };
}

describe("an answer that an abort cuts off", verifies("FIN-10"), () => {
  test("is kept as far as it came: marked as cut, and shown to people and to the model", async () => {
    const { result, events, agent, store, requests } = await abortedRun(saying("I will look at", " the fi"));
    expect(result).toMatchObject({ status: "aborted", text: "Request aborted.", partial: "I will look at the fi" });
    const message = { message: assistant("I will look at the fi"), cut: true, modelCallIndex: 1, attempt: 1 };
    expect(filterEventsOfType(events, "message")).toMatchObject([message]);
    expect(listEventTypes(events).slice(-3)).toEqual(["attempt_failed", "message", "final"]);
    const log = await store.read("s");
    expect(log.find(({ event }) => event.type === "model_failed")?.event).toMatchObject({
      failure: { kind: "cancelled" },
      partial: { text: "I will look at the fi" },
    });
    expect(await agent.run("Go on", { sessionId: "s" })).toMatchObject({ text: "Fine." });
    expect(requests[1]).toEqual([user("Go"), assistant("I will look at the fi"), user(note), user("Go on")]);
    expect((await agent.session("s").replay()).difference).toBeNull();
    const again = await collect(agent.session("s").events({ follow: false }));
    expect(filterEventsOfType(again, "message")[0]).toMatchObject(message);
  });

  test("has its text only: no thought, no call, whole or half", async () => {
    const { events, agent } = await abortedRun([
      { kind: "reasoning-delta", id: "r", text: "Hm." },
      ...saying("See:"),
      { kind: "tool-call", id: "c1", name: "echo", input: "{}" },
      { kind: "tool-input-start", id: "c2", name: "echo" },
      { kind: "tool-input-delta", id: "c2", text: '{"n": ' },
    ]);
    expect(filterEventsOfType(events, "message").map(({ message }) => message)).toEqual([assistant("See:")]);
    expect(filterEventsOfType(events, "call_start")).toEqual([]);
    expect(await agent.session("s").messages()).toEqual([user("Go"), assistant("See:"), user(note)]);
  });

  test("is not kept where nothing but space had come, or half a character", async () => {
    for (const deltas of [[], saying(" \n"), saying("\ud83d")]) {
      const { result, events, agent } = await abortedRun(deltas);
      expect(result).not.toHaveProperty("partial");
      expect(filterEventsOfType(events, "message")).toEqual([]);
      expect(await agent.session("s").messages()).toEqual([user("Go")]);
    }
    const { result } = await abortedRun(saying("ok \ud83d"));
    expect(result).toMatchObject({ partial: "ok" });
  });

  test("continues the parts that were kept before it", async () => {
    const { result, events, agent } = await abortedRun(saying(", and the sec"), 2);
    expect(result).toMatchObject({ status: "aborted", partial: "The first part, and the sec" });
    expect(filterEventsOfType(events, "message").map(({ message, cut }) => [message, cut])).toEqual([
      [assistant("The first part"), undefined],
      [assistant(", and the sec"), true],
    ]);
    expect((await agent.session("s").messages()).slice(-2)).toEqual([assistant(", and the sec"), user(note)]);
  });

  test("continues what its provider had said before it paused", async () => {
    const said = createDeferred();
    let requests = 0;
    const model: Model = {
      id: "m",
      async *stream() {
        requests += 1;
        if (requests === 1) {
          yield* saying("The first part");
          yield { kind: "done", finishReason: { unified: "stop", raw: "pause_turn" }, usage: {} };
          return;
        }
        yield* saying(", and the sec");
        said.resolve();
        await new Promise(() => {});
      },
    };
    const agent = createAgent({ model });
    const result = agent.run("Go", { sessionId: "s" });
    await said.promise;
    await agent.session("s").abort();
    expect(await result).toMatchObject({ status: "aborted", partial: "The first part, and the sec" });
  });

  test("is kept up to what an entry of the log can hold", async () => {
    const { result } = await abortedRun(saying("€".repeat(400_000)));
    expect(result).toMatchObject({ status: "aborted", partial: "€".repeat(166_666) });
  });
});

test("an attempt that fails and is tried again leaves nothing behind", verifies("FIN-10"), async () => {
  const model = createScriptedModel([
    { text: "Half of", error: { kind: "overloaded", message: "too many" } },
    { text: "All of it." },
  ]);
  const agent = createAgent({ model, retry: { baseDelayMs: 0 } });
  const stream = agent.runStream("Go", { sessionId: "s" });
  const items = await collect(stream);
  expect(await stream.result).not.toHaveProperty("partial");
  expect(filterEventsOfType(items, "message").map(({ message, attempt }) => [message, attempt])).toEqual([
    [assistant("All of it."), 2],
  ]);
  expect(await agent.session("s").messages()).toEqual([user("Go"), assistant("All of it.")]);
});

test("an answer that the limit of time cuts off is kept, too", verifies("FIN-10"), async () => {
  const clock = createWatchedClock();
  const { model, said, requests } = speaking(saying("As I was say"));
  const agent = createAgent({ model, clock });
  const result = agent.run("Go", { sessionId: "s", limits: { maxWallClockMs: 5_000 } });
  await said;
  await clock.advance(5_000);
  expect(await result).toMatchObject({ status: "failed", reason: "max_wall_clock", partial: "As I was say" });
  expect((await result).text).toBe("The run reached its limit of time.");
  await agent.run("Go on", { sessionId: "s" });
  expect(requests[1]).toEqual([user("Go"), assistant("As I was say"), user(note), user("Go on")]);
});

test(
  "the last summary at the limit of steps is shown as cut, and stays out of the conversation",
  verifies("FIN-10"),
  async () => {
    const said = createDeferred();
    const model: Model = {
      id: "m",
      async *stream({ modelCallIndex }) {
        if (modelCallIndex === 1) yield { kind: "tool-call", id: "c", name: "echo", input: "{}" };
        else {
          yield* saying("To sum");
          said.resolve();
          await new Promise(() => {});
        }
        yield { kind: "done", finishReason: { unified: "tool-calls" }, usage: {} };
      },
    };
    const controller = new AbortController();
    const agent = createAgent({ model, tools: [createEchoTool().tool], limits: { maxSteps: 1 } });
    const stream = agent.runStream("Go", { sessionId: "s", signal: controller.signal });
    const items = collect(stream);
    await said.promise;
    controller.abort();
    expect(await stream.result).toMatchObject({ status: "aborted", partial: "To sum" });
    expect(filterEventsOfType(await items, "message").at(-1)).toMatchObject({
      message: assistant("To sum"),
      cut: true,
    });
    expect((await agent.session("s").messages()).map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
  },
);
