/**
 * The tools of an agent, compiled once and looked up by name.
 */

import { checkTool } from "../../check-tool.js";
import { isObject } from "../../core/data/is-object.js";
import type { ProviderMetadata } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import type { ProviderToolReference, ToolSpecification } from "../../ports/model.js";
import type { AnyTool, Tool } from "../../ports/tool.js";
import { type AiSdkTool, fromAiSdkTool } from "./ai-sdk-tool.js";
import { isToolSearch } from "./ai-sdk-tool-search.js";
import { type CompiledInput, compileInput } from "./schema.js";
import { normaliseJson } from "./to-json.js";

export type CompiledTool = {
  readonly tool: AnyTool;
  readonly specification: ToolSpecification;
  readonly validate: CompiledInput["validate"];
  /** True for a tool that Pawl adds itself. It only uses its own session. */
  readonly isBuiltIn?: true;
};

// biome-ignore-start lint/suspicious/noExplicitAny: inputs and deps are contravariant, as in AnyTool.
/** A list of tools, or a record as in the AI SDK, whose keys are the names. */
export type Tools<Deps = any, Params = any> =
  | readonly Tool<any, any, Deps, Params>[]
  | { readonly [name: string]: Tool<any, any, Deps, Params> | AiSdkTool };
// biome-ignore-end lint/suspicious/noExplicitAny: inputs and deps are contravariant, as in AnyTool.

/** @throws PawlError `duplicate_tool`; `bad_configuration` for a name, a schema or a description that cannot be used */
export function normaliseTools(tools: Tools): ReadonlyMap<string, CompiledTool> {
  const compiled = new Map<string, CompiledTool>();
  for (const tool of listTools(tools)) {
    if (compiled.has(tool.name))
      throw new PawlError("duplicate_tool", `Two tools are named "${tool.name}". Rename one of them.`);
    compiled.set(tool.name, compileTool(tool));
  }
  return compiled;
}

/** @throws PawlError `bad_configuration`, whose message names the tool */
export function compileTool(tool: AnyTool): CompiledTool {
  checkTool(`The tool "${tool.name}"`, tool);
  checkRepeatable(tool);
  try {
    const { jsonSchema, validate } = compileInput(tool.input);
    const { name, description, provider } = tool;
    const specification = {
      name,
      description,
      inputSchema: jsonSchema,
      ...pickProviderFields(tool),
      ...pickProvider(provider),
    };
    return { tool, specification, validate };
  } catch (cause) {
    if (!(cause instanceof PawlError)) throw cause;
    throw new PawlError("bad_configuration", `The tool "${tool.name}": ${cause.message}`, { cause });
  }
}

/** Compiles a tool that Pawl adds itself. */
export function compileBuiltIn(tool: AnyTool): CompiledTool {
  return { ...compileTool(tool), isBuiltIn: true };
}

/** A call that failed may still have had an effect. */
function checkRepeatable({ name, retry, readOnly, recover, durable }: AnyTool): void {
  if (retry === undefined || readOnly === true || recover === "rerun" || durable === true) return;
  throw new PawlError(
    "bad_configuration",
    `The tool "${name}" has retry, but does not say that it may be repeated. Set readOnly: true if it changes nothing, durable: true if all its effects are in steps, or recover: "rerun" if running it twice does no harm.`,
  );
}

/** Fields that are sent to providers with the tool. They are plain JSON, because the session stores them. */
function pickProviderFields({ providerOptions, strict, inputExamples }: AnyTool): Partial<ToolSpecification> {
  return {
    ...(providerOptions === undefined ? {} : { providerOptions: normaliseJson(providerOptions) as ProviderMetadata }),
    ...(strict === undefined ? {} : { strict }),
    ...(inputExamples === undefined ? {} : { inputExamples: inputExamples.map(normaliseJson) }),
  };
}

function pickProvider(provider: AnyTool["provider"]): Pick<ToolSpecification, "provider"> {
  if (provider === undefined) return {};
  const { id, args }: { readonly id: unknown; readonly args: unknown } = provider;
  const settings = normaliseJson(args ?? {});
  if (typeof id !== "string" || !/^[^.]+\../.test(id))
    throw new PawlError("bad_configuration", `its provider's id ${JSON.stringify(id)} is not like "openai.shell".`);
  if (!isObject(settings))
    throw new PawlError("bad_configuration", "the settings for its provider (`args`) are not an object.");
  const named = id as ProviderToolReference["id"];
  return { provider: { id: named, args: settings as ProviderToolReference["args"] } };
}

/** @throws PawlError `bad_configuration` if a tool has no name, or a name that differs from its key */
export function listTools(tools: Tools): readonly AnyTool[] {
  if (isList(tools)) return tools.map(checkListed);
  return Object.entries(tools).flatMap(([name, tool]) => {
    refuseAgent(tool);
    if (isToolSearch(tool)) return [];
    if ("inputSchema" in tool) return fromAiSdkTool(name, tool);
    if (tool.name !== name)
      throw new PawlError(
        "bad_configuration",
        `The tool "${tool.name}" is listed under the key "${name}". Use the same name for both.`,
      );
    return tool;
  });
}

function isList(tools: Tools): tools is readonly AnyTool[] {
  return Array.isArray(tools);
}

function refuseAgent(tool: object): void {
  if ("asTool" in tool)
    throw new PawlError(
      "bad_configuration",
      'An agent is not a tool, but it makes one: give agent.asTool({ description: "…" }).',
    );
}

function checkListed(tool: AnyTool): AnyTool {
  refuseAgent(tool);
  if ("inputSchema" in tool)
    throw new PawlError(
      "bad_configuration",
      "A tool of the AI SDK has no name. Give the tools as a record, { name: tool }, or use fromAiSdkTool(name, tool).",
    );
  return tool;
}
