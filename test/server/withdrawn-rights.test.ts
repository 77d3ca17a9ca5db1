/**
 * A right that is withdrawn while a stream is open: the next thing that happens is not shown any more, on any stream.
 */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { createAgent, createMemoryStore, defineTool } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { verifies } from "../verifies.js";
import { type RigOptions, startTestServer } from "./rig.js";

/** The clock of this process, which stands still and can be set forward. */
function createStillClock() {
  let now = Date.now();
  const spy = vi.spyOn(Date, "now").mockImplementation(() => now);
  onTestFinished(() => spy.mockRestore());
  return {
    goOn(ms: number) {
      now += ms;
    },
  };
}

function deferred() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** An agent that writes "Public." and, once its gate is open, "Secret." in a hundred pieces; and one that gives it the task. */
async function writing(options: RigOptions = {}) {
  const clock = createStillClock();
  const gate = deferred();
  const store = createMemoryStore();
  const begins = { text: "Public.", calls: [{ name: "look", input: {} }] };
  const model = createScriptedModel([begins, { wait: gate.opened, text: "Secret. ".repeat(100) }]);
  const look = defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: () => "Nothing." });
  const agent = createAgent({ name: "writer", store, model, tools: [look] });
  const root = createAgent({
    name: "root",
    store,
    model: createScriptedModel([
      { calls: [{ name: "writer", input: { task: "Go." } }] },
      { text: "The root is done." },
    ]),
    tools: [agent.asTool({ description: "Writes." })],
  });
  const rights = { isKnown: true, may: true, asked: 0 };
  const rig = await startTestServer({
    store,
    agents: [agent, root],
    a2a: { agent: "writer", description: "Writes." },
    authenticate: () => (rights.isKnown ? { id: "ada", scopes: ["read", "run", "admin"] } : null),
    may() {
      rights.asked += 1;
      return rights.may;
    },
    ...options,
  });
  async function open(path: string, body?: object) {
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "a2a-version": "1.0",
    };
    const init = body === undefined ? {} : { method: "POST", headers, body: JSON.stringify(body) };
    const response = await fetch(`${rig.url}${path}`, init);
    const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    return {
      status: response.status,
      /** What has come, when it has this in it; all of it if the stream ends or breaks off. */
      async until(what: string | null): Promise<string> {
        while (what === null || !text.includes(what)) {
          const { done, value = "" } = await reader.read().catch(() => ({ done: true, value: "" }));
          if (done) break;
          text += value;
        }
        return text;
      },
      soFar: () => text,
    };
  }
  return { ...rig, clock, gate, rights, open };
}

const messages = [{ id: "m-1", role: "user", parts: [{ type: "text", text: "Go." }] }];
const call = {
  jsonrpc: "2.0",
  id: 7,
  method: "tools/call",
  params: { name: "writer", arguments: { prompt: "Go." }, _meta: { progressToken: 1 } },
};

const streams: readonly {
  readonly path: string;
  readonly body?: object;
  readonly begun: string;
  /** What tells the reader; null: the stream breaks off. */
  readonly told: string | null;
  /** How much later the next thing happens. By default, that tells the stream at once; at the latest a look of each minute does. */
  readonly laterMs?: number;
}[] = [
  { path: "/v1/sessions/s/stream", begun: "Public.", told: '"type":"bye","why":"auth"' },
  { path: "/v1/sessions/s/stream?deltas=0", begun: "run_started", told: '"type":"bye","why":"auth"' },
  { path: "/v1/sessions/s/stream?children=1", begun: "Public.", told: '"type":"bye","why":"auth"' },
  // A session that may not be read is no news for a list, so the next look ends it.
  { path: "/v1/stream", begun: "list_open", told: '"type":"bye","why":"auth"', laterMs: 60_000 },
  { path: "/v1/stream?session=s", begun: "Public.", told: '"type":"bye","why":"auth"' },
  { path: "/v1/chat", body: { id: "c", agent: "writer", messages }, begun: "Public.", told: null },
  {
    path: "/v1/agui/writer",
    body: { threadId: "t", runId: "r", messages: [{ id: "m-1", role: "user", content: "Go." }] },
    begun: "Public.",
    told: "Your access has ended.",
  },
  {
    path: "/a2a",
    body: {
      jsonrpc: "2.0",
      id: 7,
      method: "SendStreamingMessage",
      params: { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "Go." }] } },
    },
    begun: "Public.",
    told: '"id":7,"error":{"code":-32603',
  },
  { path: "/mcp", body: call, begun: "notifications/progress", told: '"id":7,"error":{"code":-32003' },
];

describe.each(streams)("the stream $path", ({ path, body, begun, told, laterMs = 2_000 }) => {
  test.each(["may", "isKnown"] as const)(
    "shows nothing that happens after a right was withdrawn (%s)",
    verifies("SEC-3#server"),
    async (right) => {
      const { ask, open, gate, rights, clock } = await writing({ heartbeatMs: 5 });
      if (body === undefined) await ask("POST", "/v1/sessions", { sessionId: "s", agent: "writer", input: "Go." });
      const stream = await open(path, body);
      expect(stream.status).toBe(200);
      expect(await stream.until(begun)).toContain(begun);
      rights[right] = false;
      clock.goOn(laterMs);
      gate.open();
      const all = await stream.until(null);
      expect(all).not.toContain("Secret.");
      expect(all).not.toContain('"completed"');
      if (told !== null) expect(all).toContain(told);
      expect(all).not.toContain("[DONE]");
    },
  );
});

test(
  "asks at most once a second whether a reader may stay, however much is written",
  verifies("SEC-3#server"),
  async () => {
    const { ask, open, gate, rights, clock } = await writing();
    await ask("POST", "/v1/sessions", { sessionId: "s", agent: "writer", input: "Go." });
    const stream = await open("/v1/sessions/s/stream?until=run");
    await stream.until('"type":"snapshot"');
    const before = rights.asked;
    clock.goOn(1_500);
    gate.open();
    const all = await stream.until(null);
    expect(all).toContain("Secret.");
    expect(all).toContain('"why":"end"');
    expect(rights.asked).toBe(before + 1);
  },
);

test("a frame waits for the answer of a slow `may`, and nothing is lost", verifies("SEC-3#server"), async () => {
  const slow = deferred();
  let isSlow = false;
  let asked = 0;
  const { ask, open, gate, clock, store } = await writing({
    async may() {
      asked += 1;
      if (isSlow) await slow.opened;
      return true;
    },
  });
  await ask("POST", "/v1/sessions", { sessionId: "s", agent: "writer", input: "Go." });
  const stream = await open("/v1/sessions/s/stream?until=run");
  await stream.until("tool_result");
  isSlow = true;
  const before = asked;
  clock.goOn(2_000);
  gate.open();
  await vi.waitFor(() => expect(asked).toBe(before + 1));
  const reading = stream.until(null);
  await vi.waitFor(async () => expect(await store.describe("s")).toMatchObject({ status: "completed" }));
  expect(stream.soFar()).not.toContain("Secret.");
  isSlow = false;
  slow.open();
  const all = await reading;
  expect(all.match(/Secret\. /g)?.length).toBeGreaterThanOrEqual(100);
  expect(all).toContain('"why":"end"');
});

test("a session below is no longer shown once its reader may not read it", verifies("SEC-3#server"), async () => {
  let mayReadChild = true;
  const { ask, open, gate, clock } = await writing({
    may: (_principal, _action, session) => mayReadChild || session === null || session.id === "s",
  });
  await ask("POST", "/v1/sessions", { sessionId: "s", agent: "root", input: "Go." });
  const stream = await open("/v1/sessions/s/stream?children=1");
  expect(await stream.until("Public.")).toContain("Public.");
  mayReadChild = false;
  clock.goOn(1_000);
  gate.open();
  const all = await stream.until("The root is done.");
  expect(all).not.toContain("child_finished");
});
