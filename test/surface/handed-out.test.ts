/**
 * What is handed out can be changed by nobody: each public way to an object is walked, each object in it is changed if it
 * can be, and the log and the next request of the model stay as they were.
 */
import { describe, expect, test } from "vitest";
import * as core from "../../src/core/index.js";
import * as pawl from "../../src/index.js";
import {
  type Agent,
  createAgent,
  createClient,
  createEngine,
  createSchedules,
  defineTool,
  type Hook,
  type HookContext,
  pendingApprovals,
  type Store,
} from "../../src/index.js";
import * as inspect from "../../src/inspect.js";
import {
  findBeginning,
  modelRequest,
  modelRequests,
  readSessionLook,
  recordedAttempts,
  sessionSteps,
  sessionTracePage,
  traceSession,
} from "../../src/inspect.js";
import * as models from "../../src/models/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { collect } from "../support/agents.js";
import { localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

/** Counts the objects that were met, and those that could be changed. */
type Walk = { met: number; changed: number; readonly seen: WeakSet<object> };

const newWalk = (): Walk => ({ met: 0, changed: 0, seen: new WeakSet() });

/** Tries to change every plain object and array that can be reached. */
function vandalise(value: unknown, walk: Walk): void {
  if (typeof value !== "object" || value === null || walk.seen.has(value)) return;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== Array.prototype && prototype !== null) return;
  walk.seen.add(value);
  walk.met += 1;
  const object = value as Record<string, unknown>;
  for (const child of Object.values(object)) vandalise(child, walk);
  const isChanged = Reflect.set(object, "vandalised", true);
  for (const key of Object.keys(object)) {
    if (typeof object[key] === "function") continue;
    Reflect.set(object, key, typeof object[key] === "string" ? "changed" : "vandalised");
  }
  if (isChanged) walk.changed += 1;
}

/** Members that give plain data, and how each is asked. A member that is neither here nor below fails the test. */
type Ways = { readonly [name: string]: () => unknown };

/** Members that give no plain data of a session. */
const givesNothing = {
  agent: ["asTool", "iterate", "run", "runStream", "session", "shutdown", "with"],
  session: [
    "abort",
    "answer",
    "compact",
    "fork",
    "id",
    "leave",
    "provideResult",
    "redact",
    "rename",
    "resume",
    "seed",
    "send",
    "setData",
    "steer",
    "unsend",
  ],
  client: [
    ...["abort", "answer", "fork", "hasAnswerFrom", "id", "provideResult"],
    ...["redact", "rename", "send", "setData", "steer", "unsend"],
  ],
  schedules: ["remove"],
  engine: ["agent", "recover", "shutdown", "store", "work"],
  store: [
    ...[
      "claim",
      "close",
      "commit",
      "delete",
      "due",
      "post",
      "putBlob",
      "redact",
      "release",
      "renew",
      "tellsAllChanges",
      "watch",
    ],
  ],
} as const;

/** Exports that are no function: constants, and errors. */
const constants: { readonly [name: string]: unknown } = Object.fromEntries(
  [...Object.entries(pawl), ...Object.entries(core), ...Object.entries(models)].filter(
    ([, value]) => typeof value !== "function",
  ),
);

/** Every exported function, by what the walk does with it. A new export belongs to one of these. */
const functions = {
  /** Gives plain data of a session: it is walked below. */
  walked: [
    ...["findBeginning", "modelRequest", "modelRequests", "pendingApprovals", "readSessionLook", "recordedAttempts"],
    ...["sessionSteps", "sessionTracePage", "traceSession"],
  ],
  /** Makes an object whose members are walked below. */
  made: ["createAgent", "createClient", "createEngine", "createMemoryStore", "createSchedules"],
  /** Gives text, numbers, errors, or new objects that nobody shares. */
  fresh: [
    "PawlError",
    "StepError",
    "TaskComplete",
    "addUsage",
    "createPluginManager",
    "createClientCheck",
    "createRedaction",
    "guard",
    "createWorker",
    "defineTool",
    "deleteSession",
    "defineToolFor",
    "done",
    "estimateTokens",
    "exportSessions",
    "findOpenRun",
    "fromAiSdkTool",
    "importSessions",
    "createStreamRedaction",
    "isCallOf",
    "isDrivenBy",
    "isHeldHere",
    "isHolderDead",
    "pruneSessions",
    "readAgentTool",
    "redactJson",
    "redactOutput",
    "stepCount",
    "textMatches",
    "textOf",
    "toolCalled",
    "toolCallsOf",
  ],
} as const;

test("every export is in the walk", verifies("LOOP-21"), () => {
  const exported = Object.entries({ ...pawl, ...inspect }).flatMap(([name, value]) =>
    typeof value === "function" ? [name] : [],
  );
  const known = Object.values(functions).flat();
  expect(exported.toSorted()).toEqual(known.toSorted());
  // Fewer would mean that the walk no longer sees the whole package.
  expect(exported.length + Object.keys(constants).length).toBeGreaterThan(30);
});

test("exported constants cannot be changed", verifies("LOOP-21"), () => {
  const before = JSON.stringify(constants);
  const walk = newWalk();
  for (const constant of Object.values(constants)) vandalise(constant, walk);
  expect(walk.changed).toBe(0);
  expect(walk.met).toBeGreaterThan(50);
  expect(JSON.stringify(constants)).toBe(before);
});

/** Hooks at every point: each changes its subject, if it can. */
function vandals(walk: Walk): Hook {
  const change = (subject: unknown, context?: HookContext) => {
    vandalise([subject, context?.data], walk);
    return undefined;
  };
  return {
    name: "vandal",
    beforeRun: change,
    beforeStep: change,
    beforeLLMCall: (subject) => change([subject, subject.messages]),
    besideLLMCall: change,
    afterLLMCall: change,
    beforeToolCall: change,
    afterToolCall: change,
    afterStep: change,
    beforeStop: change,
    onError: change,
    beforeCompaction: change,
    onCompacted: change,
    afterRun: change,
  };
}

/** An agent whose model, hooks, observers, policy, context and callbacks change what they are handed, if they can. */
function createVictim(store: Store, walk: Walk): { readonly agent: Agent; readonly sent: string[] } {
  const sent: string[] = [];
  const tool = defineTool({
    name: "pay",
    description: "Pays.",
    input: { type: "object", properties: { to: { type: "object", properties: { name: { type: "string" } } } } },
    needsApproval: (input) => JSON.stringify(input).includes("Ada"),
    execute(_input, { data, messages }) {
      data.set("paid", { to: ["somebody"] });
      for (const one of [data.all(), data.get("paid"), messages]) vandalise(one, walk);
      return { paid: { euros: [1, 2] } };
    },
  });
  const change = (...values: readonly unknown[]) => vandalise(values, walk);
  const scripted = createScriptedModel(({ messages }) => {
    const results = messages.filter(({ role }) => role === "tool").length;
    if (results === 0) return { text: "First.", calls: [{ name: "pay", input: { to: { name: "Bob" } } }] };
    if (results === 1) return { text: "Then.", calls: [{ name: "pay", input: { to: { name: "Ada" } } }] };
    return { text: "Done." };
  });
  const agent = createAgent({
    name: "victim",
    model: {
      id: "vandal",
      stream(request, signal) {
        sent.push(JSON.stringify({ messages: request.messages, tools: request.tools }));
        const deltas = scripted.stream(request, signal);
        vandalise(request, walk);
        if (!walk.seen.has({})) Reflect.set(request.messages, "length", 0);
        return deltas;
      },
    },
    tools: [tool],
    systemPrompt: "Be kind.",
    store,
    hooks: [vandals(walk)],
    observers: [{ onEvent: change, onDelta: change, onTrace: change, traceContent: true }],
    context: {
      data: { city: "Berlin" },
      hints: [
        {
          name: "hint",
          text(run) {
            vandalise(run, walk);
            return "It is noon.";
          },
        },
      ],
    },
    canExecuteTool: (request, { data, messages }) => {
      for (const one of [request, data, messages]) vandalise(one, walk);
      return "allow";
    },
  });
  return { agent, sent };
}

describe.each(localStores)("on the $name store", ({ open }) => {
  test("nobody changes the log or the next request", verifies("LOOP-21"), async () => {
    await withStore(open, async (store) => {
      // The same session in peace: what the log and the requests are to be.
      const quiet = newWalk();
      const peaceful = createVictim({ ...store }, { ...quiet, seen: everything });
      await play(peaceful.agent, "peace", () => {});
      const walk = newWalk();
      const { agent, sent } = createVictim(store, walk);
      await play(agent, "s", (value) => vandalise(value, walk));
      expect(sent).toEqual(peaceful.sent);
      expect(walk.met).toBeGreaterThan(200);
      const before = JSON.stringify(await store.read("s"));

      const { session, ways } = waysOf(agent, store, "s");
      for (const way of Object.values(ways)) vandalise(await given(way()), walk);
      for (const way of Object.values(ways)) vandalise(await given(way()), walk);
      expect(JSON.stringify(await store.read("s"))).toBe(before);
      const asBefore = sent.length;
      expect(await agent.run("Again.", { sessionId: "s", runId: "r2" })).toMatchObject({ text: "Done." });
      await peaceful.agent.run("Again.", { sessionId: "peace", runId: "r2" });
      expect(sent.slice(asBefore)).toEqual(peaceful.sent.slice(asBefore));
      expect((await session.replay()).difference).toBeNull();
    });
  });

  test("every member is in the walk", verifies("LOOP-21"), async () => {
    await withStore(open, async (store) => {
      const { agent } = createVictim(store, newWalk());
      await play(agent, "s", () => {});
      const { session, members } = waysOf(agent, store, "s");
      const engine = await createEngine({ agents: [{ name: "e", model: createScriptedModel([]) }], store });
      const client = createClient({ store }).session("s");
      const schedules = createSchedules({ store });
      const parts = { agent, session, client, engine, store, schedules } as const;
      for (const [part, object] of Object.entries(parts)) {
        const known = [
          ...givesNothing[part as keyof typeof givesNothing],
          ...(members[part as keyof typeof members] ?? []),
        ];
        expect(Object.keys(object).toSorted(), part).toEqual(known.toSorted());
      }
    });
  });
});

/** Has everything: a walk with it changes nothing. */
const everything = { has: () => true, add: () => everything, delete: () => false } as unknown as WeakSet<object>;

/** A run that asks, is answered, and ends; all that it gives goes to `take`. */
async function play(agent: Agent, sessionId: string, take: (value: unknown) => void): Promise<void> {
  const stream = agent.runStream("Pay Bob, then Ada.", { sessionId, runId: "r" });
  for await (const item of stream) take(item);
  const waiting = await stream.result;
  const callKey = waiting.status === "awaiting_human" ? waiting.approvals[0]?.callKey : undefined;
  take(waiting);
  const session = agent.session(sessionId);
  for (const approvals of [await session.pendingApprovals(), await collect(pendingApprovals(storeOf(agent)))])
    take(approvals);
  await session.answer(callKey ?? "", { type: "approve" }, { by: "Eve" });
  const iterated = agent.iterate("Pay Bob, then Ada.", { sessionId, runId: "r" });
  for await (const view of iterated) take(view);
  const result = await agent.run("Pay Bob, then Ada.", { sessionId, runId: "r" });
  expect(result).toMatchObject({ status: "completed", text: "Done." });
  take(result);
}

function storeOf(agent: Agent): Store {
  if (agent.options.store === undefined) throw new Error("The agent has no store.");
  return agent.options.store;
}

async function given(value: unknown): Promise<unknown> {
  const settled = await value;
  if (typeof settled === "object" && settled !== null && Symbol.asyncIterator in settled)
    return await collect(settled as AsyncIterable<unknown>);
  return settled;
}

/** All ways to read a session. */
function waysOf(agent: Agent, store: Store, id: string) {
  const session = agent.session(id);
  const client = createClient({ store }).session(id);
  const members = {
    agent: ["options", "specifications"],
    session: ["data", "events", "messages", "pendingApprovals", "replay", "result", "scheduled", "state"],
    client: ["answerTo", "data", "events", "messages", "pendingApprovals", "result", "scheduled", "state", "tools"],
    schedules: ["get", "list", "next", "pause", "put", "resume", "runNow", "slots"],
    engine: ["agents", "plugins"],
    store: [
      ...["asking", "describe", "getBlob", "inbox", "list", "load", "loadAt", "messageIds", "read"],
      ...["notices", "schedules", "signals", "verify"],
    ],
  } as const;
  const schedules = createSchedules({ store });
  const schedule = { id: "daily", cron: "0 8 * * *", agent: "victim", input: "What is new?" };
  const ways: Ways = {
    put: () => schedules.put(schedule),
    get: () => schedules.get("daily"),
    listSchedules: () => schedules.list(),
    next: () => schedules.next("daily"),
    pause: () => schedules.pause("daily"),
    resume: () => schedules.resume("daily"),
    runNow: () => schedules.runNow("daily"),
    slots: () => schedules.slots("daily"),
    scheduled: async () => {
      await client.send("Later.", { afterMs: 1e9, runId: "later" });
      return client.scheduled();
    },
    options: () => ({ ...agent.options, store: undefined, model: undefined }),
    specifications: () => agent.specifications(),
    agents: () => [],
    events: () => session.events({ follow: false }),
    messages: () => session.messages(),
    data: () => session.data(),
    clientData: () => client.data(),
    pendingApprovals: () => session.pendingApprovals(),
    replay: () => session.replay(),
    result: () => session.result(),
    state: () => session.state(),
    answerTo: () => client.answerTo("r/2/1"),
    clientApprovals: () => client.pendingApprovals(),
    tools: () => client.tools(),
    clientEvents: () => client.events({ follow: false }),
    clientMessages: () => client.messages(),
    clientResult: () => client.result(),
    clientState: () => client.state(),
    asking: () => store.asking(),
    describe: () => store.describe(id),
    inbox: () => store.inbox(id),
    messageIds: () => store.messageIds(id, { limit: 10 }),
    list: () => store.list(),
    load: () => store.load(id),
    loadAt: () => store.loadAt(id, 5),
    read: () => store.read(id),
    verify: () => store.verify(id),
    keptSignals: async () => {
      await createClient({ store }).signal("paid", { cents: [9_900] });
      return store.signals?.list(0, { limit: 10 });
    },
    scheduleRows: () => store.schedules?.list({ limit: 10 }),
    scheduleRow: () => store.schedules?.get("daily"),
    dueRows: () => store.schedules?.due(Number.MAX_SAFE_INTEGER, 10),
    slotRows: () => store.schedules?.slots("daily", 10),
    destinations: async () => {
      await store.notices?.addDestination("desk");
      return store.notices?.destinations();
    },
    noticeRows: async () => {
      const other = createAgent({ model: createScriptedModel(() => ({ text: "Done." })), store });
      await other.run("Hello", { sessionId: "noticed" });
      return store.notices?.list({ limit: 10 });
    },
    findBeginning: () => findBeginning(store, id),
    modelRequest: () => modelRequest(store, id, { runId: "r", modelCallIndex: 2 }),
    modelRequests: () => modelRequests(store, id),
    readSessionLook: () => readSessionLook(store, id),
    recordedAttempts: async () => recordedAttempts(id, await store.read(id)),
    sessionSteps: () => sessionSteps(store, id),
    sessionTracePage: () => sessionTracePage(store, id),
    traceSession: () => traceSession(store, id, { content: true }),
  };
  return { session, ways, members };
}
