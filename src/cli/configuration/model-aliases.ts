/**
 * Model aliases: names for a model with its settings, under `models` in `pawl.config.json`.
 *
 * 1. A key is given by the name of its variable and is never written in the file. An alias with its own address uses only the key
 *    that it names, so that the key for one server is never sent to another.
 * 2. An alias is taken as a whole from the strongest file that has it. So a folder cannot send a person's key to an address
 *    of the folder, unless the folder's own file, which the person has trusted, names that key.
 */

import { isJsonObject } from "../../core/data/is-object.js";
import type { Json } from "../../index.js";
import { type ProviderEnvironment, variablesOf } from "../../models/index.js";

/** The pattern of an environment variable's name. */
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
  /** The environment variable with the API key for that address. */
  readonly apiKeyEnv?: string;
};

/** By name. */
export type ModelAliases = { readonly [name: string]: ModelAlias };

/** The pattern of an alias. It allows no slash, so an alias is never the name of a provider's model. */
export const aliasPattern = "^(?!demo$)[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$";
export const maxAliases = 200;
/** `provider/model`. */
export const modelPattern = "^[^/\\s]+/\\S+$";

/** Whether a setting can name a model like this, by its provider or by an alias. The demo model is not one. */
export function isModelName(name: string): boolean {
  return name.length <= 300 && (new RegExp(modelPattern).test(name) || new RegExp(aliasPattern).test(name));
}

const memberRules: { readonly [name in keyof ModelAlias]-?: readonly [(value: Json) => boolean, string] } = {
  use: [(value) => typeof value === "string" && new RegExp(modelPattern).test(value), "must be provider/model"],
  contextWindow: [(value) => Number.isSafeInteger(value) && Number(value) > 0, "must be a number of tokens above 0"],
  baseUrl: [
    (value) => typeof value === "string" && /^https?:\/\//.test(value) && URL.canParse(value),
    "must be an address that begins with http:// or https://",
  ],
  apiKeyEnv: [isVariableName, "must be the name of an environment variable"],
};

/** Describes the first problem of a value of `models`; null if there is none. */
export function findAliasesProblem(value: Json): string | null {
  if (!isJsonObject(value)) return 'must be an object, such as { "fast": { "use": "ollama/qwen3" } }';
  const names = Object.keys(value);
  if (names.length > maxAliases) return `may name at most ${maxAliases} models`;
  for (const name of names) {
    if (!new RegExp(aliasPattern).test(name))
      return `may not name a model ${JSON.stringify(name)}: letters, digits, _ . -`;
    const problem = findAliasProblem(value[name] ?? null);
    if (problem !== null) return `is invalid in ${name}: ${problem}`;
  }
  return null;
}

function findAliasProblem(alias: Json): string | null {
  if (!isJsonObject(alias)) return "it must be an object";
  for (const [name, value] of Object.entries(alias)) {
    const member = Object.hasOwn(memberRules, name) ? memberRules[name as keyof ModelAlias] : undefined;
    if (member === undefined) return `${JSON.stringify(name)} is not one of ${Object.keys(memberRules).join(", ")}`;
    const [isValid, requirement] = member;
    if (!isValid(value)) return `${name} ${requirement}`;
  }
  if (!("use" in alias)) return "use is missing: provider/model";
  const takesAddress = variablesOf(String(alias.use))?.address !== undefined;
  return "baseUrl" in alias && !takesAddress ? `the provider of ${alias.use} takes no baseUrl` : null;
}

/** Finds the settings of a model: the alias with this name, or the first alias of this `provider/model`. */
export function findAlias(name: string, aliases: ModelAliases): ModelAlias | undefined {
  if (Object.hasOwn(aliases, name)) return aliases[name];
  return Object.values(aliases).find(({ use }) => use === name);
}

/** Adds a model's address and key to the environment, in the variables that its provider reads. */
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
