/**
 * The model that the command line chooses: why, and how long it waits for it.
 */
import { afterEach, describe, expect, test, vi } from "vitest";
import { chooseConfiguredModel } from "../../../src/cli/agent/choose-model.js";
import { verifies } from "../../verifies.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

/** A configuration without names for models. */
const unnamed = { models: {} };
const nowhere = "http://127.0.0.1:9/v1";

describe("the reason for a model", () => {
  const settings = (value: string, from: string) => [{ key: "model", value, from }];
  const why = async (name: string, value: string, from = "/home/ada/config.json") =>
    (await chooseConfiguredModel(name, {}, { models: {}, settings: settings(value, from) })).why;

  test("is the file whose setting names it", async () => {
    expect(await why("demo", "demo")).toBe("Using the demo model, not an LLM, because /home/ada/config.json names it.");
    vi.stubEnv("OLLAMA_BASE_URL", nowhere);
    expect(await why("ollama/any", "ollama/any")).toBe("Using ollama/any, because /home/ada/config.json names it.");
  });

  test("is that it was named, or PAWL_MODEL, if no file names it", async () => {
    expect(await why("demo", "ollama/any")).toBe("Using the demo model, not an LLM, because it was named.");
    vi.stubEnv("PAWL_MODEL", "demo");
    expect(await why("demo", "demo", "PAWL_MODEL")).toBe(
      "Using the demo model, not an LLM, because PAWL_MODEL names it.",
    );
  });
});

describe("the wait for a model", () => {
  const models: readonly (readonly [string, string, string | undefined])[] = [
    ["llamacpp/any", "LLAMACPP_BASE_URL", undefined],
    ["ollama/any", "OLLAMA_BASE_URL", undefined],
    ["vllm/any", "VLLM_BASE_URL", "http://[::1]:9/v1"],
    ["lmstudio/any", "LMSTUDIO_BASE_URL", "http://localhost:9/v1"],
    ["openai-compatible/any", "OPENAI_BASE_URL", undefined],
  ];
  test.each(models)("has no limit for %s on this machine, unless one is set", verifies("RTRY-5"), async (...model) => {
    const [name, variable, address = nowhere] = model;
    vi.stubEnv(variable, address);
    const { timeouts } = await chooseConfiguredModel(name, {}, unnamed);
    expect(timeouts).toEqual({ firstChunkMs: Number.POSITIVE_INFINITY, totalMs: Number.POSITIVE_INFINITY });
    const limited = await chooseConfiguredModel(name, { timeout: 5_000 }, unnamed);
    expect(limited.timeouts).toEqual({ firstChunkMs: 5_000, totalMs: 605_000 });
  });

  test("is that of the library for a model elsewhere, unless one is set", verifies("RTRY-5"), async () => {
    vi.stubEnv("VLLM_BASE_URL", "https://models.invalid/v1");
    vi.stubEnv("ANTHROPIC_API_KEY", "a-key-of-a-test");
    for (const name of ["vllm/any", "anthropic/claude-sonnet-5-5", "demo"]) {
      expect((await chooseConfiguredModel(name, {}, unnamed)).timeouts).toEqual({});
      const { timeouts } = await chooseConfiguredModel(name, { timeout: 1_200_000 }, unnamed);
      expect(timeouts).toEqual({ firstChunkMs: 1_200_000, totalMs: 1_800_000 });
    }
  });
});
