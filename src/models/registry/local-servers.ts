/**
 * Finds model servers on this machine, and lists their models through OpenAI's API, which they all support.
 */

import { isObject } from "../../core/data/is-object.js";
import { knownProviders, type ProviderEnvironment, readVariable } from "./providers.js";
import { fetchJson, fetchStatus, type ModelList, pickObjects, trimTrailingSlashes } from "./server-requests.js";

export type { ModelList } from "./server-requests.js";

/** A model that a server on this machine offers. */
export type LocalModel = {
  /** The model's name in a registry: `provider/model`. */
  readonly name: string;
  /** The common name of the server, such as `Ollama`. */
  readonly server: string;
  /** The address of the server. */
  readonly address: string;
};

/**
 * Queries all local servers in parallel. Returns the first model, in the order of the known providers.
 */
export async function findLocalModel(
  environment: ProviderEnvironment,
  list: ModelList,
): Promise<LocalModel | undefined> {
  for await (const localModel of findLocalModels(environment, list)) return localModel;
  return undefined;
}

/** All local servers that have a model, in the order of the known providers. */
export async function* findLocalModels(environment: ProviderEnvironment, list: ModelList): AsyncGenerator<LocalModel> {
  const queries = knownProviders.flatMap((provider) => {
    if (provider.protocol === "own" || provider.localTitle === undefined) return [];
    const address = readVariable(environment, provider.address) ?? provider.defaultAddress;
    if (address === undefined) return [];
    return [
      {
        provider: provider.name,
        server: provider.localTitle,
        address,
        answer: findUsableModel(provider.name, address, list),
      },
    ];
  });
  for (const { provider, server, address, answer } of queries) {
    const modelId = await answer;
    if (modelId !== undefined) yield { name: `${provider}/${modelId}`, server, address };
  }
}

/** A server's first chat model; undefined if it has none or does not respond in time. */
export async function findFirstChatModel(address: string, list: ModelList): Promise<string | undefined> {
  const [first] = await listChatModels(address, list);
  return first;
}

/** The chat models that a server lists; empty if it does not respond in time. */
export async function listChatModels(address: string, list: ModelList): Promise<readonly string[]> {
  const answer = await fetchJson(`${trimTrailingSlashes(address)}/models`, list);
  return pickObjects(isObject(answer) ? answer.data : undefined).flatMap(({ id }) =>
    // Servers also list embedding models, which cannot chat.
    typeof id === "string" && id !== "" && !/embed/i.test(id) ? [id] : [],
  );
}

/** The first model that can call tools, if the server reports that; else the first. */
async function findUsableModel(provider: string, address: string, list: ModelList): Promise<string | undefined> {
  const models = (await listChatModels(address, list)).slice(0, maxModelsAsked);
  if (provider !== "ollama") return models[0];
  const toolSupport = await Promise.all(models.map((modelId) => canCallTools(address, modelId, list)));
  return models.find((_, at) => toolSupport[at]) ?? models[0];
}

const maxModelsAsked = 8;

/** Whether an Ollama model can call tools. True if the server does not report it. */
async function canCallTools(address: string, modelId: string, list: ModelList): Promise<boolean> {
  const details = await fetchJson(`${trimTrailingSlashes(address).replace(/\/v1$/, "")}/api/show`, list, {
    model: modelId,
  });
  const capabilities = isObject(details) ? details.capabilities : undefined;
  return !Array.isArray(capabilities) || capabilities.includes("tools");
}

/** The statuses with which a server responds to every chat request if it serves no chat, or requires a key. */
const noChatStatuses: ReadonlySet<number> = new Set([401, 403, 404, 405, 501]);

/**
 * Why a server that lists models cannot be used; undefined if it can. The probe is a chat request without messages: a server that
 * serves chat refuses only the missing messages, and loads no model.
 */
export async function findChatProblem({ address, name }: LocalModel, list: ModelList): Promise<string | undefined> {
  const model = name.slice(name.indexOf("/") + 1);
  const [status, hasTools] = await Promise.all([
    fetchStatus(`${trimTrailingSlashes(address)}/chat/completions`, list, { model }),
    name.startsWith("ollama/") ? canCallTools(address, model, list) : true,
  ]);
  if (status !== undefined && noChatStatuses.has(status)) return `it answers a chat request with status ${status}`;
  return hasTools ? undefined : `its model ${model} cannot call tools`;
}
