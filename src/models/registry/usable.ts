/**
 * The models that can be used here: those of providers whose key is set, and those of servers that answer.
 */
import { aFunction, anObject, checkOptions, numberFrom, type OptionTable } from "../../check-options.js";
import { freeze } from "../../core/data/freeze.js";
import { ownPriceLists } from "../facts/prices.js";
import { type ChooseOptions, defaultModels } from "./choose.js";
import { chatModels, type ModelList } from "./local-servers.js";
import { fetchOnOwnConnection } from "./own-connection.js";
import { isOpenAi, type KnownProvider, knownProviders, type ProviderEnvironment, variable } from "./providers.js";

/** A model that can be used here. */
export type UsableModel = {
  /** `provider/model`. */
  readonly name: string;
  /** In words: the variable with its key, or its server. */
  readonly because: string;
};

const optionRules: OptionTable<Pick<ChooseOptions, "env" | "fetch" | "timeoutMs">> = {
  env: anObject,
  fetch: aFunction,
  timeoutMs: numberFrom(0),
};

/** Models of one server. */
const mostOfServer = 100;

/**
 * The models that can be used here, without a word to a provider: of each provider whose key is set, its default model and those whose
 * prices are known; and all that servers list which answer on this machine or at `OPENAI_BASE_URL`. A key may have models beside these.
 */
export async function usableModels(
  options: Pick<ChooseOptions, "env" | "fetch" | "timeoutMs"> = {},
): Promise<readonly UsableModel[]> {
  checkOptions("usableModels()", optionRules, options);
  const { env = process.env, fetch = fetchOnOwnConnection, timeoutMs = 1_000 } = options;
  const found = await Promise.all(
    knownProviders.map((provider) =>
      provider.protocol === "own" || provider.keyRequired === true
        ? ofKey(provider, env)
        : ofServer(provider, env, { fetch, timeoutMs }),
    ),
  );
  return freeze(found.flat());
}

function ofKey(provider: KnownProvider, env: ProviderEnvironment): readonly UsableModel[] {
  const { key, name } = provider;
  if (key === undefined || variable(env, key) === undefined) return [];
  const isOwn = (model: string) => model.startsWith(`${name}/`);
  const defaults = defaultModels.filter((one) => isOwn(one.model)).map(({ model }) => model);
  const priced = ownPriceLists.flatMap(({ prices }) => Object.keys(prices)).filter(isOwn);
  return [...new Set([...defaults, ...priced])].map((model) => ({ name: model, because: `${key} is set` }));
}

async function ofServer(
  provider: Extract<KnownProvider, { readonly protocol: "openai-compatible" }>,
  env: ProviderEnvironment,
  how: ModelList,
): Promise<readonly UsableModel[]> {
  const address = variable(env, provider.address) ?? provider.defaultAddress;
  if (address === undefined || (provider.localTitle === undefined && isOpenAi(address))) return [];
  const key = variable(env, provider.key);
  const models = await chatModels(address, { ...how, ...(key === undefined ? {} : { key }) });
  const server = provider.localTitle ?? "the server";
  return models
    .slice(0, mostOfServer)
    .map((model) => ({ name: `${provider.name}/${model}`, because: `${server} answers at ${address}` }));
}
