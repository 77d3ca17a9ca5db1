/**
 * Input schemas in the form that a provider accepts.
 *
 * Anthropic refuses `oneOf`, `allOf` and `anyOf` at the top of a tool's schema, and OpenAI also refuses `enum` and `not`. One such
 * tool makes every request fail. So the request has one object with the properties of all alternatives, and the tool's description
 * contains the rest. Pawl still validates each input against the whole schema.
 */
import { isJsonObject } from "../../core/data/is-object.js";
import type { Json } from "../../core/data/message.js";
import type { JsonSchema } from "../../ports/model.js";
import type { ModelIdentity } from "./tool-call-ids.js";

const refusedKeywords = ["oneOf", "anyOf", "allOf", "enum", "not"] as const;

export function refusesAlternatives({ provider, modelId }: ModelIdentity): boolean {
  if (/compatible/.test(provider)) return false;
  return /^(openai|azure|azure-openai)\b|(^|\.)anthropic\b/.test(provider) || /claude/i.test(modelId);
}

/** Characters of the schema that the description may repeat. */
const maxRepeatedCharacters = 4_000;

export type ToolInput = { readonly inputSchema: JsonSchema; readonly description: string };

/** Removes the keywords that the provider refuses at the top of a schema. */
export function flattenAlternatives({ inputSchema, description }: ToolInput): ToolInput {
  const presentKeywords = refusedKeywords.filter((name) => Object.hasOwn(inputSchema, name));
  if (presentKeywords.length === 0) return { inputSchema, description };
  const rest = Object.fromEntries(
    Object.entries(inputSchema).filter(([name]) => !presentKeywords.some((one) => one === name)),
  );
  const branches = presentKeywords.flatMap((name) => pickObjects(inputSchema[name]));
  const properties = new Map<string, Json[]>();
  for (const schema of [rest, ...branches])
    for (const [name, property] of Object.entries(isJsonObject(schema.properties) ? schema.properties : {}))
      properties.set(name, [...(properties.get(name) ?? []), property]);
  const required = new Set([
    ...pickStrings(rest.required),
    ...pickObjects(inputSchema.allOf).flatMap(({ required: all }) => pickStrings(all)),
  ]);
  const { additionalProperties: _, ...openSchema } = rest;
  const keywordsJson = JSON.stringify(Object.fromEntries(presentKeywords.map((name) => [name, inputSchema[name]])));
  const addendum =
    keywordsJson.length > maxRepeatedCharacters ? "" : ` The input also has to fit this JSON Schema: ${keywordsJson}`;
  return {
    inputSchema: {
      ...openSchema,
      type: "object",
      properties: Object.fromEntries([...properties].map(([name, all]) => [name, mergeSchemas(all)])),
      ...(required.size > 0 && { required: [...required] }),
    },
    description: `${description}${addendum}`,
  };
}

function mergeSchemas(all: readonly Json[]): Json {
  const distinct = [...new Map(all.map((schema) => [JSON.stringify(schema), schema])).values()];
  const [only] = distinct;
  return distinct.length === 1 && only !== undefined ? only : { anyOf: distinct };
}

type SchemaMembers = { readonly [name: string]: Json };

function pickObjects(value: Json | undefined): readonly SchemaMembers[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function pickStrings(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}
