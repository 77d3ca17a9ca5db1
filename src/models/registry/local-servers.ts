/**
 * Finds model servers on this machine, and asks for their models by OpenAI's interface, which all of them support.
 */
import { knownProviders, type ProviderEnvironment, variable } from "./providers.js";

/** How to ask a server for its models. */
export type ModelList = {
  readonly fetch: typeof globalThis.fetch;
  readonly timeoutMs: number;
  readonly key?: string;
};

export type LocalModel = {
  /** The model's name in a registry: `provider/model`. */
  readonly name: string;
  /** The common name of the server, such as `Ollama`. */
  readonly server: string;
  readonly address: string;
};

/**
 * Asks all local servers at the same time. Returns the first, in the order of the known providers, that has a model.
 */
export async function findLocalModel(
  environment: ProviderEnvironment,
  list: ModelList,
): Promise<LocalModel | undefined> {
  const queries = knownProviders.flatMap((provider) => {
    if (provider.protocol === "own" || provider.localTitle === undefined) return [];
    const address = variable(environment, provider.address) ?? provider.defaultAddress;
    if (address === undefined) return [];
    return [{ provider: provider.name, server: provider.localTitle, address, answer: readModelList(address, list) }];
  });
  for (const { provider, server, address, answer } of queries) {
    const modelId = await answer;
    if (modelId !== undefined) return { name: `${provider}/${modelId}`, server, address };
  }
  return undefined;
}

/** The first chat model of a server; undefined if it has none, or if no server answers in time. */
export async function readModelList(address: string, list: ModelList): Promise<string | undefined> {
  try {
    const response = await list.fetch(`${address.replace(/\/+$/, "")}/models`, {
      signal: AbortSignal.timeout(list.timeoutMs),
      redirect: "error",
      ...(list.key !== undefined && { headers: { authorization: `Bearer ${list.key}` } }),
    });
    return response.ok ? firstModel(await response.json()) : undefined;
  } catch {
    // No server, another kind of server, or no answer in time. None of them is usable.
    return undefined;
  }
}

function firstModel(answer: unknown): string | undefined {
  const models = isObject(answer) && Array.isArray(answer.data) ? answer.data : [];
  for (const model of models) {
    // Servers also list embedding models, which cannot chat.
    if (isObject(model) && typeof model.id === "string" && model.id !== "" && !/embed/i.test(model.id)) return model.id;
  }
  return undefined;
}

function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null;
}
