/**
 * Streams of answers as providers write them, made of whole items. From the providers' documentation:
 * https://platform.openai.com/docs/api-reference/responses-streaming, https://docs.claude.com/en/docs/build-with-claude/streaming,
 * https://ai.google.dev/api/generate-content, https://platform.openai.com/docs/api-reference/chat-streaming,
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
 */
import { crc32 } from "node:zlib";
import type { WireReply } from "./wire-server.js";

type Data = { readonly type?: string; readonly [key: string]: unknown };
type Item = { readonly type: string; readonly [key: string]: unknown };

function formatEvent(data: Data): string {
  return `${data.type === undefined ? "" : `event: ${data.type}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** OpenAI's Responses API, and xAI's: each item is added, filled and done. */
export function responses(id: string, items: readonly Item[]): WireReply {
  const response = { id, object: "response", created_at: 1_790_000_000, model: "gpt-5", output: [] };
  const usage = {
    input_tokens: 20,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 10,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 30,
  };
  const events = items.flatMap((item, index) => [
    { type: "response.output_item.added", output_index: index, item: clearItem(item) },
    ...createItemDeltas(item, index),
    { type: "response.output_item.done", output_index: index, item },
  ]);
  const all = [
    { type: "response.created", response: { ...response, status: "in_progress", usage: null } },
    ...events,
    { type: "response.completed", response: { ...response, status: "completed", incomplete_details: null, usage } },
  ];
  return { body: all.map(formatEvent).join("") };
}

function clearItem(item: Item): Item {
  if (item.type === "message") return { ...item, content: [] };
  if (item.type === "reasoning") {
    const { encrypted_content: _, ...rest } = item;
    return { ...rest, summary: [] };
  }
  return "arguments" in item ? { ...item, arguments: "" } : item;
}

function createItemDeltas(item: Item, index: number): readonly Data[] {
  const itemFields = { item_id: item.id, output_index: index };
  if (item.type === "message") {
    const [content] = item.content as readonly { readonly text: string }[];
    return [
      { type: "response.output_text.delta", ...itemFields, content_index: 0, delta: content?.text ?? "", logprobs: [] },
    ];
  }
  if (item.type === "reasoning") {
    const [summary] = item.summary as readonly { readonly text: string }[];
    const part = { ...itemFields, summary_index: 0, part: { type: "summary_text", text: "" } };
    return [
      { type: "response.reasoning_summary_part.added", ...part },
      { type: "response.reasoning_summary_text.delta", ...itemFields, summary_index: 0, delta: summary?.text ?? "" },
      { type: "response.reasoning_summary_part.done", ...part },
    ];
  }
  return [];
}

export function createOutputText(id: string, text: string): Item {
  const content = [{ type: "output_text", text, annotations: [], logprobs: [] }];
  return { type: "message", id, status: "completed", role: "assistant", content };
}

export type Block = Item & { readonly input?: unknown; readonly text?: string; readonly thinking?: string };

/** Anthropic's Messages API. */
export function anthropicMessage(stopReason: string, blocks: readonly Block[], extra: object = {}): WireReply {
  const message = { id: "msg_1", type: "message", role: "assistant", content: [], model: "claude-sonnet-4-5" };
  const usage = { input_tokens: 20, output_tokens: 10 };
  const events = blocks.flatMap((block, index) => {
    const { start, deltas } = blockEvents(block);
    return [
      { type: "content_block_start", index, content_block: start },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ];
  });
  const all = [
    { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null, usage } },
    ...events,
    { type: "message_delta", delta: { stop_reason: stopReason, stop_sequence: null, ...extra }, usage },
    { type: "message_stop" },
  ];
  return { body: all.map(formatEvent).join("") };
}

function blockEvents(block: Block): { readonly start: object; readonly deltas: readonly object[] } {
  if (block.type === "text")
    return { start: { ...block, text: "" }, deltas: [{ type: "text_delta", text: block.text }] };
  if (block.type === "thinking") {
    const { signature, thinking } = block;
    const deltas = [
      { type: "thinking_delta", thinking },
      { type: "signature_delta", signature },
    ];
    return { start: { type: "thinking", thinking: "", signature: "" }, deltas };
  }
  // A call of an MCP server comes whole.
  if (!("input" in block) || block.type === "mcp_tool_use") return { start: block, deltas: [] };
  const json = { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
  return { start: { ...block, input: {} }, deltas: [json] };
}

/** Google's streamGenerateContent: a chunk for each part. */
export function geminiContent(parts: readonly object[]): WireReply {
  const usageMetadata = { promptTokenCount: 20, candidatesTokenCount: 10, totalTokenCount: 30 };
  const chunk = (content: readonly object[], extra: object = {}) =>
    formatEvent({ candidates: [{ content: { parts: content, role: "model" }, index: 0, ...extra }], usageMetadata });
  const last = chunk([{ text: "" }], { finishReason: "STOP" });
  return { body: [...parts.map((part) => chunk([part])), last].join("") };
}

/** Chat completions: a chunk for each delta. */
export function chatCompletion(deltas: readonly object[], finishReason: string): WireReply {
  const common = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_790_000_000, model: "m" };
  const usage = { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 };
  const chunk = (delta: object, finish: string | null = null, extra: object = {}) =>
    formatEvent({ ...common, choices: [{ index: 0, delta, finish_reason: finish }], ...extra });
  const all = [
    chunk({ role: "assistant", content: "" }),
    ...deltas.map((delta) => chunk(delta)),
    chunk({}, finishReason, { usage }),
    "data: [DONE]\n\n",
  ];
  return { body: all.join("") };
}

/** A whole call as a delta of a chat completion. */
export function chatCall(id: string, name: string, input: object): object {
  return { tool_calls: [{ index: 0, id, type: "function", function: { name, arguments: JSON.stringify(input) } }] };
}

/** Bedrock's ConverseStream: frames of the AWS event stream, one for each event. */
export function converseStream(events: readonly (readonly [type: string, data: object])[]): Buffer {
  return Buffer.concat(events.map(([type, data]) => frame(type, JSON.stringify(data))));
}

function frame(eventType: string, body: string): Buffer {
  const headers = Buffer.concat(
    [
      [":event-type", eventType],
      [":content-type", "application/json"],
      [":message-type", "event"],
    ].map(([name = "", value = ""]) => header(name, value)),
  );
  const length = 16 + headers.length + Buffer.byteLength(body);
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(length, 0);
  prelude.writeUInt32BE(headers.length, 4);
  const message = Buffer.concat([prelude, checksum(prelude), headers, Buffer.from(body)]);
  return Buffer.concat([message, checksum(message)]);
}

function header(name: string, value: string): Buffer {
  const lengths = Buffer.alloc(3);
  lengths.writeUInt8(7, 0); // a text
  lengths.writeUInt16BE(Buffer.byteLength(value), 1);
  return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), lengths, Buffer.from(value)]);
}

function checksum(bytes: Uint8Array): Buffer {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes), 0);
  return sum;
}
