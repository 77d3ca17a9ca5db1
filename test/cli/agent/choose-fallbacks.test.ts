/**
 * The models of the setting `fallbacks`.
 */
import { describe, expect, test } from "vitest";
import { chooseFallbacks, fallbacksFor } from "../../../src/cli/agent/choose-fallbacks.js";
import { parseConfiguration } from "../../../src/cli/configuration/configuration.js";
import { createScriptedModel } from "../../../src/testing/index.js";
import { verifies } from "../../verifies.js";

const nowhere = "http://127.0.0.1:9/v1";
const models = {
  second: { use: "openai-compatible/two", baseUrl: nowhere },
  keyed: { use: "anthropic/claude-sonnet-5-5", apiKeyEnv: "PAWL_TEST_NO_SUCH_KEY" },
};
const choose = (fallbacks: readonly string[], limits = {}) =>
  chooseFallbacks({ models, limits, settings: [{ key: "fallbacks", value: fallbacks, from: "a file" }] }, {});

describe("the setting fallbacks", verifies("CHAT-4#settings"), () => {
  test("names models in the order in which they are tried, by their own names, too", async () => {
    const { fallbacks, problems } = await choose(["second", "openai-compatible/two", "second"]);
    expect(problems).toEqual([]);
    const others = fallbacksFor(createScriptedModel([], { id: "one" }), fallbacks, {});
    expect(others.map(({ model }) => model.id)).toEqual(["openai-compatible/two"]);
    expect(fallbacksFor(createScriptedModel([], { id: "openai-compatible/two" }), fallbacks, {})).toEqual([]);
  });

  test("leaves out what cannot be used, and says why", async () => {
    const { fallbacks, problems } = await choose(["nowhere/big", "keyed", "second"]);
    expect(fallbacks.map(({ model }) => model.id)).toEqual(["openai-compatible/two"]);
    expect(problems).toEqual([
      expect.stringMatching(/^The fallback nowhere\/big is left out\. .*nowhere/),
      expect.stringMatching(/^The fallback keyed is left out\. .*API key/),
    ]);
  });

  test("leaves out a model without a price under a limit in dollars, of the settings or of one agent", async () => {
    const { fallbacks, problems } = await choose(["second"], { maxCostUsd: 1 });
    expect(fallbacks).toEqual([]);
    expect(problems).toEqual([expect.stringContaining("openai-compatible/two has no known price")]);
    const { fallbacks: unlimited } = await choose(["second"]);
    expect(fallbacksFor(createScriptedModel([], { id: "one" }), unlimited, { maxCostUsd: 1 })).toEqual([]);
  });

  test("is empty by default", async () => {
    expect(await chooseFallbacks({ models, limits: {}, settings: [] }, {})).toEqual({ fallbacks: [], problems: [] });
  });

  test.each(['["demo"]', '"openai/x"', '["a b"]', '["/"]', `[${Array(11).fill('"a/b"').join()}]`])(
    "refuses %s",
    (value) => {
      expect(() => parseConfiguration("pawl.config.json", `{ "fallbacks": ${value} }`)).toThrow("at most 10 models");
    },
  );
});
