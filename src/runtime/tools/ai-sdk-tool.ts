/**
 * Adapts tools of the AI SDK, created with `tool({ description, inputSchema, execute })`.
 *
 * These tools do not declare whether they only read, so they count as not read-only.
 */

import type { StandardSchemaV1 } from "@standard-schema/spec";
import { getErrorMessage } from "../../core/data/error-message.js";
import type { ProviderMetadata } from "../../core/data/message.js";
import { PawlError } from "../../errors.js";
import { warn } from "../../platform/process.js";
import type { ProviderToolReference } from "../../ports/model.js";
import type { InputSchema, Tool, ToolContext, ToolResult } from "../../ports/tool.js";
import { toModelMessages } from "./ai-sdk-messages.js";
import { errorForModel } from "./error-for-model.js";

/** The properties of an AI SDK tool that Pawl uses, in versions 5, 6 and 7. */
export type AiSdkTool = {
  /** What the tool does, for the model. */
  readonly description?: unknown;
  /** The schema of its input. */
  readonly inputSchema: unknown;
  /** Runs a call. */
  readonly execute?: ((input: never, options: never) => unknown) | undefined;
  /** Whether a person is asked first. */
  readonly needsApproval?: unknown;
  /** Converts an output for the model. */
  readonly toModelOutput?: unknown;
  /** The kind of the tool; `provider` for a tool that a provider defines. */
  readonly type?: unknown;
  /** The provider's id of the tool. */
  readonly id?: unknown;
  /** The settings of a provider's tool. */
  readonly args?: unknown;
  /** Provider options that are sent with the tool. */
  readonly providerOptions?: unknown;
  /** Whether the provider should force inputs to match the schema. */
  readonly strict?: unknown;
  /** Inputs that show how the tool is called, each as `{ input }`. */
  readonly inputExamples?: unknown;
  /** Whether the tool is deferred, as by `defer: true` (version 7). */
  readonly deferLoading?: unknown;
  /** The schema of the context that `execute` gets (version 7). The agent's `deps` are validated against it on each call. */
  readonly contextSchema?: unknown;
};

/** The options of `execute` and of `needsApproval` that Pawl provides. */
type CallOptions = {
  readonly toolCallId: string;
  readonly abortSignal: AbortSignal;
  /** The messages of the request with which the model made the call, as `ModelMessage`s. */
  readonly messages: readonly unknown[];
  /** The name in version 6. */
  readonly experimental_context: unknown;
  /** The name in version 7. */
  readonly context: unknown;
};

/**
 * Turns a tool of the AI SDK into a `Tool`. `execute` gets the agent's `deps` as `context` (`experimental_context` in version 6), validated
 * against the tool's `contextSchema`, and the conversation as `ModelMessage`s, which are created when `execute` reads them. If `execute`
 * yields several values, the last is the result, and each is shown as a preliminary result. Without `execute`, the call waits for
 * `session.provideResult`, unless the model's provider runs it.
 *
 * A tool that a provider defines (`openai.tools.shell({ execute })`, `anthropic.tools.webSearch_20250305()`) is sent to the model as the
 * provider's own tool.
 *
 * A field that Pawl does not use, such as `onInputStart`, causes the process warning `PAWL_TOOL_OPTION`.
 *
 * @throws PawlError `bad_configuration` for an option that only Pawl's own tools have, such as `durable`, and for a `description` that is a
 * function and needs a context: the tools of a conversation stay the same
 *
 * @example
 * ```ts
 * const agent = createAgent({ model, tools: [fromAiSdkTool("charge", theirCharge)] });
 * ```
 */
export function fromAiSdkTool(name: string, aiTool: AiSdkTool): Tool {
  refuseOwnOptions(name, aiTool);
  warnOfUnusedFields(name, aiTool);
  // Called as methods: a tool may be an instance of a class.
  const execute = bindMethod<Execute>(aiTool, aiTool.execute);
  const toModelOutput = bindMethod<ToModelOutput>(aiTool, aiTool.toModelOutput);
  return {
    name,
    description: readDescription(name, aiTool),
    input: toInputSchema(aiTool.inputSchema),
    needsApproval: adaptNeedsApproval(name, aiTool),
    ...pickProvider(aiTool),
    ...pickProviderFields(aiTool),
    ...(execute === undefined ? {} : { execute: adaptExecute(name, aiTool, execute) }),
    ...(toModelOutput === undefined
      ? {}
      : { toModelOutput: async (result: ToolResult) => fromModelOutput(await toModelOutput(result)) }),
  };
}

type Execute = (input: unknown, options: CallOptions) => unknown;

function adaptExecute(name: string, aiTool: AiSdkTool, execute: Execute): NonNullable<Tool["execute"]> {
  const { contextSchema } = aiTool;
  const run = (input: unknown, context: ToolContext): unknown => {
    const given = execute(input, createCallOptions(context));
    return isAsyncIterable(given) ? forwardResults(given) : given;
  };
  if (contextSchema === undefined) return run;
  return async function* checked(input, context) {
    const given = run(input, { ...context, deps: await checkContext(name, contextSchema, context.deps) });
    return isAsyncIterable(given) ? yield* given : await given;
  };
}

/** Options of Pawl's own tools. On a tool of the AI SDK, they would be ignored, and their guarantees would not hold. */
const ownOptions = ["durable", "readOnly", "recover", "retry", "sequential", "timeoutMs", "graceMs", "maxOutputBytes"];

function refuseOwnOptions(name: string, aiTool: AiSdkTool): void {
  const ownOption = ownOptions.find((option) => Object.hasOwn(aiTool, option));
  if (ownOption === undefined) return;
  throw new PawlError(
    "bad_configuration",
    `The tool "${name}" is a tool of the AI SDK, which has no option ${ownOption}. Create it with defineTool({ name, description, input, ${ownOption}, execute }): input is the schema that it was created with, and execute may call its execute.`,
  );
}

/** Fields that Pawl does not use, and what to use instead. */
const unusedFields: { readonly [field: string]: string } = {
  onInputStart: "onInputStart is not called: use onToolCall of the agent",
  onInputDelta: "onInputDelta is not called: use the deltas of a run's stream",
  onInputAvailable: "onInputAvailable is not called: use onToolCall of the agent",
  title: "title is not shown",
  metadata: "metadata is not added to calls",
};

/** Tools that have already caused a warning: agents are often created again from the same tools. */
const warnedTools = new WeakSet<AiSdkTool>();

function warnOfUnusedFields(name: string, aiTool: AiSdkTool): void {
  const unused = Object.entries(unusedFields).filter(
    ([field]) => field in aiTool && (aiTool as { readonly [field: string]: unknown })[field] !== undefined,
  );
  if (unused.length === 0 || warnedTools.has(aiTool)) return;
  warnedTools.add(aiTool);
  warn(`The tool "${name}": ${unused.map(([, what]) => what).join("; ")}.`, "PAWL_TOOL_OPTION");
}

/**
 * If the description is a function, it is called once, when the agent is created: providers cache the tools, so they must not change later.
 */
function readDescription(name: string, aiTool: AiSdkTool): string {
  const { description } = aiTool;
  if (typeof description !== "function") return typeof description === "string" ? description : "";
  try {
    const text: unknown = description.call(aiTool, { context: undefined });
    if (typeof text === "string") return text;
  } catch (cause) {
    throw new PawlError(
      "bad_configuration",
      `The description of the tool "${name}" is a function that needs a context. Give a string: the tools of a conversation stay the same.`,
      { cause },
    );
  }
  throw new PawlError(
    "bad_configuration",
    `The description of the tool "${name}" is a function that does not return a string.`,
  );
}

/** Not checked here, because the fields of every tool are checked when the agent is created. */
function pickProviderFields({ providerOptions, strict, inputExamples, deferLoading }: AiSdkTool): Partial<Tool> {
  return {
    ...(providerOptions === undefined ? {} : { providerOptions: providerOptions as ProviderMetadata }),
    ...(strict === undefined ? {} : { strict: strict as boolean }),
    ...(deferLoading === true ? { defer: true } : {}),
    ...(Array.isArray(inputExamples) ? { inputExamples: inputExamples.map((example) => example?.input) } : {}),
  };
}

/** @throws Error if the agent's `deps` do not match; the error becomes the call's result */
async function checkContext(name: string, schema: unknown, deps: unknown): Promise<unknown> {
  const { "~standard": standard, validate } = toInputSchema(schema) as {
    readonly "~standard"?: StandardSchemaV1.Props;
    readonly validate?: (value: unknown) => unknown;
  };
  const result = (await (standard?.validate ?? validate)?.(deps)) as Partial<ValidationResult> | undefined;
  if (result === undefined) return deps;
  const [issue] = result.issues ?? [];
  const problem = issue?.message ?? (result.success === false ? getErrorMessage(result.error) : undefined);
  if (problem === undefined) return result.value;
  throw new Error(`The agent's deps do not match the contextSchema of the tool "${name}": ${problem}`);
}

/** The result of a Standard Schema, or of the AI SDK's own schema. */
type ValidationResult = {
  readonly value: unknown;
  readonly issues: readonly StandardSchemaV1.Issue[];
  readonly success: boolean;
  readonly error: unknown;
};

function pickProvider({ type, id, args }: AiSdkTool): Pick<Tool, "provider"> {
  if (type !== "provider" && type !== "provider-defined") return {};
  return { provider: { id, args } as ProviderToolReference };
}

/** The AI SDK also accepts a function that returns the schema, and no schema for a tool without input. */
function toInputSchema(schema: unknown): InputSchema<unknown> {
  if (schema === undefined || schema === null) return { type: "object", properties: {}, additionalProperties: false };
  if (typeof schema === "function" && !("~standard" in schema)) return schema() as InputSchema<unknown>;
  return schema as InputSchema<unknown>;
}

function bindMethod<Method>(tool: AiSdkTool, method: unknown): Method | undefined {
  return typeof method === "function" ? (method.bind(tool) as Method) : undefined;
}

function adaptNeedsApproval(name: string, tool: AiSdkTool): NonNullable<Tool["needsApproval"]> {
  const needsApproval = bindMethod<(input: unknown, options: CallOptions) => unknown>(tool, tool.needsApproval);
  if (needsApproval === undefined) return tool.needsApproval === true;
  return async (input, context) => {
    const { contextSchema } = tool;
    const deps = contextSchema === undefined ? context.deps : await checkContext(name, contextSchema, context.deps);
    return (await needsApproval(input, createCallOptions({ ...context, deps }))) === true;
  };
}

/** Converts the messages only if code reads them. */
function createCallOptions(context: Pick<ToolContext, "toolCallId" | "signal" | "deps" | "messages">): CallOptions {
  let made: readonly unknown[] | undefined;
  return {
    toolCallId: context.toolCallId,
    abortSignal: context.signal,
    experimental_context: context.deps,
    context: context.deps,
    get messages() {
      made ??= toModelMessages(context.messages);
      return made;
    },
  };
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** Yields what the tool yields, and returns the last yielded value. The tool's own return value is ignored. */
async function* forwardResults(values: AsyncIterable<unknown>): AsyncGenerator<unknown, unknown, undefined> {
  let last: unknown;
  for await (const value of values) {
    last = value;
    yield value;
  }
  return last;
}

type ToModelOutput = (result: ToolResult) => unknown;

/** Converts the result of the AI SDK's `toModelOutput` to the form that a `Tool`'s `toModelOutput` returns. */
function fromModelOutput(output: unknown): unknown {
  const { type, value, reason } = output as {
    readonly type?: unknown;
    readonly value?: unknown;
    readonly reason?: unknown;
  };
  switch (type) {
    case "text":
      return { type: "text", text: value };
    case "json":
      return { type: "json", value };
    case "content":
      return { type: "content", parts: (value as readonly ContentItem[]).map(fromContentItem) };
    case "error-text":
    case "error-json":
      return errorForModel(typeof value === "string" ? value : JSON.stringify(value));
    case "execution-denied":
      return errorForModel(typeof reason === "string" ? reason : "the execution was denied");
    default:
      return output;
  }
}

type ContentItem = {
  readonly type: string;
  readonly text?: string;
  readonly data?: string;
  readonly url?: string;
  readonly mediaType?: string;
  readonly filename?: string;
};

function fromContentItem(item: ContentItem): unknown {
  if (item.type === "text") return { type: "text", text: item.text };
  const data = item.data ?? item.url;
  if (data === undefined) return { type: "text", text: `[${item.type}]` };
  const mediaType = item.mediaType ?? (item.type.startsWith("image") ? "image/*" : "application/octet-stream");
  return { type: "file", mediaType, data, filename: item.filename };
}
