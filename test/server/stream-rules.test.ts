/**
 * What every open stream keeps to: a comment while nothing happens, an end when it is old, and when its reader may not read
 * any more.
 */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createAgent, createMemoryStore, createRedaction, type Store, type StreamItem } from "../../src/index.js";
import { followSession, type SnapshotFrame, type StreamFrame } from "../../src/server/client/index.js";
import { createHub } from "../../src/server/hub.js";
import type { LinkListener, SessionLink } from "../../src/server/peers/session-link.js";
import type { Sink } from "../../src/server/sink.js";
import { watchSession } from "../../src/server/watch.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDeferred } from "../support/agents.js";
import { verifies } from "../verifies.js";
import { collectFrames, pickLoggedEvents, type RigOptions, startTestServer } from "./rig.js";

/** A session at rest. */
async function rested(options: RigOptions = {}) {
  const store = createMemoryStore();
  const agent = createAgent({ name: "writer", store, model: createScriptedModel(() => ({ text: "Done." })) });
  await agent.run("Go.", { sessionId: "s" });
  const rig = await startTestServer({ store, agents: [agent], heartbeatMs: 5, ...options });
  const open = async (path: string) => {
    const response = await fetch(`${rig.url}${path}`, { headers: { authorization: `Bearer ${rig.token}` } });
    const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    return {
      /** What has come, when it has this in it; all of it if the stream ends. */
      async until(what: string): Promise<string> {
        while (!text.includes(what)) {
          const { done, value } = await reader.read();
          if (done) break;
          text += value;
        }
        return text;
      },
      leave: () => reader.cancel(),
    };
  };
  return { ...rig, open };
}

/** Time goes on by so many milliseconds at once, for everybody who asks for it from now on. */
function createLeap() {
  const now = Date.now;
  let ahead = 0;
  const spy = vi.spyOn(Date, "now").mockImplementation(() => now() + ahead);
  onTestFinished(() => spy.mockRestore());
  return (ms: number) => {
    ahead += ms;
  };
}

const ofSession = ["/v1/sessions/s/stream", "/v1/sessions/s/stream?children=1"] as const;

describe.each([...ofSession, "/v1/stream"])("the stream %s", (path) => {
  test("has a comment while nothing happens", verifies("SRV-2#one-process"), async () => {
    const { open } = await rested();
    const stream = await open(path);
    expect(await stream.until(": beat\n\n: beat\n\n")).toContain(": beat");
    await stream.leave();
  });

  test("ends when it is old, and says so", verifies("SRV-2#one-process"), async () => {
    const leap = createLeap();
    const { open } = await rested();
    const stream = await open(path);
    await stream.until(": beat");
    leap(59 * 60_000);
    expect(await stream.until(": beat\n\n: beat")).not.toContain('"type":"bye"');
    leap(2 * 60_000);
    expect(await stream.until('"why":"age"')).toContain('"type":"bye","why":"age"');
  });
});

describe.each(ofSession)("the stream %s", (path) => {
  test("ends within a minute when its reader may not read any more", verifies("SEC-3#server"), async () => {
    const leap = createLeap();
    let mayRead = true;
    let asked = 0;
    const may = () => {
      asked += 1;
      return mayRead;
    };
    const { open } = await rested({ may });
    const stream = await open(path);
    await stream.until(": beat");
    const before = asked;
    leap(61_000);
    await vi.waitFor(() => expect(asked).toBeGreaterThan(before));
    expect(await stream.until(": beat\n\n: beat")).not.toContain('"type":"bye"');
    mayRead = false;
    leap(61_000);
    expect(await stream.until('"why":"auth"')).toContain('"type":"bye","why":"auth"');
  });
});

test.each([...ofSession, "/v1/stream"])(
  "a client that leaves before its stream %s begins gives its slot back",
  verifies("SEC-4"),
  async (path) => {
    const held = Array.from({ length: 3 }, () => ({ arrived: createDeferred(), goOn: createDeferred() }));
    const authenticate = async (request: Request) => {
      const hold = held[Number(request.headers.get("x-number"))];
      hold?.arrived.resolve();
      await hold?.goOn.promise;
      return { id: "ada", scopes: ["read", "run", "admin"] as const };
    };
    const rig = await rested({ authenticate, limits: { streamsPerPrincipal: 1 } });
    const left = new AbortController();
    onTestFinished(() => left.abort());
    const ask = (number: number) =>
      fetch(`${rig.url}${path}`, { headers: { "x-number": String(number) }, signal: left.signal });
    for (const [number, { arrived, goOn }] of held.entries()) {
      const asked = ask(number);
      await arrived.promise;
      rig.breakConnections();
      await expect(asked).rejects.toThrow();
      goOn.resolve();
    }
    await expect.poll(async () => (await ask(held.length)).status).toBe(200);
  },
);

test(
  "a request of the Web that was aborted before its stream begins gives its slot back",
  verifies("SEC-4"),
  async () => {
    const { server, token } = await rested({ limits: { streamsPerPrincipal: 1 } });
    const headers = { authorization: `Bearer ${token}` };
    const ask = (signal: AbortSignal) =>
      server.fetch(new Request("http://127.0.0.1/v1/sessions/s/stream", { headers, signal }));
    for (let time = 0; time < 3; time += 1) expect((await ask(AbortSignal.abort())).status).toBe(200);
    const { body, status } = await ask(new AbortController().signal);
    expect(status).toBe(200);
    await body?.cancel();
  },
);

test("a stream with children that is refused reads nothing", verifies("SEC-4"), async () => {
  let watches = 0;
  const memory = createMemoryStore();
  const store: Store = {
    ...memory,
    watch(listener) {
      const end = memory.watch(listener);
      watches += 1;
      return () => {
        watches -= 1;
        end();
      };
    },
  };
  const agent = createAgent({ name: "writer", store, model: createScriptedModel(() => ({ text: "Done." })) });
  await agent.run("Go.", { sessionId: "s" });
  const rig = await startTestServer({ store, agents: [agent], work: false, limits: { streamsPerPrincipal: 1 } });
  const left = new AbortController();
  onTestFinished(() => left.abort());
  const open = (path: string) =>
    fetch(`${rig.url}${path}`, { headers: { authorization: `Bearer ${rig.token}` }, signal: left.signal });
  expect((await open("/v1/stream")).status).toBe(200);
  const before = watches;
  for (let time = 0; time < 5; time += 1) expect((await open("/v1/sessions/s/stream?children=1")).status).toBe(429);
  await expect.poll(() => watches).toBe(before);
});

test("a chat message that is refused for too many streams starts no run", verifies("SEC-4"), async () => {
  const rig = await rested({ limits: { streamsPerPrincipal: 1 } });
  const left = new AbortController();
  onTestFinished(() => left.abort());
  const open = await fetch(`${rig.url}/v1/stream`, {
    headers: { authorization: `Bearer ${rig.token}` },
    signal: left.signal,
  });
  expect(open.status).toBe(200);
  const messages = [{ id: "m", role: "user", parts: [{ type: "text", text: "Go." }] }];
  expect((await rig.ask("POST", "/v1/chat", { id: "c", messages })).status).toBe(429);
  const input = { threadId: "t", runId: "r", messages: [{ id: "m", role: "user", content: "Go." }] };
  expect((await rig.ask("POST", "/v1/agui/writer", input)).status).toBe(429);
  expect((await rig.store.list({})).map(({ sessionId }) => sessionId)).toEqual(["s"]);
});

test("a reader whose stream grew old comes back, and has missed nothing", verifies("SRV-2#one-process"), async () => {
  const { url, token, follow, ask } = await rested({ limits: { streamAgeMs: 1 } });
  const headers = { authorization: `Bearer ${token}` };
  const frames: StreamFrame[] = [];
  let runId: string | null = null;
  for await (const { frame } of followSession({ url: `${url}/v1/sessions/s/stream`, headers, retryMs: 1 })) {
    frames.push(frame);
    const { data } = frame;
    if (data.type === "bye") expect(data.why).toBe("age");
    if (data.type === "bye" && runId === null)
      runId = (await ask("POST", "/v1/sessions/s/runs", { input: "More." })).json.runId;
    if (data.type === "final" && data.runId === runId) break;
  }
  const whole = await collectFrames(follow("/v1/sessions/s/stream?until=run"));
  expect(pickLoggedEvents(frames)).toEqual(pickLoggedEvents(whole));
});

test("a redaction that fails ends the stream, and the server goes on", verifies("SRV-2#one-process"), async () => {
  const redact = (text: string) => {
    if (text.includes("unreadable")) throw new Error("This cannot be redacted.");
    return text;
  };
  const { open, ask } = await rested({ redact });
  const stream = await open("/v1/sessions/s/stream");
  await stream.until(": beat");
  await ask("POST", "/v1/sessions/s/runs", { input: "This is unreadable." });
  expect(await stream.until('"why":"error"')).toContain('"type":"bye","why":"error"');
  expect((await ask("GET", "/v1/sessions/s")).status).toBe(200);
});

describe("a chat stream", () => {
  test("that is old breaks off, and the server goes on", verifies("SEC-4"), async () => {
    const leap = createLeap();
    async function* endless() {
      yield { kind: "text-start", id: "1" } as const;
      for (const text of ["A long beginning, ", "and ", "then "]) yield { kind: "text-delta", id: "1", text } as const;
      await new Promise(() => {});
    }
    const store = createMemoryStore();
    const agent = createAgent({ name: "talker", store, model: createScriptedModel([{ deltas: endless() as never }]) });
    const { url, token, ask } = await startTestServer({ store, agents: [agent], heartbeatMs: 5 });
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const messages = [{ id: "m-1", role: "user", parts: [{ type: "text", text: "Go." }] }];
    const body = JSON.stringify({ id: "chat-1", messages });
    const response = await fetch(`${url}/v1/chat`, { method: "POST", headers, body });
    const reading = expect(response.text()).rejects.toThrow(TypeError);
    leap(61 * 60_000);
    await reading;
    expect((await ask("GET", "/v1/chat/chat-1/messages")).status).toBe(200);
  });
});

describe("a reader that does not read", () => {
  /** A watcher of a hub of the test, whose sink takes nothing. */
  async function joined(snapshot: SnapshotFrame | null, mostUnsent: number) {
    const told: string[] = [];
    let unsent = 0;
    const sink: Sink = {
      write(bytes) {
        unsent += bytes.byteLength;
        told.push(new TextDecoder().decode(bytes));
      },
      unsentBytes: () => unsent,
      whenDrained: () => Promise.resolve(),
      end: () => told.push("end"),
      destroy: () => {},
      onClose: () => {},
    };
    let listener: LinkListener | null = null;
    const link: Pick<SessionLink, "join" | "leave" | "inProgress"> = {
      join(joining) {
        listener = joining;
        return 0;
      },
      leave: () => {},
      inProgress: () => [],
    };
    const redact = createRedaction();
    const hub = createHub({ openLink: () => link, async *logged() {}, redact }, "here", () => {});
    const options = { after: null, isReset: false, runId: undefined, deltas: true, until: undefined };
    watchSession({ hub: async () => hub, opening: async () => new Uint8Array(), maxUnsent: mostUnsent }, options, sink);
    await vi.waitFor(() => expect(listener).not.toBeNull());
    const send = (item: StreamItem) => listener?.item(item);
    if (snapshot !== null) send(snapshot);
    await vi.waitFor(() => expect(told.some((text) => text.includes("snapshot"))).toBe(snapshot !== null));
    const note: StreamItem = { type: "progress", callKey: "r/1/1", note: "x".repeat(100) };
    return {
      /** How many more frames it is sent before it is told that it is too slow. */
      async framesUntilSlow() {
        const before = told.length;
        while (told.at(-1) !== "end") {
          if (told.length > 10_000) throw new Error("It is never too slow.");
          send({ ...note });
          await new Promise((resolve) => setImmediate(resolve));
        }
        const frames = told.slice(before, -2);
        return { told: told.at(-2), bytes: frames.reduce((sum, { length }) => sum + length, 0) };
      },
    };
  }

  const attempt = { runId: "r", modelCallIndex: 1, attempt: 1 };
  const large: SnapshotFrame = {
    ...attempt,
    type: "snapshot",
    deltaSeq: 0,
    message: { role: "assistant", parts: [{ type: "text", text: "large ".repeat(10_000) }] },
    open: [],
    inputs: [],
  };

  test("is cut off, and not for one large frame", verifies("SEC-4"), async () => {
    const mostUnsent = 4_096;
    const { told, bytes } = await (await joined(null, mostUnsent)).framesUntilSlow();
    expect(told).toContain('"why":"slow"');
    expect(bytes).toBeLessThan(2 * mostUnsent);
    // The snapshot alone is more than may wait: the reader gets it, and as much after it as others.
    const after = await (await joined(large, mostUnsent)).framesUntilSlow();
    expect(after.told).toContain('"why":"slow"');
    expect(after.bytes).toBeGreaterThan(mostUnsent / 2);
    expect(after.bytes).toBeLessThan(2 * mostUnsent);
  });
});

test.each(["", "/v1/sessions/s/stream", "127.0.0.1:4111/v1/sessions/s/stream", "localhost:4111/v1"])(
  "the client does not retry the URL %j, which no request can have",
  async (url) => {
    const frames = followSession({ url, retryMs: 1 });
    await expect(frames.next()).rejects.toThrow(/^Invalid URL ".*": followSession\(\) needs the stream's whole URL/);
  },
);
