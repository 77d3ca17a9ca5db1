/**
 * Anthropic's Messages API, streaming: https://docs.claude.com/en/docs/build-with-claude/streaming and …/api/errors
 */
import type { ProviderFormat, WireFailure } from "../provider-server.js";
import { argumentsOf, event, idOf, pieces, usageOf } from "./wire.js";

type Data = { readonly type: string; readonly [key: string]: unknown };

function named(data: Data): string {
  return event(data, data.type);
}

function block(index: number, contentBlock: Data, deltas: readonly Data[]): readonly string[] {
  return [
    named({ type: "content_block_start", index, content_block: contentBlock }),
    ...deltas.map((delta) => named({ type: "content_block_delta", index, delta })),
    named({ type: "content_block_stop", index }),
  ];
}

function failed(status: number, type: string, message: string): WireFailure {
  return { status, body: JSON.stringify({ type: "error", error: { type, message }, request_id: "req_1" }) };
}

export const anthropicMessages: ProviderFormat = {
  basePath: "/v1",
  accepts: (path) => path === "/v1/messages",
  events(answer, { model, turn }) {
    const usage = usageOf(answer);
    const blocks: (readonly string[])[] = [];
    if (answer.reasoning !== undefined) {
      const thinking = pieces(answer.reasoning).map((text) => ({ type: "thinking_delta", thinking: text }));
      const signature = { type: "signature_delta", signature: answer.signature ?? "c2lnbmF0dXJl" };
      const start = { type: "thinking", thinking: "", signature: "" };
      blocks.push(block(blocks.length, start, [...thinking, signature]));
    }
    if (answer.text !== undefined) {
      const deltas = pieces(answer.text).map((text) => ({ type: "text_delta", text }));
      blocks.push(block(blocks.length, { type: "text", text: "" }, deltas));
    }
    for (const [index, call] of (answer.calls ?? []).entries()) {
      const deltas = pieces(argumentsOf(call)).map((text) => ({ type: "input_json_delta", partial_json: text }));
      const start = { type: "tool_use", id: idOf(call, "toolu_", turn, index), name: call.name, input: {} };
      blocks.push(block(blocks.length, start, deltas));
    }
    const finish = { length: "max_tokens", "content-filter": "refusal" } as const;
    const stopReason = answer.finish ? finish[answer.finish] : answer.calls?.length ? "tool_use" : "end_turn";
    return [
      named({
        type: "message_start",
        message: {
          id: `msg_${turn}`,
          type: "message",
          role: "assistant",
          content: [],
          model,
          stop_reason: null,
          stop_sequence: null,
          usage: {
            input_tokens: usage.input - usage.cached,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: usage.cached,
            output_tokens: 1,
          },
        },
      }),
      named({ type: "ping" }),
      ...blocks.flat(),
      named({
        type: "message_delta",
        delta: { stop_reason: stopReason, stop_sequence: null },
        usage: { output_tokens: usage.output },
      }),
      named({ type: "message_stop" }),
    ];
  },
  errorEvent: named({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
  failure(name) {
    switch (name) {
      case "rate-limit":
        return failed(429, "rate_limit_error", "Number of requests has exceeded your per-minute rate limit.");
      case "quota":
        return failed(402, "billing_error", "Your credit balance is too low to access the API.");
      case "overflow":
        return failed(400, "invalid_request_error", "prompt is too long: 212345 tokens > 200000 maximum");
      case "unauthorized":
        return failed(401, "authentication_error", "invalid x-api-key");
      case "overloaded":
        return failed(529, "overloaded_error", "Overloaded");
      case "server-error":
        return failed(500, "api_error", "Internal server error");
      case "not-found":
        return failed(404, "not_found_error", "model: no-such-model");
    }
  },
};
