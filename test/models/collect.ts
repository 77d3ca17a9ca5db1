/**
 * What a model streams, and the message that it makes.
 */
import type { AssistantMessage, AssistantPart, Json, Message, ProviderMetadata } from "../../src/core/data/message.js";
import type { Model, ModelDelta, ModelRequest, ToolSpecification } from "../../src/ports/model.js";

export function createRequest(messages: readonly Message[], overrides: Partial<ModelRequest> = {}): ModelRequest {
  return { sessionId: "session", runId: "run", modelCallIndex: 1, attempt: 1, messages, tools: [], ...overrides };
}

export function createUserMessage(text: string): Message {
  return { role: "user", parts: [{ type: "text", text }] };
}

export const weatherTool: ToolSpecification = {
  name: "weather",
  description: "The weather in a city.",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

export async function collectDeltas(
  model: Model,
  request: ModelRequest,
  signal: AbortSignal = new AbortController().signal,
): Promise<readonly ModelDelta[]> {
  const deltas: ModelDelta[] = [];
  for await (const delta of model.stream(request, signal)) deltas.push(delta);
  return deltas;
}

/** The delta that ended a stream. */
export function requireLastDelta<Kind extends "done" | "error">(
  deltas: readonly ModelDelta[],
  kind: Kind,
): Extract<ModelDelta, { readonly kind: Kind }> {
  const last = deltas.at(-1);
  if (last?.kind !== kind) throw new Error(`Expected the stream to end with ${kind}: ${JSON.stringify(last)}`);
  return last as Extract<ModelDelta, { readonly kind: Kind }>;
}

/** Deltas put together, metadata of a part being replaced by what comes later. */
export function assembleMessage(deltas: readonly ModelDelta[]): AssistantMessage {
  const parts: AssistantPart[] = [];
  const open = new Map<string, number>();
  const toMetadata = (metadata: ProviderMetadata | undefined) =>
    metadata === undefined ? {} : { providerMetadata: metadata };
  for (const delta of deltas) {
    switch (delta.kind) {
      case "text-start":
      case "reasoning-start": {
        const type = delta.kind === "text-start" ? "text" : "reasoning";
        open.set(`${type}:${delta.id}`, parts.length);
        parts.push({ type, text: "", ...toMetadata(delta.providerMetadata) });
        break;
      }
      case "text-delta":
      case "reasoning-delta":
      case "text-end":
      case "reasoning-end": {
        const type = delta.kind.startsWith("text") ? "text" : "reasoning";
        const index = open.get(`${type}:${delta.id}`) ?? -1;
        const part = parts[index];
        if (part?.type !== type) throw new Error(`${delta.kind} of a part that is not open`);
        const addedText = "text" in delta ? delta.text : "";
        parts[index] = { ...part, text: part.text + addedText, ...toMetadata(delta.providerMetadata) };
        break;
      }
      case "tool-call":
        parts.push({
          type: "tool_call",
          toolCallId: delta.id,
          name: delta.name,
          input: JSON.parse(delta.input === "" ? "{}" : delta.input) as Json,
          ...(delta.providerExecuted === true && { providerExecuted: true }),
          ...toMetadata(delta.providerMetadata),
        });
        break;
      case "tool-result":
        parts.push({
          type: "tool_result",
          toolCallId: delta.id,
          name: delta.name,
          output: delta.output,
          providerExecuted: true,
          ...(delta.isError === true && { isError: true }),
          ...toMetadata(delta.providerMetadata),
        });
        break;
      case "file":
        parts.push({
          type: "file",
          mediaType: delta.mediaType,
          data: delta.data,
          ...toMetadata(delta.providerMetadata),
        });
        break;
      default:
        break;
    }
  }
  return { role: "assistant", parts };
}
