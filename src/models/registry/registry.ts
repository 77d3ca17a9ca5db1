/**
 * Resolves models by name: `provider/model`. A provider's package is imported only when a name needs it.
 */
import { aFunction, anObject, checkOptions, type OptionTable } from "../../check-options.js";
import { PawlError } from "../../errors.js";
import type { Model } from "../../ports/model.js";
import { fromAiSdk, isModel } from "../ai-sdk/adapter.js";
import type { LanguageModel } from "../ai-sdk/language-model.js";
import { askContextWindow } from "./context-window.js";
import { fetchUnpooled } from "./fetch-unpooled.js";
import { type ImportPackage, importInstalledPackage } from "./import-package.js";
import { withJsonFallback } from "./json-mode.js";
import {
  findAddress,
  type KnownProvider,
  knownProviders,
  type ProviderEnvironment,
  readVariable,
} from "./providers.js";
import type { ModelList } from "./server-requests.js";

/** Creates a model from the part of its name after the provider: `a/b` for `provider/a/b`. */
export type ModelProvider = (modelId: string) => Model | LanguageModel | Promise<Model | LanguageModel>;

/** The providers of a registry, and the source of their keys. */
export type RegistryOptions = {
  /** Your own providers, by name. They replace known providers of the same name. */
  readonly providers?: { readonly [name: string]: ModelProvider };
  /** The source of keys and addresses. Default: `process.env`. */
  readonly env?: ProviderEnvironment;
  /** Imports a provider's package. Default: as installed next to Pawl, else next to the program. */
  readonly importPackage?: ImportPackage;
  /**
   * Used to query self-hosted servers for a model's context window. Default: a `fetch` that opens a new connection for
   * each request.
   */
  readonly fetch?: typeof globalThis.fetch;
};

/** Resolves names like `provider/model` to models. */
export interface ModelRegistry {
  /** The names of the providers: the part of a model's name before the slash. */
  readonly providers: readonly string[];
  /**
   * Resolves a name to a model. A self-hosted server (Ollama, llama.cpp, LM Studio, vLLM, `openai-compatible`) is queried
   * for the model's context window, for at most a second.
   *
   * @param name `provider/model`, such as `openai/gpt-5`
   * @throws PawlError `unknown_model` if the provider is not known, `missing_package` if the provider's package is not
   *   installed, `bad_configuration` if a key or an address is missing
   */
  resolve(name: string): Promise<Model>;
}

const optionRules: OptionTable<RegistryOptions> = {
  providers: anObject,
  env: anObject,
  importPackage: aFunction,
  fetch: aFunction,
};

/**
 * Creates a registry of the known providers and your own.
 *
 * @example
 * ```ts
 * import { createModelRegistry } from "pawl/models";
 *
 * const registry = createModelRegistry({ providers: { mine: (id) => (id === "small" ? small : large) } });
 * const agent = createAgent({ model: await registry.resolve("mine/small") });
 * ```
 */
export function createModelRegistry(options: RegistryOptions = {}): ModelRegistry {
  checkOptions("createModelRegistry()", optionRules, options);
  const environment = options.env ?? process.env;
  const deps: RegistryDeps = {
    environment,
    importPackage: options.importPackage ?? importInstalledPackage,
    fetch: options.fetch ?? fetchUnpooled,
  };
  const providers = new Map<string, ModelProvider>();
  for (const known of knownProviders) {
    providers.set(known.name, (modelId) => createKnownModel(known, modelId, deps));
  }
  for (const [name, provider] of Object.entries(options.providers ?? {})) providers.set(checkName(name), provider);

  return {
    providers: [...providers.keys()],
    async resolve(name) {
      const slash = name.indexOf("/");
      const modelId = name.slice(slash + 1);
      const provider = slash < 1 || modelId === "" ? undefined : providers.get(name.slice(0, slash));
      if (provider === undefined) throw unknownModelError(name, [...providers.keys()]);
      const model = await provider(modelId);
      return isModel(model) ? model : fromAiSdk(model, { id: name });
    },
  };
}

/**
 * Looks up a model by name (`provider/model`) among the known providers. Throws as `ModelRegistry.resolve` does.
 */
export function resolveModel(
  name: string,
  options: Pick<RegistryOptions, "env" | "importPackage"> = {},
): Promise<Model> {
  return createModelRegistry(options).resolve(name);
}

type RegistryDeps = Required<Pick<RegistryOptions, "importPackage" | "fetch">> & {
  readonly environment: ProviderEnvironment;
};

async function createKnownModel(provider: KnownProvider, modelId: string, deps: RegistryDeps): Promise<Model> {
  const { environment, importPackage } = deps;
  const name = `${provider.name}/${modelId}`;
  const settings = createSettings(provider, name, environment);
  const imported = await importPackage(provider.packageName);
  if (imported === undefined) {
    throw new PawlError(
      "missing_package",
      `The model ${name} needs the package ${provider.packageName}, which is not installed. Install it: npm install ${provider.packageName}`,
    );
  }
  const factory = imported[provider.factory];
  if (typeof factory !== "function") {
    throw new PawlError(
      "bad_configuration",
      `The installed package ${provider.packageName} has no ${provider.factory}. Install a newer version: npm install ${provider.packageName}@latest`,
    );
  }
  // fromAiSdk checks the result.
  const create = (factory as (settings: object) => (modelId: string) => LanguageModel)(settings);
  const model = fromAiSdk(create(modelId), {
    id: name,
    ...(provider.providerOptions !== undefined && { providerOptions: provider.providerOptions }),
  });
  return provider.protocol === "openai-compatible" && provider.tellsWindow
    ? addContextWindow(model, provider, modelId, deps)
    : model;
}

const windowTimeoutMs = 1_000;

/**
 * Adds the context window that the model's server reports. Some servers load a model only for its first answer, and know the window
 * only then. So the server is queried again when the second call begins.
 */
async function addContextWindow(
  model: Model,
  provider: KnownProvider,
  modelId: string,
  { environment, fetch }: RegistryDeps,
): Promise<Model> {
  const address = findAddress(provider, environment) ?? "";
  const key = readVariable(environment, provider.key);
  const options: ModelList = { fetch, timeoutMs: windowTimeoutMs, ...(key !== undefined && { key }) };
  const refreshWindow = async () => {
    const contextWindow = await askContextWindow(provider.name, address, modelId, options);
    if (contextWindow !== undefined) Object.assign(windowAwareModel, { contextWindow });
  };
  let callCount = 0;
  const windowAwareModel: Model = {
    ...model,
    stream(request, signal) {
      callCount += 1;
      if (callCount === 2) void refreshWindow();
      return model.stream(request, signal);
    },
  };
  await refreshWindow();
  return windowAwareModel;
}

function createSettings(provider: KnownProvider, model: string, environment: ProviderEnvironment): object {
  const apiKey = readVariable(environment, provider.key);
  const address = findAddress(provider, environment);
  const keyRequired = provider.protocol === "own" || provider.keyRequired === true;
  if (apiKey === undefined && keyRequired) throw missingSettingError(model, "an API key", provider.key);
  const key = apiKey !== undefined ? { apiKey } : {};
  if (provider.protocol === "own") return { ...key, ...(address !== undefined && { baseURL: address }) };
  if (address === undefined) throw missingSettingError(model, "the address of its server", provider.address);
  return {
    name: provider.name,
    baseURL: address,
    // These servers report the usage of a stream only on request.
    includeUsage: true,
    // Without this option, the provider's package asks for any JSON instead of JSON with the schema.
    supportsStructuredOutputs: true,
    fetch: withJsonFallback(fetchUnpooled),
    ...key,
  };
}

function missingSettingError(model: string, setting: string, variableName: string | undefined): PawlError {
  return new PawlError("bad_configuration", `The model ${model} needs ${setting}. Set the variable ${variableName}.`);
}

function unknownModelError(name: string, providers: readonly string[]): PawlError {
  const known = providers.map((provider) => `${provider}/…`).join(", ");
  return new PawlError(
    "unknown_model",
    `Unknown model ${JSON.stringify(name)}. Use provider/model; the known providers are: ${known}.`,
  );
}

function checkName(name: string): string {
  if (/^[^/\s]+$/.test(name)) return name;
  throw new PawlError(
    "bad_configuration",
    `Invalid provider name ${JSON.stringify(name)}: use a name without slashes and spaces.`,
  );
}
