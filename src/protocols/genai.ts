/**
 * Attribute names of OpenTelemetry's semantic conventions for generative AI, in one file because the conventions are in
 * development and still change. (https://opentelemetry.io/docs/specs/semconv/gen-ai/)
 */
export const operation = "gen_ai.operation.name";
export const operations = { run: "invoke_agent", modelCall: "chat", toolCall: "execute_tool" } as const;

export const agentName = "gen_ai.agent.name";
export const conversationId = "gen_ai.conversation.id";
export const provider = "gen_ai.provider.name";
/** Providers whose name in the conventions differs from Pawl's. */
export const providers: ReadonlyMap<string, string> = new Map([["google", "gcp.gemini"]]);

export const requestModel = "gen_ai.request.model";
export const temperature = "gen_ai.request.temperature";
export const topP = "gen_ai.request.top_p";
export const topK = "gen_ai.request.top_k";
export const maxTokens = "gen_ai.request.max_tokens";
export const stopSequences = "gen_ai.request.stop_sequences";
export const seed = "gen_ai.request.seed";
export const presencePenalty = "gen_ai.request.presence_penalty";
export const frequencyPenalty = "gen_ai.request.frequency_penalty";
export const finishReasons = "gen_ai.response.finish_reasons";
/** In seconds. */
export const timeToFirstChunk = "gen_ai.response.time_to_first_chunk";

export const inputTokens = "gen_ai.usage.input_tokens";
export const outputTokens = "gen_ai.usage.output_tokens";
export const cacheReadTokens = "gen_ai.usage.cache_read.input_tokens";
export const cacheWriteTokens = "gen_ai.usage.cache_creation.input_tokens";
export const reasoningTokens = "gen_ai.usage.reasoning.output_tokens";

export const toolName = "gen_ai.tool.name";
export const toolCallId = "gen_ai.tool.call.id";
export const toolType = "gen_ai.tool.type";

/** From the general attribute registry, not from the conventions for generative AI. Set only if `principal` is true. */
export const principal = "enduser.id";

/** Content attributes, set only if `captureContent` is true. */
export const inputMessages = "gen_ai.input.messages";
export const outputMessages = "gen_ai.output.messages";
export const toolArguments = "gen_ai.tool.call.arguments";
export const toolResult = "gen_ai.tool.call.result";

export const errorType = "error.type";
