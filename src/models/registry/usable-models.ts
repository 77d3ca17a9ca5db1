/**
 * The models that can be used here: those of providers whose key is set, and those of servers that answer.
 */
import { aFunction, anObject, checkOptions, numberFrom, type OptionTable } from "../../check-options.js";
import { deepFreeze } from "../../core/data/freeze.js";
import { curatedPriceLists } from "../facts/prices.js";
import { type ChooseOptions, defaultModels } from "./choose.js";
import { fetchUnpooled } from "./fetch-unpooled.js";
import { listChatModels, type ModelList } from "./local-servers.js";
import {
  isOpenAiAddress,
  type KnownProvider,
  knownProviders,
  type ProviderEnvironment,
  readVariable,
} from "./providers.js";

/** A model that can be used here. */
export type UsableModel = {
  /** `provider/model`. */
  readonly name: string;
  /** Shown to people: the variable with the provider's key, or the server. */
  readonly because: string;
};

const optionRules: OptionTable<Pick<ChooseOptions, "env" | "fetch" | "timeoutMs">> = {
  env: anObject,
  fetch: aFunction,
  timeoutMs: numberFrom(0),
};

/** The maximum number of models that are listed for one server. */
const maxModelsPerServer = 100;

/**
 * Lists the models that can be used here, without a request to a hosted provider. For each provider whose key is set: its default
 * model, and the models whose prices are known. For each server that responds, on this machine or at `OPENAI_BASE_URL`: all the
 * models that it lists. A key may give access to more models.
 */
export async function usableModels(
  options: Pick<ChooseOptions, "env" | "fetch" | "timeoutMs"> = {},
): Promise<readonly UsableModel[]> {
  checkOptions("usableModels()", optionRules, options);
  const { env = process.env, fetch = fetchUnpooled, timeoutMs = 1_000 } = options;
  const modelLists = await Promise.all(
    knownProviders.map((provider) =>
      provider.protocol === "own" || provider.keyRequired === true
        ? listKeyModels(provider, env)
        : listServerModels(provider, env, { fetch, timeoutMs }),
    ),
  );
  return deepFreeze(modelLists.flat());
}

function listKeyModels(provider: KnownProvider, env: ProviderEnvironment): readonly UsableModel[] {
  const { key, name } = provider;
  if (key === undefined || readVariable(env, key) === undefined) return [];
  const isOfProvider = (model: string) => model.startsWith(`${name}/`);
  const defaults = defaultModels.filter((entry) => isOfProvider(entry.model)).map(({ model }) => model);
  const priced = curatedPriceLists.flatMap(({ prices }) => Object.keys(prices)).filter(isOfProvider);
  return [...new Set([...defaults, ...priced])].map((model) => ({ name: model, because: `${key} is set` }));
}

async function listServerModels(
  provider: Extract<KnownProvider, { readonly protocol: "openai-compatible" }>,
  env: ProviderEnvironment,
  options: ModelList,
): Promise<readonly UsableModel[]> {
  const address = readVariable(env, provider.address) ?? provider.defaultAddress;
  if (address === undefined || (provider.localTitle === undefined && isOpenAiAddress(address))) return [];
  const key = readVariable(env, provider.key);
  const models = await listChatModels(address, { ...options, ...(key === undefined ? {} : { key }) });
  const server = provider.localTitle ?? "the server";
  return models
    .slice(0, maxModelsPerServer)
    .map((model) => ({ name: `${provider.name}/${model}`, because: `${server} answers at ${address}` }));
}
