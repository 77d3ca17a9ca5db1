/**
 * Model servers on this machine, asked for their models over the interface of OpenAI that all of them have.
 */
import { knownProviders, type ProviderEnvironment, variable } from "./providers.js";

/** How a list of models is asked for. */
export type ModelList = {
  readonly fetch: typeof globalThis.fetch;
  readonly timeoutMs: number;
  readonly key?: string;
};

export type LocalModel = {
  /** Its name in a registry: `provider/model`. */
  readonly name: string;
  /** How people call its server. */
  readonly server: string;
  readonly address: string;
};

/** The first local server, in the order of the known providers, that has a model. All are asked at once. */
export async function findLocalModel(
  environment: ProviderEnvironment,
  list: ModelList,
): Promise<LocalModel | undefined> {
  const asked = knownProviders.flatMap((provider) => {
    if (provider.protocol === "own" || provider.localTitle === undefined) return [];
    const address = variable(environment, provider.address) ?? provider.defaultAddress;
    if (address === undefined) return [];
    return [{ provider: provider.name, server: provider.localTitle, address, answer: readModelList(address, list) }];
  });
  for (const { provider, server, address, answer } of asked) {
    const modelId = await answer;
    if (modelId !== undefined) return { name: `${provider}/${modelId}`, server, address };
  }
  return undefined;
}

/** The first model of a server that can talk; undefined where there is none, or no such server. */
export async function readModelList(address: string, list: ModelList): Promise<string | undefined> {
  try {
    const response = await list.fetch(`${address.replace(/\/+$/, "")}/models`, {
      signal: AbortSignal.timeout(list.timeoutMs),
      redirect: "error",
      ...(list.key !== undefined && { headers: { authorization: `Bearer ${list.key}` } }),
    });
    return response.ok ? firstModel(await response.json()) : undefined;
  } catch {
    // Nobody there, something else at that port, or too slow: in each case not a model server.
    return undefined;
  }
}

function firstModel(answer: unknown): string | undefined {
  const models = isObject(answer) && Array.isArray(answer.data) ? answer.data : [];
  for (const model of models) {
    // Servers list models that only make embeddings, too.
    if (isObject(model) && typeof model.id === "string" && model.id !== "" && !/embed/i.test(model.id)) return model.id;
  }
  return undefined;
}

function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null;
}
