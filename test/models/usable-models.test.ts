/**
 * The models that can be used here: with real servers of each kind, and keys that nothing is sent to.
 */
import { describe, expect, test } from "vitest";
import { usableModels } from "../../src/models/index.js";
import { serverKinds, startLocalServer } from "../servers/local-server.js";
import { verifies } from "../verifies.js";

const proven = verifies("CHAT-3#choices");

/** Addresses at which nothing answers, for all servers that are not named. */
const nowhere = Object.fromEntries(
  ["OLLAMA", "LLAMACPP", "LMSTUDIO", "VLLM"].map((name) => [`${name}_BASE_URL`, "http://127.0.0.1:1/v1"]),
);

describe.each(Object.entries(serverKinds))("%s", (_, kind) => {
  test("its models are listed, with its address", proven, async () => {
    const server = await startLocalServer(kind);
    const found = await usableModels({ env: { ...nowhere, ...server.env } });
    expect(found.map(({ name }) => name)).toContain(`${kind.provider}/${kind.modelId}`);
    for (const { because } of found) expect(because).toMatch(/answers at http:\/\/127\.0\.0\.1:/);
    expect(Object.isFrozen(found)).toBe(true);
  });
});

test("a key gives its provider's default model and those with a price, and no provider is asked", proven, async () => {
  const asked: string[] = [];
  const found = await usableModels({
    env: { ...nowhere, ANTHROPIC_API_KEY: "k", OPENROUTER_API_KEY: "k", OPENAI_BASE_URL: "https://api.openai.com/v1" },
    fetch: async (input) => {
      asked.push(new URL(input instanceof Request ? input.url : input).hostname);
      throw new TypeError("nobody answers");
    },
  });
  const names = found.map(({ name }) => name);
  expect(names[0]).toBe("anthropic/claude-sonnet-5-5");
  expect(names).toEqual(expect.arrayContaining(["anthropic/claude-haiku-4-5", "openrouter/openrouter/auto"]));
  expect(names.filter((name) => !/^(anthropic|openrouter)\//.test(name))).toEqual([]);
  expect(new Set(names).size).toBe(names.length);
  expect(found[0]?.because).toBe("ANTHROPIC_API_KEY is set");
  expect(new Set(asked)).toEqual(new Set(["127.0.0.1"]));
});

test("without a key and a server there is none", proven, async () => {
  expect(await usableModels({ env: nowhere, timeoutMs: 100 })).toEqual([]);
});
