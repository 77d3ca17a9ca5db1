/**
 * Runs against model servers on this machine, through the real package and real sockets.
 */

import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { describe, expect, test } from "vitest";
import { createAgent, type ModelRequest, type RunResult } from "../../src/index.js";
import { chooseModel, resolveModel } from "../../src/models/index.js";
import { configuredOllama, loadedOllama, olderLlamaCpp } from "../servers/kinds.js";
import { type ServerKind, serverKinds, startLocalServer } from "../servers/local-server.js";
import { collect as collectItems, createEchoTool, filterEventsOfType } from "../support/agents.js";
import { advanceThroughRetries, createWatchedClock } from "../support/clock.js";
import { verifies } from "../verifies.js";

const kinds: readonly (readonly [string, ServerKind])[] = Object.entries(serverKinds);

function nameOf({ provider, modelId }: ServerKind): string {
  return `${provider}/${modelId}`;
}

/** Names a server's model without asking the other servers of this machine. */
async function modelAt(server: Awaited<ReturnType<typeof startLocalServer>>) {
  return resolveModel(nameOf(server.kind), { env: server.env });
}

const city = {
  type: "object",
  properties: { city: { type: "string" }, people: { type: "integer" } },
  required: ["city", "people"],
} as const;

describe("a server that closes each connection after its answer", () => {
  test.each(kinds)(
    "%s: every step of a long run succeeds at the first attempt",
    verifies("RTRY-2"),
    async (_, kind) => {
      const steps = 60;
      const server = await startLocalServer(kind, {
        answer: (turn) =>
          turn < steps
            ? { type: "answer", calls: [{ name: "echo", input: { turn } }] }
            : { type: "answer", text: "Done." },
      });
      const model = await modelAt(server);
      const asked = server.requests();
      const run = createAgent({ model, tools: [createEchoTool().tool] }).runStream("Count.");
      const items = await collectItems(run);
      expect(await run.result).toMatchObject({ status: "completed", text: "Done.", steps });
      expect(filterEventsOfType(items, "attempt_failed")).toEqual([]);
      // Each request has a connection of its own. The server was asked for its context window before and once during the run.
      expect(server.chats).toHaveLength(steps);
      expect(server.connections()).toBe(server.requests());
      expect(server.requests()).toBeGreaterThanOrEqual(steps + asked);
    },
  );
});

describe("an answer with a shape", () => {
  /** A model that keeps to a schema only if the server makes it do so. */
  const answer = (_: number, { response_format: format }: { readonly response_format?: { readonly type: string } }) =>
    ({
      type: "answer",
      text: format?.type === "json_schema" ? '{"city":"Ulm","people":126000}' : '{"name":"Ulm"}',
    }) as const;

  test.each(kinds)("%s gets the schema, and keeps to it", verifies("OUT-1"), async (_, kind) => {
    const server = await startLocalServer(kind, { answer });
    const agent = createAgent({ model: await modelAt(server) });
    const result: RunResult<unknown> = await agent.run("Which city?", { output: city });
    expect(result).toMatchObject({ status: "completed", output: { city: "Ulm", people: 126_000 } });
    expect(server.chats).toHaveLength(1);
    expect(server.chats[0]?.response_format).toMatchObject({
      type: "json_schema",
      json_schema: { schema: { properties: city.properties } },
    });
  });

  test.each([
    [["json_schema"], ["json_schema", "json_object", "json_object"]],
    [
      ["json_schema", "json_object"],
      ["json_schema", "json_object", undefined, undefined],
    ],
  ] as const)(
    "a server that refuses %j is asked in the next form, and refuses only once",
    async (refusedFormats, forms) => {
      const fits = () => ({ type: "answer", text: '{"city":"Ulm","people":126000}' }) as const;
      const server = await startLocalServer(serverKinds.lmStudio, { answer: fits, refusedFormats });
      const agent = createAgent({ model: await modelAt(server) });
      for (const task of ["Which city?", "Which other?"]) {
        const run = agent.runStream(task, { output: city });
        expect(filterEventsOfType(await collectItems(run), "attempt_failed")).toEqual([]);
        expect(await run.result).toMatchObject({ status: "completed", output: { city: "Ulm" } });
      }
      expect(server.chats.map(({ response_format: format }) => format?.type)).toEqual(forms);
    },
  );

  test("a refusal for another reason is a failure, and the form stays", async () => {
    const server = await startLocalServer(serverKinds.vllm, { chatStatus: 404 });
    const run = createAgent({ model: await modelAt(server) }).runStream("Which city?", { output: city });
    expect(filterEventsOfType(await collectItems(run), "attempt_failed")).toHaveLength(1);
    expect(await run.result).toMatchObject({ status: "failed", reason: "model_error" });
  });
});

describe("the context window", () => {
  const tellers: readonly (readonly [string, ServerKind])[] = [
    ...kinds,
    ["llama.cpp by /props", olderLlamaCpp],
    ["Ollama with a loaded model", loadedOllama],
    ["Ollama with num_ctx", configuredOllama],
  ];
  test.each(tellers)("%s tells it, and is believed", verifies("CTX-3"), async (_, kind) => {
    const server = await startLocalServer(kind, { contextWindow: 8_192 });
    expect((await modelAt(server)).contextWindow).toBe(8_192);
  });

  test("decides when a conversation is compacted", verifies("CTX-3"), async () => {
    const small = await startLocalServer(serverKinds.llamaCpp, {
      contextWindow: 2_048,
      answer: (turn) => ({
        type: "answer",
        text: `${turn} ${"word ".repeat(400)}`,
        usage: { input: 600 * turn, output: 400 },
      }),
    });
    const agent = createAgent({ model: await modelAt(small) });
    const first = await agent.run("Tell me something.");
    const { sessionId } = first;
    await agent.run("Tell me more.", { sessionId });
    const run = agent.runStream("And more.", { sessionId });
    expect(filterEventsOfType(await collectItems(run), "compacted")).not.toEqual([]);
  });

  test("is asked for again once the model is loaded", async () => {
    let loaded = 0;
    const server = await startLocalServer(
      {
        ...loadedOllama,
        pages: () => ({
          ...ollamaPages(),
          get "/api/ps"() {
            return psOf(loaded);
          },
        }),
      },
      { answer: () => ({ type: "answer", text: "Good evening." }) },
    );
    const model = await modelAt(server);
    expect(model.contextWindow).toBe(262_144);
    loaded = 4_096;
    const agent = createAgent({ model });
    await agent.run("Good evening.");
    await agent.run("Good evening again.");
    await expect.poll(() => model.contextWindow).toBe(4_096);
  });

  const ollamaPages = () => serverKinds.ollama.pages(262_144);
  const psOf = (context: number) => ({
    models: context === 0 ? [] : [{ name: serverKinds.ollama.modelId, context_length: context }],
  });

  test.each(["nothing", "a page", "zero"])("a server that tells %s leaves it unknown", async (what) => {
    const pages = {
      nothing: {},
      "a page": { "/v1/models": "<html></html>" },
      zero: { "/v1/models": { data: [{ id: "Qwen/Qwen3-8B", max_model_len: 0 }] } },
    }[what];
    const server = await startLocalServer({ ...serverKinds.vllm, pages: () => pages ?? {} });
    expect((await modelAt(server)).contextWindow).toBeUndefined();
  });
});

describe("a server found by chance", () => {
  const nowhere = "http://127.0.0.1:9/v1";
  const bare = {
    OLLAMA_BASE_URL: nowhere,
    LLAMACPP_BASE_URL: nowhere,
    LMSTUDIO_BASE_URL: nowhere,
    VLLM_BASE_URL: nowhere,
  };
  /** Long enough for a busy machine: nothing here waits for it to pass. */
  const timeoutMs = 20_000;

  test.each(kinds)("%s is used, and is on this machine", verifies("CHAT-5"), async (_, kind) => {
    const server = await startLocalServer(kind);
    const choice = await chooseModel({ env: { ...bare, ...server.env }, timeoutMs });
    expect(choice).toMatchObject({ isLocal: true, model: { id: nameOf(kind) } });
    expect(server.chats).toEqual([]);
  });

  test("that serves no chat is passed over, and the line says so", verifies("CHAT-5"), async () => {
    const silent = await startLocalServer(serverKinds.llamaCpp, { chatStatus: 404 });
    const useful = await startLocalServer(serverKinds.vllm);
    const next = await chooseModel({ env: { ...bare, ...silent.env, ...useful.env }, timeoutMs });
    expect(next.model.id).toBe("vllm/Qwen/Qwen3-8B");
    expect(next.why).toBe(
      `Using vllm/Qwen/Qwen3-8B, because vLLM answers at ${useful.address}. llama.cpp at ${silent.address} cannot be used: it answers a chat request with status 404.`,
    );
    const demo = await chooseModel({ env: { ...bare, ...silent.env }, timeoutMs });
    expect(demo).toMatchObject({ isLocal: false, model: { id: "demo" } });
    expect(demo.why).toBe(
      `Using the demo model, not an LLM, because no model was named and no key is set. llama.cpp at ${silent.address} cannot be used: it answers a chat request with status 404.`,
    );
  });

  test("gives a model that calls tools, if it has one", verifies("CHAT-5"), async () => {
    const shows = (capabilities: readonly string[]) => ({
      ...serverKinds.ollama,
      pages: () => ({ ...serverKinds.ollama.pages(8_192), "/api/show": { capabilities } }),
    });
    const server = await startLocalServer(shows(["completion"]));
    const choice = await chooseModel({ env: { ...bare, ...server.env }, timeoutMs });
    expect(choice.model.id).toBe("demo");
    expect(choice.why).toContain(`Ollama at ${server.address} cannot be used: its model qwen3:8b cannot call tools.`);
    const able = await startLocalServer(shows(["completion", "tools"]));
    expect((await chooseModel({ env: { ...bare, ...able.env }, timeoutMs })).model.id).toBe("ollama/qwen3:8b");
  });

  test("whose package is missing is passed over, too", verifies("CHAT-5"), async () => {
    const server = await startLocalServer(serverKinds.ollama);
    const choice = await chooseModel({
      env: { ...bare, ...server.env },
      timeoutMs,
      importPackage: async () => undefined,
    });
    expect(choice.model.id).toBe("demo");
    expect(choice.why).toContain(
      `Ollama at ${server.address} cannot be used. The model ollama/qwen3:8b needs the package`,
    );
  });
});

/** An address of this machine where a server has been. */
async function unusedAddress(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `127.0.0.1:${port}`;
}

describe("an address of this machine where nothing listens", () => {
  const tasks = [
    ["llamacpp/any", "LLAMACPP_BASE_URL", {}],
    ["openai/gpt-6-astra", "OPENAI_BASE_URL", { OPENAI_API_KEY: "key" }],
    ["anthropic/claude-sonnet-5-5", "ANTHROPIC_BASE_URL", { ANTHROPIC_API_KEY: "key" }],
  ] as const;
  test.each(tasks)("%s: the run fails after two quick attempts, and says so", verifies("RTRY-2"), async (...task) => {
    const [name, variable, keys] = task;
    const address = await unusedAddress();
    const env = { ...keys, [variable]: `http://${address}/v1` };
    const clock = createWatchedClock();
    const agent = createAgent({ model: await resolveModel(name, { env }), clock });
    const run = agent.runStream("Good evening.");
    const failures = filterEventsOfType(await advanceThroughRetries(clock, run), "attempt_failed");
    expect(failures.map(({ next, retryInMs }) => [next, retryInMs])).toEqual([
      ["retry", 250],
      ["give_up", undefined],
    ]);
    expect(await run.result).toMatchObject({
      status: "failed",
      reason: "model_error",
      error: { message: `Nothing listens on ${address}. Start the model server, or check its address.` },
    });
  });
});

test("a request of a model on another machine goes over HTTPS as ever", async () => {
  const model = await resolveModel("vllm/any", { env: { VLLM_BASE_URL: "https://127.0.0.1:9/v1" } });
  const request: ModelRequest = {
    sessionId: "s",
    runId: "r",
    modelCallIndex: 1,
    attempt: 1,
    messages: [{ role: "user", parts: [{ type: "text", text: "Hi" }] }],
    tools: [],
  };
  const deltas = await collectItems(model.stream(request, new AbortController().signal));
  expect(deltas.at(-1)).toMatchObject({ kind: "error", failure: { kind: "network" } });
});
