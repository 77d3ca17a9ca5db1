/**
 * How often the store is read for a run that is started and watched over HTTP. What the process that drives a session knows is
 * not read again. The limits are what was measured, and each says what the reads are.
 */
import { expect, onTestFinished, test } from "vitest";
import { createAgent, createMemoryStore, type Store } from "../../src/index.js";
import { overrideMembers } from "../../src/ports/override-members.js";
import type { FollowedFrame } from "../../src/server/client/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDeferred, createEchoTool } from "../support/agents.js";
import { collectFrames, startTestServer } from "./rig.js";

/** Without `due`: a worker looks for due sessions every second. */
const readNames = ["describe", "load", "loadAt", "read", "inbox", "list", "messageIds", "asking"] as const;

type Waiting = { readonly reached: () => void; readonly go: Promise<void> };

/** A store, the names of its reads since the last call of `take`, and claims and commits that wait. */
function createCountedStore(store: Store, waits: { readonly claim?: Waiting; readonly commit?: Waiting } = {}) {
  const taken: string[] = [];
  const count = (name: (typeof readNames)[number]) => [
    name,
    (...values: readonly unknown[]) => {
      taken.push(name);
      return Reflect.apply(store[name], store, values);
    },
  ];
  const members = Object.fromEntries(readNames.map(count)) as Partial<Store>;
  const waiting =
    (name: "claim" | "commit") =>
    async (...values: readonly unknown[]) => {
      waits[name]?.reached();
      await waits[name]?.go;
      return Reflect.apply(store[name], store, values);
    };
  const late = { claim: waiting("claim"), commit: waiting("commit") } as Partial<Store>;
  return { store: overrideMembers<Store>(store, { ...members, ...late }), take: () => taken.splice(0) };
}

const done = { kind: "done", finishReason: { unified: "stop" }, usage: {} } as const;
const call = (id: string) =>
  [
    { kind: "tool-call", id, name: "echo", input: '{"a":1}' },
    { ...done, finishReason: { unified: "tool-calls" } },
  ] as const;

/** Holds up a call of the store until `release`. */
function createWait() {
  const reached = createDeferred();
  const go = createDeferred();
  onTestFinished(() => go.resolve());
  return {
    reached: () => reached.resolve(),
    whenReached: reached.promise,
    go: go.promise,
    release: () => go.resolve(),
  };
}

async function openStoreOf(kind: string): Promise<Store> {
  if (kind === "memory") return createMemoryStore();
  const store = await openSqliteStore({ path: ":memory:" });
  onTestFinished(() => store.close());
  return store;
}

/** A server whose agent takes three steps in each run. Its model waits for `go` in the first step of all. */
async function startCountedServer(
  given: Store = createMemoryStore(),
  waits: Parameters<typeof createCountedStore>[1] = {},
) {
  const { store, take } = createCountedStore(given, waits);
  const started = createDeferred();
  const go = createDeferred();
  async function* firstStep() {
    started.resolve();
    await go.promise;
    yield { kind: "text-delta", id: "t", text: "I look. " } as const;
    yield* call("c1");
  }
  const last = [{ kind: "text-delta", id: "t", text: "Done." }, done] as const;
  const model = createScriptedModel([{ deltas: firstStep() }, { deltas: call("c2") }, { deltas: last }]);
  const agent = createAgent({ name: "counted", store, model, tools: [createEchoTool().tool] });
  const rig = await startTestServer({ store, agents: [agent] });
  onTestFinished(() => go.resolve());
  await rig.ask("GET", "/health");
  take();
  /** Starts a run, and waits until its first model call is under way, or until something else has happened. */
  async function begin(until: Promise<void> = started.promise): Promise<string> {
    const { json } = await rig.ask("POST", "/v1/sessions", { agent: "counted", input: "Go." });
    await until;
    return `/v1/sessions/${json.sessionId}/stream?runId=${json.runId}&until=run`;
  }
  /** The reads so far, and a request later: nothing follows in the background. */
  async function takeReads(): Promise<readonly string[]> {
    await rig.ask("GET", "/health");
    return take().toSorted();
  }
  return { rig, begin, takeReads, go: go.resolve };
}

/** Opens a stream, and reads its first event of the log. */
async function openStream(frames: AsyncGenerator<FollowedFrame>): Promise<AsyncGenerator<FollowedFrame>> {
  for (;;) {
    const { value } = await frames.next();
    if (value?.frame.id !== undefined) return frames;
  }
}

/**
 * On a busy machine, a session is still not claimed 100 ms after its stream was opened, or a watcher is still there 100 ms after the run.
 * Then the log is looked at once.
 * @param reads sorted
 * @param loads the number of loads that are not such looks
 */
function dropLateLooks(reads: readonly string[], loads = 0): readonly string[] {
  const first = reads.indexOf("load");
  return reads.filter((name, index) => name !== "load" || index < first + loads);
}

async function expectEnd(frames: AsyncGenerator<FollowedFrame>): Promise<void> {
  expect((await collectFrames(frames)).at(-1)?.data).toMatchObject({ type: "bye", why: "end" });
}

test("a run that a client starts and watches reads the store 6 times, besides the worker's look", async () => {
  const { rig, begin, takeReads, go } = await startCountedServer();
  const path = await begin();
  // Its request and its log for the worker; its request under the lease.
  expect(await takeReads()).toEqual(["inbox", "inbox", "load"]);
  const stream = await openStream(rig.follow(path));
  // The right to read, and the log.
  expect(await takeReads()).toEqual(["describe", "read"]);
  go();
  await expectEnd(stream);
  // What was posted before the last message counts for the run.
  expect(dropLateLooks(await takeReads())).toEqual(["inbox"]);
});

/** Reads the first frame of a stream, after which its watcher has joined the hub. */
async function openEarly(frames: AsyncGenerator<FollowedFrame>): Promise<AsyncGenerator<FollowedFrame>> {
  await frames.next();
  return frames;
}

test.each(["memory", "SQLite"])(
  "a stream that is opened before the worker has claimed the session: 7 reads (%s)",
  async (kind) => {
    const claim = createWait();
    const { rig, begin, takeReads, go } = await startCountedServer(await openStoreOf(kind), { claim });
    const path = await begin(claim.whenReached);
    // The worker's look.
    expect(await takeReads()).toEqual(["inbox", "load"]);
    const stream = await openEarly(rig.follow(path));
    // The right to read, and the request that begins the session.
    expect(dropLateLooks(await takeReads(), 1)).toEqual(["describe", "inbox", "load"]);
    claim.release();
    go();
    await expectEnd(stream);
    // The request under the lease, and what was posted before the last message. The events come from the driver.
    expect(dropLateLooks(await takeReads())).toEqual(["inbox", "inbox"]);
  },
);

test.each(["memory", "SQLite"])("a stream that is opened during the first commit: 8 reads (%s)", async (kind) => {
  const commit = createWait();
  const { rig, begin, takeReads, go } = await startCountedServer(await openStoreOf(kind), { commit });
  const path = await begin(commit.whenReached);
  expect(await takeReads()).toEqual(["inbox", "inbox", "load"]);
  const stream = await openEarly(rig.follow(path));
  expect(await takeReads()).toEqual(["describe", "inbox", "load"]);
  commit.release();
  go();
  await expectEnd(stream);
  // Nobody had subscribed when the events of the commit would have been created, so they are read from the log.
  expect(dropLateLooks(await takeReads())).toEqual(["inbox", "read"]);
});

test("on SQLite, a run whose stream is opened after the claim reads the store 6 times", async () => {
  const { rig, begin, takeReads, go } = await startCountedServer(await openStoreOf("SQLite"));
  const stream = await openStream(rig.follow(await begin()));
  go();
  await expectEnd(stream);
  expect(dropLateLooks(await takeReads(), 1)).toEqual(["describe", "inbox", "inbox", "inbox", "load", "read"]);
});

test("another watcher, and one that comes back with a cursor, need two reads", async () => {
  const { rig, begin, takeReads, go } = await startCountedServer();
  const path = await begin();
  const first = await openStream(rig.follow(path));
  await takeReads();
  const second = await openStream(rig.follow(path));
  expect(await takeReads()).toEqual(["describe", "read"]);
  const third = await openStream(rig.follow(path, { after: "1.1" }));
  expect(await takeReads()).toEqual(["describe", "read"]);
  go();
  await Promise.all([first, second, third].map(expectEnd));
  expect(dropLateLooks(await takeReads())).toEqual(["inbox"]);
});

test("a chat that begins and is watched by one request reads the store 14 times at most", async () => {
  const { rig, takeReads, go } = await startCountedServer();
  go();
  const { json } = await rig.ask("POST", "/v1/chat", {
    id: "c",
    messages: [{ id: "m", role: "user", parts: [{ type: "text", text: "Go." }] }],
  });
  expect(json).toContain("[DONE]");
  // 12 were measured. The session begins while it is watched: the stream reads its state and its inbox, and its link who holds
  // it. If the driver is committing when it is asked, the state is read once more.
  expect((await takeReads()).length).toBeLessThanOrEqual(14);
});
