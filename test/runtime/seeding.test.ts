/**
 * A session that begins with a conversation from elsewhere: what is taken, what is refused, and that it is entered once.
 */
import type { ModelMessage, UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import {
  type AgentOptions,
  createAgent,
  createMemoryStore,
  defineTool,
  type History,
  type Message,
  type PublicEvent,
  type Store,
} from "../../src/index.js";
import { modelRequests } from "../../src/inspect.js";
import { crashTest, createScriptedModel } from "../../src/testing/index.js";
import { collect } from "../support/agents.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

const user = (text: string): Message => ({ role: "user", parts: [{ type: "text", text }] });
const assistant = (text: string): Message => ({ role: "assistant", parts: [{ type: "text", text }] });
const call = (toolCallId: string): Message => ({
  role: "assistant",
  parts: [{ type: "tool_call", toolCallId, name: "look", input: { at: "sea" } }],
});
const result = (...ids: readonly string[]): Message => ({
  role: "tool",
  parts: ids.map((toolCallId) => ({
    type: "tool_result",
    toolCallId,
    name: "look",
    output: { type: "text", text: `seen ${toolCallId}` },
  })),
});
const earlier: readonly Message[] = [user("What is there?"), call("c1"), result("c1"), assistant("The sea.")];

const look = defineTool({
  name: "look",
  description: "Looks.",
  input: { type: "object" },
  readOnly: true,
  execute: () => "seen",
});

function agentWith(options: Partial<AgentOptions> = {}) {
  const store = options.store ?? createMemoryStore();
  const model = createScriptedModel(() => ({ text: "Done." }));
  return { store, model, agent: createAgent({ model, tools: [look], ...options, store }) };
}

async function entriesOf(store: Store, sessionId: string) {
  return (await store.read(sessionId)).map(({ event }) => event);
}

const typesIn = async (store: Store, sessionId: string) => (await entriesOf(store, sessionId)).map(({ type }) => type);

describe("a run with a history", verifies("LOOP-19"), () => {
  test("that a session refuses ends its stream, too", async () => {
    const { agent } = agentWith();
    await agent.run("Go", { sessionId: "s" });
    const stream = agent.runStream("Go on", { sessionId: "s", history: earlier });
    expect(await collect(stream)).toEqual([]);
    await expect(stream.result).rejects.toThrow(/already exists/);
  });

  test.each(localStores)(
    "on %s: the model is shown it first, and it is in the commit of the run's start",
    async ({ open }) => {
      await withStore(open, async (store) => {
        const { agent, model } = agentWith({ store });
        expect(await agent.run("And behind it?", { sessionId: "s", history: earlier })).toMatchObject({
          text: "Done.",
        });
        expect(model.requests[0]?.messages).toEqual([...earlier, user("And behind it?")]);
        expect((await typesIn(store, "s")).slice(0, 4)).toEqual([
          "session_created",
          "history_added",
          "run_started",
          "prepared",
        ]);
        const session = agent.session("s");
        expect(await session.messages()).toEqual([...earlier, user("And behind it?"), assistant("Done.")]);
        const events = (await collect(session.events({ follow: false }))) as PublicEvent[];
        expect(events[1]).toMatchObject({ type: "history_added", source: "pawl", messages: earlier, seq: 2 });
        await agent.run("And now?", { sessionId: "s" });
        expect(model.requests[1]?.messages.slice(0, 6)).toEqual([
          ...earlier,
          user("And behind it?"),
          assistant("Done."),
        ]);
        const rebuilt = await collect(modelRequests(store, "s"));
        expect(rebuilt.map(({ messages }) => messages)).toEqual(model.requests.map(({ messages }) => messages));
        expect((await session.replay()).difference).toBeNull();
        const fork = await session.fork({ at: 2 });
        expect(await fork.messages()).toEqual(earlier);
      });
    },
  );

  test("by its runId counts once, also if it is posted to an inbox", async () => {
    const { agent, model, store } = agentWith();
    const options = { sessionId: "s", runId: "r", history: earlier };
    const [first, second] = await Promise.all([agent.run("Go", options), agent.run("Go", options)]);
    expect(second).toEqual(first);
    expect(await agent.run("Go", options)).toEqual(first);
    expect(model.requests).toHaveLength(1);
    expect((await typesIn(store, "s")).filter((type) => type === "history_added")).toHaveLength(1);
  });

  test("is refused in a session that exists; an empty one is none", async () => {
    const { agent } = agentWith();
    await agent.run("Go", { sessionId: "s", history: [] });
    await expect(agent.run("Go", { sessionId: "s", history: earlier })).rejects.toMatchObject({
      code: "bad_input",
      message: expect.stringContaining("already exists"),
    });
    await expect(agent.session("s").seed(earlier)).rejects.toMatchObject({ code: "bad_input" });
    await expect(agent.run("Go", { dropOpenCalls: true })).rejects.toMatchObject({ code: "bad_input" });
  });

  test("of two processes that begin a session at once, the second runs nothing", async () => {
    const store = createMemoryStore();
    const one = agentWith({ store });
    const other = agentWith({ store });
    const results = await Promise.all([
      one.agent.run("Go", { sessionId: "s", runId: "a", history: [user("one")] }),
      other.agent.run("Go", { sessionId: "s", runId: "b", history: [user("other")] }).catch((error: Error) => error),
    ]);
    const histories = (await typesIn(store, "s")).filter((type) => type === "history_added");
    expect(histories).toHaveLength(1);
    const outcomes = results.map((one) => ("status" in one ? one.status : "refused")).toSorted();
    expect(["aborted,completed", "completed,refused"]).toContain(outcomes.join());
  });

  test("of many messages is many entries; a compaction cuts between them", async () => {
    const summaries = createScriptedModel(() => ({ text: "They talked." }), { id: "summarizer" });
    const compaction = { contextWindow: 20_000, model: summaries };
    const { agent, model, store } = agentWith({ compaction });
    const words = "Words about the sea, and what is behind it. ".repeat(40);
    const long = Array.from({ length: 60 }, (_, at) => [user(`${at}: ${words}`), assistant(words)]).flat();
    expect(await agent.run("Go", { sessionId: "s", history: long })).toMatchObject({ status: "completed" });
    const types = await typesIn(store, "s");
    expect(types.filter((type) => type === "history_added").length).toBeGreaterThan(3);
    expect(types).toContain("compacted");
    const sent = model.requests[0]?.messages ?? [];
    expect(sent.length).toBeGreaterThan(3);
    expect(sent.slice(1, -1)).toEqual(long.slice(long.length - (sent.length - 2)));
    const other = agentWith({ store, compaction });
    expect((await other.agent.session("s").messages()).slice(0, -1)).toEqual(sent);
    const rebuilt = await collect(modelRequests(store, "s"));
    expect(rebuilt.at(-1)?.messages).toEqual(sent);
  });

  test.each(localStores)(
    "on $name: large files are blobs, which a fork copies; a model gets their bytes",
    async ({ open }) => {
      await withStore(open, async (store) => {
        const { agent, model } = agentWith({ store });
        const picture = {
          type: "file",
          mediaType: "image/png",
          data: Buffer.alloc(70_000, 7).toString("base64"),
        } as const;
        const small = { ...picture, data: Buffer.alloc(10, 7).toString("base64") } as const;
        const history: readonly Message[] = [
          { role: "user", parts: [picture, small] },
          call("c1"),
          {
            role: "tool",
            parts: [
              { type: "tool_result", toolCallId: "c1", name: "look", output: { type: "content", parts: [picture] } },
            ],
          },
          { role: "assistant", parts: [picture] },
        ];
        await agent.run("Go", { sessionId: "s", runId: "r", history });
        expect(model.requests[0]?.messages.slice(0, 4)).toEqual(history);
        const entered = (await entriesOf(store, "s")).flatMap((event) =>
          event.type === "history_added" ? event.messages : [],
        );
        expect(JSON.stringify(entered).match(/"blob:[0-9a-f]{64}\/70000"/g)).toHaveLength(3);
        expect(entered[0]?.parts[1]).toEqual(small);
        const fork = await agent.session("s").fork({ sessionId: "copy", at: 2 });
        await agent.run("Go on", { sessionId: fork.id });
        expect(model.requests[1]?.messages.slice(0, 4)).toEqual(history);
      });
    },
  );

  test("takes 16 MiB, through the inbox too", { timeout: 30_000 }, async () => {
    const { agent, model } = agentWith({ compaction: null });
    const megabyte = "x".repeat(800_000);
    const history = Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? user(megabyte) : assistant(megabyte)));
    await agent.run("Go", { sessionId: "s", runId: "r", history });
    expect(model.requests[0]?.messages.slice(0, -1)).toEqual(history);
    await expect(agent.run("Go", { history: [...history, user(megabyte), user(megabyte)] })).rejects.toThrow(
      "16777216",
    );
    await expect(agent.run("Go", { history: [user("x".repeat(950_000))] })).rejects.toThrow("history[0]");
    await expect(agent.run("Go", { history: Array.from({ length: 10_001 }, () => user("x")) })).rejects.toThrow(
      "10000",
    );
  });

  test("survives a crash before and after every commit, and is entered once", { timeout: 60_000 }, async () => {
    const { plays } = await crashTest({
      agent: () => {
        const agent = agentWith().agent;
        return {
          ...agent,
          with: (changes: Partial<AgentOptions>) => {
            const made = agent.with(changes);
            return {
              ...made,
              run: (input: string, options: object) => made.run(input, { ...options, history: earlier }),
            } as typeof made;
          },
        } as typeof agent;
      },
      input: "Go",
      pairs: true,
    });
    expect(plays).toBeGreaterThan(3);
  });
});

describe("session.seed", verifies("LOOP-19"), () => {
  test("begins a session without a run, once", async () => {
    const { agent, model, store } = agentWith();
    const session = agent.session("s");
    await session.seed(earlier);
    expect(await typesIn(store, "s")).toEqual(["session_created", "history_added"]);
    expect(await session.messages()).toEqual(earlier);
    expect(await session.result()).toBeNull();
    expect(await session.state()).toMatchObject({ status: "idle", session: { title: "What is there?" } });
    await expect(session.seed(earlier)).rejects.toMatchObject({ code: "bad_input" });
    await expect(session.resume()).rejects.toThrow("has no run yet");
    await expect(session.seed([])).rejects.toThrow("empty");
    await session.send("And behind it?");
    const other = agentWith({ store, model }).agent;
    await other.run("And now?", { sessionId: "s" });
    expect(model.requests.at(-1)?.messages.slice(0, 5)).toEqual([...earlier, user("And behind it?")]);
  });

  test("waits in the inbox while another process has the session, and whoever has it next takes it from there", async () => {
    const { agent, model, store } = agentWith();
    const holder = { id: "another", host: "elsewhere", pid: 1, startedAt: 0 };
    const other = await store.claim("s", { holder, now: Date.now(), leaseMs: 60_000 });
    if (other.type !== "claimed") throw new Error("Nobody else holds the session.");
    await agent.session("s").seed(earlier);
    expect(await store.inbox("s")).toMatchObject([{ body: { type: "history" } }]);
    await store.release(other.lease);
    await agent.run("And behind it?", { sessionId: "s" });
    expect(await store.inbox("s")).toEqual([]);
    expect(model.requests.at(-1)?.messages).toEqual([...earlier, user("And behind it?")]);
  });

  test("of two at once, one is refused", async () => {
    const store = createMemoryStore();
    const seeds = ["one", "other"].map((text) =>
      agentWith({ store })
        .agent.session("s")
        .seed([user(text)]),
    );
    const settled = await Promise.allSettled(seeds);
    expect(settled.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(settled.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "bad_input" } });
    expect(await typesIn(store, "s")).toEqual(["session_created", "history_added"]);
  });
});

describe("what is no whole conversation is refused, with its index and the reason", verifies("LOOP-19"), () => {
  const refused = async (history: History, why: string) => {
    const { agent, store } = agentWith();
    const error = await agent.run("Go", { sessionId: "s", history }).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "bad_input", message: expect.stringContaining(why) });
    expect(await store.list()).toEqual([]);
  };

  test.for<[string, History, string]>([
    ["a call without a result", [user("x"), call("c1"), user("y")], "history[1]: a call without a result"],
    ["a call at the end", [call("c1")], "history[0]: a call without a result"],
    ["one of two results", [user("x"), call("c1"), result("c2")], "history[2]: a result without its call"],
    ["a result at the start", [result("c1")], "history[0]: a result without its call"],
    ["two results", [call("c1"), result("c1"), result("c1")], "history[2]: two results"],
    ["a system message", [{ role: "system", content: "Be kind." }], "systemPrompt"],
    ["an unknown role", [{ role: "judge", parts: [] } as never], "history[0]: it has the role"],
    ["a part that is not known", [{ role: "user", parts: [{ type: "song" }] } as never], 'type "song"'],
    ["no parts", [{ role: "user", parts: [] }], "no parts"],
    ["no message", [user("x"), null as never], "history[1]: it is not a message"],
    ["kinds that are mixed", [user("x"), { role: "user", content: "y" }], "history[1]: it has a different format"],
    ["a blob of elsewhere", [{ role: "user", parts: [{ type: "file", mediaType: "a/b", data: "blob:00/1" }] }], "blob"],
    ["a file that is none", [{ role: "user", parts: [{ type: "file", mediaType: "a/b", data: "?" }] }], "base64"],
    [
      "a dangerous key",
      [
        { ...call("c1"), parts: [{ ...call("c1").parts[0], input: JSON.parse('{"__proto__":1}') }] } as never,
        result("c1"),
      ],
      "history[0]",
    ],
  ])("%s", ([, history, why]) => refused(history, why));

  test("calls without results are left out if that is asked for", async () => {
    const { agent, model } = agentWith();
    const half: Message = { role: "assistant", parts: [...assistant("I look.").parts, ...call("c2").parts] as never };
    const history = [user("x"), half, user("y"), call("c3")];
    await agent.run("Go", { history, dropOpenCalls: true });
    expect(model.requests[0]?.messages).toEqual([user("x"), assistant("I look."), user("y"), user("Go")]);
  });
});

describe("messages of the AI SDK, as they are", verifies("LOOP-19"), () => {
  const shownOf = async (history: History, dropOpenCalls?: boolean) => {
    const { agent, model } = agentWith();
    await agent.run("Go", { history, ...(dropOpenCalls === undefined ? {} : { dropOpenCalls }) });
    return model.requests[0]?.messages.slice(0, -1);
  };

  const modelMessages: ModelMessage[] = [
    { role: "user", content: "What is there?" },
    {
      role: "user",
      content: [
        { type: "text", text: "See:" },
        { type: "image", image: new Uint8Array([1, 2, 3]), mediaType: "image/png" },
        { type: "file", data: new URL("https://example.com/a.pdf"), mediaType: "application/pdf", filename: "a.pdf" },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "Hm.", providerOptions: { anthropic: { signature: "abc" } } },
        { type: "reasoning", text: "Unsigned." },
        { type: "text", text: "I look." },
        { type: "tool-call", toolCallId: "c1", toolName: "look", input: { at: "sea", depth: undefined } },
        { type: "tool-call", toolCallId: "c2", toolName: "look", input: {} },
        { type: "tool-approval-request", approvalId: "a2", toolCallId: "c2" },
      ],
    },
    {
      role: "tool",
      content: [
        { type: "tool-approval-response", approvalId: "a2", approved: false, reason: "too deep" },
        {
          type: "tool-result",
          toolCallId: "c1",
          toolName: "look",
          output: { type: "content", value: [{ type: "text", text: "the sea" }] },
        },
      ],
    },
    { role: "assistant", content: "The sea." },
  ];

  test("ModelMessages", async () => {
    expect(await shownOf(modelMessages)).toEqual([
      user("What is there?"),
      {
        role: "user",
        parts: [
          { type: "text", text: "See:" },
          { type: "file", mediaType: "image/png", data: "AQID" },
          { type: "file", mediaType: "application/pdf", data: "https://example.com/a.pdf", filename: "a.pdf" },
        ],
      },
      {
        role: "assistant",
        parts: [
          { type: "reasoning", text: "Hm.", providerMetadata: { anthropic: { signature: "abc" } } },
          { type: "text", text: "I look." },
          { type: "tool_call", toolCallId: "c1", name: "look", input: { at: "sea" } },
          { type: "tool_call", toolCallId: "c2", name: "look", input: {} },
        ],
      },
      {
        role: "tool",
        parts: [
          {
            type: "tool_result",
            toolCallId: "c1",
            name: "look",
            output: { type: "content", parts: [{ type: "text", text: "the sea" }] },
          },
          {
            type: "tool_result",
            toolCallId: "c2",
            name: "look",
            output: { type: "text", text: "Denied: too deep" },
            isError: true,
          },
        ],
      },
      assistant("The sea."),
    ]);
  });

  test("files in each of their forms, with the media type that is known best", async () => {
    const bytes = new Uint8Array([1, 2, 3]);
    const inline = "data:image/png;base64,AQID";
    const forms: readonly (readonly [object, string, string])[] = [
      [{ type: "image", image: bytes }, "image/*", "AQID"],
      [{ type: "image", image: bytes, mediaType: undefined }, "image/*", "AQID"],
      [{ type: "image", image: inline }, "image/png", "AQID"],
      [{ type: "image", image: new URL("https://example.com/a.png") }, "image/*", "https://example.com/a.png"],
      [{ type: "file", data: bytes.buffer, mediaType: "application/pdf" }, "application/pdf", "AQID"],
      [{ type: "file", data: inline, mediaType: "image/*" }, "image/png", "AQID"],
    ];
    const content = forms.map(([part]) => part) as never;
    expect(await shownOf([{ role: "user", content }])).toEqual([
      { role: "user", parts: forms.map(([, mediaType, data]) => ({ type: "file", mediaType, data })) },
    ]);
    await expect(shownOf([{ role: "user", content: [{ type: "file", data: bytes } as never] }])).rejects.toThrow(
      "no media type",
    );
  });

  test("an approval that is open is refused, or left out", async () => {
    const open: ModelMessage[] = [
      { role: "user", content: "Go" },
      {
        role: "assistant",
        content: [
          { type: "text", text: "May I?" },
          { type: "tool-call", toolCallId: "c1", toolName: "look", input: {} },
          { type: "tool-approval-request", approvalId: "a1", toolCallId: "c1" },
        ],
      },
    ];
    await expect(shownOf(open)).rejects.toThrow('history[1]: the call "c1" is waiting for an approval');
    expect(await shownOf(open, true)).toEqual([user("Go"), assistant("May I?")]);
    const page: UIMessage[] = [
      {
        id: "1",
        role: "assistant",
        parts: [
          { type: "text", text: "May I?" },
          { type: "tool-look", toolCallId: "c1", state: "approval-requested", input: {}, approval: { id: "a1" } },
        ],
      },
    ];
    await expect(shownOf(page)).rejects.toThrow('history[0]: the call "c1" is waiting for an approval');
    expect(await shownOf(page, true)).toEqual([assistant("May I?")]);
  });

  test("UIMessages", async () => {
    const page: UIMessage[] = [
      {
        id: "1",
        role: "user",
        parts: [
          { type: "data-page", data: { open: true } },
          { type: "text", text: "What is there?" },
          { type: "file", mediaType: "image/png", url: "data:image/png;base64,AQID", filename: "sea.png" },
        ],
      },
      { id: "2", role: "user", parts: [{ type: "data-page", data: {} }] },
      {
        id: "3",
        role: "assistant",
        parts: [
          { type: "step-start" },
          { type: "reasoning", text: "Unsigned." },
          { type: "reasoning", text: "Hm.", providerMetadata: { anthropic: { signature: "abc" } } },
          { type: "tool-look", toolCallId: "c1", state: "output-available", input: {}, output: { seen: ["sea"] } },
          {
            type: "dynamic-tool",
            toolName: "smell",
            toolCallId: "c2",
            state: "output-error",
            input: {},
            errorText: "no",
          },
          { type: "step-start" },
          { type: "source-url", sourceId: "s1", url: "https://example.com", title: "Example" },
          { type: "text", text: "The sea." },
        ],
      },
    ];
    expect(await shownOf(page)).toEqual([
      {
        role: "user",
        parts: [
          { type: "text", text: "What is there?" },
          { type: "file", mediaType: "image/png", data: "AQID", filename: "sea.png" },
        ],
      },
      {
        role: "assistant",
        parts: [
          { type: "reasoning", text: "Hm.", providerMetadata: { anthropic: { signature: "abc" } } },
          { type: "tool_call", toolCallId: "c1", name: "look", input: {} },
          { type: "tool_call", toolCallId: "c2", name: "smell", input: {} },
        ],
      },
      {
        role: "tool",
        parts: [
          { type: "tool_result", toolCallId: "c1", name: "look", output: { type: "json", value: { seen: ["sea"] } } },
          { type: "tool_result", toolCallId: "c2", name: "smell", output: { type: "text", text: "no" }, isError: true },
        ],
      },
      {
        role: "assistant",
        parts: [
          { type: "source", id: "s1", url: "https://example.com", title: "Example" },
          { type: "text", text: "The sea." },
        ],
      },
    ]);
    const streaming: UIMessage[] = [
      {
        id: "1",
        role: "assistant",
        parts: [{ type: "tool-look", toolCallId: "c1", state: "input-available", input: {} }],
      },
    ];
    await expect(shownOf(streaming)).rejects.toThrow("history[0]: a call without a result");
    expect(await shownOf(streaming, true)).toEqual([]);
  });
});
