import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { chooseModel, defaultModels } from "../../src/models/registry/choose.js";
import { createModelRegistry } from "../../src/models/registry/registry.js";
import { createFinishPart, createStreamingV3 } from "./stream-parts.js";

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

/** A model server that lists its models, and what it was asked with. */
async function serving(
  ids: readonly string[],
  asked: { path: string; key: string | undefined }[] = [],
): Promise<string> {
  return listen((request, response) => {
    asked.push({ path: request.url ?? "", key: request.headers.authorization });
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ object: "list", data: ids.map((id) => ({ id, object: "model" })) }));
  });
}

/** The address of a server that is gone. */
async function nobody(): Promise<string> {
  const address = await listen(() => {});
  const server = servers.pop();
  await new Promise((resolve) => server?.close(resolve));
  return address;
}

/** Surroundings without a model server, whatever runs on this machine. */
async function bare(): Promise<Record<string, string>> {
  const address = await nobody();
  return {
    OLLAMA_BASE_URL: address,
    LLAMACPP_BASE_URL: address,
    LMSTUDIO_BASE_URL: address,
    VLLM_BASE_URL: address,
  };
}

/** Long enough for a busy machine: nothing here waits for it to pass. */
const timeoutMs = 20_000;

/** A `fetch` for choices that must ask nobody. */
const unasked: typeof fetch = () => Promise.reject(new Error("Nobody was to be asked."));

describe("a name", () => {
  test("goes before everything else", async () => {
    const env = { PAWL_MODEL: "openai/gpt-5", ANTHROPIC_API_KEY: "key", OLLAMA_BASE_URL: "http://127.0.0.1:1/v1" };
    const { model, why } = await chooseModel({ name: "ollama/qwen3", env, fetch: unasked });
    expect(model.id).toBe("ollama/qwen3");
    expect(why).toBe("Using ollama/qwen3, because it was named.");
  });

  test("can be given by PAWL_MODEL", async () => {
    const env = { PAWL_MODEL: "openai/gpt-5", OPENAI_API_KEY: "key", ANTHROPIC_API_KEY: "key" };
    const { model, why } = await chooseModel({ env, fetch: unasked });
    expect(model.id).toBe("openai/gpt-5");
    expect(why).toBe("Using openai/gpt-5, because PAWL_MODEL names it.");
  });

  test("that means nothing is an error, never the demo", async () => {
    await expect(chooseModel({ name: "gpt-5", env: {} })).rejects.toMatchObject({ code: "unknown_model" });
    await expect(chooseModel({ env: { PAWL_MODEL: "no/such" } })).rejects.toMatchObject({ code: "unknown_model" });
  });

  test("is looked up in a registry of one's own", async () => {
    const registry = createModelRegistry({
      env: {},
      providers: { acme: () => createStreamingV3([createFinishPart()]).model },
    });
    expect((await chooseModel({ name: "acme/x", env: {}, registry })).model.id).toBe("acme/x");
  });

  test("can be demo, which says what it is", async () => {
    const { why } = await chooseModel({ name: "demo", env: { ANTHROPIC_API_KEY: "key" }, fetch: unasked });
    expect(why).toBe("Using the demo model, not an LLM, because it was named.");
  });
});

describe("a key", () => {
  test("chooses its provider's model, in a fixed order", async () => {
    const keys: Record<string, string> = {};
    for (const { key, model } of [...defaultModels].reverse()) {
      keys[key] = "key";
      const choice = await chooseModel({ env: keys, fetch: unasked });
      expect(choice.model.id).toBe(model);
      expect(choice.why).toBe(`Using ${model}, because ${key} is set.`);
    }
  });

  test("that is empty is not set", async () => {
    const choice = await chooseModel({ env: { ...(await bare()), ANTHROPIC_API_KEY: "  " }, timeoutMs });
    expect(choice.why).toContain("demo model, not an LLM");
  });

  test("whose package is missing is an error that names it, never the demo", async () => {
    const chosen = chooseModel({ env: { ANTHROPIC_API_KEY: "key" }, importPackage: async () => undefined });
    await expect(chosen).rejects.toMatchObject({
      code: "missing_package",
      message: expect.stringContaining("npm install @ai-sdk/anthropic"),
    });
  });
});

describe("OPENAI_BASE_URL", () => {
  test("is asked for its models, with the key", async () => {
    const asked: { path: string; key: string | undefined }[] = [];
    const env = { OPENAI_BASE_URL: `${await serving(["text-embedding-3", "large"], asked)}/`, OPENAI_API_KEY: "key" };
    const { model, why } = await chooseModel({ env });
    expect(model.id).toBe("openai-compatible/large");
    expect(why).toBe("Using openai-compatible/large, because OPENAI_BASE_URL is set.");
    // For its models, then for the context window of the one that was chosen.
    expect(asked).toEqual(Array(2).fill({ path: "/v1/models", key: "Bearer key" }));
  });

  test("of a server that names no model is an error, never the demo", async () => {
    const unlisted = await serving([]);
    const refusing = await listen((_, response) => response.writeHead(401).end());
    const absent = await nobody();
    for (const [address, message] of [
      [unlisted, `(${unlisted}) does not list its models. Name a model: openai-compatible/<model>.`],
      [refusing, "does not list its models (status 401). Name a model"],
      [absent, `No server answers at OPENAI_BASE_URL (${absent}). Start it, or check the address.`],
    ] as const) {
      await expect(chooseModel({ env: { OPENAI_BASE_URL: address } })).rejects.toMatchObject({
        code: "unknown_model",
        message: expect.stringContaining(message),
      });
    }
  });

  test("of OpenAI itself changes nothing", async () => {
    const env = { OPENAI_BASE_URL: "https://api.openai.com/v1", OPENAI_API_KEY: "key" };
    expect((await chooseModel({ env, fetch: unasked })).model.id).toBe("openai/gpt-6-astra");
  });

  test("comes after a key for Anthropic", async () => {
    const env = { OPENAI_BASE_URL: "http://127.0.0.1:1/v1", ANTHROPIC_API_KEY: "key" };
    expect((await chooseModel({ env, fetch: unasked })).model.id).toMatch(/^anthropic\//);
  });
});

describe("servers on this machine", () => {
  test("are taken in their order, not in that of their answers", async () => {
    const vllm = await serving(["big"]);
    const lmstudio = await serving(["nomic-embed-text", "small"]);
    const env = { ...(await bare()), LMSTUDIO_BASE_URL: lmstudio, VLLM_BASE_URL: vllm };
    const { model, why } = await chooseModel({ env, timeoutMs });
    expect(model.id).toBe("lmstudio/small");
    expect(why).toBe(`Using lmstudio/small, because LM Studio answers at ${lmstudio}.`);
  });

  test("that have no model, or are something else, are passed over", async () => {
    const env = {
      OLLAMA_BASE_URL: await serving([]),
      LLAMACPP_BASE_URL: await listen((_request, response) => response.end("<html>A page</html>")),
      LMSTUDIO_BASE_URL: await listen((_request, response) => response.writeHead(404).end()),
      VLLM_BASE_URL: await serving(["big"]),
    };
    expect((await chooseModel({ env, timeoutMs })).model.id).toBe("vllm/big");
  });

  test("that redirect or say other things are passed over", async () => {
    const elsewhere = await serving(["stolen"]);
    const env = {
      ...(await bare()),
      OLLAMA_BASE_URL: await listen((_request, response) =>
        response.writeHead(302, { location: `${elsewhere}/models` }).end(),
      ),
      LLAMACPP_BASE_URL: await listen((_request, response) => response.end('{"data":[{"id":7},null,{"id":""}]}')),
    };
    expect((await chooseModel({ env, timeoutMs })).why).toContain("demo model, not an LLM");
  });

  test("that never answer are not waited for", async () => {
    const env = { ...(await bare()), OLLAMA_BASE_URL: await listen(() => {}) };
    expect((await chooseModel({ env, timeoutMs: 20 })).why).toContain("demo model, not an LLM");
  });
});

test("where there is nothing, the demo model says why", async () => {
  const { why } = await chooseModel({ env: await bare(), timeoutMs });
  expect(why).toBe(
    "Using the demo model, not an LLM, because no model was named, no key is set and no model server answers on this machine.",
  );
});
