/**
 * What Prometheus reads of a server and of a worker.
 */
import { readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  createAgent,
  createClient,
  createMemoryStore,
  createWorker,
  defineTool,
  type Observer,
  type PublicEvent,
} from "../../src/index.js";
import { createMetrics, createMetricsServer, createServer, createToken, type Metrics } from "../../src/server/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { findSampleValue, type MetricFamily, parsePrometheus } from "../support/prometheus.js";
import { verifies } from "../verifies.js";
import { pay, type Rig, startTestServer } from "./rig.js";

const look = defineTool({
  name: "look",
  description: "Looks.",
  input: { type: "object" },
  readOnly: true,
  execute: () => "seen",
});

/** Begins a session over HTTP, and waits for its result. */
async function runOver({ ask }: Rig): Promise<void> {
  const { json } = await ask("POST", "/v1/sessions", { agent: "a", input: "Go" });
  expect((await ask("GET", `/v1/sessions/${json.sessionId}/runs/${json.runId}?wait=30`)).status).toBe(200);
}

async function read(metrics: Metrics): Promise<ReadonlyMap<string, MetricFamily>> {
  return parsePrometheus(await metrics.text());
}

describe("the figures of agents", () => {
  test("count runs, steps, tokens, cost, calls and times by agent and model", verifies("SRV-6"), async () => {
    const metrics = createMetrics();
    const store = createMemoryStore();
    const usage = { inputTokens: 100, cacheReadTokens: 60, outputTokens: 20, reasoningTokens: 5 };
    const model = createScriptedModel(
      [
        { calls: [{ name: "look" }], usage },
        { error: { kind: "rate_limit", message: "Slow down.", retryAfterMs: 1 } },
        { text: "Done.", usage },
      ],
      { id: "lab/large", price: { input: 10, output: 100 } },
    );
    const agent = createAgent({ name: "a", model, tools: [look], store, observers: [metrics.observer] });
    const rig = await startTestServer({ store, agents: [agent], metrics });
    await runOver(rig);
    const { json, headers } = await rig.ask("GET", "/metrics");
    expect(headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const figures = parsePrometheus(json);
    const ofModel = { agent: "a", model: "lab/large" };
    const expected = {
      pawl_input_tokens_total: 200,
      pawl_cache_read_tokens_total: 120,
      pawl_output_tokens_total: 40,
      pawl_reasoning_tokens_total: 10,
      pawl_steps_total: 2,
      pawl_model_call_duration_seconds_count: 2,
      pawl_model_first_delta_seconds_count: 2,
    };
    for (const [name, value] of Object.entries(expected))
      expect([name, findSampleValue(figures, name, ofModel)]).toEqual([name, value]);
    expect(findSampleValue(figures, "pawl_cost_dollars_total", ofModel)).toBeCloseTo((200 * 10 + 40 * 100) / 1e6, 9);
    expect(findSampleValue(figures, "pawl_model_failures_total", { ...ofModel, kind: "rate_limit" })).toBe(1);
    expect(findSampleValue(figures, "pawl_tool_calls_total", { agent: "a", tool: "look", outcome: "ok" })).toBe(1);
    expect(findSampleValue(figures, "pawl_tool_call_duration_seconds_count", { agent: "a", tool: "look" })).toBe(1);
    expect(findSampleValue(figures, "pawl_runs_started_total", { agent: "a" })).toBe(1);
    expect(findSampleValue(figures, "pawl_runs_total", { agent: "a", status: "completed", reason: "stop" })).toBe(1);
    expect(findSampleValue(figures, "pawl_run_duration_seconds_count", { agent: "a", status: "completed" })).toBe(1);
    expect(findSampleValue(figures, "pawl_http_requests_total", { action: "begin", status: "201" })).toBe(1);
    expect(findSampleValue(figures, "pawl_requests_limited_total")).toBe(0);
  });

  test(
    "say how many sessions and questions wait for people, and how long the oldest has",
    verifies("SRV-6"),
    async () => {
      const metrics = createMetrics();
      const store = createMemoryStore();
      const model = createScriptedModel(({ messages }) =>
        messages.at(-1)?.role === "user" ? { calls: [{ name: "pay" }, { name: "pay" }] } : { text: "Paid." },
      );
      const agent = createAgent({ name: "a", model, tools: [pay], store, observers: [metrics.observer] });
      const parent = createAgent({
        name: "parent",
        model: createScriptedModel([{ calls: [{ name: "a", input: { task: "Pay" } }] }]),
        tools: [agent.asTool({ description: "Pays." })],
        store,
        observers: [metrics.observer],
      });
      const rig = await startTestServer({ store, agents: [agent, parent], metrics });
      await runOver(rig);
      await parent.run("Go");
      const figures = parsePrometheus((await rig.ask("GET", "/metrics")).json);
      expect(findSampleValue(figures, "pawl_approvals_waiting")).toBe(4);
      // The parent waits for the answers that its child waits for.
      expect(findSampleValue(figures, "pawl_sessions_waiting")).toBe(3);
      expect(findSampleValue(figures, "pawl_oldest_approval_seconds")).toBeGreaterThanOrEqual(0);
      expect(findSampleValue(figures, "pawl_sessions_due")).toBe(0);
      // A child that has the observer itself, and gets it from its parent, counts once.
      expect(findSampleValue(figures, "pawl_approvals_requested_total", { agent: "a", why: "policy" })).toBe(4);
      expect(findSampleValue(figures, "pawl_runs_started_total", { agent: "a" })).toBe(2);
    },
  );

  test("have the agents behind tools, and those that a session was handed over to", verifies("SRV-6"), async () => {
    const metrics = createMetrics();
    const store = createMemoryStore();
    const helper = createAgent({ name: "helper", model: createScriptedModel([{ text: "Here." }], { id: "small" }) });
    const desk = createAgent({
      name: "desk",
      model: createScriptedModel([{ calls: [{ name: "helper", input: { task: "Look" } }] }, { text: "Done." }], {
        id: "mid",
      }),
      tools: [helper.asTool({ description: "Looks." })],
    });
    const first = createAgent({
      name: "first",
      model: createScriptedModel([{ calls: [{ name: "transfer_to_desk", input: {} }] }], { id: "large" }),
      handoffs: [{ name: "desk", description: "The desk.", agent: () => desk }],
      store,
      observers: [metrics.observer],
    });
    expect(await first.run("Go")).toMatchObject({ status: "completed", text: "Done." });
    const figures = await read(metrics);
    expect(findSampleValue(figures, "pawl_steps_total", { agent: "first", model: "large" })).toBe(1);
    expect(findSampleValue(figures, "pawl_steps_total", { agent: "desk", model: "mid" })).toBe(2);
    expect(findSampleValue(figures, "pawl_steps_total", { agent: "helper", model: "small" })).toBe(1);
    expect(findSampleValue(figures, "pawl_input_tokens_total", { agent: "desk" })).toBe(20);
    expect(findSampleValue(figures, "pawl_runs_total", { agent: "desk" })).toBe(1);
    expect(findSampleValue(figures, "pawl_tool_calls_total", { agent: "desk", tool: "helper", outcome: "ok" })).toBe(1);
  });

  test("escape the names of agents and models", async () => {
    const metrics = createMetrics();
    const name = 'a "quoted"\\back\nline, {x="y"} \u{1f600}\ud800';
    const model = createScriptedModel([{ text: "Hi." }], { id: 'm"\\\n' });
    await createAgent({ name, model, observers: [metrics.observer] }).run("Go");
    const [sample] = (await read(metrics)).get("pawl_steps_total")?.samples ?? [];
    expect(sample).toEqual({
      name: "pawl_steps_total",
      labels: { agent: name.replace("\ud800", "\ufffd"), model: 'm"\\\n' },
      value: 1,
    });
  });

  test("show the names of tools that exist alone, not those that a model makes up", async () => {
    const metrics = createMetrics();
    const made = Array.from({ length: 50 }, (_, index) => ({ name: `made_up_${index}` }));
    const model = createScriptedModel([{ calls: [...made, { name: "pay" }, { name: "look" }] }, { text: "Done." }]);
    const agent = createAgent({
      model,
      tools: [pay, look],
      canExecuteTool: ({ tool }) => (tool.name === "pay" ? { verdict: "deny", reason: "No." } : { verdict: "allow" }),
      observers: [metrics.observer],
    });
    await agent.run("Go");
    const samples = (await read(metrics)).get("pawl_tool_calls_total")?.samples ?? [];
    expect(samples.map(({ labels, value }) => [labels.tool, labels.outcome, value]).sort()).toEqual([
      ["look", "ok", 1],
      ["other", "error", 50],
      ["pay", "denied", 1],
    ]);
  });

  test("stay bounded: agents beyond a thousand are counted together", async () => {
    const { observer, text } = createMetrics();
    const count = 1_200;
    for (let index = 0; index < count; index += 1) startedBy(observer, `agent-${index}`);
    const samples = parsePrometheus(await text()).get("pawl_runs_started_total")?.samples ?? [];
    expect(samples).toHaveLength(1_001);
    expect(samples.at(-1)).toMatchObject({ labels: { agent: "other" }, value: count - 1_000 });
  });
});

function startedBy(observer: Observer, agent: string): void {
  const event: PublicEvent = { type: "run_started", runId: "r", input: [], sessionId: "s", seq: 2, index: 1, at: 1 };
  observer.onEvent?.(event, { agent });
}

test("the guide lists every figure, with its type", async () => {
  const store = createMemoryStore();
  const agent = createAgent({ model: createScriptedModel([]), store });
  const { json } = await (await startTestServer({ agents: [agent], store, metrics: createMetrics() })).ask(
    "GET",
    "/metrics",
  );
  const page = readFileSync(new URL("../../docs/guide/server.md", import.meta.url), "utf8");
  const listed = page
    .split("\n")
    .filter((line) => line.startsWith("| `pawl_"))
    .flatMap((line) => {
      const [names = "", type = ""] = line.slice(2).split(" | ");
      return names.split(", ").map((name) => [name.replaceAll("`", ""), type] as const);
    });
  const given = [...parsePrometheus(json)].map(([name, { type }]) => [name, type] as const);
  expect([...listed].sort()).toEqual([...given].sort());
});

describe("a server of figures", () => {
  async function metricsServer() {
    const token = createToken();
    const metrics = createMetrics();
    const store = createMemoryStore();
    const model = createScriptedModel(() => ({ text: "Hi." }));
    const agent = createAgent({ name: "a", model, store, observers: [metrics.observer] });
    const worker = createWorker({ store, agents: [agent] });
    const server = createMetricsServer({ store, worker, metrics, token });
    const http = createHttpServer(server.httpOptions, server.listener);
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      http.closeAllConnections();
      http.close();
    });
    const address = http.address();
    const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
    return { url, store, worker, headers: { authorization: `Bearer ${token}` } };
  }

  test("shows a worker's figures to whoever has its token, and nothing else", verifies("SRV-6", "SEC-1"), async () => {
    const { url, store, worker, headers } = await metricsServer();
    await createClient({ store }).session("s").send("Go", { agent: "a" });
    const before = parsePrometheus(await (await fetch(`${url}/metrics`, { headers })).text());
    expect(findSampleValue(before, "pawl_sessions_due")).toBe(1);
    await worker.runUntilIdle();
    const after = parsePrometheus(await (await fetch(`${url}/metrics`, { headers })).text());
    expect(findSampleValue(after, "pawl_sessions_due")).toBe(0);
    expect(findSampleValue(after, "pawl_sessions_running")).toBe(0);
    expect(findSampleValue(after, "pawl_runs_total", { agent: "a", status: "completed" })).toBe(1);
    expect((await fetch(`${url}/metrics`)).status).toBe(401);
    expect((await fetch(`${url}/health`)).status).toBe(200);
    expect((await fetch(`${url}/ready`)).status).toBe(200);
    for (const path of ["/v1/sessions", "/openapi.json", "/"])
      expect((await fetch(`${url}${path}`, { headers })).status).toBe(404);
  });

  test("needs metrics and a token", async () => {
    const store = createMemoryStore();
    const token = createToken();
    expect(() => createMetricsServer({ store, token } as never)).toThrow("needs the option metrics");
    expect(() => createMetricsServer({ store, metrics: createMetrics() })).toThrow("needs authentication");
    expect(() => createMetricsServer({ store, metrics: createMetrics(), token, port: 1 } as never)).toThrow(
      'has no option "port"',
    );
    expect(() => createServer({ store, agents: [], token, metrics: {} as never })).toThrow("createMetrics()");
    await expect(createMetrics().text({ stor: store } as never)).rejects.toThrow(
      'has no option "stor". Do you mean store?',
    );
  });
});
