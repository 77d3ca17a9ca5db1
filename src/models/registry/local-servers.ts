/**
 * Finds model servers on this machine, and asks for their models by OpenAI's interface, which all of them support.
 */
import { askServer, baseOf, isObject, type ModelList, objectsIn, statusOf } from "./ask-server.js";
import { knownProviders, type ProviderEnvironment, variable } from "./providers.js";

export type { ModelList } from "./ask-server.js";

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
 * Asks all local servers at the same time. Returns the first, in the order of the known providers, that has a model.
 */
export async function findLocalModel(
  environment: ProviderEnvironment,
  list: ModelList,
): Promise<LocalModel | undefined> {
  for await (const found of findLocalModels(environment, list)) return found;
  return undefined;
}

/** All local servers that have a model, in the order of the known providers. */
export async function* findLocalModels(environment: ProviderEnvironment, list: ModelList): AsyncGenerator<LocalModel> {
  const queries = knownProviders.flatMap((provider) => {
    if (provider.protocol === "own" || provider.localTitle === undefined) return [];
    const address = variable(environment, provider.address) ?? provider.defaultAddress;
    if (address === undefined) return [];
    return [
      {
        provider: provider.name,
        server: provider.localTitle,
        address,
        answer: usableModel(provider.name, address, list),
      },
    ];
  });
  for (const { provider, server, address, answer } of queries) {
    const modelId = await answer;
    if (modelId !== undefined) yield { name: `${provider}/${modelId}`, server, address };
  }
}

/** The first chat model of a server; undefined if it has none, or if no server answers in time. */
export async function readModelList(address: string, list: ModelList): Promise<string | undefined> {
  const [first] = await chatModels(address, list);
  return first;
}

/** The chat models that a server lists; none if no server answers in time. */
export async function chatModels(address: string, list: ModelList): Promise<readonly string[]> {
  const answer = await askServer(`${baseOf(address)}/models`, list);
  return objectsIn(isObject(answer) ? answer.data : undefined).flatMap(({ id }) =>
    // Servers also list embedding models, which cannot chat.
    typeof id === "string" && id !== "" && !/embed/i.test(id) ? [id] : [],
  );
}

/** The first model that calls tools, as far as the server tells; else the first. */
async function usableModel(provider: string, address: string, list: ModelList): Promise<string | undefined> {
  const models = (await chatModels(address, list)).slice(0, mostModelsAsked);
  if (provider !== "ollama") return models[0];
  const abilities = await Promise.all(models.map((modelId) => callsTools(address, modelId, list)));
  return models.find((_, at) => abilities[at]) ?? models[0];
}

const mostModelsAsked = 8;

/** Whether a model of Ollama calls tools. True if the server does not tell. */
async function callsTools(address: string, modelId: string, list: ModelList): Promise<boolean> {
  const shown = await askServer(`${baseOf(address).replace(/\/v1$/, "")}/api/show`, list, { model: modelId });
  const capabilities = isObject(shown) ? shown.capabilities : undefined;
  return !Array.isArray(capabilities) || capabilities.includes("tools");
}

/** Statuses that a server gives to every chat request if it serves no chat, or not without a key. */
const noChat: ReadonlySet<number> = new Set([401, 403, 404, 405, 501]);

/**
 * Why a server that lists models cannot be used; undefined if it can. It is sent a chat request without messages: a
 * server that serves chats refuses only the missing messages, and loads no model.
 */
export async function chatProblem({ address, name }: LocalModel, list: ModelList): Promise<string | undefined> {
  const model = name.slice(name.indexOf("/") + 1);
  const [status, hasTools] = await Promise.all([
    statusOf(`${baseOf(address)}/chat/completions`, list, { model }),
    name.startsWith("ollama/") ? callsTools(address, model, list) : true,
  ]);
  if (status !== undefined && noChat.has(status)) return `it answers a chat request with status ${status}`;
  return hasTools ? undefined : `its model ${model} calls no tools`;
}
