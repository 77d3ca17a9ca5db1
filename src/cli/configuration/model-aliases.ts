/**
 * Models of one's own: names for a model with its settings, under `models` in `pawl.config.json`.
 *
 * 1. A key is named by its variable, never written. A name with an address of its own gets no other key than the one it names: the key
 *    for one server never goes to another.
 * 2. A name counts whole, as the strongest file that has it says. So a folder never sends a person's key to an address of the folder,
 *    unless its own file, which the person has trusted, names that key.
 */
import type { Json } from "../../index.js";
import { type ProviderEnvironment, variablesOf } from "../../models/index.js";

/** What the name of an environment variable may be. */
export const variablePattern = "^[A-Za-z_][A-Za-z0-9_]{0,127}$";

export function isVariableName(value: Json): boolean {
  return typeof value === "string" && new RegExp(variablePattern).test(value);
}

export type ModelAlias = {
  /** `provider/model`. */
  readonly use: string;
  /** Tokens. */
  readonly contextWindow?: number;
  /** The address of the model's server. */
  readonly baseUrl?: string;
  /** The variable with the key for it. */
  readonly apiKeyEnv?: string;
};

/** By name. */
export type ModelAliases = { readonly [name: string]: ModelAlias };

/** What a name may be. It has no slash, so it is never the name of a provider's model. */
export const aliasPattern = "^(?!demo$)[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$";
export const maxAliases = 200;
/** `provider/model`. */
export const modelPattern = "^[^/\\s]+/\\S+$";

const memberRules: { readonly [name in keyof ModelAlias]-?: readonly [(value: Json) => boolean, string] } = {
  use: [(value) => typeof value === "string" && new RegExp(modelPattern).test(value), "must be provider/model"],
  contextWindow: [(value) => Number.isSafeInteger(value) && Number(value) > 0, "must be a number of tokens above 0"],
  baseUrl: [
    (value) => typeof value === "string" && /^https?:\/\//.test(value) && URL.canParse(value),
    "must be an address that begins with http:// or https://",
  ],
  apiKeyEnv: [isVariableName, "must be the name of an environment variable"],
};

/** Says what is wrong with a value of `models`; null if nothing is. */
export function findAliasesProblem(value: Json): string | null {
  if (!isObject(value)) return 'must be an object, such as { "fast": { "use": "ollama/qwen3" } }';
  const names = Object.keys(value);
  if (names.length > maxAliases) return `may name ${maxAliases} models`;
  for (const name of names) {
    if (!new RegExp(aliasPattern).test(name))
      return `may not name a model ${JSON.stringify(name)}: letters, digits, _ . -`;
    const problem = findAliasProblem(value[name] ?? null);
    if (problem !== null) return `has a fault in ${name}: ${problem}`;
  }
  return null;
}

function findAliasProblem(alias: Json): string | null {
  if (!isObject(alias)) return "it must be an object";
  for (const [name, value] of Object.entries(alias)) {
    const member = Object.hasOwn(memberRules, name) ? memberRules[name as keyof ModelAlias] : undefined;
    if (member === undefined) return `it knows ${Object.keys(memberRules).join(", ")}, and not ${JSON.stringify(name)}`;
    const [isValid, requirement] = member;
    if (!isValid(value)) return `${name} ${requirement}`;
  }
  if (!("use" in alias)) return "use is missing: provider/model";
  const takesAddress = variablesOf(String(alias.use))?.address !== undefined;
  return "baseUrl" in alias && !takesAddress ? `the provider of ${alias.use} takes no baseUrl` : null;
}

function isObject(value: Json): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The settings of a model: by its own name, or those of the first name for this `provider/model`. */
export function findAlias(name: string, aliases: ModelAliases): ModelAlias | undefined {
  if (Object.hasOwn(aliases, name)) return aliases[name];
  return Object.values(aliases).find(({ use }) => use === name);
}

/** The environment with the address and the key of a model in the places where its provider looks for them. */
export function toProviderEnvironment(
  { use, baseUrl, apiKeyEnv }: ModelAlias,
  environment: ProviderEnvironment,
): ProviderEnvironment {
  const variables = variablesOf(use);
  if (variables === null || (baseUrl === undefined && apiKeyEnv === undefined)) return environment;
  const key = apiKeyEnv === undefined ? undefined : environment[apiKeyEnv];
  return {
    ...environment,
    ...(baseUrl === undefined || variables.address === undefined ? {} : { [variables.address]: baseUrl }),
    ...(variables.key === undefined ? {} : { [variables.key]: key }),
  };
}
