/**
 * Chooses a model if none is named: the first that the environment offers, else the demo model, which needs no setup.
 *
 * A key in the environment decides even if it does not work: the first call then fails. A missing package fails here. So a user who
 * expects another model never gets the demo model. A discovered server is different: the user did not ask for it, so an unusable
 * server is skipped, and `why` says so.
 */
import { aFunction, anObject, anyValue, checkOptions, numberFrom, type OptionTable } from "../../check-options.js";
import { deepFreeze } from "../../core/data/freeze.js";
import { PawlError } from "../../errors.js";
import type { Model } from "../../ports/model.js";
import { createDemoModel } from "../demo/demo-model.js";
import { fetchUnpooled } from "./fetch-unpooled.js";
import type { ImportPackage } from "./import-package.js";
import {
  findChatProblem,
  findFirstChatModel,
  findLocalModels,
  type LocalModel,
  type ModelList,
} from "./local-servers.js";
import {
  findAddress,
  isLoopback,
  isOpenAiAddress,
  knownProviders,
  type ProviderEnvironment,
  readVariable,
} from "./providers.js";
import { createModelRegistry, type ModelRegistry } from "./registry.js";
import { fetchStatus, trimTrailingSlashes } from "./server-requests.js";

/** The default model of each provider. The first provider whose key is set is used. */
export const defaultModels = deepFreeze([
  { key: "ANTHROPIC_API_KEY", model: "anthropic/claude-sonnet-5-5" },
  { key: "OPENAI_API_KEY", model: "openai/gpt-6-astra" },
  { key: "GOOGLE_GENERATIVE_AI_API_KEY", model: "google/gemini-flash-latest" },
  { key: "OPENROUTER_API_KEY", model: "openrouter/openrouter/auto" },
] as const);

/** The model to use, and where to look for keys. */
export type ChooseOptions = {
  /** `provider/model`, or `demo`. If given, the environment is ignored. */
  readonly name?: string;
  /** The source of keys, addresses and `PAWL_MODEL`, which has the same form as `name`. Default: `process.env`. */
  readonly env?: ProviderEnvironment;
  /**
   * Used to query local servers for their models and context windows. Default: a `fetch` that opens a new connection for
   * each request.
   */
  readonly fetch?: typeof globalThis.fetch;
  /** Milliseconds to wait for local servers, which are queried in parallel. Default: 1,000. */
  readonly timeoutMs?: number;
  /** Loads a provider's package. Default: as installed next to Pawl, else next to the program. */
  readonly importPackage?: ImportPackage;
  /** Looks up names. Default: a registry of the known providers. */
  readonly registry?: ModelRegistry;
};

const optionRules: OptionTable<ChooseOptions> = {
  name: anyValue,
  env: anObject,
  fetch: aFunction,
  timeoutMs: numberFrom(0),
  importPackage: aFunction,
  registry: anObject,
};

/** The model that was chosen, and why. */
export type ModelChoice = {
  /** The model. */
  readonly model: Model;
  /** One line for people: which model was chosen, and why. */
  readonly why: string;
  /** Whether the model's server is on this machine. Such a model may take long to begin its answer. */
  readonly isLocal: boolean;
};

/**
 * Chooses a model. The order is: `name`, `PAWL_MODEL`, a key in the environment, a server on this machine, the demo
 * model.
 *
 * @throws PawlError `unknown_model`, `missing_package` or `bad_configuration`, as `ModelRegistry.resolve` does;
 *   `unknown_model` if the server at `OPENAI_BASE_URL` lists no model
 */
export async function chooseModel(options: ChooseOptions = {}): Promise<ModelChoice> {
  checkOptions("chooseModel()", optionRules, options);
  const environment = options.env ?? process.env;
  const registry =
    options.registry ??
    createModelRegistry({
      env: environment,
      ...(options.fetch !== undefined && { fetch: options.fetch }),
      ...(options.importPackage !== undefined && { importPackage: options.importPackage }),
    });
  const list: ModelList = {
    fetch: options.fetch ?? fetchUnpooled,
    timeoutMs: options.timeoutMs ?? 1_000,
  };

  const choose = (name: string, because: string) => chooseNamed(name, because, registry, environment);
  if (options.name !== undefined) return choose(options.name, "it was named");
  const envModel = readVariable(environment, "PAWL_MODEL");
  if (envModel !== undefined) return choose(envModel, "PAWL_MODEL names it");

  const customServer = readVariable(environment, "OPENAI_BASE_URL");
  for (const { key, model } of defaultModels) {
    if (key === "OPENAI_API_KEY" && customServer !== undefined && !isOpenAiAddress(customServer)) {
      return choose(await findCustomServerModel(customServer, environment, list.fetch), "OPENAI_BASE_URL is set");
    }
    if (readVariable(environment, key) !== undefined) return choose(model, `${key} is set`);
  }
  return chooseLocal(environment, list, choose);
}

type ChooseByName = (name: string, because: string) => Promise<ModelChoice>;

async function chooseNamed(
  name: string,
  because: string,
  registry: ModelRegistry,
  environment: ProviderEnvironment,
): Promise<ModelChoice> {
  if (name === "demo") return chooseDemo(because);
  const model = await registry.resolve(name);
  return { model, why: `Using ${name}, because ${because}.`, isLocal: isLocal(name, environment) };
}

function chooseDemo(because: string): ModelChoice {
  const why = `Using the demo model, not an LLM, because ${because}.`;
  return { model: createDemoModel(), why, isLocal: false };
}

function isLocal(name: string, environment: ProviderEnvironment): boolean {
  const provider = knownProviders.find((known) => name.startsWith(`${known.name}/`));
  const address = provider === undefined ? undefined : findAddress(provider, environment);
  return address !== undefined && isLoopback(address);
}

/** The model of the first usable server on this machine, else the demo model. */
async function chooseLocal(
  environment: ProviderEnvironment,
  list: ModelList,
  choose: ChooseByName,
): Promise<ModelChoice> {
  const skipped: string[] = [];
  for await (const localModel of findLocalModels(environment, list)) {
    const { name, server, address } = localModel;
    const choice = await tryLocal(localModel, list, () => choose(name, `${server} answers at ${address}`));
    if (typeof choice !== "string") return { ...choice, why: [choice.why, ...skipped].join(" ") };
    skipped.push(`${server} at ${address} cannot be used${choice}`);
  }
  if (skipped.length === 0)
    return chooseDemo("no model was named, no key is set and no model server answers on this machine");
  const choice = chooseDemo("no model was named and no key is set");
  return { ...choice, why: [choice.why, ...skipped].join(" ") };
}

/** Returns the choice of a server's model, or the reason why it cannot be used, to be appended to that statement. */
async function tryLocal(
  localModel: LocalModel,
  list: ModelList,
  choose: () => Promise<ModelChoice>,
): Promise<ModelChoice | string> {
  const problem = await findChatProblem(localModel, list);
  if (problem !== undefined) return `: ${problem}.`;
  try {
    return await choose();
  } catch (error) {
    if (error instanceof PawlError) return `. ${error.message}`;
    throw error;
  }
}

/** Milliseconds to wait for a server that the user named. Longer than for local servers, because this one may be remote. */
const customServerTimeoutMs = 5_000;

/** The first model that the server at `OPENAI_BASE_URL` lists. */
async function findCustomServerModel(
  address: string,
  environment: ProviderEnvironment,
  fetch: ModelList["fetch"],
): Promise<string> {
  const key = readVariable(environment, "OPENAI_API_KEY");
  const list: ModelList = { fetch, timeoutMs: customServerTimeoutMs, ...(key !== undefined && { key }) };
  const modelId = await findFirstChatModel(address, list);
  if (modelId !== undefined) return `openai-compatible/${modelId}`;
  const status = await fetchStatus(`${trimTrailingSlashes(address)}/models`, list);
  throw new PawlError(
    "unknown_model",
    status === undefined
      ? `No server answers at OPENAI_BASE_URL (${address}). Start it, or check the address.`
      : `The server at OPENAI_BASE_URL (${address}) does not list its models${status < 400 ? "" : ` (status ${status})`}. Name a model: openai-compatible/<model>.`,
  );
}
