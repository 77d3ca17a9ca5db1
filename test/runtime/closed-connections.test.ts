/**
 * Servers that close a connection under the next request, as llama.cpp does: the real OpenAI-compatible package over real
 * sockets.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { expect, onTestFinished, test } from "vitest";
import { type AgentOptions, createAgent, createMemoryStore } from "../../src/index.js";
import { type TracedAttempt, traceSession } from "../../src/inspect.js";
import { chatCall, chatCompletion } from "../models/wires.js";
import { collect, createEchoTool, filterEventsOfType } from "../support/agents.js";
import { verifies } from "../verifies.js";

type Answer = (request: IncomingMessage, response: ServerResponse, count: number) => void;

async function startServer(answer: Answer) {
  let requests = 0;
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      requests += 1;
      answer(request, response, requests);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  });
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return { baseURL, requests: () => requests };
}

function stream(response: ServerResponse, body: string | Uint8Array): void {
  response.writeHead(200, { "content-type": "text/event-stream", connection: "keep-alive" });
  response.end(body);
}

/** A call in each step but the last. */
function answerTo(step: number, steps: number): string | Uint8Array {
  return step < steps
    ? chatCompletion([chatCall(`call_${step}`, "echo", { step })], "tool_calls").body
    : chatCompletion([{ content: "Done." }], "stop").body;
}

async function run(baseURL: string, options: Partial<AgentOptions> = {}) {
  const store = createMemoryStore();
  const model = createOpenAICompatible({ baseURL, name: "local" })("m");
  const agent = createAgent({ model, tools: [createEchoTool().tool], store, compaction: null, ...options });
  const running = agent.runStream("Go", { sessionId: "s" });
  const items = await collect(running);
  const trace = await traceSession(store, "s");
  const attempts = trace.flatMap((record) => (record.type === "step" ? record.attempts : []));
  return { agent, result: await running.result, items, attempts };
}

const resends = (attempts: readonly TracedAttempt[]) =>
  attempts.reduce((sum, { resends: count = 0 }) => sum + count, 0);

test("a server that closes each connection right after its stream: 200 steps, no failed attempt", {
  ...verifies("RTRY-1", "STRM-1"),
  timeout: 60_000,
}, async () => {
  const steps = 200;
  let step = 0;
  const server = await startServer((request, response) => {
    step += 1;
    response.on("finish", () => setTimeout(() => request.socket.destroy(), 0));
    stream(response, answerTo(step, steps));
  });
  const { result, items } = await run(server.baseURL);
  expect(result).toMatchObject({ status: "completed", text: "Done.", steps });
  expect(filterEventsOfType(items, "attempt_failed")).toEqual([]);
  expect(items.every((item) => item.type !== "delta" || item.delta.attempt === 1)).toBe(true);
});

test("a server that closes a connection when it is used again: each such request is sent again, which the trace tells", {
  ...verifies("RTRY-1", "STRM-1", "TRC-1"),
  timeout: 60_000,
}, async () => {
  const steps = 50;
  const used = new WeakSet<object>();
  let step = 0;
  const server = await startServer((request, response) => {
    if (used.has(request.socket)) {
      request.socket.destroy();
      return;
    }
    used.add(request.socket);
    step += 1;
    stream(response, answerTo(step, steps));
  });
  const { agent, result, items, attempts } = await run(server.baseURL);
  expect(result).toMatchObject({ status: "completed", text: "Done.", steps });
  expect(filterEventsOfType(items, "attempt_failed")).toEqual([]);
  expect(attempts).toHaveLength(steps);
  expect(resends(attempts)).toBe(server.requests() - steps);
  expect(resends(attempts)).toBeGreaterThan(steps / 2);
  const first = new Map<number, number>();
  for (const item of items)
    if (item.type === "delta") {
      const { modelCallIndex, seq } = item.delta;
      expect(seq).toBe((first.get(modelCallIndex) ?? 0) + 1);
      first.set(modelCallIndex, seq);
    }
  // The log says enough to play it again.
  expect((await agent.session("s").replay()).difference).toBeNull();
});

test("a server that never answers fails the attempt after three requests", verifies("RTRY-1", "RTRY-4"), async () => {
  const server = await startServer((request) => request.socket.destroy());
  const { agent, result, items, attempts } = await run(server.baseURL, { retry: { maxRetries: 1, baseDelayMs: 0 } });
  expect(result).toMatchObject({ status: "failed", reason: "model_error", error: { code: "network" } });
  expect(filterEventsOfType(items, "attempt_failed")).toMatchObject([
    { attempt: 1, failure: { kind: "network", unanswered: true } },
    { attempt: 2, failure: { kind: "network", unanswered: true } },
  ]);
  expect(attempts).toMatchObject([{ resends: 2 }, { resends: 2 }]);
  expect(server.requests()).toBe(6);
  expect((await agent.session("s").replay()).difference).toBeNull();
});

test(
  "a server that closes after the beginning of an answer is a failed attempt at once",
  verifies("RTRY-6"),
  async () => {
    const server = await startServer((request, response, count) => {
      if (count > 1) return stream(response, chatCompletion([{ content: "Whole." }], "stop").body);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('data: {"id":"1","choices":[{"index":0,"delta":{"content":"Half"}}]}\n\n', () => {
        setImmediate(() => request.socket.destroy());
      });
      return undefined;
    });
    const { result, items } = await run(server.baseURL, { retry: { baseDelayMs: 0 } });
    expect(result).toMatchObject({ status: "completed", text: "Whole." });
    expect(filterEventsOfType(items, "attempt_failed")).toMatchObject([{ attempt: 1, failure: { kind: "network" } }]);
    expect(server.requests()).toBe(2);
  },
);
