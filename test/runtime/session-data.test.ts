/**
 * The session's data and the conversation in a tool.
 */
import { describe, expect, test } from "vitest";
import {
  type AnyTool,
  createAgent,
  createClient,
  createMemoryStore,
  defineTool,
  type Json,
  type Message,
  type PawlError,
  type Store,
  type ToolContext,
} from "../../src/index.js";
import { traceSession } from "../../src/inspect.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { todo, todoHint } from "../../src/tools/index.js";
import { createDeferred } from "../support/agents.js";
import { readEvents } from "../support/durable-tool.js";
import { createFailingStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const ids = { sessionId: "s", runId: "r" } as const;
const proven = verifies("TOOL-17");

type Work = (context: ToolContext, input: Json) => unknown;

function toolOf(name: string, work: Work, more: Partial<AnyTool> = {}): AnyTool {
  return defineTool({
    name,
    description: `Does ${name}.`,
    input: { type: "object" },
    ...more,
    execute: (input: unknown, context: ToolContext) => work(context, input as Json),
  });
}

function agentOf(tools: readonly AnyTool[], script: readonly ScriptedStep[], store: Store = createMemoryStore()) {
  // By the answers so far: another life goes on where the first one ended.
  const model = createScriptedModel(
    ({ messages }) => script[messages.filter(({ role }) => role === "assistant").length],
  );
  return createAgent({ model, tools, store });
}

let calls = 0;

/** No two calls are the same. */
const calling = (...names: readonly string[]): ScriptedStep => ({
  calls: names.map((name) => {
    calls += 1;
    return { name, input: { n: calls } };
  }),
});

async function patchesIn(store: Store) {
  return (await readEvents(store)).flatMap((event) => {
    if (event.type === "data_changed") return [event.patch];
    return "data" in event && event.data !== undefined ? [event.data] : [];
  });
}

async function refusalOf(act: () => unknown): Promise<string> {
  try {
    await act();
  } catch (error) {
    return (error as PawlError).code ?? String(error);
  }
  return "taken";
}

describe("what a tool changes", () => {
  test("is committed with its result, and read by the next tool and from outside", proven, async () => {
    const store = createMemoryStore();
    const seen: unknown[] = [];
    const write = toolOf("write", async ({ data }) => {
      expect([data.get("plan"), data.all()]).toEqual([undefined, {}]);
      data.set("plan", { at: new Date(0), items: [1] });
      data.set("gone", 1);
      data.delete("gone");
      data.update("n", (old) => Number(old ?? 0) + 1);
      data.update("n", (old) => Number(old ?? 0) + 1);
      seen.push(data.all());
      await Promise.resolve();
      seen.push(await patchesIn(store));
    });
    const read = toolOf("read", ({ data }) => {
      seen.push(data.get("plan"));
      const plan = data.get("plan") as { items: number[] };
      expect(() => plan.items.push(2)).toThrow(TypeError);
    });
    const agent = agentOf([write, read], [calling("write"), calling("read"), { text: "Done." }], store);
    expect(await agent.run("Go", ids)).toMatchObject({ status: "completed" });
    const plan = { at: "1970-01-01T00:00:00.000Z", items: [1] };
    expect(seen).toEqual([{ plan, n: 2 }, [], plan]);
    expect(await patchesIn(store)).toEqual([{ set: { plan, n: 2 }, unset: ["gone"] }]);
    expect(await agent.session("s").data()).toEqual({ plan, n: 2 });
    expect(await createClient({ store }).session("s").data()).toEqual({ plan, n: 2 });
  });

  test("is dropped with a result that is an error, unless the tool keeps it", proven, async () => {
    const fails = ({ data }: ToolContext) => {
      data.set("tried", true);
      throw new Error("no");
    };
    for (const keepDataOnError of [false, true]) {
      const agent = agentOf([toolOf("fail", fails, { keepDataOnError })], [calling("fail"), { text: "Done." }]);
      await agent.run("Go", ids);
      expect(await agent.session("s").data()).toEqual(keepDataOnError ? { tried: true } : {});
    }
  });

  test("of an attempt that is tried again counts once", proven, async () => {
    const store = createMemoryStore();
    const work: Work = ({ data, attempt }) => {
      if (attempt === 1) data.set("first", true);
      else expect(data.all()).toEqual({});
      data.update("n", (old) => Number(old ?? 0) + 1);
      if (attempt < 3) throw new Error("not yet");
    };
    const tool = toolOf("work", work, { readOnly: true, retry: { backoff: { baseMs: 0, maxMs: 0 } } });
    const agent = agentOf([tool], [calling("work"), { text: "Done." }], store);
    await agent.run("Go", ids);
    expect(await agent.session("s").data()).toEqual({ n: 1 });
  });

  test("side by side: the last commit wins by key, and an update builds on what is committed", proven, async () => {
    const all = [createDeferred(), createDeferred(), createDeferred()];
    const work: Work = async ({ data, callKey }) => {
      const index = Number(callKey.split("/")[2]) - 1;
      data.set("by", index);
      data.set(`own ${index}`, true);
      data.update("n", (old) => Number(old ?? 0) + 1);
      await all[index]?.promise;
      if (index === 0) all[2]?.resolve();
    };
    const agent = agentOf([toolOf("add", work)], [calling("add", "add", "add"), { text: "Done." }]);
    const running = agent.run("Go", ids);
    all[1]?.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    all[0]?.resolve();
    await running;
    expect(await agent.session("s").data()).toEqual({ by: 2, "own 0": true, "own 1": true, "own 2": true, n: 3 });
  });

  test("is refused if it is no change of a session's data", proven, async () => {
    const refusals: string[] = [];
    const tool = toolOf("try", async ({ data }) => {
      const tries: readonly (() => unknown)[] = [
        () => data.set("__proto__", 1),
        () => data.set("", 1),
        () => data.set("k".repeat(101), 1),
        () => data.set("big", "x".repeat(66_000)),
        () => data.update("p", async () => 1),
        () => data.update("p", () => ({ constructor: 1 })),
        () => data.update("p", 1 as never),
        () => data.delete(1 as never),
        () => {
          for (let count = 0; count < 1_001; count += 1) data.update("n", () => count);
        },
      ];
      for (const one of tries) refusals.push(await refusalOf(one));
    });
    const agent = agentOf([tool], [calling("try"), { text: "Done." }]);
    await agent.run("Go", ids);
    const [first, ...rest] = refusals;
    expect([first, ...rest.slice(0, 4), ...rest.slice(5)]).toEqual(Array.from({ length: 8 }, () => "bad_input"));
    expect(refusals[5]).toBe("not_storable");
    expect(await agent.session("s").data()).toEqual({ n: 999 });
  });

  test("makes the result an error if it cannot be made when it is committed", proven, async () => {
    const both = [createDeferred(), createDeferred()];
    const work: Work = async ({ data, callKey }) => {
      const index = Number(callKey.split("/")[2]) - 1;
      data.set(`half ${index}`, "x".repeat(40_000));
      await both[index]?.promise;
      if (index === 0) both[1]?.resolve();
      return "fine";
    };
    const store = createMemoryStore();
    const agent = agentOf([toolOf("fill", work)], [calling("fill", "fill"), { text: "Done." }], store);
    const running = agent.run("Go", ids);
    both[0]?.resolve();
    await running;
    const results = (await readEvents(store)).filter((event) => event.type === "tool_finished");
    expect(results).toMatchObject([{ outcome: "ok" }, { outcome: "error" }]);
    expect(JSON.stringify(results[1]?.output)).toContain("could not be stored");
    expect(Object.keys(await agent.session("s").data())).toEqual(["half 0"]);
  });

  test("is refused when the call is over", proven, async () => {
    let late: (() => unknown) | undefined;
    const tool = toolOf("leave", ({ data }) => {
      data.set("n", 1);
      late = () => data.set("n", 2);
    });
    const agent = agentOf([tool], [calling("leave"), { text: "Done." }]);
    await agent.run("Go", ids);
    expect(await refusalOf(() => late?.())).toBe("run_finished");
    expect(await agent.session("s").data()).toEqual({ n: 1 });
  });

  test("is shown by its keys", proven, async () => {
    const tool = toolOf("write", ({ data }) => data.set("plan", "secret"));
    const agent = agentOf([tool], [calling("write"), { text: "Done." }]);
    await agent.run("Go", ids);
    await agent.session("s").setData({ unset: ["plan"] }, { by: "Ada" });
    const events: unknown[] = [];
    for await (const event of agent.session("s").events({ follow: false }))
      if (event.type === "data_changed") events.push(event);
    expect(events).toMatchObject([
      { keys: ["plan"], callKey: "r/1/1" },
      { keys: ["plan"], by: "Ada" },
    ]);
    expect(JSON.stringify(events)).not.toContain("secret");
  });
});

describe("in a durable tool", () => {
  /** Runs until the store fails at a commit, then again with a whole store: the tool runs twice. */
  async function inTwoLives(work: Work, failing: number) {
    const inner = createMemoryStore();
    const { store, failCommits, repair } = createFailingStore(inner);
    const make = () => agentOf([toolOf("work", work, { durable: true })], [calling("work"), { text: "Done." }], store);
    failCommits(failing);
    expect(await make().run("Go", ids)).toMatchObject({ status: "interrupted" });
    repair();
    expect(await make().session("s").resume()).toMatchObject({ status: "completed" });
    const session = make().session("s");
    const { difference } = await session.replay({ durable: "present" });
    return { data: await session.data(), patches: await patchesIn(inner), difference };
  }

  test("a change rides on the next step, and a tool that runs again does not make it twice", proven, async () => {
    const work: Work = async ({ data, step }) => {
      data.update("n", (old) => Number(old ?? 0) + 1);
      await step("one", () => 1);
      data.update("n", (old) => Number(old ?? 0) + 10);
      await step("two", () => 2);
      data.update("n", (old) => Number(old ?? 0) + 100);
    };
    for (const failing of [2, 3, 4]) {
      const { data, patches, difference } = await inTwoLives(work, failing);
      expect(difference).toBeNull();
      expect([failing, data, patches]).toEqual([
        failing,
        { n: 111 },
        [{ set: { n: 1 } }, { set: { n: 11 } }, { set: { n: 111 } }],
      ]);
    }
  });

  test("a step that fails carries nothing: its change waits for the next entry", proven, async () => {
    const work: Work = async ({ data, step }) => {
      data.set("a", 1);
      await step("one", () => {
        throw new Error("no");
      }).catch(() => {});
      data.set("b", 2);
      await step("two", () => 2);
    };
    for (const failing of [3, 4]) {
      const { data, patches } = await inTwoLives(work, failing);
      expect([data, patches]).toEqual([{ a: 1, b: 2 }, [{ set: { a: 1, b: 2 } }]]);
    }
  });

  test("a change rides on a question, and is not made again with the answer", proven, async () => {
    const work: Work = async ({ data, ask }) => {
      data.update("n", (old) => Number(old ?? 0) + 1);
      const said = await ask({ message: "Which?" });
      data.set("said", said.type === "answered" ? said.value : null);
    };
    const store = createMemoryStore();
    const agent = agentOf([toolOf("work", work, { durable: true })], [calling("work"), { text: "Done." }], store);
    expect(await agent.run("Go", ids)).toMatchObject({ status: "awaiting_human" });
    expect(await agent.session("s").data()).toEqual({ n: 1 });
    await agent.session("s").answer("r/1/1", { type: "reply", value: "main" });
    expect(await agent.session("s").resume()).toMatchObject({ status: "completed" });
    expect(await patchesIn(store)).toEqual([{ set: { n: 1 } }, { set: { said: "main" } }]);
  });
});

describe("from outside", () => {
  test("a change is in the log, and the next run's tools read it", proven, async () => {
    const store = createMemoryStore();
    const seen: unknown[] = [];
    const tool = toolOf("read", ({ data }) => seen.push(data.all()) && "read");
    const agent = agentOf([tool], [{ text: "Hello." }, calling("read"), { text: "Done." }], store);
    await agent.run("Hello", { sessionId: "s" });
    const session = agent.session("s");
    await session.setData({ set: { account: "main", draft: 1 } }, { by: "Ada" });
    await session.setData({ unset: ["draft"] });
    expect(await session.data()).toEqual({ account: "main" });
    await createClient({ store })
      .session("s")
      .setData({ set: { more: true } });
    await agent.run("Go", { sessionId: "s" });
    expect(seen).toEqual([{ account: "main", more: true }]);
    const changed = (await readEvents(store)).filter((event) => event.type === "data_changed");
    expect(changed).toMatchObject([{ by: "Ada" }, {}, { patch: { set: { more: true } } }]);
  });

  test("a change that is none is refused", proven, async () => {
    const agent = agentOf([], [{ text: "Hello." }]);
    expect(await refusalOf(() => agent.session("s").setData({ set: { n: 1 } }))).toBe("no_session");
    expect(await refusalOf(() => agent.session("s").data())).toBe("no_session");
    await agent.run("Hello", { sessionId: "s" });
    const session = agent.session("s");
    const tries: readonly [unknown, unknown?][] = [
      [{}],
      [{ set: { n: 1 }, unset: ["n"] }],
      [{ set: { prototype: 1 } }],
      [{ unset: "n" }],
      [{ set: { big: "x".repeat(66_000) } }],
      [{ n: 1 }],
      [{ set: { n: 1 } }, { who: "Ada" }],
    ];
    for (const [patch, options] of tries)
      expect(await refusalOf(() => session.setData(patch as never, options as never))).toBe("bad_input");
    expect(await session.data()).toEqual({});
  });

  test("changes for which there is no room when they are taken are left out", proven, async () => {
    const store = createMemoryStore();
    const agent = agentOf([], [{ text: "Hello." }, { text: "Again." }], store);
    await agent.run("Hello", { sessionId: "s" });
    const client = createClient({ store }).session("s");
    for (const key of ["a", "b"]) await client.setData({ set: { [key]: "x".repeat(40_000) } });
    await agent.run("Go", { sessionId: "s" });
    expect(Object.keys(await agent.session("s").data())).toEqual(["a"]);
    expect(await store.inbox("s")).toEqual([]);
  });

  test("a fork has the data of its entry, and a replay finds no difference", proven, async () => {
    const store = createMemoryStore();
    const tool = toolOf("add", ({ data }) => data.update("n", (old) => Number(old ?? 0) + 1));
    const agent = agentOf([tool], [calling("add"), calling("add"), { text: "Done." }], store);
    await agent.run("Go", ids);
    const first = (await readEvents(store)).findIndex((event) => event.type === "tool_finished");
    const fork = await agent.session("s").fork({ at: first + 1 });
    expect([await agent.session("s").data(), await fork.data()]).toEqual([{ n: 2 }, { n: 1 }]);
    expect(await agent.session("s").replay()).toMatchObject({ difference: null });
  });
});

describe("the conversation", () => {
  test("in a tool is what the model saw when it asked, frozen", proven, async () => {
    const seen: (readonly Message[])[] = [];
    const tool = toolOf("look", ({ messages }) => {
      expect(Object.isFrozen(messages) && messages.every((message) => Object.isFrozen(message))).toBe(true);
      seen.push(messages);
      return "looked";
    });
    const requests: (readonly Message[])[] = [];
    const model = createScriptedModel((request) => {
      requests.push(request.messages);
      return request.modelCallIndex < 3 ? calling("look", "look") : { text: "Done." };
    });
    const agent = createAgent({ model, tools: [tool] });
    await agent.run("Look around", ids);
    expect(seen).toEqual([requests[0], requests[0], requests[1], requests[1]]);
    expect(seen.map(({ length }) => length)).toEqual([1, 1, 3, 3]);
  });

  test("is there for approvals and permissions, with the data", proven, async () => {
    const seen: unknown[] = [];
    const tool = toolOf("pay", ({ data }) => data.set("paid", true), {
      needsApproval: (_input, { messages, data, toolCallId, sessionId }) => {
        seen.push(["approval", messages.length, data, toolCallId !== "", sessionId]);
        return data.paid === true;
      },
    });
    const agent = createAgent({
      model: createScriptedModel([calling("pay"), calling("pay"), { text: "Done." }]),
      tools: [tool],
      canExecuteTool: (_call, { messages, data }) => {
        seen.push(["permission", messages.length, data]);
        return "allow";
      },
    });
    expect(await agent.run("Pay", ids)).toMatchObject({ status: "awaiting_human" });
    expect(seen).toEqual([
      ["permission", 1, {}],
      ["approval", 1, {}, true, "s"],
      ["permission", 3, { paid: true }],
      ["approval", 3, { paid: true }, true, "s"],
    ]);
  });

  test("is the list that was sent, if a hook sent one, also after a crash", proven, async () => {
    const large = "A long story. ".repeat(300);
    const inner = createMemoryStore();
    const { store, failCommits, repair } = createFailingStore(inner);
    const seen: (readonly Message[])[] = [];
    const make = () =>
      createAgent({
        model: createScriptedModel(({ modelCallIndex }) =>
          modelCallIndex === 1 ? calling("look") : { text: "Done." },
        ),
        store,
        tools: [toolOf("look", ({ messages }) => seen.push(messages), { recover: "rerun" })],
        hooks: [
          {
            name: "shorten",
            beforeLLMCall: ({ messages }) => ({
              messages: [{ role: "user", parts: [{ type: "text", text: large }] }, ...messages],
            }),
          },
        ],
      });
    failCommits(3);
    expect(await make().run("Go", ids)).toMatchObject({ status: "interrupted" });
    repair();
    expect(await make().session("s").resume()).toMatchObject({ status: "completed" });
    expect(seen.length).toBe(2);
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[1]?.map(({ parts: [part] }) => (part?.type === "text" ? part.text : ""))).toEqual([large, "Go"]);
  });

  test("hooks read the data", proven, async () => {
    const seen: unknown[] = [];
    const agent = createAgent({
      model: createScriptedModel([calling("write"), { text: "Done." }]),
      tools: [toolOf("write", ({ data }) => data.set("n", 1))],
      hooks: [{ name: "watch", beforeStep: (_step, { data }) => void seen.push(data) }],
    });
    await agent.run("Go", ids);
    expect(seen).toEqual([{}, { n: 1 }]);
  });
});

describe("who reads the data", () => {
  test("stop conditions and hints do, and the trace names the keys", proven, async () => {
    const hints: unknown[] = [];
    const store = createMemoryStore();
    const agent = createAgent({
      model: createScriptedModel(() => calling("add")),
      store,
      tools: [toolOf("add", ({ data }) => data.update("n", (old) => Number(old ?? 0) + 1))],
      stopWhen: ({ data }) => data.n === 2,
      context: { hints: [{ name: "n", text: (_run, { data }) => void hints.push(data) }] },
    });
    expect(await agent.run("Go", ids)).toMatchObject({ status: "completed", reason: "stop_condition", steps: 2 });
    expect(hints).toEqual([{}, { n: 1 }]);
    const records = await traceSession(store, "s");
    const changed = records.flatMap((record) =>
      record.type === "step" ? record.calls.map((call) => call.changed) : [],
    );
    expect(changed).toEqual([["n"], ["n"]]);
  });

  test("a compaction keeps it, also for a process that reads only what comes after", proven, async () => {
    const store = createMemoryStore();
    const make = () =>
      createAgent({
        model: createScriptedModel(({ messages }) => {
          const done = JSON.stringify(messages).includes("kept 4");
          return done ? { text: "Done." } : { ...calling("keep"), usage: { inputTokens: 900, outputTokens: 5 } };
        }),
        store,
        tools: [
          toolOf("keep", ({ data }) => {
            data.update("n", (old) => Number(old ?? 0) + 1);
            data.set(`key ${data.get("n")}`, true);
            return `${"A long result. ".repeat(40)} kept ${data.get("n")}`;
          }),
        ],
        compaction: {
          contextWindow: 1_000,
          model: createScriptedModel(() => ({ text: "It was kept." })),
        },
      });
    await make().run("Go", ids);
    const log = await readEvents(store);
    const state = (await store.load("s"))?.state;
    expect(log.filter((event) => event.type === "compacted" && event.dataBlob !== undefined).length).toBeGreaterThan(1);
    expect(state?.context.dataBlob).toBeDefined();
    const whole = { n: 4, "key 1": true, "key 2": true, "key 3": true, "key 4": true };
    expect(await make().session("s").data()).toEqual(whole);
    const fork = await make().session("s").fork();
    expect(await fork.data()).toEqual(whole);
    expect(await make().session("s").replay()).toMatchObject({ difference: null });
  });

  test("todo() keeps the model's plan there, and its hint tells what is left", proven, async () => {
    const plan = (...items: readonly (readonly [string, string])[]): ScriptedStep => ({
      calls: [{ name: "todo", input: { items: items.map(([text, status]) => ({ text, status })) } }],
    });
    const requests: string[] = [];
    const script = [
      plan(["look", "in_progress"], ["write", "open"]),
      plan(["look", "done"], ["write", "done"]),
      { text: "Done." },
    ];
    const agent = createAgent({
      model: createScriptedModel((request) => {
        requests.push(JSON.stringify(request.messages));
        return script[request.modelCallIndex - 1];
      }),
      tools: [todo()],
      context: { hints: [todoHint] },
    });
    expect(await agent.run("Go", ids)).toMatchObject({ status: "completed" });
    const items = [
      { text: "look", status: "done" },
      { text: "write", status: "done" },
    ];
    expect(await agent.session("s").data()).toEqual({ todo: items });
    expect(requests.map((text) => text.split("[>] look").length - 1)).toEqual([0, 2, 2]);
    expect(requests[2]).toContain("[x] look\\n[x] write");
    await agent.session("s").setData({ set: { todo: [{ text: "mine", status: "open" }, "no item", { text: 1 }] } });
    await agent.run("Go on", { sessionId: "s", runId: "r2" });
    expect(requests[3]).toContain("[ ] mine");
  });
});
