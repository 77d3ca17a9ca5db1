import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { textOf } from "../../src/core/data/message.js";
import { importInstalledPackage } from "../../src/models/registry/import-package.js";
import { knownProviders } from "../../src/models/registry/providers.js";
import { createModelRegistry, resolveModel } from "../../src/models/registry/registry.js";
import type { Model } from "../../src/ports/model.js";
import { verifies } from "../verifies.js";
import { assembleMessage, collectDeltas, createRequest, createUserMessage, requireLastDelta } from "./collect.js";
import { type FormatName, type ProviderServer, startProviderServer } from "./provider-server.js";
import { createFinishPart, createStreamingV3, createStreamingV4 } from "./stream-parts.js";

const servers: ProviderServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

async function start(format: FormatName): Promise<ProviderServer> {
  const usage = { input: 3, output: 1 };
  const server = await startProviderServer(format, [{ type: "answer", text: "Hello.", usage }]);
  servers.push(server);
  return server;
}

describe("names", () => {
  const reached: readonly (readonly [string, FormatName, Record<string, string>, string])[] = [
    ["openai/gpt-5", "openai-responses", { OPENAI_API_KEY: "key" }, "OPENAI_BASE_URL"],
    ["anthropic/claude-sonnet-4-5", "anthropic-messages", { ANTHROPIC_API_KEY: "key" }, "ANTHROPIC_BASE_URL"],
    ["openrouter/meta/llama-4", "openai-chat", { OPENROUTER_API_KEY: "key" }, "OPENROUTER_BASE_URL"],
    ["ollama/qwen3:8b", "openai-chat", {}, "OLLAMA_BASE_URL"],
    ["llamacpp/any", "openai-chat", {}, "LLAMACPP_BASE_URL"],
    ["lmstudio/any", "openai-chat", {}, "LMSTUDIO_BASE_URL"],
    ["vllm/org/model", "openai-chat", {}, "VLLM_BASE_URL"],
    ["openai-compatible/any", "openai-chat", { OPENAI_API_KEY: "key" }, "OPENAI_BASE_URL"],
  ];
  test.each(reached)("%s reaches its server", verifies("LOOP-9"), async (name, format, keys, address) => {
    const server = await start(format);
    const model = await resolveModel(name, { env: { ...keys, [address]: server.baseURL } });
    expect(model.id).toBe(name);
    const deltas = await collectDeltas(model, createRequest([createUserMessage("Hi")]));
    expect(textOf(assembleMessage(deltas))).toBe("Hello.");
    expect(requireLastDelta(deltas, "done").usage).toMatchObject({ inputTokens: 3, outputTokens: 1 });
    const request = server.requests[0];
    expect(request?.body.model).toBe(name.slice(name.indexOf("/") + 1));
    const sent = request?.headers["x-api-key"] ?? request?.headers.authorization;
    expect(sent).toEqual(Object.keys(keys).length === 0 ? undefined : expect.stringContaining("key"));
  });

  test("what is said to OpenAI is not stored there, so that a session is whole by itself", async () => {
    const server = await start("openai-responses");
    const env = { OPENAI_API_KEY: "key", OPENAI_BASE_URL: server.baseURL };
    await collectDeltas(await resolveModel("openai/gpt-5", { env }), createRequest([createUserMessage("Hi")]));
    expect(server.requests[0]?.body).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
  });

  test("google comes from its package", verifies("LOOP-9"), async () => {
    const model = await resolveModel("google/gemini-2.5-flash", { env: { GOOGLE_GENERATIVE_AI_API_KEY: "key" } });
    expect(model.id).toBe("google/gemini-2.5-flash");
  });

  test.each(["gpt-5", "", "/", "openai/", "/gpt-5", "acme/model", "__proto__/x", "constructor/x"])(
    "%j means nothing, and what would is listed",
    verifies("LOOP-9"),
    async (name) => {
      await expect(resolveModel(name, { env: {} })).rejects.toMatchObject({
        code: "unknown_model",
        message: expect.stringMatching(/anthropic\/….*openai\/….*ollama\/…/),
      });
    },
  );

  test("a package that is not installed is named, with the line that installs it", verifies("LOOP-9"), async () => {
    for (const provider of knownProviders) {
      const env = { [provider.key ?? "NONE"]: "key", [provider.address ?? "NONE"]: "http://127.0.0.1:9/v1" };
      const resolved = resolveModel(`${provider.name}/model`, { env, importPackage: async () => undefined });
      await expect(resolved).rejects.toMatchObject({
        code: "missing_package",
        message: expect.stringContaining(`npm install ${provider.packageName}`),
      });
    }
  });

  test("a key or an address that is missing is named", async () => {
    await expect(resolveModel("anthropic/claude", { env: { ANTHROPIC_API_KEY: " " } })).rejects.toMatchObject({
      code: "bad_configuration",
      message: expect.stringContaining("ANTHROPIC_API_KEY"),
    });
    await expect(resolveModel("openai-compatible/model", { env: {} })).rejects.toMatchObject({
      code: "bad_configuration",
      message: expect.stringContaining("OPENAI_BASE_URL"),
    });
  });

  test("a package that is too old says so", async () => {
    const old = { ...createStreamingV3([]).model, specificationVersion: "v2" };
    const env = { OPENAI_API_KEY: "key" };
    const factory = async () => ({ createOpenAI: () => () => old });
    await expect(resolveModel("openai/gpt-5", { env, importPackage: factory })).rejects.toMatchObject({
      code: "bad_configuration",
      message: expect.stringContaining("specification v2"),
    });
    await expect(resolveModel("openai/gpt-5", { env, importPackage: async () => ({}) })).rejects.toMatchObject({
      code: "bad_configuration",
      message: expect.stringContaining("createOpenAI"),
    });
  });
});

describe("providers of one's own", () => {
  test("give models of any kind, and replace known ones", verifies("LOOP-9"), async () => {
    const own: Model = { id: "mine", async *stream() {} };
    const registry = createModelRegistry({
      env: {},
      providers: {
        acme: (modelId) => ({ ...own, id: modelId }),
        later: async () => createStreamingV4([createFinishPart()]).model,
        openai: () => createStreamingV3([createFinishPart()]).model,
      },
    });
    expect((await registry.resolve("acme/a/b")).id).toBe("a/b");
    expect((await registry.resolve("later/x")).id).toBe("later/x");
    const replaced = await registry.resolve("openai/gpt-5");
    expect(
      requireLastDelta(await collectDeltas(replaced, createRequest([createUserMessage("Hi")])), "done").finishReason
        .unified,
    ).toBe("stop");
    expect(registry.providers).toContain("acme");
  });

  test.each(["a/b", "", "a b"])("cannot be called %j", (name) => {
    expect(() => createModelRegistry({ providers: { [name]: () => createStreamingV3([]).model } })).toThrow(
      expect.objectContaining({ code: "bad_configuration" }),
    );
  });
});

describe("packages", () => {
  const before = process.cwd();
  const folders: string[] = [];

  afterEach(() => {
    process.chdir(before);
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });

  function project(files: { readonly [path: string]: string }): string {
    const folder = mkdtempSync(join(tmpdir(), "pawl-models-"));
    folders.push(folder);
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(folder, path, ".."), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    process.chdir(folder);
    return folder;
  }

  function linkTo(file: string): string {
    const folder = mkdtempSync(join(tmpdir(), "pawl-models-"));
    folders.push(folder);
    symlinkSync(file, join(folder, "linked"));
    return join(folder, "linked");
  }

  function runAs(program: string): void {
    const [node = "", before = ""] = process.argv;
    process.argv.splice(0, 2, node, program);
    onTestFinished(() => void process.argv.splice(0, 2, node, before));
  }

  test("are found beside this one", async () => {
    expect(await importInstalledPackage("@ai-sdk/openai")).toHaveProperty("createOpenAI");
  });

  const acme = (text: string) => ({
    "node_modules/@acme/models/package.json": '{ "name": "@acme/models", "type": "module", "exports": "./index.js" }',
    "node_modules/@acme/models/index.js": text,
  });

  test("are found beside the program that runs, also through a link to it", async () => {
    const folder = project({ ...acme("export const createAcme = () => 7;"), "bin/program.js": "" });
    process.chdir(tmpdir());
    for (const program of [join(folder, "bin/program.js"), linkTo(join(folder, "bin/program.js"))]) {
      runAs(program);
      expect(await importInstalledPackage("@acme/models")).toHaveProperty("createAcme");
    }
  });

  test("of the working directory are not loaded", verifies("SEC-17"), async () => {
    const folder = project(acme('import { writeFileSync } from "node:fs"; writeFileSync("loaded", "");'));
    expect(await importInstalledPackage("@acme/models")).toBeUndefined();
    expect(existsSync(join(folder, "loaded"))).toBe(false);
  });

  test("are missing where they are nowhere", async () => {
    expect(await importInstalledPackage("@acme/nowhere")).toBeUndefined();
  });

  test("that do not load are not taken for missing", async () => {
    const folder = project({
      "program.js": "",
      "node_modules/@acme/broken/package.json": '{ "name": "@acme/broken", "main": "./index.cjs" }',
      "node_modules/@acme/broken/index.cjs": 'require("@acme/not-there");',
    });
    runAs(join(folder, "program.js"));
    await expect(importInstalledPackage("@acme/broken")).rejects.toThrow("@acme/not-there");
  });
});
