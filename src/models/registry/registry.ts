/**
 * Models by name: `provider/model`. A provider's package is imported only when a name needs it.
 */
import { aFunction, anObject, checkOptions, type OptionTable } from "../../check-options.js";
import { PawlError } from "../../errors.js";
import type { Model } from "../../ports/model.js";
import { fromAiSdk, isModel } from "../ai-sdk/adapter.js";
import type { LanguageModel } from "../ai-sdk/language-model.js";
import { type ImportPackage, importInstalledPackage } from "./import-package.js";
import { type KnownProvider, knownProviders, type ProviderEnvironment, variable } from "./providers.js";

/** Creates a model by the part of its name after the provider: `a/b` for `provider/a/b`. */
export type ModelProvider = (modelId: string) => Model | LanguageModel | Promise<Model | LanguageModel>;

export type RegistryOptions = {
  /** Your own providers, by name. They replace known providers of the same name. */
  readonly providers?: { readonly [name: string]: ModelProvider };
  /** The source of keys and addresses. Default: `process.env`. */
  readonly env?: ProviderEnvironment;
  /** How provider packages are imported. Default: from beside this package, else from the working directory. */
  readonly importPackage?: ImportPackage;
};

export interface ModelRegistry {
  /** The names of the providers: the part of a model's name before the slash. */
  readonly providers: readonly string[];
  /**
   * @param name `provider/model`, such as `openai/gpt-5`
   * @throws PawlError `unknown_model` if the provider is not known, `missing_package` if the provider's package is not
   *   installed, `bad_configuration` if a key or an address is missing
   */
  resolve(name: string): Promise<Model>;
}

const optionRules: OptionTable<RegistryOptions> = { providers: anObject, env: anObject, importPackage: aFunction };

/** Creates a registry of the known providers and your own. */
export function createModelRegistry(options: RegistryOptions = {}): ModelRegistry {
  checkOptions("createModelRegistry()", optionRules, options);
  const environment = options.env ?? process.env;
  const importPackage = options.importPackage ?? importInstalledPackage;
  const providers = new Map<string, ModelProvider>();
  for (const known of knownProviders) {
    providers.set(known.name, (modelId) => createKnown(known, modelId, environment, importPackage));
  }
  for (const [name, provider] of Object.entries(options.providers ?? {})) providers.set(checkName(name), provider);

  return {
    providers: [...providers.keys()],
    async resolve(name) {
      const slash = name.indexOf("/");
      const modelId = name.slice(slash + 1);
      const provider = slash < 1 || modelId === "" ? undefined : providers.get(name.slice(0, slash));
      if (provider === undefined) throw unknownModel(name, [...providers.keys()]);
      const model = await provider(modelId);
      return isModel(model) ? model : fromAiSdk(model, { id: name });
    },
  };
}

/**
 * Looks up a model by its name, `provider/model`, among the known providers. Throws as `ModelRegistry.resolve` does.
 */
export function resolveModel(
  name: string,
  options: Pick<RegistryOptions, "env" | "importPackage"> = {},
): Promise<Model> {
  return createModelRegistry(options).resolve(name);
}

async function createKnown(
  provider: KnownProvider,
  modelId: string,
  environment: ProviderEnvironment,
  importPackage: ImportPackage,
): Promise<Model> {
  const name = `${provider.name}/${modelId}`;
  const settings = settingsOf(provider, name, environment);
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
  return fromAiSdk(create(modelId), {
    id: name,
    ...(provider.providerOptions !== undefined && { providerOptions: provider.providerOptions }),
  });
}

function settingsOf(provider: KnownProvider, model: string, environment: ProviderEnvironment): object {
  const apiKey = variable(environment, provider.key);
  const address = variable(environment, provider.address);
  const keyRequired = provider.protocol === "own" || provider.keyRequired === true;
  if (apiKey === undefined && keyRequired) throw missing(model, "an API key", provider.key);
  const key = apiKey !== undefined ? { apiKey } : {};
  if (provider.protocol === "own") return { ...key, ...(address !== undefined && { baseURL: address }) };
  const baseURL = address ?? provider.defaultAddress;
  if (baseURL === undefined) throw missing(model, "the address of its server", provider.address);
  // These servers report the usage of a stream only on request.
  return { name: provider.name, baseURL, includeUsage: true, ...key };
}

function missing(model: string, what: string, variableName: string | undefined): PawlError {
  return new PawlError("bad_configuration", `The model ${model} needs ${what}. Set the variable ${variableName}.`);
}

function unknownModel(name: string, providers: readonly string[]): PawlError {
  const known = providers.map((provider) => `${provider}/…`).join(", ");
  return new PawlError(
    "unknown_model",
    `There is no model ${JSON.stringify(name)}. Write provider/model; the known providers are: ${known}.`,
  );
}

function checkName(name: string): string {
  if (/^[^/\s]+$/.test(name)) return name;
  throw new PawlError(
    "bad_configuration",
    `A provider cannot be named ${JSON.stringify(name)}. Give it a name without slashes and spaces.`,
  );
}
