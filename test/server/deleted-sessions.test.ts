/**
 * A session is deleted while clients stream it: the stream ends, and the next request says that the session does not exist.
 */
import { describe, expect, test } from "vitest";
import { createAgent, createClient, createMemoryStore, type Store } from "../../src/index.js";
import type { StoreChange } from "../../src/ports/store.js";
import { StreamRefused } from "../../src/server/client/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { openFileStore } from "../stores/open.js";
import { verifies } from "../verifies.js";
import { startTestServer } from "./rig.js";

const force = { now: 1, force: true };
const createWriter = (store = createMemoryStore()) =>
  createAgent({ name: "writer", store, model: createScriptedModel(() => ({ text: "Done." }), { record: false }) });

describe.each([
  { kind: "with the agent", queries: ["?until=run", "", "?children=1"] },
  { kind: "without the agent", queries: ["?until=run", ""] },
])("a server $kind", ({ kind, queries }) => {
  test.each(queries)("ends /stream%s when the session is deleted", verifies("SRV-2#one-process"), async (query) => {
    const store = createMemoryStore();
    await createClient({ store }).session("s").send("Go.", { agent: "writer" });
    const agents = kind === "with the agent" ? [createWriter(store)] : [];
    const { follow } = await startTestServer({ store, agents, work: false });
    const why: unknown[] = [];
    const followed = (async () => {
      for await (const { frame } of follow(`/v1/sessions/s/stream${query}`)) {
        if (frame.data.type === "open") await store.delete("s", force);
        if (frame.data.type === "bye") why.push(frame.data.why);
      }
    })();
    await expect(followed).rejects.toBeInstanceOf(StreamRefused);
    await expect(followed).rejects.toMatchObject({ status: 404 });
    expect(why).toEqual(["error"]);
  });
});

describe.each(["an agent", "a client"])("events() of %s", (kind) => {
  const open = (store: Store) =>
    (kind === "an agent" ? createWriter(store) : createClient({ store })).session("s").events();

  test("rejects with no_session if the session is deleted before it has begun", verifies("STRM-3"), async () => {
    const store = createMemoryStore();
    await createClient({ store }).session("s").send("Go.", { agent: "writer" });
    const next = open(store).next();
    await new Promise((resolve) => setImmediate(resolve));
    await store.delete("s", force);
    await expect(next).rejects.toMatchObject({ code: "no_session" });
  });

  test("rejects with no_session if the session is deleted after a run", verifies("STRM-3"), async () => {
    const store = createMemoryStore();
    await createWriter(store).run("Go.", { sessionId: "s" });
    const items = open(store);
    for (let next = await items.next(); next.value?.type !== "final"; next = await items.next());
    const next = items.next();
    await store.delete("s", force);
    await expect(next).rejects.toMatchObject({ code: "no_session" });
  });
});

test("events() rejects with no_session if another process deletes the session", verifies("STRM-3"), async () => {
  const { store, second = async () => store, close } = await openFileStore();
  await createWriter(store).run("Go.", { sessionId: "s" });
  const items = createWriter(await second())
    .session("s")
    .events();
  for (let next = await items.next(); next.value?.type !== "final"; next = await items.next());
  const next = items.next();
  await store.delete("s", force);
  await expect(next).rejects.toMatchObject({ code: "no_session" });
  await close();
});

describe("a session that was deleted and began again before that was noticed", () => {
  /** A store that reports no change but those that the test reports. */
  async function begin() {
    const inner = createMemoryStore();
    const listeners = new Set<(change: StoreChange) => void>();
    const store: Store = {
      ...inner,
      watch(listener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    };
    const agent = createWriter(store);
    await agent.run("First.", { sessionId: "s" });
    await agent.run("Second.", { sessionId: "s" });
    const items = agent.session("s").events();
    for (let finals = 0; finals < 2; ) if ((await items.next()).value?.type === "final") finals += 1;
    const next = items.next();
    next.catch(() => {});
    await inner.delete("s", force);
    const reportGap = () => {
      for (const listener of listeners) listener({ gap: true });
    };
    return { inner, agent, next, reportGap };
  }

  test("ends its stream", verifies("STRM-3"), async () => {
    const { inner, next, reportGap } = await begin();
    await createWriter(inner).run("Third.", { sessionId: "s" });
    reportGap();
    await expect(next).rejects.toMatchObject({ code: "no_session" });
  });

  test("has all events of its new run", verifies("STRM-3"), async () => {
    const { agent, next } = await begin();
    const types: string[] = [];
    const stream = agent.runStream("Third.", { sessionId: "s" });
    for await (const item of stream) types.push(item.type);
    expect(await stream.result).toMatchObject({ status: "completed" });
    expect(types.filter((type) => type !== "delta")).toEqual(
      expect.arrayContaining(["session_created", "run_started", "final"]),
    );
    await expect(next).rejects.toMatchObject({ code: "no_session" });
  });
});

test("whoever waits for the run of a session that is deleted gets no_session", verifies("STRM-3"), async () => {
  const inner = createMemoryStore();
  const holder = { id: "stranger", host: "elsewhere", pid: 1, startedAt: 0 };
  const store: Store = {
    ...inner,
    claim: async (_, { now }) => ({ type: "held", holder, expiresAt: now + 60_000 }),
  };
  const result = createWriter(store).run("Go.", { sessionId: "s", runId: "r" });
  while ((await inner.inbox("s")).length === 0) await new Promise((resolve) => setImmediate(resolve));
  await inner.delete("s", force);
  await expect(result).rejects.toMatchObject({ code: "no_session" });
});
