/**
 * What was said by mistake is taken out of a session.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import {
  type AnyTool,
  type ClientSession,
  createAgent,
  createClient,
  createMemoryStore,
  type Json,
  type PublicEvent,
  type Session,
  type Store,
} from "../../src/index.js";
import { modelRequests } from "../../src/inspect.js";
import { createHolder } from "../../src/platform/holder.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { loadInto } from "../golden/recording.js";
import { openFileStore } from "../stores/open.js";
import { createDeferred } from "../support/agents.js";
import { localStores, withStore } from "../support/stores.js";
import { exportToText, goldenRecordings, importText } from "../transfer/transfer.js";
import { verifies } from "../verifies.js";

const proven = verifies("SEC-14");

/** With characters that JSON escapes. */
const secret = 'hunter2-"quoted"\\and-long-ABCDEFGH';
const id = { sessionId: "s", runId: "r" } as const;
const mark = "[redacted]";

const lookUp: AnyTool = {
  name: "look_up",
  description: "Looks a customer up.",
  input: { type: "object" },
  // Large, so that most of it is a blob; and nested JSON, in which the secret is escaped once more.
  execute: () => ({ body: JSON.stringify({ key: secret }), filler: "x".repeat(60_000), tail: secret }),
};

const steps: readonly ScriptedStep[] = [
  { reasoning: `The key is ${secret}.`, calls: [{ name: "look_up", input: { query: { key: secret, n: 1 } } }] },
  { text: `I used ${secret} and it worked.` },
];

async function leak(store: Store) {
  const model = createScriptedModel([...steps, { text: "Yes." }]);
  const prompt = `You know ${secret}.`;
  const agent = createAgent({ model, store, tools: [lookUp], systemPrompt: prompt });
  await agent.run(`My key is ${secret}, use it.`, id);
  const session = agent.session("s");
  await session.setData({ set: { kept: { of: secret } } });
  return { agent, model, session };
}

async function eventsOf(
  session: Pick<Session, "events"> | Pick<ClientSession, "events">,
): Promise<readonly PublicEvent[]> {
  const events: PublicEvent[] = [];
  for await (const item of session.events({ follow: false, live: false })) events.push(item as PublicEvent);
  return events;
}

const escaped = JSON.stringify(secret).slice(1, -1);

function expectNoSecret(text: string): void {
  for (const form of [secret, escaped, JSON.stringify(escaped).slice(1, -1), "hunter2"])
    expect(text).not.toContain(form);
}

/** Every place from which the words of a session can be read. */
async function everything(store: Store, session: Session): Promise<string> {
  const requests = [];
  for await (const request of modelRequests(store, "s")) requests.push(request);
  const states = [];
  for (let seq = 1; seq <= (await session.state()).seq; seq += 1) states.push(await store.loadAt("s", seq));
  const parts = [
    await store.read("s"),
    await session.messages(),
    await session.state(),
    await session.data(),
    await session.result("r"),
    await eventsOf(session),
    await store.list(),
    requests,
    states,
    await exportToText(store),
  ];
  return parts.map((part) => JSON.stringify(part)).join("\n");
}

describe.each(localStores)("in $name", ({ open }) => {
  test(
    "a key is removed from messages, calls, results, prompts, blobs, the title, the data and all that reads the log",
    proven,
    () =>
      withStore(open, async (store) => {
        const { agent, session } = await leak(store);
        const before = await eventsOf(session);
        const { seq: last } = await session.state();
        const result = await session.redact({ text: secret, by: "Ada", note: "A key was pasted." });
        expect(result).toMatchObject({ sessionId: "s", seq: last + 1, children: [] });
        expect(result.entries.length).toBeGreaterThan(4);
        expect(result.blobs).toBeGreaterThan(1);
        expectNoSecret(await everything(store, session));
        const [first] = await session.messages();
        expect(first).toEqual({ role: "user", parts: [{ type: "text", text: `My key is ${mark}, use it.` }] });
        expect((await store.read("s")).at(-1)?.event).toMatchObject({
          type: "content_redacted",
          entries: result.entries,
          by: "Ada",
          note: "A key was pasted.",
        });
        // Cursors stay: as many events, of the same types, at the same cursors.
        const after = await eventsOf(session);
        const shape = (events: readonly PublicEvent[]) => events.map(({ type, seq, index }) => [type, seq, index]);
        expect(shape(after.slice(0, -1))).toEqual(shape(before));
        expect(after.at(-1)).toMatchObject({ type: "content_redacted", entries: result.entries, by: "Ada" });
        expect(await store.verify()).toEqual([]);
        // The log is consistent with itself: it can be replayed, carried on, forked, exported and redacted again.
        expect(await session.replay()).toMatchObject({ difference: null, redactedFrom: 1 });
        expect(await session.redact({ text: secret })).toMatchObject({ seq: null, entries: [], blobs: 0 });
        expect(await agent.run("Do you know it?", { sessionId: "s" })).toMatchObject({
          status: "completed",
          text: "Yes.",
        });
        const fork = await session.fork();
        expectNoSecret(JSON.stringify(await fork.messages()));
        const copy = createMemoryStore();
        await importText(copy, await exportToText(store, ["s"]));
        expect(await copy.verify()).toEqual([]);
      }),
  );

  test("an entry is redacted as a whole, with the title that repeats its words", proven, () =>
    withStore(open, async (store) => {
      const agent = createAgent({ model: createScriptedModel([{ text: "A cat." }, { text: "I see." }]), store });
      const png = "iVBORw0KGgo=";
      await agent.run(
        [
          { type: "text", text: "What is on my badge,\n number 4711?" },
          { type: "file", mediaType: "image/png", data: png },
        ],
        id,
      );
      const session = agent.session("s");
      expect(await session.redact({ seq: 2, by: "Ada" })).toMatchObject({ entries: [1, 2] });
      const text = await everything(store, session);
      // The number alone may be a part of a hash or a time.
      expect(text).not.toContain("number 4711");
      expect(text).not.toContain(png);
      expect((await session.messages())[0]).toEqual({
        role: "user",
        parts: [
          { type: "text", text: mark },
          { type: "text", text: mark },
        ],
      });
      expect((await store.describe("s"))?.info?.title).toBe(mark);
      expect(await session.replay()).toMatchObject({ difference: null });
      expect(await store.verify()).toEqual([]);
      expect(await agent.run("Go on.", { sessionId: "s" })).toMatchObject({ text: "I see." });
    }),
  );

  test(
    "a call is redacted: its input, its output and the whole of an output that was cut; the call next to it stays",
    proven,
    () =>
      withStore(open, async (store) => {
        const tools: AnyTool[] = [
          lookUp,
          { name: "add", description: "Adds.", input: { type: "object" }, execute: () => "the sum is 3" },
        ];
        const calls = [
          { name: "add", input: { a: 1 } },
          { name: "look_up", input: { ssn: 123456789 } },
        ];
        const agent = createAgent({ model: createScriptedModel([{ calls }, { text: "Done." }]), store, tools });
        await agent.run("Look it up.", id);
        const session = agent.session("s");
        await session.redact({ callKey: "r/1/2" });
        const text = await everything(store, session);
        expectNoSecret(text);
        expect(text).not.toContain("123456789");
        expect(text).toContain("the sum is 3");
        expect(JSON.stringify(await session.messages())).toContain('{"a":1}');
        expect(await session.replay()).toMatchObject({ difference: null });
        expect(await store.verify()).toEqual([]);
      }),
  );

  test("a number is removed wherever it is content, and what is around it stays JSON", proven, () =>
    withStore(open, async (store) => {
      const card = 4111111111111111;
      const outputs: readonly Json[] = [{ card, kept: 7 }, card, { list: [card], filler: "x".repeat(60_000) }];
      const tool: AnyTool = {
        name: "pay",
        description: "Pays.",
        input: { type: "object" },
        execute: (input) => outputs[(input as { readonly n: number }).n],
      };
      const calls = outputs.map((_, n) => ({ name: "pay", input: { n, card } }));
      const agent = createAgent({
        model: createScriptedModel([{ calls }, { text: "Paid." }, { text: "Yes." }]),
        store,
        tools: [tool],
      });
      await agent.run("Pay.", id);
      const session = agent.session("s");
      await session.setData({ set: { card, of: { card } } });
      await store.putBlob("s", new TextEncoder().encode(JSON.stringify({ card })));
      expect(await everything(store, session)).toContain(String(card));
      await session.redact({ text: String(card) });
      const text = await everything(store, session);
      expect(text).not.toContain(String(card));
      expect(JSON.stringify(await session.messages())).toContain(`{"card":"${mark}","kept":7}`);
      expect(await session.data()).toEqual({ card: mark, of: { card: mark } });
      expect(await store.verify()).toEqual([]);
      expect(await session.replay()).toMatchObject({ difference: null });
      expect(await agent.run("Done?", { sessionId: "s" })).toMatchObject({ status: "completed", text: "Yes." });
    }),
  );

  test("a blob that no entry names is removed, also if no entry has the text", proven, () =>
    withStore(open, async (store) => {
      const agent = createAgent({ model: createScriptedModel([{ text: "Hello." }]), store });
      await agent.run("Hello.", id);
      const hash = await store.putBlob("s", new TextEncoder().encode(`It is ${secret}.`));
      const kept = await store.putBlob("s", new TextEncoder().encode("Nothing secret."));
      const session = agent.session("s");
      expect(await session.redact({ text: secret })).toMatchObject({ seq: null, entries: [], blobs: 1 });
      expect(await store.getBlob("s", hash)).toBeNull();
      expect(await store.getBlob("s", kept)).not.toBeNull();
      expect(await store.verify()).toEqual([]);
      expect(await session.redact({ text: secret })).toMatchObject({ seq: null, entries: [], blobs: 0 });
    }),
  );

  test("a client of the store redacts as an agent does", proven, () =>
    withStore(open, async (store) => {
      const { session } = await leak(store);
      const client = createClient({ store }).session("s");
      expect((await client.redact({ text: [secret] })).entries.length).toBeGreaterThan(4);
      expectNoSecret(await everything(store, session));
    }),
  );

  test("sessions that its calls began lose the text as well", proven, () =>
    withStore(open, async (store) => {
      const child = createAgent({
        name: "helper",
        model: createScriptedModel(() => ({ text: `Got ${secret}.` })),
        store,
      });
      const tool = child.asTool({ name: "help", description: "Helps." });
      const model = createScriptedModel([
        { calls: [{ name: "help", input: { task: `Use ${secret}.` } }] },
        { text: "Done." },
      ]);
      const agent = createAgent({ model, store, tools: [tool] });
      await agent.run("Get help.", id);
      const result = await agent.session("s").redact({ text: secret });
      expect(result.children).toHaveLength(1);
      expectNoSecret(await exportToText(store));
      expect(await agent.session("s").replay()).toMatchObject({ difference: null, sessions: 2 });
      expect(await store.verify()).toEqual([]);
    }),
  );
});

test(
  "nothing is redacted while a run is under way or waits for a person, and the error says what to do",
  proven,
  async () => {
    const store = createMemoryStore();
    const [begun, goOn] = [createDeferred(), createDeferred()];
    const tool: AnyTool = {
      name: "wait",
      description: "Waits.",
      input: { type: "object" },
      async execute() {
        begun.resolve();
        await goOn.promise;
        return "done";
      },
    };
    const agent = createAgent({
      model: createScriptedModel(({ messages }) =>
        messages.some(({ role }) => role === "tool") ? { text: "Done." } : { calls: [{ name: "wait" }] },
      ),
      store,
      tools: [tool],
      canExecuteTool: (_call, { sessionId }) => (sessionId === "asked" ? "ask" : "allow"),
    });
    const run = agent.run(`Mind ${secret}.`, id);
    await begun.promise;
    const refused = { code: "session_busy", message: expect.stringContaining("or abort it") };
    await expect(agent.session("s").redact({ text: secret })).rejects.toMatchObject(refused);
    goOn.resolve();
    await run;
    expect(await agent.session("s").redact({ text: secret })).toMatchObject({ entries: [1, 2] });
    await agent.run(`Mind ${secret}.`, { sessionId: "asked" });
    await expect(agent.session("asked").redact({ text: secret })).rejects.toMatchObject(refused);
    await agent.session("asked").abort();
    await agent.session("asked").redact({ text: secret });
    expectNoSecret(await exportToText(store));
  },
);

test(
  "a subscriber is told which entries have other words, and one that comes later sees only those",
  proven,
  async () => {
    const store = createMemoryStore();
    const { session } = await leak(store);
    const { seq } = await session.state();
    const told = (async () => {
      for await (const item of session.events({ after: seq })) if (item.type === "content_redacted") return item;
      return null;
    })();
    const { entries } = await session.redact({ text: secret });
    expect(await told).toMatchObject({ entries, seq: seq + 1 });
    expectNoSecret(JSON.stringify(await eventsOf(session)));
  },
);

test("what cannot be redacted is refused, and no message repeats the text", proven, async () => {
  const store = createMemoryStore();
  const { session } = await leak(store);
  const cases: readonly [unknown, RegExp][] = [
    [{}, /has nothing to remove/],
    [{ text: "abc12" }, /at least 6 characters/],
    [{ text: [secret, 7] }, /at least 6 characters/],
    [{ seq: 0 }, /entry number/],
    [{ seq: 99 }, /has no entry or call "99"; its last entry is/],
    [{ callKey: "r/9/9" }, /has no entry or call "r\/9\/9"/],
    [{ secret: "abcdefgh" }, /Do you mean text\?/],
  ];
  for (const [options, message] of cases) {
    const error = await session.redact(options as never).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "bad_input", message: expect.stringMatching(message) });
    expect(String(error)).not.toMatch(/abc12|abcdefgh/);
  }
  expect((await session.state()).redactedSeq).toBeUndefined();
  await expect(createClient({ store }).session("none").redact({ text: secret })).rejects.toMatchObject({
    code: "no_session",
  });
  expect(await store.describe("none")).toBeNull();
});

test("the lease is kept however long the looks at a log take, so no run begins meanwhile", proven, async () => {
  const store = createMemoryStore();
  await leak(store);
  const clock = createTestClock(Date.now());
  const claims: string[] = [];
  const slow: Store = {
    ...store,
    async read(...asked) {
      await clock.advance(45_000);
      const claimed = await store.claim("s", { holder: createHolder(), now: clock.now(), leaseMs: 1_000 });
      claims.push(claimed.type);
      return store.read(...asked);
    },
  };
  const redacted = await createClient({ store: slow, clock }).session("s").redact({ seq: 1 });
  expect(redacted.entries).toEqual([1]);
  expect(claims.length).toBeGreaterThan(1);
  expect(new Set(claims)).toEqual(new Set(["held"]));
});

test("signatures of a provider go with the words that they stand for, and others stay", proven, async () => {
  const store = createMemoryStore();
  const signed = (text: string, signature: string) => [
    { kind: "reasoning-start", id: signature } as const,
    { kind: "reasoning-delta", id: signature, text } as const,
    { kind: "reasoning-end", id: signature, providerMetadata: { anthropic: { signature } } } as const,
  ];
  const deltas = [
    { kind: "start" } as const,
    ...signed(`It is ${secret}.`, "first"),
    ...signed("Nothing to hide.", "second"),
    { kind: "text-start", id: "t" } as const,
    { kind: "text-delta", id: "t", text: "Done." } as const,
    { kind: "text-end", id: "t" } as const,
    { kind: "done", finishReason: { unified: "stop" }, usage: {} } as const,
  ];
  const agent = createAgent({ model: createScriptedModel([{ deltas }]), store });
  const run = await agent.run("Hello.", id);
  expect(run.status).toBe("completed");
  await agent.session("s").redact({ text: secret });
  const parts = (await agent.session("s").messages()).at(-1)?.parts;
  expect(parts?.[0]).toEqual({ type: "reasoning", text: `It is ${mark}.` });
  expect(parts?.[1]).toMatchObject({
    text: "Nothing to hide.",
    providerMetadata: { anthropic: { signature: "second" } },
  });
});

test("what is left of a secret where an output or a title was cut goes, too", proven, async () => {
  const store = createMemoryStore();
  const long = `sk-${"0123456789".repeat(6)}`;
  const tool: AnyTool = {
    name: "dump",
    description: "Dumps.",
    input: { type: "object" },
    maxOutputBytes: 1_000,
    execute: () => `${"x".repeat(480)}${long}${"y".repeat(5_000)}${long}${"z".repeat(480)}`,
  };
  const model = createScriptedModel([{ calls: [{ name: "dump" }] }, { text: "Done." }]);
  const agent = createAgent({ model, store, tools: [tool] });
  await agent.run(`This is the key that you are to use for it: ${long}`, id);
  const half = long.slice(0, 12);
  expect(await exportToText(store)).toContain(half);
  await agent.session("s").redact({ text: long });
  const text = await exportToText(store);
  expect(text).not.toContain(half);
  expect(text).not.toContain(long.slice(-12));
});

test("no byte of it stays in the files of SQLite", proven, async () => {
  const { store, path, close } = await openFileStore({ synchronous: "normal" });
  const text = () =>
    readdirSync(dirname(path))
      .map((file) => readFileSync(`${dirname(path)}/${file}`, "latin1"))
      .join("");
  try {
    // Other sessions before and after, so that pages are shared and log frames are many.
    const filler = createAgent({ model: createScriptedModel(() => ({ text: "Yes. ".repeat(50) })), store });
    for (let count = 0; count < 5; count += 1) await filler.run("Hello.");
    const { session } = await leak(store);
    for (let count = 0; count < 5; count += 1) await filler.run("Hello.");
    expect(text()).toContain("hunter2");
    await session.redact({ text: secret });
    expectNoSecret(text());
    expect(readdirSync(dirname(path)).some((file) => file.endsWith("-redacting"))).toBe(false);
    expect(await store.verify()).toEqual([]);
  } finally {
    await close();
  }
});

test("a redacted log of every kind stays valid, whichever of its words are removed", proven, async () => {
  for (const { name, recording } of goldenRecordings) {
    const store = createMemoryStore();
    await loadInto(store, recording);
    for (const { sessionId, activity, inbox } of await store.list()) {
      if (activity !== "resting" || inbox > 0) continue;
      const client = createClient({ store }).session(sessionId);
      const before = await eventsOf(client);
      const { seq: last } = await client.state();
      const seqs = Array.from({ length: last }, (_, index) => index + 1);
      await client.redact({ seq: seqs }).catch((error: { code?: string }) => {
        // A run that is over may still owe its parent a result.
        if (error.code !== "session_busy") throw error;
      });
      const after = await eventsOf(client);
      const shape = (events: readonly PublicEvent[]) => events.map(({ type, seq, index }) => `${type} ${seq}.${index}`);
      expect(shape(after).slice(0, before.length), `${name} ${sessionId}`).toEqual(shape(before));
      expect(await store.verify(), name).toEqual([]);
      await client.messages();
      for await (const request of modelRequests(store, sessionId)) expect(request.messages).toBeDefined();
    }
  }
});

test("a long text that repeats itself is taken out at once, also where an output was cut", proven, async () => {
  const long = `${"a".repeat(300_000)}!`;
  const end = `b${"a".repeat(120_000)}c`;
  const store = createMemoryStore();
  const read: AnyTool = {
    name: "read",
    description: "Reads.",
    input: { type: "object" },
    execute: () => long + end + long,
  };
  const model = createScriptedModel([{ calls: [{ name: "read", input: {} }] }, { text: "Done." }]);
  await createAgent({ model, store, tools: [read] }).run("Read.", id);
  const { entries } = await createClient({ store }).session("s").redact({ text: long });
  expect(entries).not.toEqual([]);
  const events = JSON.stringify(await eventsOf(createClient({ store }).session("s")));
  expect(events).toContain(mark);
  expect(events).not.toMatch(/a{100}!/);
});
