/**
 * Adapts tools of the AI SDK, made with `tool({ description, inputSchema, execute })`.
 *
 * These tools do not declare whether they only read, so they count as not read-only.
 */
import { PawlError } from "../../errors.js";
import type { ProviderToolReference } from "../../ports/model.js";
import type { InputSchema, Tool, ToolContext } from "../../ports/tool.js";
import { toModelMessages } from "./ai-sdk-messages.js";

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
  /** Makes what the model reads of an output. */
  readonly toModelOutput?: unknown;
  /** The kind of the tool; `provider` for those of a provider. */
  readonly type?: unknown;
  /** The provider's own name of the tool. */
  readonly id?: unknown;
  /** The settings of a provider's tool. */
  readonly args?: unknown;
};

/** The options of `execute` and of `needsApproval` that Pawl can give. */
type CallOptions = {
  readonly toolCallId: string;
  readonly abortSignal: AbortSignal;
  /** What the model was sent when it asked for the call, as `ModelMessage`s. */
  readonly messages: readonly unknown[];
  readonly experimental_context: unknown;
};

/**
 * Turns a tool of the AI SDK into a `Tool`. `execute` gets the agent's `deps` as `experimental_context`, and the
 * conversation as `ModelMessage`s, which are made when it reads them. If `execute` yields several values, the last is
 * the result, and each is shown as a preliminary result. Without `execute`, the call waits for `session.provideResult`, unless the model's provider runs it.
 *
 * A tool that a provider defines (`openai.tools.shell({ execute })`, `anthropic.tools.webSearch_20250305()`) is sent to
 * the model as the provider's own.
 *
 * @throws PawlError `bad_configuration` for an option that only tools of Pawl have, such as `durable`
 *
 * @example
 * ```ts
 * const agent = createAgent({ model, tools: [fromAiSdkTool("charge", theirCharge)] });
 * ```
 */
export function fromAiSdkTool(name: string, aiTool: AiSdkTool): Tool {
  refuseOwnOptions(name, aiTool);
  // Called as methods: a tool may be an instance of a class.
  const execute = methodOf<(input: unknown, options: CallOptions) => unknown>(aiTool, aiTool.execute);
  const toModelOutput = methodOf<ToModelOutput>(aiTool, aiTool.toModelOutput);
  const finish = async (input: unknown, output: unknown, { toolCallId }: ToolContext): Promise<unknown> =>
    toModelOutput === undefined ? output : fromModelOutput(await toModelOutput({ toolCallId, input, output }));
  const run = (input: unknown, context: ToolContext): unknown => {
    const given = execute?.(input, optionsOf(context));
    if (isAsyncIterable(given)) return resultsOf(given, (last) => finish(input, last, context));
    return toModelOutput === undefined
      ? given
      : Promise.resolve(given).then((output) => finish(input, output, context));
  };
  return {
    name,
    description: typeof aiTool.description === "string" ? aiTool.description : "",
    input: inputSchemaOf(aiTool.inputSchema),
    needsApproval: needsApprovalOf(aiTool),
    ...providerOf(aiTool),
    ...(execute === undefined ? {} : { execute: run }),
  };
}

/** Options of Pawl's own tools. On a tool of the AI SDK they would be ignored: it would run without its promise. */
const ownOptions = ["durable", "readOnly", "recover", "retry", "sequential", "timeoutMs", "graceMs", "maxOutputBytes"];

function refuseOwnOptions(name: string, aiTool: AiSdkTool): void {
  const own = ownOptions.find((option) => Object.hasOwn(aiTool, option));
  if (own === undefined) return;
  throw new PawlError(
    "bad_configuration",
    `The tool "${name}" is a tool of the AI SDK, which has no option ${own}. Make it with defineTool({ name, description, input, ${own}, execute }): input is the schema that it was made with, and execute may call its execute.`,
  );
}

function providerOf({ type, id, args }: AiSdkTool): Pick<Tool, "provider"> {
  if (type !== "provider" && type !== "provider-defined") return {};
  return { provider: { id, args } as ProviderToolReference };
}

/** The AI SDK also accepts a function that returns the schema, and no schema for a tool without input. */
function inputSchemaOf(schema: unknown): InputSchema<unknown> {
  if (schema === undefined || schema === null) return { type: "object", properties: {}, additionalProperties: false };
  if (typeof schema === "function" && !("~standard" in schema)) return schema() as InputSchema<unknown>;
  return schema as InputSchema<unknown>;
}

function methodOf<Method>(tool: AiSdkTool, method: unknown): Method | undefined {
  return typeof method === "function" ? (method.bind(tool) as Method) : undefined;
}

function needsApprovalOf(tool: AiSdkTool): NonNullable<Tool["needsApproval"]> {
  const needsApproval = methodOf<(input: unknown, options: CallOptions) => unknown>(tool, tool.needsApproval);
  if (needsApproval === undefined) return tool.needsApproval === true;
  return async (input, context) => (await needsApproval(input, optionsOf(context))) === true;
}

/** The messages are converted only for code that reads them. */
function optionsOf(context: Pick<ToolContext, "toolCallId" | "signal" | "deps" | "messages">): CallOptions {
  let made: readonly unknown[] | undefined;
  return {
    toolCallId: context.toolCallId,
    abortSignal: context.signal,
    experimental_context: context.deps,
    get messages() {
      made ??= toModelMessages(context.messages);
      return made;
    },
  };
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** Yields what the tool yields, and returns what is made of the last value: what it returns itself does not count. */
async function* resultsOf(
  values: AsyncIterable<unknown>,
  finish: (last: unknown) => Promise<unknown>,
): AsyncGenerator<unknown, unknown, undefined> {
  let last: unknown;
  for await (const value of values) {
    last = value;
    yield value;
  }
  return finish(last);
}

type ToModelOutput = (options: {
  readonly toolCallId: string;
  readonly input: unknown;
  readonly output: unknown;
}) => unknown;

/** Converts the result of `toModelOutput` to a `ToolOutput`. Throws if the result describes an error. */
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
      throw new Error(typeof value === "string" ? value : JSON.stringify(value));
    case "execution-denied":
      throw new Error(typeof reason === "string" ? reason : "the execution was denied");
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
