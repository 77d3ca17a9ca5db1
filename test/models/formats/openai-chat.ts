/**
 * Chat completions as OpenAI-compatible servers stream them: https://platform.openai.com/docs/api-reference/chat-streaming,
 * with `reasoning_content` as vLLM and DeepSeek have it, and vLLM's form of errors where it differs.
 */
import type { ProviderFormat, WireFailure } from "../provider-server.js";
import { argumentsOf, event, idOf, pieces, usageOf } from "./wire.js";

function failed(status: number, error: { readonly message: string; readonly [key: string]: unknown }): WireFailure {
  return { status, body: JSON.stringify({ error: { param: null, ...error } }) };
}

export const openaiChat: ProviderFormat = {
  basePath: "/v1",
  accepts: (path) => path === "/v1/chat/completions",
  events(answer, { model, turn }) {
    const common = { id: `chatcmpl-${turn}`, object: "chat.completion.chunk", created: 1_790_000_000, model };
    const chunk = (delta: object, finishReason: string | null = null) =>
      event({ ...common, choices: [{ index: 0, delta, finish_reason: finishReason }], usage: null });
    const calls = (answer.calls ?? []).flatMap((call, index) => [
      chunk({
        tool_calls: [
          {
            index,
            id: idOf(call, "call_", turn, index),
            type: "function",
            function: { name: call.name, arguments: "" },
          },
        ],
      }),
      ...pieces(argumentsOf(call)).map((text) => chunk({ tool_calls: [{ index, function: { arguments: text } }] })),
    ]);
    const finish = { length: "length", "content-filter": "content_filter" } as const;
    const usage = usageOf(answer);
    return [
      chunk({ role: "assistant", content: "" }),
      ...pieces(answer.reasoning ?? "").map((text) => chunk({ reasoning_content: text })),
      ...pieces(answer.text ?? "").map((text) => chunk({ content: text })),
      ...calls,
      chunk({}, answer.finish ? finish[answer.finish] : answer.calls?.length ? "tool_calls" : "stop"),
      ...(answer.usage === undefined
        ? []
        : [
            event({
              ...common,
              choices: [],
              usage: {
                prompt_tokens: usage.input,
                completion_tokens: usage.output,
                total_tokens: usage.input + usage.output,
                prompt_tokens_details: { cached_tokens: usage.cached },
                completion_tokens_details: { reasoning_tokens: usage.reasoning },
              },
            }),
          ]),
      "data: [DONE]\n\n",
    ];
  },
  errorEvent: event({ error: { message: "The server had an error", type: "server_error", param: null, code: 500 } }),
  failure(name, key) {
    switch (name) {
      case "rate-limit":
        return failed(429, { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" });
      case "quota":
        return failed(402, { message: "Insufficient credits", code: 402 });
      case "overflow":
        return {
          status: 400,
          body: JSON.stringify({
            object: "error",
            message: "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
            type: "BadRequestError",
            param: null,
            code: 400,
          }),
        };
      case "unauthorized":
        return failed(401, { message: `Invalid API key: ${key}`, type: "invalid_request_error", code: null });
      case "overloaded":
        return failed(503, { message: "No server is free", type: "unavailable_error", code: 503 });
      case "server-error":
        return failed(500, { message: "The server had an error", type: "server_error", code: null });
      case "not-found":
        return failed(404, { message: "The model does not exist", type: "NotFoundError", code: 404 });
    }
  },
};
