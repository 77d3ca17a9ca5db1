/**
 * Chooses a model if none is named: the first that the environment offers, else the demo model, which needs nothing.
 *
 * A key in the environment decides even if it does not work: then the first call fails. A missing package fails here.
 * So nobody gets the demo model who expects another model.
 */
import { aFunction, anObject, anything, checkOptions, numberFrom, type OptionTable } from "../../check-options.js";
import { freeze } from "../../core/data/freeze.js";
import { PawlError } from "../../errors.js";
import type { Model } from "../../ports/model.js";
import { createDemoModel } from "../demo/demo-model.js";
import type { ImportPackage } from "./import-package.js";
import { findLocalModel, type ModelList, readModelList } from "./local-servers.js";
import { type ProviderEnvironment, variable } from "./providers.js";
import { createModelRegistry, type ModelRegistry } from "./registry.js";

/** The default model of each provider. The first provider whose key is set is used. */
export const defaultModels = freeze([
  { key: "ANTHROPIC_API_KEY", model: "anthropic/claude-sonnet-5-5" },
  { key: "OPENAI_API_KEY", model: "openai/gpt-6-astra" },
  { key: "GOOGLE_GENERATIVE_AI_API_KEY", model: "google/gemini-flash-latest" },
  { key: "OPENROUTER_API_KEY", model: "openrouter/openrouter/auto" },
] as const);

export type ChooseOptions = {
  /** `provider/model`, or `demo`. If given, the environment is ignored. */
  readonly name?: string;
  /** The source of keys, addresses and `PAWL_MODEL`, which is a name as above. Default: `process.env`. */
  readonly env?: ProviderEnvironment;
  /** Used to ask local servers for their models. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
  /** Milliseconds to wait for local servers; all are asked at the same time. Default: 300. */
  readonly timeoutMs?: number;
  readonly importPackage?: ImportPackage;
  /** Looks up names. Default: a registry of the known providers. */
  readonly registry?: ModelRegistry;
};

const optionRules: OptionTable<ChooseOptions> = {
  name: anything,
  env: anObject,
  fetch: aFunction,
  timeoutMs: numberFrom(0),
  importPackage: aFunction,
  registry: anObject,
};

export type Choice = {
  readonly model: Model;
  /** One sentence for people: which model was chosen, and why. */
  readonly why: string;
};

/**
 * Chooses a model. The order is: `name`, `PAWL_MODEL`, a key in the environment, a server on this machine, the demo
 * model.
 *
 * @throws PawlError `unknown_model`, `missing_package` or `bad_configuration`, as `ModelRegistry.resolve` does;
 *   `unknown_model` if the server at `OPENAI_BASE_URL` lists no model
 */
export async function chooseModel(options: ChooseOptions = {}): Promise<Choice> {
  checkOptions("chooseModel()", optionRules, options);
  const environment = options.env ?? process.env;
  const registry =
    options.registry ??
    createModelRegistry({
      env: environment,
      ...(options.importPackage !== undefined && { importPackage: options.importPackage }),
    });
  const list: ModelList = {
    fetch: options.fetch ?? globalThis.fetch,
    timeoutMs: options.timeoutMs ?? 300,
  };

  if (options.name !== undefined) return named(options.name, registry, "it was asked for");
  const preset = variable(environment, "PAWL_MODEL");
  if (preset !== undefined) return named(preset, registry, "PAWL_MODEL names it");

  const ownServer = variable(environment, "OPENAI_BASE_URL");
  for (const { key, model } of defaultModels) {
    if (key === "OPENAI_API_KEY" && ownServer !== undefined && !isOpenAi(ownServer)) {
      return fromOwnServer(ownServer, environment, registry, list.fetch);
    }
    if (variable(environment, key) !== undefined) return named(model, registry, `${key} is set`);
  }

  const local = await findLocalModel(environment, list);
  if (local !== undefined) return named(local.name, registry, `${local.server} answers at ${local.address}`);
  const nothing = "no model was named, no key is set and no model server answers on this machine";
  return { model: createDemoModel(), why: demoSentence(nothing) };
}

async function named(name: string, registry: ModelRegistry, because: string): Promise<Choice> {
  if (name === "demo") return { model: createDemoModel(), why: demoSentence(because) };
  return { model: await registry.resolve(name), why: `Using ${name}, because ${because}.` };
}

function demoSentence(because: string): string {
  return `Using the demo model, not an LLM, because ${because}.`;
}

function isOpenAi(address: string): boolean {
  return URL.canParse(address) && new URL(address).hostname === "api.openai.com";
}

/**
 * Milliseconds to wait for a server that the user named. It is longer than for local servers, as it may be far away.
 */
const ownServerTimeoutMs = 5_000;

async function fromOwnServer(
  address: string,
  environment: ProviderEnvironment,
  registry: ModelRegistry,
  fetch: ModelList["fetch"],
): Promise<Choice> {
  const key = variable(environment, "OPENAI_API_KEY");
  const list: ModelList = { fetch, timeoutMs: ownServerTimeoutMs, ...(key !== undefined && { key }) };
  const modelId = await readModelList(address, list);
  if (modelId === undefined) {
    throw new PawlError(
      "unknown_model",
      `The server at OPENAI_BASE_URL (${address}) does not list its models. Name a model: openai-compatible/<model>.`,
    );
  }
  return named(`openai-compatible/${modelId}`, registry, "OPENAI_BASE_URL is set");
}
