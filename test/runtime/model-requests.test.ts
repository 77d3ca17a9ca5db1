/**
 * The log names what each model call was sent, so that the request can be made again: by this process, by another, on other code.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  type Agent,
  type AgentOptions,
  createAgent,
  createMemoryStore,
  type Hook,
  type Message,
  type Model,
  type ModelRequest,
  type Store,
} from "../../src/index.js";
import { modelRequests } from "../../src/inspect.js";
import { createScriptedModel, type ScriptedStep } from "../../src/testing/scripted-model.js";
import { openFileStore } from "../stores/open.js";
import { collect, createDeferred, createEchoTool, filterEventsOfType } from "../support/agents.js";
import { createWatchedClock } from "../support/clock.js";
import { createHandoffDesk, toBilling } from "../support/handoff-desk.js";
import { createBlobRecordingStore, localStores, withStore } from "../support/stores.js";
import { verifies } from "../verifies.js";

/** A model that keeps what it is sent, as it was then. */
function recording(inner: Model, requests: ModelRequest[]): Model {
  return {
    ...inner,
    stream(request, signal) {
      requests.push(structuredClone(request));
      return inner.stream(request, signal);
    },
  };
}

const busy: ScriptedStep = { error: { kind: "overloaded", message: "busy" } };
const calling = (name = "echo"): ScriptedStep => ({ calls: [{ name, input: { n: 1 } }] });

/** Another prompt, other tools, another choice and other options in each step; now and then none of them. */
const changing: Hook = {
  name: "change",
  beforeRun: async ({ input }) => ({
    input: [...input, { role: "user", parts: [{ type: "text", text: "(by a hook)" }] }],
  }),
  beforeLLMCall({ modelCallIndex: index, messages }) {
    if (index % 3 === 0) return undefined;
    return {
      systemPrompt: `Step ${index}, after ${messages.length} messages, \ud800 and "quotes".`,
      activeTools: index % 2 === 0 ? ["other"] : ["echo", "other"],
      ...(index === 2 ? { toolChoice: { tool: "other" } } : {}),
      providerOptions: { p: { index, deep: { list: [1, null, "é"] } } },
    };
  },
};

const shape = { type: "object", properties: { n: { type: "number" } }, required: ["n"] } as const;

/** Runs of every kind in one session; gives what the model was sent. */
async function playSession(store: Store): Promise<readonly ModelRequest[]> {
  const requests: ModelRequest[] = [];
  const script = [
    busy,
    calling(),
    busy,
    calling("other"),
    { text: "First." },
    calling(),
    { text: '{"n": "no number"}' },
    { text: '{"n": 2}' },
    calling(),
    { text: "Summed up." },
  ];
  const agent = createAgent({
    model: recording(createScriptedModel(script), requests),
    tools: [createEchoTool().tool, createEchoTool("other").tool],
    systemPrompt: "Be kind.",
    hooks: [changing],
    retry: { decide: () => ({ retryInMs: 0 }) },
    store,
  });
  const sessionId = "s";
  await agent.run("Go", { sessionId });
  const typed = { sessionId, systemPrompt: "Answer in JSON.", providerOptions: { q: { low: true } }, output: shape };
  expect((await agent.run("And now?", typed)).status).toBe("completed");
  const plain = agent.with({ hooks: [] });
  expect((await plain.run("Once more", { sessionId, limits: { maxSteps: 1 }, toolChoice: "required" })).status).toBe(
    "failed",
  );
  expect(requests).toHaveLength(script.length);
  expect(new Set(requests.map(({ systemPrompt }) => systemPrompt)).size).toBeGreaterThan(4);
  expect(requests.map(({ tools }) => tools.length)).toEqual(expect.arrayContaining([1, 2]));
  return requests;
}

describe.each(localStores)("the requests of a session on $name", ({ open }) => {
  test("are made again from its log, as the model got them", verifies("TRC-3"), async () => {
    await withStore(open, async (store) => {
      const sent = await playSession(store);
      expect(await collect(modelRequests(store, "s"))).toEqual(sent);
    });
  });

  test("include those of a fork", async () => {
    await withStore(open, async (store) => {
      const sent = await playSession(store);
      const agent = createAgent({ model: createScriptedModel([]), store });
      const { seq = 0 } = (await store.load("s")) ?? {};
      await agent.session("s").fork({ at: seq, sessionId: "t" });
      expect(await collect(modelRequests(store, "t"))).toEqual(sent.map((one) => ({ ...one, sessionId: "t" })));
    });
  });
});

test("another process makes them again from the file", verifies("TRC-3"), async () => {
  const file = await openFileStore({ synchronous: "normal" });
  try {
    const sent = await playSession(file.store);
    const program = join(import.meta.dirname, "../fixtures/model-requests.mjs");
    const printed = execFileSync(process.execPath, [program, file.path, "s"], { encoding: "utf8" });
    expect(JSON.parse(printed)).toEqual(JSON.parse(JSON.stringify(sent)));
  } finally {
    await file.close();
  }
});

test("the prompt and the tools are in the store once, however many steps have them", verifies("TRC-3"), async () => {
  const { store, written } = createBlobRecordingStore();
  const script = [calling(), calling("other"), { text: "Done." }, { text: "Again." }];
  const tools = [createEchoTool().tool, createEchoTool("other").tool];
  const agent = createAgent({ model: createScriptedModel(script), tools, systemPrompt: "Be kind.", store });
  await agent.run("Go", { sessionId: "s" });
  await agent.run("Again", { sessionId: "s" });
  expect(written).toEqual(["Be kind.", expect.stringContaining('"other"')]);
});

test("a log that names what is not there, or no session, is refused", async () => {
  const inner = createMemoryStore();
  await playSession(inner);
  const code = (code: string) => expect.objectContaining({ name: "PawlError", code });
  const forgetful: Store = { ...inner, getBlob: async () => null };
  await expect(collect(modelRequests(forgetful, "s"))).rejects.toThrow(code("store_corrupt"));
  const broken: Store = { ...inner, getBlob: () => Promise.reject(new Error("the disk is gone")) };
  await expect(collect(modelRequests(broken, "s"))).rejects.toThrow(code("store_failed"));
  await expect(collect(modelRequests(inner, "t"))).rejects.toThrow(code("no_session"));
});

/** A session whose model call waits for its second attempt, left there by its process; then another process carries it on. */
async function takenOver(
  storeOf: (inner: Store) => Store,
  more: Partial<AgentOptions> = {},
  inner: Store = createMemoryStore(),
) {
  const clock = createWatchedClock();
  const options = {
    tools: [createEchoTool().tool],
    systemPrompt: "By a hook no more.",
    retry: { decide: () => ({ retryInMs: 7_000 }) },
    clock,
  };
  const hook: Hook = { name: "h", beforeLLMCall: () => ({ systemPrompt: "By a hook." }) };
  const first = createAgent({ ...options, model: createScriptedModel([busy]), hooks: [hook], store: inner });
  const left = first.run("Go", { sessionId: "s" });
  await clock.waitFor(7_000);
  await first.shutdown({ graceMs: 0 });
  expect((await left).status).toBe("interrupted");

  const requests: ModelRequest[] = [];
  const model = recording(createScriptedModel([{ text: "Done." }]), requests);
  const second = createAgent({ ...options, model, store: storeOf(inner), ...more });
  const resumed = second.session("s").resume();
  await clock.waitFor(7_000);
  await clock.advance(7_000);
  const result = await resumed;
  return { result, requests, store: inner, session: second.session("s") };
}

test(
  "a request of a long conversation that is read late holds what was sent",
  verifies("TRC-3", "LOOP-22"),
  async () => {
    const words = (index: number): Message => ({
      role: index % 2 === 0 ? "user" : "assistant",
      parts: [{ type: "text", text: `Word ${index}.` }],
    });
    const history = Array.from({ length: 4_200 }, (_, index) => words(index));
    const { triage, models, store } = createHandoffDesk({
      triage: [{ calls: [{ name: "look" }] }, toBilling],
      billing: [{ text: "Paid back." }],
      options: {
        triage: {
          compaction: null,
          handoffs: [
            {
              name: "billing",
              description: "Payments.",
              agent: () => other,
              filter: "last_turn",
            },
          ],
        },
      },
    });
    const other: Agent = createAgent({ name: "billing", model: models.billing, store });
    await triage.run("Pay me back.", { sessionId: "s", history });

    const made: ModelRequest[] = [];
    for await (const request of modelRequests(store, "s")) made.push(request);
    const sent = [...models.triage.requests, ...models.billing.requests];
    expect(sent.map(({ messages }) => messages.length)).toEqual([4_201, 4_203, expect.any(Number)]);
    expect(sent.map(({ messages }) => messages)).toEqual(made.map(({ messages }) => messages));
    expect(sent.every((request) => Object.isFrozen(request) && Object.isFrozen(request.messages))).toBe(true);
    expect(sent[0]?.messages).toBe(sent[0]?.messages);
  },
);

describe("a process that takes a model call over", () => {
  const isPrompt = (bytes: Uint8Array | null) => bytes !== null && Buffer.from(bytes).toString() === "By a hook.";

  test("sends what the log names, whatever its own agent would", verifies("TRC-3"), async () => {
    const { result, requests, store } = await takenOver((inner) => inner);
    expect(result.status).toBe("completed");
    expect(requests).toMatchObject([{ systemPrompt: "By a hook.", attempt: 2 }]);
    expect((await collect(modelRequests(store, "s"))).at(-1)).toEqual(requests[0]);
  });

  const losses: readonly (readonly [string, (inner: Store) => Store["getBlob"]])[] = [
    [
      "is missing",
      (inner) =>
        async (...place) => {
          const bytes = await inner.getBlob(...place);
          return isPrompt(bytes) ? null : bytes;
        },
    ],
    [
      "is damaged",
      (inner) =>
        async (...place) => {
          const bytes = await inner.getBlob(...place);
          return isPrompt(bytes) ? Buffer.from("By nobody.") : bytes;
        },
    ],
  ];
  test.each(losses)("prepares the step anew where what the log names %s", verifies("TRC-3"), async (_, getBlob) => {
    const { result, requests, session } = await takenOver((inner) => ({ ...inner, getBlob: getBlob(inner) }));
    expect(result).toMatchObject({ status: "completed", text: "Done." });
    expect(requests).toMatchObject([{ systemPrompt: "By a hook no more.", modelCallIndex: 1 }]);
    const events = await collect(session.events({ follow: false }));
    expect(filterEventsOfType(events, "restarted")).toMatchObject([
      { fault: { code: "blob_missing", retryable: true } },
    ]);
  });

  test("writes again what was lost, where a hook asks for the same", verifies("TRC-3"), async () => {
    const inner = createMemoryStore();
    let isLost = true;
    const forgetful = (store: Store): Store => ({
      ...store,
      async getBlob(...place) {
        const bytes = await store.getBlob(...place);
        return isLost && isPrompt(bytes) ? null : bytes;
      },
      putBlob(sessionId, bytes) {
        if (isPrompt(bytes)) isLost = false;
        return store.putBlob(sessionId, bytes);
      },
    });
    const hooks: readonly Hook[] = [{ name: "h", beforeLLMCall: () => ({ systemPrompt: "By a hook." }) }];
    const { result, requests } = await takenOver(forgetful, { hooks }, inner);
    expect([result.status, isLost]).toEqual(["completed", false]);
    expect(requests).toMatchObject([{ systemPrompt: "By a hook." }]);
    expect((await collect(modelRequests(forgetful(inner), "s"))).at(-1)).toEqual(requests[0]);
  });

  test("stops, and can be resumed, where the store cannot be read", async () => {
    const asked = createDeferred();
    const failing = (inner: Store): Store => ({
      ...inner,
      async getBlob() {
        asked.resolve();
        throw new Error("the disk is gone");
      },
    });
    const { result, session } = await takenOver(failing);
    await asked.promise;
    expect(result).toMatchObject({ status: "interrupted", reason: "store_failed" });
    expect(JSON.stringify(result)).toContain("the disk is gone");
    expect((await session.state()).status).toBe("model_running");
  });
});
