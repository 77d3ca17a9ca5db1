/**
 * A hook or a context manager may send another list than the conversation, for one call. The log names it, so it can be
 * made again.
 */
import { describe, expect, test } from "vitest";
import {
  type AgentOptions,
  type ContextManager,
  createAgent,
  createMemoryStore,
  type Hook,
  type Message,
  type ModelRequest,
  type Store,
} from "../../src/index.js";
import { modelRequests } from "../../src/inspect.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { createChance } from "../core/chance.js";
import { collect, createDeferred, createEchoTool, filterEventsOfType } from "../support/agents.js";
import { createWatchedClock } from "../support/clock.js";
import { createRandomList, createSizedMessage } from "../support/message-lists.js";
import { createBlobRecordingStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const proven = verifies("LOOP-20");
const calling = (n: number): ScriptedStep => ({ calls: [{ name: "echo", input: { n } }] });
const busy: ScriptedStep = { error: { kind: "overloaded", message: "busy" } };

/** A hook that sends what `change` makes of the messages. */
function sending(
  change: (messages: readonly Message[], index: number) => readonly Message[],
  more: Partial<Hook> = {},
): Hook {
  return {
    name: "list",
    beforeLLMCall: ({ messages, modelCallIndex }) => ({ messages: change(messages, modelCallIndex) }),
    ...more,
  };
}

type Played = { readonly sent: readonly ModelRequest[]; readonly store: Store };

async function play(options: Partial<AgentOptions>, script: readonly ScriptedStep[]): Promise<Played> {
  const model = createScriptedModel(script);
  const store = options.store ?? createMemoryStore();
  const agent = createAgent({ model, tools: [createEchoTool().tool], ...options, store });
  await agent.run("Go", { sessionId: "s" });
  return { sent: model.requests, store };
}

async function preparedIn(store: Store) {
  const entries = await store.read("s", 0, 1_000);
  return entries.flatMap(({ event }) => (event.type === "prepared" ? [event] : []));
}

describe("a hook's list", () => {
  test("is sent for its call, and the conversation stays as it is", proven, async () => {
    const seen: number[] = [];
    const hook = sending((messages, index) => {
      seen.push(messages.length);
      return index === 2 ? messages.slice(0, 1) : messages;
    });
    const { sent, store } = await play({ hooks: [hook] }, [calling(1), calling(2), { text: "Done." }]);
    expect(sent.map(({ messages }) => messages.length)).toEqual([1, 1, 5]);
    expect(seen).toEqual([1, 3, 5]);
    expect(await collect(modelRequests(store, "s"))).toEqual(sent);
    const prepared = await preparedIn(store);
    expect(prepared.map(({ messages }) => messages)).toEqual([undefined, [[2, 0, 1]], undefined]);
  });

  test("is sent again by a retry and a fallback, and no hook is asked again", proven, async () => {
    let asked = 0;
    const hook = sending((messages) => {
      asked += 1;
      return [createSizedMessage("First"), ...messages];
    });
    const fallback = createScriptedModel([{ text: "Done." }], { id: "second" });
    const retry = { decide: (_: unknown, attempt: number) => (attempt > 1 ? { giveUp: "" } : { retryInMs: 0 }) };
    const { sent, store } = await play({ hooks: [hook], fallbacks: [fallback], retry }, [busy, busy]);
    const all = [...sent, ...fallback.requests];
    expect(all.map(({ messages }) => messages.length)).toEqual([2, 2, 2]);
    expect(asked).toBe(1);
    expect(await collect(modelRequests(store, "s"))).toEqual(all);
  });

  test("names the conversation instead of repeating it, and each long message once", proven, async () => {
    const { store, written } = createBlobRecordingStore();
    const hook = sending((messages) => [createSizedMessage("Long", 1_000), createSizedMessage("Short"), ...messages]);
    const script = [calling(1), calling(2), calling(3), { text: "Done." }];
    const { sent } = await play({ hooks: [hook], store }, script);
    expect(sent.map(({ messages }) => messages.length)).toEqual([3, 5, 7, 9]);
    const [first, ...others] = await preparedIn(store);
    const [long, short, ...rest] = first?.messages ?? [];
    expect([long, short]).toEqual([{ blob: expect.any(String) }, { message: createSizedMessage("Short") }]);
    expect(rest).toEqual([[2, 0, 1]]);
    for (const [index, { messages }] of others.entries()) expect(messages?.at(-1)).toEqual([2, 0, 3 + 2 * index]);
    expect(written.filter((text) => text.includes("Long"))).toHaveLength(1);
    expect(await collect(modelRequests(store, "s"))).toEqual(sent);
  });

  test("may hold input that comes with the call, and additions", proven, async () => {
    const append: ContextManager = {
      build: ({ tools, input }) => ({ tools, append: input.length > 0 ? [createSizedMessage("Added") as never] : [] }),
    };
    const gate = createDeferred();
    const echo = createEchoTool();
    const slow = { ...echo.tool, execute: () => gate.promise.then(() => "ok") };
    const model = createScriptedModel([calling(1), { text: "Done." }]);
    const hook = sending((messages, index) => (index === 2 ? messages.slice(-2).reverse() : messages));
    const store = createMemoryStore();
    const agent = createAgent({ model, tools: [slow], hooks: [hook], store, context: { manager: append } });
    const run = agent.runStream("Go", { sessionId: "s" });
    for await (const item of run)
      if (item.type === "tool_call") {
        await agent.session("s").steer("Mind that.");
        gate.resolve();
      }
    expect(model.requests[1]?.messages).toEqual([createSizedMessage("Added"), createSizedMessage("Mind that.")]);
    expect((await preparedIn(store))[1]?.messages).toEqual([
      [0, 1, 1],
      [0, 0, 1],
    ]);
    expect(await collect(modelRequests(store, "s"))).toEqual(model.requests);
  });

  test("holds the prompt to go on with a cut answer, and may leave it out", proven, async () => {
    const hook = sending((messages, index) =>
      index === 2 ? [...messages.slice(0, -1), createSizedMessage("Now!")] : messages,
    );
    const script: readonly ScriptedStep[] = [
      { text: "One", finish: "length" },
      { text: " two.", finish: "length" },
      { text: "End." },
    ];
    const { sent, store } = await play({ hooks: [hook] }, script);
    expect(JSON.stringify(sent[1]?.messages)).not.toContain("Your answer was cut");
    expect(sent[1]?.messages.at(-1)).toEqual(createSizedMessage("Now!"));
    expect(JSON.stringify(sent[2]?.messages)).toContain("Your answer was cut");
    expect(await collect(modelRequests(store, "s"))).toEqual(sent);
  });
});

const assistant = (...ids: readonly string[]): Message => ({
  role: "assistant",
  parts: ids.map((toolCallId) => ({ type: "tool_call", toolCallId, name: "echo", input: {} })),
});
const results = (...ids: readonly string[]): Message => ({
  role: "tool",
  parts: ids.map((toolCallId) => ({
    type: "tool_result",
    toolCallId,
    name: "echo",
    output: { type: "text", text: "" },
  })),
});

const bad: readonly (readonly [string, unknown, string])[] = [
  ["no array", { 0: createSizedMessage("x") }, "messages is not an array"],
  ["empty", [], "messages[0]: it has no messages"],
  ["a system message", [{ role: "system", parts: [] }, createSizedMessage("x")], "messages[0]: a system message"],
  ["another role", [{ role: "bot", parts: [] }], 'messages[0]: its role must be "user"'],
  ["no parts", [{ role: "user", parts: [] }], "messages[0]: it has no parts"],
  ["another part", [{ role: "user", parts: [{ type: "video" }] }], "messages[0]: parts[0] must have one of the types"],
  ["a part of another role", [{ role: "user", parts: assistant("a").parts }], "parts[0] must have one of the types"],
  ["no text", [{ role: "user", parts: [{ type: "text" }] }], "messages[0]: parts[0] has no text"],
  ["an unknown field", [{ role: "user", parts: [{ type: "text", text: "x", cache: 1 }] }], 'unknown field "cache"'],
  [
    "another output",
    [assistant("a"), { role: "tool", parts: [{ ...results("a").parts[0], output: "x" }] }],
    "an invalid output",
  ],
  [
    "a call without a result",
    [assistant("a"), createSizedMessage("x")],
    'messages[0]: the next message must have the results of its calls in order: the result of "a"',
  ],
  ["a call at the end", [createSizedMessage("x"), assistant("a")], "messages[1]: the next message must have"],
  ["results in another order", [assistant("a", "b"), results("b", "a")], "messages[0]: the next message must have"],
  [
    "an extra result",
    [assistant("a"), results("a", "b")],
    'messages[0]: the next message has an extra result, for "b"',
  ],
  ["a result without a call", [createSizedMessage("x"), results("a")], "messages[1]: it has results"],
  [
    "an id of two calls",
    [assistant("a"), results("a"), assistant("a"), results("a")],
    'messages[2]: two calls have the id "a"',
  ],
  [
    "an answer at the end",
    [createSizedMessage("x"), { role: "assistant", parts: [{ type: "text", text: "x" }] }],
    "messages[1]: the last message",
  ],
  [
    "a cycle",
    (() => {
      const cycle: unknown[] = [];
      cycle.push(cycle);
      return cycle;
    })(),
    "messages[0]: it is not an object",
  ],
  [
    "a key of a prototype",
    [{ role: "user", parts: JSON.parse('[{"type":"text","text":"x","__proto__":1}]') }],
    "__proto__",
  ],
  [
    "more than 8 MiB",
    Array.from({ length: 10 }, () => createSizedMessage("x", 200_000)),
    "the list takes more than 8388608 bytes",
  ],
];

describe("a list that no provider takes", () => {
  test.for(bad)("is refused with its place: %s", proven, async ([, list, reason]) => {
    const hook: Hook = { name: "list", beforeLLMCall: () => ({ messages: list as readonly Message[] }) };
    const model = createScriptedModel([{ text: "Done." }]);
    const open = createAgent({ model, hooks: [hook] });
    const stream = open.runStream("Go");
    const [failed] = filterEventsOfType(await collect(stream), "hook_failed");
    expect(failed).toMatchObject({
      outcome: "refused",
      hook: "beforeLLMCall",
      message: expect.stringContaining(reason),
    });
    expect(model.requests[0]?.messages).toEqual([{ role: "user", parts: [{ type: "text", text: "Go" }] }]);
    const closed = createAgent({ model: createScriptedModel([]), hooks: [{ ...hook, onFailure: "closed" }] });
    expect(await closed.run("Go")).toMatchObject({ status: "failed", reason: "hook_failed" });
    const manager: ContextManager = {
      build: ({ tools }) => ({ tools, append: [], messages: list as readonly Message[] }),
    };
    const managed = createAgent({ model: createScriptedModel([]), context: { manager } });
    expect(await managed.run("Go")).toMatchObject({
      status: "failed",
      error: { message: expect.stringContaining(reason) },
    });
  });

  test("may be mended by nobody: what a hook does to its messages later changes nothing", proven, async () => {
    const parts = [{ type: "text", text: "Kept" }];
    const hook = sending((messages) => [...messages, { role: "user", parts } as Message]);
    const late: Hook = {
      name: "late",
      beforeLLMCall({ messages }) {
        parts[0] = { type: "text", text: "Changed" };
        expect(() => (messages as Message[]).pop()).toThrow();
        return undefined;
      },
    };
    const { sent } = await play({ hooks: [hook, late] }, [{ text: "Done." }]);
    expect(sent[0]?.messages.at(-1)).toEqual({ role: "user", parts: [{ type: "text", text: "Kept" }] });
  });
});

describe("a context manager's list", () => {
  const window: ContextManager = {
    build: ({ tools, messages, input }) => ({
      tools,
      append: [],
      messages: [...messages.slice(0, 1), ...messages.slice(-2).filter(({ role }) => role !== "user"), ...input],
    }),
  };

  test("is sent, and the hooks see it", proven, async () => {
    const seen: number[] = [];
    const hook = sending((messages) => {
      seen.push(messages.length);
      return [...messages, createSizedMessage("By the hook")];
    });
    const script = [calling(1), calling(2), calling(3), { text: "Done." }];
    const { sent, store } = await play({ hooks: [hook], context: { manager: window } }, script);
    expect(seen).toEqual([1, 3, 3, 3]);
    expect(sent.map(({ messages }) => messages.length)).toEqual([2, 4, 4, 4]);
    expect(await collect(modelRequests(store, "s"))).toEqual(sent);
    const replayed = createAgent({
      model: createScriptedModel([]),
      tools: [createEchoTool().tool],
      context: { manager: window },
      store,
    });
    expect((await replayed.session("s").replay()).difference).toBeNull();
  });

  test("decides whether compaction is due", proven, async () => {
    const words = "A sentence of some length that fills the window. ".repeat(12);
    const talking = Array.from({ length: 20 }, (_, n) => ({ text: words, ...calling(n), usage: {} }));
    const script = [...talking, { text: "Done." }];
    const compaction = { contextWindow: 2_000 };
    const { store } = await play({ context: { manager: window }, compaction }, script);
    expect((await store.read("s", 0, 1_000)).filter(({ event }) => event.type === "compacted")).toEqual([]);
    const whole: ContextManager = {
      build: ({ tools, messages, input }) => ({
        tools,
        append: [],
        messages: [...messages, ...input, createSizedMessage("!")],
      }),
    };
    const other = await play({ context: { manager: whole }, compaction }, script);
    expect((await other.store.read("s", 0, 1_000)).filter(({ event }) => event.type === "compacted")).not.toEqual([]);
  });

  test("is made again if a beforeRun hook changes the input", proven, async () => {
    const manager: ContextManager = {
      build: ({ tools, messages }) => ({ tools, append: [], messages: [createSizedMessage("Rules"), ...messages] }),
    };
    const hook: Hook = { name: "edit", beforeRun: () => ({ input: "Edited" }) };
    const { sent, store } = await play({ hooks: [hook], context: { manager } }, [{ text: "Done." }]);
    expect(sent[0]?.messages).toEqual([createSizedMessage("Rules"), createSizedMessage("Edited")]);
    expect(await collect(modelRequests(store, "s"))).toEqual(sent);
  });
});

/** A session whose call with a list waits for its second attempt; then another process carries it on. */
async function takenOver(storeOf: (inner: Store) => Store) {
  const clock = createWatchedClock();
  const inner = createMemoryStore();
  const options = { tools: [createEchoTool().tool], retry: { decide: () => ({ retryInMs: 7_000 }) }, clock };
  const hook = sending((messages) => [createSizedMessage("Long", 1_000), createSizedMessage("Short"), ...messages]);
  const first = createAgent({ ...options, model: createScriptedModel([busy]), hooks: [hook], store: inner });
  const left = first.run("Go", { sessionId: "s" });
  await clock.waitFor(7_000);
  await first.shutdown({ graceMs: 0 });
  expect((await left).status).toBe("interrupted");
  const model = createScriptedModel([{ text: "Done." }]);
  const second = createAgent({ ...options, model, store: storeOf(inner) });
  const resumed = second.session("s").resume();
  await clock.waitFor(7_000);
  await clock.advance(7_000);
  return { result: await resumed, sent: model.requests, store: inner, session: second.session("s") };
}

describe("another process", () => {
  test("sends the list that the log names", proven, async () => {
    const { result, sent, store, session } = await takenOver((inner) => inner);
    expect(result.status).toBe("completed");
    expect(sent[0]?.messages.slice(0, 2)).toEqual([createSizedMessage("Long", 1_000), createSizedMessage("Short")]);
    expect((await collect(modelRequests(store, "s"))).at(-1)).toEqual(sent[0]);
    const { seq = 0 } = (await store.load("s")) ?? {};
    await session.fork({ at: seq, sessionId: "t" });
    const forked = await collect(modelRequests(store, "t"));
    expect(forked.at(-1)?.messages).toEqual(sent[0]?.messages);
  });

  test("prepares the step anew if the store has lost a message of the list", proven, async () => {
    const isLong = (bytes: Uint8Array | null) => bytes !== null && Buffer.from(bytes).toString().includes("Long");
    const { result, sent, session } = await takenOver((inner) => ({
      ...inner,
      async getBlob(...place) {
        const bytes = await inner.getBlob(...place);
        return isLong(bytes) ? null : bytes;
      },
    }));
    expect(result.status).toBe("completed");
    expect(sent[0]?.messages).toHaveLength(1);
    const events = await collect(session.events({ follow: false }));
    expect(filterEventsOfType(events, "restarted")).toMatchObject([{ fault: { code: "blob_missing" } }]);
  });
});

/** The step of a call: a call key is `runId/step/position`. */
const stepOf = ({ callKey }: { readonly callKey: string }) => Number(callKey.split("/").at(-2));

test(
  "requests of random lists are made again, with steers, second runs, compactions and other processes",
  proven,
  async () => {
    let requests = 0;
    const maxSteps = 8;
    for (let seed = 1; seed <= 12; seed += 1) {
      const chance = createChance(seed);
      const store = createMemoryStore();
      const long = "Words that take their room in the window. ".repeat(40);
      const sent: ModelRequest[] = [];
      const script = (request: ModelRequest): ScriptedStep => {
        if (request.attempt > 0) sent.push({ ...request, messages: [...request.messages] });
        if (request.attempt === 0) return { text: "Summed up." };
        if (chance.oneIn(7)) return busy;
        return chance.oneIn(5) ? { text: "Done." } : { ...calling(chance.below(9)), text: long, usage: {} };
      };
      const manager: ContextManager = {
        build: ({ tools, messages, input }) => ({
          tools,
          append: chance.oneIn(3) ? [createSizedMessage("Added") as never] : [],
          ...(chance.oneIn(2) ? { messages: createRandomList([...messages, ...input], chance) } : {}),
        }),
      };
      const hook = sending((messages) => (chance.oneIn(3) ? messages : createRandomList(messages, chance)));
      const options = {
        model: createScriptedModel(script),
        tools: [createEchoTool().tool],
        hooks: chance.oneIn(5) ? [] : [hook],
        retry: { decide: () => ({ retryInMs: 0 }) },
        compaction: { contextWindow: 6_000 },
        limits: { maxSteps, onRepeatedCall: "ignore" as const, onMaxSteps: "stop" as const },
        store,
      };
      for (let run = 0; run < 4; run += 1) {
        const agent = createAgent(chance.oneIn(2) ? { ...options, context: { manager } } : options);
        const stream = agent.runStream(`Run ${run}`, { sessionId: "s" });
        // After the calls of the last step, a steer may come too late, and begin a run of its own.
        for await (const item of stream)
          if (item.type === "tool_call" && stepOf(item) < maxSteps && chance.oneIn(4))
            await agent.session("s").steer(`Steer ${chance.below(100)}`);
        expect(JSON.stringify(await stream.result)).not.toContain("hook_failed");
        await agent.shutdown();
      }
      const made = (await collect(modelRequests(store, "s"))).filter(({ attempt }) => attempt > 0);
      expect(made).toEqual(sent);
      requests += made.length;
      const entries = await store.read("s", 0, 10_000);
      const refused = entries.filter(({ event }) => event.hooks?.some(({ outcome }) => outcome === "refused"));
      expect(refused).toEqual([]);
    }
    expect(requests).toBeGreaterThan(150);
  },
);
