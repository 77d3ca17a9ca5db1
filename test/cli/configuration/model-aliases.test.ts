/**
 * Names of one's own for models, in `pawl.config.json`.
 */
import { describe, expect, test } from "vitest";
import { parseConfiguration } from "../../../src/cli/configuration/configuration.js";
import { findAlias, toProviderEnvironment } from "../../../src/cli/configuration/model-aliases.js";
import { verifies } from "../../verifies.js";

const parsed = (models: object) => parseConfiguration("pawl.config.json", JSON.stringify({ models }));

describe("models of one's own", () => {
  const bad: readonly (readonly [object, string])[] = [
    [{ fast: "ollama/qwen3" }, "it must be an object"],
    [{ fast: {} }, "use is missing"],
    [{ fast: { use: "qwen3" } }, "use must be provider/model"],
    [{ fast: { use: "ollama/qwen3", contextWindow: 0 } }, "contextWindow must be a number of tokens"],
    [{ fast: { use: "openai-compatible/m", baseUrl: "file:///etc" } }, "baseUrl must be an address"],
    [
      { fast: { use: "openai-compatible/m", apiKeyEnv: "sk-secret" } },
      "apiKeyEnv must be the name of an environment variable",
    ],
    [{ fast: { use: "ollama/qwen3", apiKey: "x" } }, '"apiKey" is not one of use'],
    [{ "a/b": { use: "ollama/qwen3" } }, 'may not name a model "a/b"'],
    [{ demo: { use: "ollama/qwen3" } }, 'may not name a model "demo"'],
  ];
  test.each(bad)("%j is refused: %s", verifies("CHAT-4#settings"), (models, why) => {
    expect(() => parsed(models)).toThrow(why);
  });

  test("a name and its provider/model both have the settings", verifies("CHAT-4#settings"), () => {
    const work = { use: "openai-compatible/m", baseUrl: "https://llm.example/v1", apiKeyEnv: "CORP_KEY" };
    const aliases = { work, later: { use: "openai-compatible/m" } };
    expect(parsed(aliases).settings.models).toEqual(aliases);
    expect(findAlias("work", aliases)).toBe(work);
    expect(findAlias("openai-compatible/m", aliases)).toBe(work);
    expect(findAlias("constructor", aliases)).toBeUndefined();
  });

  test("an address gets the key that is named for it, and no other", verifies("CHAT-4#settings"), () => {
    const environment = {
      OPENAI_API_KEY: "the person's",
      CORP_KEY: "the company's",
      OPENAI_BASE_URL: "https://other.example",
    };
    const use = "openai-compatible/m";
    const baseUrl = "https://llm.example/v1";
    expect(toProviderEnvironment({ use, baseUrl, apiKeyEnv: "CORP_KEY" }, environment)).toMatchObject({
      OPENAI_API_KEY: "the company's",
      OPENAI_BASE_URL: baseUrl,
    });
    expect(toProviderEnvironment({ use, baseUrl }, environment).OPENAI_API_KEY).toBeUndefined();
    expect(toProviderEnvironment({ use, apiKeyEnv: "NOT_SET" }, environment).OPENAI_API_KEY).toBeUndefined();
    expect(toProviderEnvironment({ use }, environment)).toBe(environment);
  });
});
