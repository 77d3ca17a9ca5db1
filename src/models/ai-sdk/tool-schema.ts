/**
 * Schemas of inputs as a provider takes them.
 *
 * Anthropic refuses `oneOf`, `allOf` and `anyOf` at the top of a tool's schema, and OpenAI also `enum` and `not`. One such tool
 * makes every request fail. So the model is shown one object with the properties of all alternatives, and told the rest in
 * words. Pawl checks each input by the whole schema, as before.
 */
import type { Json } from "../../core/data/message.js";
import type { JsonSchema } from "../../ports/model.js";
import type { ModelIdentity } from "./tool-call-ids.js";

const refusedAtTop = ["oneOf", "anyOf", "allOf", "enum", "not"] as const;

export function refusesAlternatives({ provider, modelId }: ModelIdentity): boolean {
  if (/compatible/.test(provider)) return false;
  return /^(openai|azure|azure-openai)\b|(^|\.)anthropic\b/.test(provider) || /claude/i.test(modelId);
}

/** Characters of the schema's own words that the description repeats. */
const maxRepeated = 4_000;

export type ToolInput = { readonly inputSchema: JsonSchema; readonly description: string };

/** The same, without what may not be at the top of a schema. */
export function withoutAlternatives({ inputSchema, description }: ToolInput): ToolInput {
  const present = refusedAtTop.filter((name) => Object.hasOwn(inputSchema, name));
  if (present.length === 0) return { inputSchema, description };
  const rest = Object.fromEntries(Object.entries(inputSchema).filter(([name]) => !present.some((one) => one === name)));
  const branches = present.flatMap((name) => objectsIn(inputSchema[name]));
  const properties = new Map<string, Json[]>();
  for (const schema of [rest, ...branches])
    for (const [name, property] of Object.entries(isObject(schema.properties) ? schema.properties : {}))
      properties.set(name, [...(properties.get(name) ?? []), property]);
  const required = new Set([
    ...namesIn(rest.required),
    ...objectsIn(inputSchema.allOf).flatMap(({ required: all }) => namesIn(all)),
  ]);
  const { additionalProperties: _, ...open } = rest;
  const said = JSON.stringify(Object.fromEntries(present.map((name) => [name, inputSchema[name]])));
  const further = said.length > maxRepeated ? "" : ` The input also has to fit this JSON Schema: ${said}`;
  return {
    inputSchema: {
      ...open,
      type: "object",
      properties: Object.fromEntries([...properties].map(([name, all]) => [name, together(all)])),
      ...(required.size > 0 && { required: [...required] }),
    },
    description: `${description}${further}`,
  };
}

function together(all: readonly Json[]): Json {
  const different = [...new Map(all.map((schema) => [JSON.stringify(schema), schema])).values()];
  const [only] = different;
  return different.length === 1 && only !== undefined ? only : { anyOf: different };
}

type Members = { readonly [name: string]: Json };

function isObject(value: Json | undefined): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function objectsIn(value: Json | undefined): readonly Members[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function namesIn(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}
