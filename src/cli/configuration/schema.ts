/**
 * The JSON Schema of `pawl.config.json`, for editors, made from the table of the settings.
 */
import type { Json } from "../../index.js";
import { agentToolPrefix, toolsToTurnOff } from "../permissions/rule.js";
import { aliasPattern, maxAliases, modelPattern, variablePattern } from "./model-aliases.js";
import { maxFallbacks, type SettingKind, settingDefaults, settingTable } from "./setting-table.js";

type JsonObject = { readonly [name: string]: Json };

export function createConfigurationSchema(): JsonObject {
  const entries = Object.entries(settingTable).map(([key, { kind, about }]) => {
    const value = settingDefaults[key];
    const described = { description: about, ...toSchema(kind), ...(value === undefined ? {} : { default: value }) };
    return [key.split("."), described] as const;
  });
  const { properties = {} } = createObjectSchema(entries);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "The configuration of Pawl: pawl.config.json",
    type: "object",
    properties: {
      $schema: { type: "string", description: "Where an editor finds this schema." },
      ...(properties as JsonObject),
      permissions: permissionsSchema,
    },
    additionalProperties: false,
  };
}

type Entry = readonly [names: readonly string[], schema: JsonObject];

/** Creates the schema of an object from the paths and schemas of its members. */
function createObjectSchema(entries: readonly Entry[]): JsonObject {
  const names = [...new Set(entries.map(([[name = ""]]) => name))];
  const createMemberSchema = (name: string): Json => {
    const own = entries.filter(([[first]]) => first === name);
    const whole = own.find(([path]) => path.length === 1);
    return whole?.[1] ?? createObjectSchema(own.map(([path, schema]) => [path.slice(1), schema]));
  };
  return {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, createMemberSchema(name)])),
    additionalProperties: false,
  };
}

const rulesSchema: JsonObject = {
  type: "array",
  items: {
    anyOf: [
      { type: "string" },
      {
        type: "object",
        properties: {
          rule: { type: "string" },
          by: { type: "string" },
          at: { type: "string" },
          call: { type: "string" },
        },
        required: ["rule"],
        additionalProperties: false,
      },
    ],
  },
};

const permissionsSchema: JsonObject = {
  type: "object",
  description: "Rules for the calls of tools.",
  properties: { allow: rulesSchema, ask: rulesSchema, deny: rulesSchema },
  additionalProperties: false,
};

const aliasSchema: JsonObject = {
  type: "object",
  properties: {
    use: { type: "string", description: "provider/model.", pattern: modelPattern },
    contextWindow: { type: "integer", description: "The tokens that the model takes.", minimum: 1 },
    baseUrl: { type: "string", description: "The address of the model's server.", pattern: "^https?://" },
    apiKeyEnv: {
      type: "string",
      description: "The variable with the key for the model. Without it, a model with a baseUrl gets no key.",
      pattern: variablePattern,
    },
  },
  required: ["use"],
  additionalProperties: false,
};

function toSchema(kind: SettingKind): JsonObject {
  const createListSchema = (items: JsonObject) => ({ type: "array", items, maxItems: 200 });
  switch (kind.type) {
    case "text":
      return { type: "string", pattern: "\\S" };
    case "whole number":
      return { type: "integer", minimum: 1 };
    case "number":
      return { type: "number", exclusiveMinimum: 0 };
    case "yes or no":
      return { type: "boolean" };
    case "one of":
      return { enum: kind.choices };
    case "some of":
      return createListSchema({ enum: kind.choices });
    case "texts":
      return createListSchema({ type: "string", minLength: 1 });
    case "names of tools":
      return createListSchema({
        type: "string",
        anyOf: [{ enum: toolsToTurnOff }, { pattern: `^(mcp__|${agentToolPrefix})` }],
      });
    case "names of files":
      return { ...createListSchema({ type: "string", pattern: "^[^/\\\\\\u0000]{1,255}$" }), minItems: 1 };
    case "names of variables":
      return createListSchema({ type: "string", pattern: variablePattern });
    case "hosts":
    case "addresses":
      return createListSchema({ type: "string", minLength: 1, maxLength: 300 });
    case "names of models":
      return {
        type: "array",
        items: { type: "string", maxLength: 300, anyOf: [{ pattern: modelPattern }, { pattern: aliasPattern }] },
        maxItems: maxFallbacks,
      };
    case "models":
      return {
        type: "object",
        propertyNames: { pattern: aliasPattern },
        maxProperties: maxAliases,
        additionalProperties: aliasSchema,
      };
  }
}
