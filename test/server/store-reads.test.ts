/**
 * How often the store is read for a run that is started and watched over HTTP. What the process that drives a session knows is
 * not read again. The limits are what was measured, and each says what the reads are.
 */
import { expect, onTestFinished, test } from "vitest";
import { createAgent, createMemoryStore, type Store } from "../../src/index.js";
import { overrideMembers } from "../../src/ports/override-members.js";
import type { FollowedFrame } from "../../src/server/client/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDeferred, createEchoTool } from "../support/agents.js";
import { collectFrames, startTestServer } from "./rig.js";

/** Without `due`: a worker looks for due sessions every second. */
const readNames = ["describe", "load", "loadAt", "read", "inbox", "list", "messageIds", "asking"] as const;

/** A store in memory, and the names of the reads since the last call of `take`. */
function createCountedStore() {
  const store = createMemoryStore();
  const taken: string[] = [];
  const count = (name: (typeof readNames)[number]) => [
    name,
    (...values: readonly unknown[]) => {
      taken.push(name);
      return Reflect.apply(store[name], store, values);
    },
  ];
  const members = Object.fromEntries(readNames.map(count)) as Partial<Store>;
  return { store: overrideMembers<Store>(store, { ...members, commit: store.commit }), take: () => taken.splice(0) };
}

const done = { kind: "done", finishReason: { unified: "stop" }, usage: {} } as const;
const call = (id: string) =>
  [
    { kind: "tool-call", id, name: "echo", input: '{"a":1}' },
    { ...done, finishReason: { unified: "tool-calls" } },
  ] as const;

/** A server whose agent takes three steps in each run. Its model waits for `go` in the first step of all. */
async function startCountedServer() {
  const { store, take } = createCountedStore();
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
  /** Starts a run, and waits until its first model call is under way. */
  async function begin(): Promise<string> {
    const { json } = await rig.ask("POST", "/v1/sessions", { agent: "counted", input: "Go." });
    await started.promise;
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
 * A watcher that a busy machine delays is still there 100 ms after the run. Then the log is looked at once.
 * @param reads sorted
 */
function dropLateLook(reads: readonly string[]): readonly string[] {
  return reads.at(-1) === "load" ? reads.slice(0, -1) : reads;
}

async function expectEnd(frames: AsyncGenerator<FollowedFrame>): Promise<void> {
  expect((await collectFrames(frames)).at(-1)?.data).toMatchObject({ type: "bye", why: "end" });
}

test("a run that a client starts and watches reads the store 7 times, besides the worker's look", async () => {
  const { rig, begin, takeReads, go } = await startCountedServer();
  const path = await begin();
  // Whether there is such a session; its request and its log for the worker; its request under the lease.
  expect(await takeReads()).toEqual(["describe", "inbox", "inbox", "load"]);
  const stream = await openStream(rig.follow(path));
  // The right to read, and the log.
  expect(await takeReads()).toEqual(["describe", "read"]);
  go();
  await expectEnd(stream);
  // What was posted before the last message counts for the run.
  expect(dropLateLook(await takeReads())).toEqual(["inbox"]);
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
  expect(dropLateLook(await takeReads())).toEqual(["inbox"]);
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
