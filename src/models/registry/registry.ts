/**
 * Models by name: `provider/model`. Provider packages are imported when a name asks for them, never before.
 */
import { PawlError } from "../../errors.js";
import type { Model } from "../../ports/model.js";
import { fromAiSdk, isModel } from "../ai-sdk/adapter.js";
import type { LanguageModel } from "../ai-sdk/language-model.js";
import { type ImportPackage, importInstalledPackage } from "./import-package.js";
import { type KnownProvider, knownProviders, type ProviderEnvironment, variable } from "./providers.js";

/** Makes the model that the rest of the name names: `a/b` for `provider/a/b`. */
export type ModelProvider = (modelId: string) => Model | LanguageModel | Promise<Model | LanguageModel>;

export type RegistryOptions = {
  /** Providers of your own, by name. One of the same name replaces one that is known. */
  readonly providers?: { readonly [name: string]: ModelProvider };
  /** Where keys and addresses come from; `process.env`. */
  readonly env?: ProviderEnvironment;
  /** How provider packages are imported; as they are installed, beside this package or in the working directory. */
  readonly importPackage?: ImportPackage;
};

export interface ModelRegistry {
  /** The names that can stand before the slash. */
  readonly providers: readonly string[];
  /**
   * @param name `provider/model`, as in `openai/gpt-5`
   * @throws PawlError `unknown_model` for a name that means nothing here, `missing_package` where the provider's package
   *   is not installed, `bad_configuration` where a key or an address is missing
   */
  resolve(name: string): Promise<Model>;
}

/** A registry of the known providers and your own. */
export function createModelRegistry(options: RegistryOptions = {}): ModelRegistry {
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
      const made = await provider(modelId);
      return isModel(made) ? made : fromAiSdk(made, { id: name });
    },
  };
}

/** The model of that name, from the known providers. Throws as `ModelRegistry.resolve` does. */
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
  // What the package returns is checked by fromAiSdk.
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
  // Without being asked, these servers do not count tokens in a stream.
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
    `A provider cannot be called ${JSON.stringify(name)}: give it a name without slashes and spaces.`,
  );
}
