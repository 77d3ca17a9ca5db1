/**
 * OpenAI's Responses API, streaming: https://platform.openai.com/docs/api-reference/responses-streaming
 */
import type { ProviderFormat, ScriptedAnswer, WireFailure } from "../provider-server.js";
import { argumentsOf, event, idOf, pieces, usageOf } from "./wire.js";

type Data = { readonly type: string; readonly [key: string]: unknown };
type Item = { readonly id: string; readonly type: string; readonly [key: string]: unknown };

function added(outputIndex: number, item: Item): Data {
  return { type: "response.output_item.added", output_index: outputIndex, item };
}

function done(outputIndex: number, item: Item): Data {
  return { type: "response.output_item.done", output_index: outputIndex, item };
}

function reasoning(answer: ScriptedAnswer, id: string, index: number): readonly Data[] {
  const text = answer.reasoning ?? "";
  const at = { item_id: id, output_index: index, summary_index: 0 };
  return [
    added(index, { id, type: "reasoning", summary: [] }),
    { type: "response.reasoning_summary_part.added", ...at, part: { type: "summary_text", text: "" } },
    ...pieces(text).map((delta) => ({ type: "response.reasoning_summary_text.delta", ...at, delta })),
    { type: "response.reasoning_summary_text.done", ...at, text },
    { type: "response.reasoning_summary_part.done", ...at, part: { type: "summary_text", text } },
    done(index, {
      id,
      type: "reasoning",
      summary: [{ type: "summary_text", text }],
      encrypted_content: answer.signature ?? "ZW5jcnlwdGVk",
    }),
  ];
}

function message(text: string, id: string, index: number): readonly Data[] {
  const at = { item_id: id, output_index: index, content_index: 0 };
  const part = { type: "output_text", text, annotations: [], logprobs: [] };
  return [
    added(index, { id, type: "message", status: "in_progress", role: "assistant", content: [] }),
    { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
    ...pieces(text).map((delta) => ({ type: "response.output_text.delta", ...at, delta, logprobs: [] })),
    { type: "response.output_text.done", ...at, text, logprobs: [] },
    { type: "response.content_part.done", ...at, part },
    done(index, { id, type: "message", status: "completed", role: "assistant", content: [part] }),
  ];
}

function functionCall(call: { name: string; id: string; text: string }, id: string, index: number): readonly Data[] {
  const at = { item_id: id, output_index: index };
  const item = { id, type: "function_call", call_id: call.id, name: call.name };
  return [
    added(index, { ...item, status: "in_progress", arguments: "" }),
    ...pieces(call.text).map((delta) => ({ type: "response.function_call_arguments.delta", ...at, delta })),
    { type: "response.function_call_arguments.done", ...at, name: call.name, arguments: call.text },
    done(index, { ...item, status: "completed", arguments: call.text }),
  ];
}

function output(answer: ScriptedAnswer, turn: number): readonly Data[] {
  const items: (readonly Data[])[] = [];
  if (answer.reasoning !== undefined) items.push(reasoning(answer, `rs_${turn}`, 0));
  if (answer.text !== undefined) items.push(message(answer.text, `msg_${turn}`, items.length));
  for (const [position, call] of (answer.calls ?? []).entries()) {
    const own = { name: call.name, id: idOf(call, "call_", turn, position), text: argumentsOf(call) };
    items.push(functionCall(own, `fc_${turn}_${position}`, items.length));
  }
  return items.flat();
}

function failed(status: number, type: string, code: string | null, text: string): WireFailure {
  return { status, body: JSON.stringify({ error: { message: text, type, param: null, code } }) };
}

export const openaiResponses: ProviderFormat = {
  basePath: "/v1",
  accepts: (path) => path === "/v1/responses",
  events(answer, { model, turn }) {
    const usage = usageOf(answer);
    const response = { id: `resp_${turn}`, object: "response", created_at: 1_790_000_000, model, output: [] };
    const incomplete = { length: "max_output_tokens", "content-filter": "content_filter" } as const;
    const last = answer.finish
      ? { type: "response.incomplete", details: { reason: incomplete[answer.finish] }, status: "incomplete" }
      : { type: "response.completed", details: null, status: "completed" };
    const counts = {
      input_tokens: usage.input,
      input_tokens_details: { cached_tokens: usage.cached },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: usage.reasoning },
      total_tokens: usage.input + usage.output,
    };
    const all: readonly Data[] = [
      { type: "response.created", response: { ...response, status: "in_progress", usage: null } },
      { type: "response.in_progress", response: { ...response, status: "in_progress", usage: null } },
      ...output(answer, turn),
      {
        type: last.type,
        response: { ...response, status: last.status, incomplete_details: last.details, usage: counts },
      },
    ];
    return all.map((data, index) => event({ ...data, sequence_number: index }, data.type));
  },
  errorEvent: event(
    {
      type: "error",
      sequence_number: 99,
      error: { type: "server_error", code: "server_error", message: "The server had an error", param: null },
    },
    "error",
  ),
  failure(name, key) {
    switch (name) {
      case "rate-limit":
        return failed(429, "requests", "rate_limit_exceeded", "Rate limit reached for requests per minute.");
      case "quota":
        return failed(429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota.");
      case "overflow":
        return failed(
          400,
          "invalid_request_error",
          "context_length_exceeded",
          "Your input exceeds the context window of this model. Please adjust your input and try again.",
        );
      case "unauthorized":
        return failed(401, "invalid_request_error", "invalid_api_key", `Incorrect API key provided: ${key}.`);
      case "overloaded":
        return failed(503, "server_error", null, "The engine is currently overloaded, please try again later.");
      case "server-error":
        return failed(500, "server_error", null, "The server had an error while processing your request.");
      case "not-found":
        return failed(404, "invalid_request_error", "model_not_found", "The model does not exist.");
    }
  },
};
