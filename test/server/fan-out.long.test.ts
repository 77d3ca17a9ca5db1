/**
 * Many readers of one session, and readers that do not read: what they cost, and that no run waits for them (SRV-4).
 */
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createAgent, createMemoryStore, type ModelDelta } from "../../src/index.js";
import { createServer, createToken } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createDeferred, createEchoTool } from "../support/agents.js";
import { verifies } from "../verifies.js";
import { type Rig, startTestServer } from "./rig.js";

const piece = "All work and no play makes Jack a dull boy. ".repeat(220);

/** A model that waits, and then streams so many pieces, one in a turn of the event loop. */
function streaming(pieces: number, text: string) {
  const goOn = createDeferred();
  async function* deltas(): AsyncGenerator<ModelDelta> {
    yield { kind: "text-start", id: "t" };
    await goOn.promise;
    for (let index = 0; index < pieces; index += 1) {
      yield { kind: "text-delta", id: "t", text };
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    yield { kind: "text-end", id: "t" };
    yield { kind: "done", finishReason: { unified: "stop" }, usage: {} };
  }
  return { model: createScriptedModel([{ deltas: deltas() as never }]), goOn };
}

const streamsOf = async ({ ask }: Rig) => Number(/pawl_streams (\d+)/.exec((await ask("GET", "/metrics")).json)?.[1]);

test("a reader that does not read is closed, and no run waits for it", verifies("SRV-4"), async () => {
  const store = createMemoryStore();
  const goOn = createDeferred();
  async function* deltas(): AsyncGenerator<ModelDelta> {
    await goOn.promise;
    for (let index = 0; index < 80; index += 1) {
      yield { kind: "text-delta", id: "t", text: piece };
      await new Promise((resolve) => setImmediate(resolve));
    }
    yield { kind: "tool-call", id: "c", name: "echo", input: "{}" };
    yield { kind: "done", finishReason: { unified: "tool-calls" }, usage: {} };
  }
  // A message has a bound, so it takes many to fill what the network holds for a reader.
  const model = createScriptedModel(() => ({ deltas: deltas() as never }));
  const agent = createAgent({
    name: "long",
    store,
    model,
    tools: [createEchoTool().tool],
    limits: { maxSteps: 1_000 },
  });
  const rig = await startTestServer({ store, agents: [agent] });
  const { sessionId, runId } = (await rig.ask("POST", "/v1/sessions", { agent: "long", input: "Go." })).json;
  const { hostname, port, host } = new URL(rig.url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  const begun = new Promise((resolve) => socket.once("data", resolve));
  socket.write(
    `GET /v1/sessions/${sessionId}/stream HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${rig.token}\r\n\r\n`,
  );
  await begun;
  socket.pause();
  expect(await streamsOf(rig)).toBe(1);
  const before = process.memoryUsage().external + process.memoryUsage().arrayBuffers;
  goOn.resolve();
  // What fits into no buffer of the network makes the server end the stream, while the run goes on.
  await expect.poll(() => streamsOf(rig), { timeout: 45_000 }).toBe(0);
  expect(process.memoryUsage().external + process.memoryUsage().arrayBuffers - before).toBeLessThan(100 * 1024 * 1024);
  expect((await rig.ask("GET", `/v1/sessions/${sessionId}/runs/${runId}`)).status).toBe(202);
  await rig.ask("POST", `/v1/sessions/${sessionId}/abort`, {});
  const result = await rig.ask("GET", `/v1/sessions/${sessionId}/runs/${runId}?wait=60`);
  expect(result.json.status).toBe("aborted");
});

test(
  "1,000 readers of one session are told the same, and are forgotten when they leave",
  verifies("SRV-4"),
  async () => {
    const store = createMemoryStore();
    const { model, goOn } = streaming(40, "Some words for everybody. ");
    const agent = createAgent({ name: "wide", store, model });
    const token = createToken();
    const limits = { streamsPerPrincipal: 2_000 };
    const server = createServer({ store, agents: [agent], token, limits });
    onTestFinished(() => server.close({ graceMs: 0 }));
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const ask = (path: string, init: RequestInit = {}) =>
      server.fetch(new Request(`http://localhost${path}`, { headers, ...init }));
    const body = JSON.stringify({ agent: "wide", input: "Go." });
    const { sessionId } = (await (await ask("/v1/sessions", { method: "POST", body })).json()) as { sessionId: string };
    const readers = await Promise.all(
      Array.from({ length: 1_000 }, () => ask(`/v1/sessions/${sessionId}/stream?until=run`)),
    );
    expect(new Set(readers.map(({ status }) => status))).toEqual(new Set([200]));
    const refused = await Promise.all(Array.from({ length: 1_001 }, () => ask(`/v1/sessions/${sessionId}/stream`)));
    expect(refused.filter(({ status }) => status === 429)).toHaveLength(1);
    for (const { body: stream } of refused) await stream?.cancel();
    goOn.resolve();
    const texts = await Promise.all(readers.map((reader) => reader.text()));
    const eventsIn = (text: string) => text.match(/^id: .*\ndata: .*$/gm)?.join("\n") ?? "";
    expect(new Set(texts.map(eventsIn)).size).toBe(1);
    expect(eventsIn(texts[0] ?? "")).toContain('"type":"final"');
    const { count } = { count: Number(/pawl_streams (\d+)/.exec(await (await ask("/metrics")).text())?.[1]) };
    expect(count).toBe(0);
  },
);

test("1,000 readers of sessions where nothing happens ask nothing of the store", verifies("SRV-4"), async () => {
  let looks = 0;
  const store = new Proxy(createMemoryStore(), {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...given: readonly unknown[]): unknown => {
        looks += 1;
        return Reflect.apply(value, target, given);
      };
    },
  });
  const agent = createAgent({ name: "calm", store, model: createScriptedModel(() => ({ text: "Done." })) });
  const ids = Array.from({ length: 1_000 }, (_, index) => `s${index}`);
  for (const sessionId of ids) await agent.run("Go.", { sessionId });
  const token = createToken();
  const limits = { streamsPerPrincipal: 1_000 };
  const server = createServer({ store, agents: [agent], work: false, token, limits, heartbeatMs: 200 });
  onTestFinished(() => server.close({ graceMs: 0 }));
  const headers = { authorization: `Bearer ${token}` };
  const readers = await Promise.all(
    ids.map(async (id) => {
      const { body } = await server.fetch(new Request(`http://localhost/v1/sessions/${id}/stream`, { headers }));
      return createUntil(body ?? new ReadableStream());
    }),
  );
  await Promise.all(readers.map((until) => until('"type":"final"')));
  await Promise.all(readers.map((until) => until(": beat")));
  const before = looks;
  for (let beat = 0; beat < 3; beat += 1) await Promise.all(readers.map((until) => until(": beat")));
  expect(looks - before).toBeLessThan(50);
  const { runId } = await agent.run("More.", { sessionId: "s500" });
  expect(await readers[500]?.(`"type":"final"`)).toContain(runId);
});

/** Reads on until a text has come, and gives what came with it. */
function createUntil(body: ReadableStream<Uint8Array>) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  return async (text: string): Promise<string> => {
    while (!rest.includes(text)) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`The stream ended before ${text}.`);
      rest += value;
    }
    const end = rest.indexOf(text) + text.length;
    const before = rest.slice(0, end);
    rest = rest.slice(end);
    return before;
  };
}
