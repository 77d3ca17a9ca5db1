/**
 * What a trial repeats of a recorded session, and what it never does outside.
 */
import { expect, test } from "vitest";
import {
  createCase,
  type EvalCase,
  evaluate,
  inRecord,
  labelKey,
  sameAnswer,
  sameCalls,
  sameEnd,
} from "../../src/evals/index.js";
import {
  type Agent,
  type AnyTool,
  type Clock,
  createAgent,
  createMemoryStore,
  createSchedules,
  createWorker,
  defineTool,
  type Json,
  type Model,
  type Observer,
  type Store,
} from "../../src/index.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/index.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { verifies } from "../verifies.js";

const judges = [sameEnd(), inRecord(), sameCalls(), sameAnswer()];

/** Each effect of a tool, a hook or an observer. */
let effects: string[] = [];

function act<Result>(effect: string, result: Result): Result {
  effects.push(effect);
  return result;
}

const anyInput = { type: "object", properties: {} } as const;

function createTool(name: string, execute: AnyTool["execute"], more: Partial<AnyTool> = {}): AnyTool {
  return defineTool({ name, description: `It does: ${name}.`, input: anyInput, execute, ...more } as AnyTool);
}

/** The step of the conversation that has so many answers of a model: the same in each play. */
function byAnswers(steps: readonly ScriptedStep[]): Model {
  return createScriptedModel(({ messages }) => steps[messages.filter(({ role }) => role === "assistant").length], {
    record: false,
  });
}

/** Plays the case in all ways and expects the recorded end, without an effect. */
async function expectSamePlay(made: EvalCase, agent: Agent): Promise<void> {
  effects = [];
  for (const play of ["run", "steps"] as const) {
    const { trials } = await evaluate({ name: "worlds", agent, cases: [made], judges, play });
    expect([play, trials[0]?.departure, trials[0]?.scores]).toEqual([
      play,
      undefined,
      {
        sameEnd: { score: 1, passed: true },
        inRecord: { score: 1, passed: true },
        sameCalls: { score: 1, passed: true },
        sameAnswer: { score: 1, passed: true },
      },
    ]);
  }
  expect(effects).toEqual([]);
}

const proven = verifies("EVAL-1#play", "EVAL-1#outside");

test("Calls after a handoff get the results of the agent that made them then", proven, async () => {
  const createDesk = (store: Store) => {
    const look = createTool("look", () => act("look", "an order"));
    const billing: Agent = createAgent({
      name: "billing",
      store,
      model: byAnswers([{}, {}, { calls: [{ name: "look" }] }, { text: "It is settled." }]),
      tools: [createTool("look", () => act("look", "an invoice"))],
    });
    return createAgent({
      name: "triage",
      store,
      model: byAnswers([{ calls: [{ name: "look" }] }, { calls: [{ name: "transfer_to_billing" }] }]),
      tools: [look],
      handoffs: [{ name: "billing", description: "Payments.", agent: () => billing }],
    });
  };
  const store = createMemoryStore();
  await createDesk(store).run("Settle it.", { sessionId: "s" });
  expect(effects.splice(0)).toEqual(["look", "look"]);
  const made = await createCase(store, "s");
  expect(made.calls?.map(({ agent, tool }) => `${agent}/${tool}`)).toEqual([
    "triage/look",
    "triage/transfer_to_billing",
    "billing/look",
  ]);
  await expectSamePlay(made, createDesk(createMemoryStore()));
});

test("An agent behind a tool runs, and its tools and observers do nothing outside", proven, async () => {
  const observer: Observer = { name: "exporter", onEvent: () => void effects.push("exported") };
  const createBoss = (store: Store) => {
    const helper = createAgent({
      name: "helper",
      model: byAnswers([{ calls: [{ name: "search", input: { query: "warranty" } }] }, { text: "Two years." }]),
      tools: [createTool("search", () => act("search", "two years"))],
      observers: [observer],
      onResponse: () => void effects.push("called back"),
    });
    return createAgent({
      name: "boss",
      store,
      model: byAnswers([{ calls: [{ name: "helper", input: { task: "How long?" } }] }, { text: "It is two years." }]),
      tools: [helper.asTool({ description: "Finds out." })],
      observers: [observer],
      onResponse: () => void effects.push("called back"),
    });
  };
  const store = createMemoryStore();
  const boss = createBoss(store);
  await boss.run("How long is the warranty?", { sessionId: "s" });
  await boss.shutdown();
  expect(new Set(effects.splice(0))).toEqual(new Set(["search", "exported", "called back"]));
  await expectSamePlay(await createCase(store, "s"), createBoss(createMemoryStore()));
});

test("A durable tool's question, a denial and another input are answered as then", proven, async () => {
  const createTeller = (store: Store) =>
    createAgent({
      name: "teller",
      store,
      model: byAnswers([
        { calls: [{ name: "charge" }] },
        {
          calls: [
            { name: "mail", input: { to: "a" } },
            { name: "mail", input: { to: "b" } },
          ],
        },
        { text: "Charged and mailed." },
      ]),
      tools: [
        createTool(
          "charge",
          async (_: unknown, context) => {
            const answer = await context.ask({ message: "Which account?" });
            return context.step<string>("charge", () =>
              act("charge", answer.type === "answered" ? String(answer.value) : "none"),
            );
          },
          { durable: true },
        ),
        createTool("mail", () => act("mail", "sent"), { needsApproval: true }),
      ],
    });
  const store = createMemoryStore();
  const teller = createTeller(store);
  const session = teller.session("s");
  let result = await teller.run("Charge it.", { sessionId: "s" });
  while (result.status === "awaiting_human") {
    for (const { callKey, why, input } of result.approvals) {
      if (why === "tool") await session.answer(callKey, { type: "reply", value: "savings" });
      else if ((input as { readonly to: string }).to === "a")
        await session.answer(callKey, { type: "deny", note: "No." });
      else await session.answer(callKey, { type: "modify", input: { to: "c" } });
    }
    result = await session.resume();
  }
  expect(effects.splice(0)).toEqual(["charge", "mail"]);
  const made = await createCase(store, "s");
  expect(made.answers?.map(({ answer }) => answer)).toEqual(["reply", "deny", "modify"]);
  await expectSamePlay(made, createTeller(createMemoryStore()));
});

test("A recorded error comes at once, however long the tool's retries would wait", proven, async () => {
  const createCaller = (store: Store, baseMs: number) =>
    createAgent({
      name: "caller",
      store,
      model: byAnswers([{ calls: [{ name: "fetch" }] }, { text: "It is down." }]),
      tools: [
        createTool("fetch", () => act("fetch", Promise.reject(new Error("503"))), {
          readOnly: true,
          retry: { attempts: 3, backoff: { baseMs, maxMs: baseMs } },
        }),
      ],
    });
  const store = createMemoryStore();
  await createCaller(store, 1).run("Is it up?", { sessionId: "s" });
  expect(effects.splice(0)).toEqual(["fetch", "fetch", "fetch"]);
  await expectSamePlay(await createCase(store, "s"), createCaller(createMemoryStore(), 3_600_000));
});

test(
  "Changes of the session's data are made again: by tools, between runs, and while a run is under way",
  proven,
  async () => {
    const createCounter = (store: Store, onFirstCall: () => Promise<void> = async () => {}) =>
      createAgent({
        name: "counter",
        store,
        model: createScriptedModel(
          ({ messages }) => {
            const answers = messages.filter(({ role }) => role === "assistant").length;
            if (answers === 0) return { calls: [{ name: "count" }] };
            if (answers === 1) return { calls: [{ name: "read" }] };
            if (answers === 3) return { calls: [{ name: "read" }] };
            const last = messages.at(-1)?.parts[0];
            return { text: JSON.stringify(last?.type === "tool_result" ? last.output : null) };
          },
          { record: false },
        ),
        tools: [
          createTool("count", async (_: unknown, { data }) => {
            data.set("count", 1);
            await onFirstCall();
            return act("count", "counted");
          }),
          // The record answers the call of "read"; a policy reads the data itself.
          createTool("read", () => act("read", "read")),
        ],
        canExecuteTool: ({ tool }, { data }) => {
          if (tool.name === "read" && data.count !== 1) return { verdict: "deny", reason: "no count" };
          if (tool.name === "read" && data.level === "low") return { verdict: "deny", reason: "too low" };
          return "allow";
        },
      });
    const store = createMemoryStore();
    const counter: Agent = createCounter(store, () => counter.session("s").setData({ set: { steered: true } }));
    await counter.run("Count.", { sessionId: "s" });
    await counter.session("s").setData({ set: { level: "low" } });
    await counter.run("Again.", { sessionId: "s" });
    effects = [];
    const made = await createCase(store, "s");
    expect(made.turns[1]?.data).toEqual([{ set: { level: "low" } }]);
    expect(made.sessions?.[0]?.arrivals).toEqual([{ step: 1, data: { set: { steered: true } } }]);
    expect(made.expected?.calls?.map(({ outcome }) => outcome)).toEqual(["ok", "ok", "denied"]);
    await expectSamePlay(made, createCounter(createMemoryStore()));
  },
);

test("A person's steering comes at the same model call", proven, async () => {
  const createWriter = (store: Store, onCall: () => Promise<void> = async () => {}) =>
    createAgent({
      name: "writer",
      store,
      model: createScriptedModel(
        ({ messages }) => {
          const words = JSON.stringify(messages);
          if (!words.includes("tool_result")) return { calls: [{ name: "draft" }] };
          return { text: words.includes("Shorter!") ? "Short." : "A long text." };
        },
        { record: false },
      ),
      tools: [
        createTool("draft", async () => {
          await onCall();
          return act("draft", "a draft");
        }),
      ],
    });
  const store = createMemoryStore();
  const writer: Agent = createWriter(store, () => writer.session("s").steer("Shorter!"));
  expect((await writer.run("Write.", { sessionId: "s" })).text).toBe("Short.");
  effects = [];
  const made = await createCase(store, "s");
  expect(made.sessions?.[0]?.arrivals).toMatchObject([{ step: 1, steer: [{ parts: [{ text: "Shorter!" }] }] }]);
  await expectSamePlay(made, createWriter(createMemoryStore()));
});

test("A record ends before the run that a person aborted", proven, async () => {
  const store = createMemoryStore();
  const agent: Agent = createAgent({
    store,
    model: byAnswers([{ text: "One." }, { calls: [{ name: "slow" }] }]),
    tools: [
      createTool("slow", async (_: unknown, { signal, sessionId }) => {
        await agent.session(sessionId).abort();
        signal.throwIfAborted();
      }),
    ],
  });
  await agent.run("First.", { sessionId: "s" });
  expect(await agent.run("Second.", { sessionId: "s" })).toMatchObject({ status: "aborted" });
  const made = await createCase(store, "s");
  expect(made.turns).toHaveLength(1);
  expect(made.expected).toMatchObject({ text: "One.", steps: 1 });
  await agent.session("s").fork({ at: 1, sessionId: "new" });
  await expect(createCase(store, "new")).rejects.toMatchObject({ code: "bad_input" });
  await expect(createCase(store, "missing")).rejects.toMatchObject({ code: "no_session" });
});

test("Tools of a plugin are played without the plugin, and ask a person as they did", proven, async () => {
  const model = byAnswers([
    { calls: [{ name: "calendar_list" }] },
    { calls: [{ name: "calendar_book", input: { at: "noon" } }] },
    { text: "Booked." },
  ]);
  const list = createTool("calendar_list", () => act("list", "free at noon"));
  const book = createTool("calendar_book", () => act("book", "booked"), { needsApproval: true });
  const store = createMemoryStore();
  const agent = createAgent({ name: "desk", store, model, tools: [list, book] });
  const waiting = await agent.run("Book noon.", { sessionId: "s" });
  if (waiting.status !== "awaiting_human") throw new Error(waiting.status);
  for (const { callKey } of waiting.approvals) await agent.session("s").answer(callKey, { type: "approve" });
  await agent.session("s").resume();
  const made = await createCase(store, "s", { outsideTools: ["calendar_*"] });
  expect(made.outsideTools?.map(({ specification, needsApproval }) => [specification.name, needsApproval])).toEqual([
    ["calendar_list", undefined],
    ["calendar_book", true],
  ]);
  await expectSamePlay(made, createAgent({ name: "desk", model }));
});

test("A function can answer the calls of a tool, and choose among the recorded results", proven, async () => {
  const createSearcher = (store: Store, query: string) =>
    createAgent({
      name: "searcher",
      store,
      model: byAnswers([{ calls: [{ name: "search", input: { query } }] }, { text: "Found." }]),
      tools: [createTool("search", () => act("search", "two years"))],
    });
  const store = createMemoryStore();
  await createSearcher(store, "warranty").run("How long?", { sessionId: "s" });
  const cases = [await createCase(store, "s")];
  effects = [];
  const agent = createSearcher(createMemoryStore(), "warranty period");
  const play = (
    search?: (input: never, call: { readonly recorded: readonly { readonly output: Json }[] }) => unknown,
  ) =>
    evaluate({
      name: "search",
      agent,
      cases,
      judges: [inRecord()],
      ...(search === undefined ? {} : { tools: { search } }),
    });
  expect((await play()).trials[0]?.passed).toBe(false);
  expect((await play((_, { recorded }) => recorded[0]?.output)).trials[0]).toMatchObject({ passed: true });
  expect(effects).toEqual([]);
  await expect(evaluate({ name: "search", agent, cases, judges, tools: { serach: "real" } })).rejects.toThrow(
    /names "serach", but no agent under test has this tool.*Known tools: .*search/,
  );
});

test("The option tools takes the tools of agents that are reached, and tools from outside", async () => {
  const helper = createAgent({ name: "helper", model: byAnswers([]), tools: [createTool("search", () => "found")] });
  const clerk = createAgent({
    name: "clerk",
    model: byAnswers([]),
    tools: [createTool("file", () => "filed"), helper.asTool({ description: "Finds out." })],
  });
  const desk = createAgent({
    name: "desk",
    model: byAnswers([{ text: "Done." }]),
    handoffs: [{ name: "clerk", description: "Files.", agent: () => clerk }],
  });
  const outside = { name: "calendar_add", description: "Adds.", inputSchema: anyInput };
  const made: EvalCase = {
    v: 1,
    name: "plain",
    turns: [{ input: [{ role: "user", parts: [{ type: "text", text: "Hello." }] }] }],
    outsideTools: [{ agent: "desk", specification: outside }],
  };
  const play = (...names: readonly string[]) =>
    evaluate({
      name: "reached",
      agent: desk,
      cases: [made],
      judges: [inRecord()],
      tools: Object.fromEntries(names.map((name) => [name, () => "made up"])),
    });
  expect((await play("file", "search", "calendar_add")).trials[0]?.passed).toBe(true);
  await expect(play("serach")).rejects.toThrow(/Known tools: .*calendar_add, .*file, .*search/);
});

test("The schema of a tool is compiled once for a trial, however many calls there are", async () => {
  let compiled = 0;
  const input = {
    "~standard": {
      version: 1 as const,
      vendor: "counted",
      validate: (value: unknown) => ({ value }),
      jsonSchema: {
        input() {
          compiled += 1;
          return { type: "object" };
        },
        output: () => ({ type: "object" }),
      },
    },
  };
  const createSearcher = (calls: number, store: Store) =>
    createAgent({
      name: "searcher",
      store,
      model: byAnswers([
        ...Array.from({ length: calls }, (_, query) => ({ calls: [{ name: "search", input: { query } }] })),
        { text: "Found." },
      ]),
      tools: [createTool("search", () => "found", { input } as Partial<AnyTool>)],
    });
  const countCompiled = async (calls: number) => {
    const store = createMemoryStore();
    await createSearcher(calls, store).run("Search.", { sessionId: "s" });
    const cases = [await createCase(store, "s")];
    const agent = createSearcher(calls, createMemoryStore());
    compiled = 0;
    const { trials } = await evaluate({ name: "search", agent, cases, judges: [sameCalls()] });
    expect(trials[0]?.passed).toBe(true);
    return compiled;
  };
  expect(await countCompiled(8)).toBe(await countCompiled(1));
});

test("Data that a program keeps under the key `label` is its own, and not a person's label", async () => {
  const createReader = (store: Store) =>
    createAgent({
      name: "reader",
      store,
      model: createScriptedModel(
        ({ messages }) => (messages.at(-1)?.role === "tool" ? { text: "Read." } : { calls: [{ name: "read" }] }),
        { record: false },
      ),
      tools: [createTool("read", () => "read")],
      canExecuteTool: (_, { data }) => (data.label === undefined ? { verdict: "deny", reason: "no label" } : "allow"),
    });
  const store = createMemoryStore();
  const reader = createReader(store);
  await reader.run("Read.", { sessionId: "s" });
  await reader.session("s").setData({ set: { label: { good: true } } });
  await reader.run("Again.", { sessionId: "s" });
  await reader.session("s").setData({ set: { [labelKey]: { good: false } } });
  const made = await createCase(store, "s");
  expect(made.label).toMatchObject({ good: false });
  expect(made.turns[1]?.data).toEqual([{ set: { label: { good: true } } }]);
  await expectSamePlay({ ...made, label: { good: true } }, createReader(createMemoryStore()));
});

test("A run of a schedule, in which a tool slept for a day, is played in no time", proven, async () => {
  const aDay = 86_400_000;
  const createPress = (store: Store, clock?: Clock) => {
    const digest = createTool(
      "digest",
      async (_, { sleep }) => {
        await sleep("until tomorrow", { ms: aDay });
        return act("digest", "the digest");
      },
      { durable: true },
    );
    const model = byAnswers([{ calls: [{ name: "digest" }] }, { text: "It is sent." }]);
    return createAgent({ name: "press", store, model, tools: [digest], ...(clock && { clock }) });
  };
  const store = createMemoryStore();
  const clock = createTestClock(Date.UTC(2026, 10, 29, 12));
  const schedules = createSchedules({ store, clock });
  await schedules.put({ id: "daily", cron: "0 13 * * *", agent: "press", input: "What is new?" });
  const work = () => createWorker({ store, agents: [createPress(store, clock)], clock }).runUntilIdle();
  clock.jump(aDay / 24);
  await work();
  const [slot] = await schedules.slots("daily");
  await schedules.remove("daily");
  clock.jump(aDay);
  await work();
  const sessionId = slot?.sessionId ?? "";
  expect(await createPress(store).session(sessionId).result()).toMatchObject({ status: "completed" });
  expect(effects.splice(0)).toEqual(["digest"]);
  await expectSamePlay(await createCase(store, sessionId), createPress(createMemoryStore()));
});
