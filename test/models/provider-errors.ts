/**
 * Errors as providers write them: status, headers and body, from their public documentation and, where servers are open
 * source, from what those send. `kind` is what each must be read as.
 */
import type { ModelFailureKind } from "../../src/core/data/message.js";
import type { FormatName, RawReply } from "./provider-server.js";

export type ProviderError = {
  readonly name: string;
  readonly reply: RawReply;
  readonly kind: ModelFailureKind;
  /** The HTTP status, or the one that the code in a stream stands for. */
  readonly statusCode?: number;
  readonly code?: string;
  readonly retryAfterMs?: number;
};

type Expected = Omit<ProviderError, "name" | "reply">;

/** An error that takes the place of an answer. */
function answered(
  name: string,
  status: number,
  body: unknown,
  expected: Expected,
  headers?: RawReply["headers"],
): ProviderError {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return {
    name,
    reply: { type: "raw", status, body: text, ...(headers === undefined ? {} : { headers }) },
    statusCode: status,
    ...expected,
  };
}

/** An error inside a stream that began well. */
function streamed(name: string, events: readonly string[], expected: Expected): ProviderError {
  const headers = { "content-type": "text/event-stream" };
  return { name, reply: { type: "raw", status: 200, headers, body: events.join("") }, ...expected };
}

const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
const event = (value: { readonly type: string }) => `event: ${value.type}\n${data(value)}`;

const openai = (message: string, type: string | null, code: string | null, param: string | null = null) => ({
  error: { message, type, param, code },
});
const chunk = { id: "gen-1", object: "chat.completion.chunk", created: 1_790_000_000, model: "local-model" };
const begun = data({ ...chunk, choices: [{ index: 0, delta: { role: "assistant", content: "Half" } }] });

/** https://platform.openai.com/docs/guides/error-codes */
const openaiErrors: readonly ProviderError[] = [
  answered(
    "a bad key",
    401,
    openai("Incorrect API key provided: sk-t***st.", "invalid_request_error", "invalid_api_key"),
    {
      kind: "auth",
      code: "invalid_api_key",
    },
  ),
  answered(
    "a country that is not served",
    403,
    openai("Country, region, or territory not supported", "request_forbidden", "unsupported_country_region_territory"),
    { kind: "auth" },
  ),
  answered(
    "a limit of requests",
    429,
    openai(
      "Rate limit reached for gpt-5 in organization org-1 on requests per min (RPM): Limit 3.",
      "requests",
      "rate_limit_exceeded",
    ),
    { kind: "rate_limit", code: "rate_limit_exceeded", retryAfterMs: 1_500 },
    { "retry-after-ms": "1500", "retry-after": "2", "x-ratelimit-remaining-requests": "0" },
  ),
  answered(
    "a quota that is used up",
    429,
    openai(
      "You exceeded your current quota, please check your plan and billing details.",
      "insufficient_quota",
      "insufficient_quota",
    ),
    { kind: "quota", code: "insufficient_quota" },
  ),
  answered(
    "a long prompt",
    400,
    openai(
      "Your input exceeds the context window of this model. Please adjust your input and try again.",
      "invalid_request_error",
      "context_length_exceeded",
      "input",
    ),
    { kind: "context_overflow", code: "context_length_exceeded" },
  ),
  answered(
    "a parameter that is not known",
    400,
    openai("Unknown parameter: 'top_q'.", "invalid_request_error", "unknown_parameter", "top_q"),
    { kind: "invalid_request" },
  ),
  answered(
    "a model that is not there",
    404,
    openai("The model `gpt-0` does not exist.", "invalid_request_error", "model_not_found"),
    {
      kind: "invalid_request",
    },
  ),
  answered(
    "a filtered prompt, as Azure has it",
    400,
    {
      error: {
        message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        type: null,
        param: "prompt",
        code: "content_filter",
        status: 400,
        innererror: { code: "ResponsibleAIPolicyViolation" },
      },
    },
    { kind: "content_filter", code: "content_filter" },
  ),
  answered(
    "a failure of its own",
    500,
    openai("The server had an error while processing your request.", "server_error", null),
    {
      kind: "provider",
    },
  ),
  answered(
    "an overload",
    503,
    openai("The engine is currently overloaded, please try again later.", "server_error", null),
    {
      kind: "overloaded",
    },
  ),
  answered("a request to slow down", 503, openai("Slow down.", "server_error", "slow_down"), { kind: "overloaded" }),
];

/** https://platform.openai.com/docs/api-reference/responses-streaming/error */
const responsesErrors: readonly ProviderError[] = [
  streamed(
    "a failure in the stream",
    [
      event({
        type: "response.failed",
        response: {
          id: "resp_1",
          object: "response",
          created_at: 1_790_000_000,
          status: "failed",
          error: { code: "server_error", message: "The model failed to generate a response." },
          model: "gpt-5",
          output: [],
          usage: null,
        },
        sequence_number: 1,
      } as { readonly type: string }),
    ],
    { kind: "provider", statusCode: 500, code: "server_error" },
  ),
  streamed(
    "a limit in the stream",
    [
      event({
        type: "error",
        code: "rate_limit_exceeded",
        message: "Rate limit reached for tokens per min.",
        param: null,
        sequence_number: 1,
      } as { readonly type: string }),
    ],
    { kind: "rate_limit", statusCode: 429, code: "rate_limit_exceeded" },
  ),
];

const anthropic = (type: string, message: string) => ({
  type: "error",
  error: { type, message },
  request_id: "req_011CSHoEeqs5C35K2UUqR7Fy",
});

/** https://docs.claude.com/en/api/errors */
const anthropicErrors: readonly ProviderError[] = [
  answered("a bad request", 400, anthropic("invalid_request_error", "messages: at least one message is required"), {
    kind: "invalid_request",
  }),
  answered(
    "a long prompt",
    400,
    anthropic("invalid_request_error", "prompt is too long: 212345 tokens > 200000 maximum"),
    {
      kind: "context_overflow",
    },
  ),
  answered(
    "a prompt and an output that are too long together",
    400,
    anthropic("invalid_request_error", "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000"),
    { kind: "context_overflow" },
  ),
  answered(
    "a credit that is used up",
    400,
    anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
    { kind: "quota" },
  ),
  answered("a bad key", 401, anthropic("authentication_error", "invalid x-api-key"), { kind: "auth" }),
  answered("a matter of billing", 402, anthropic("billing_error", "There is an issue with your billing."), {
    kind: "quota",
  }),
  answered(
    "a permission that is missing",
    403,
    anthropic("permission_error", "Your API key may not use this resource."),
    {
      kind: "auth",
    },
  ),
  answered("a model that is not there", 404, anthropic("not_found_error", "model: claude-0"), {
    kind: "invalid_request",
  }),
  answered("a request of too many bytes", 413, anthropic("request_too_large", "Request exceeds the maximum size"), {
    kind: "context_overflow",
  }),
  answered(
    "a limit of tokens",
    429,
    anthropic(
      "rate_limit_error",
      "This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
    ),
    { kind: "rate_limit", retryAfterMs: 12_000 },
    { "retry-after": "12", "anthropic-ratelimit-tokens-remaining": "0" },
  ),
  answered("a failure of its own", 500, anthropic("api_error", "Internal server error"), { kind: "provider" }),
  answered("a timeout", 504, anthropic("timeout_error", "The request timed out"), { kind: "timeout" }),
  answered("an overload", 529, anthropic("overloaded_error", "Overloaded"), { kind: "overloaded" }),
  streamed("an overload in the stream", [event(anthropic("overloaded_error", "Overloaded"))], {
    kind: "overloaded",
    statusCode: 529,
    code: "overloaded_error",
  }),
  streamed("a failure in the stream", [event(anthropic("api_error", "Internal server error"))], {
    kind: "provider",
    statusCode: 500,
  }),
];

const google = (code: number, status: string, message: string, details: readonly object[] = []) => ({
  error: { code, message, status, ...(details.length === 0 ? {} : { details }) },
});
const rpc = (type: string) => ({ "@type": `type.googleapis.com/google.rpc.${type}` });

/** https://ai.google.dev/gemini-api/docs/troubleshooting and https://cloud.google.com/apis/design/errors */
const googleErrors: readonly ProviderError[] = [
  answered(
    "a bad key",
    400,
    google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [
      { ...rpc("ErrorInfo"), reason: "API_KEY_INVALID", domain: "googleapis.com" },
    ]),
    { kind: "auth", code: "API_KEY_INVALID" },
  ),
  answered(
    "a field that is not known",
    400,
    google(400, "INVALID_ARGUMENT", 'Invalid JSON payload received. Unknown name "topQ".', [
      { ...rpc("BadRequest"), fieldViolations: [{ description: 'Unknown name "topQ"' }] },
    ]),
    { kind: "invalid_request", code: "INVALID_ARGUMENT" },
  ),
  answered(
    "a long prompt",
    400,
    google(
      400,
      "INVALID_ARGUMENT",
      "The input token count (1197285) exceeds the maximum number of tokens allowed (1048576).",
    ),
    { kind: "context_overflow" },
  ),
  answered(
    "a free tier that is not offered",
    400,
    google(400, "FAILED_PRECONDITION", "Gemini API free tier is not available in your country. Please enable billing."),
    { kind: "invalid_request", code: "FAILED_PRECONDITION" },
  ),
  answered(
    "a permission that is missing",
    403,
    google(403, "PERMISSION_DENIED", "Permission denied on resource project p."),
    {
      kind: "auth",
    },
  ),
  answered(
    "a model that is not there",
    404,
    google(404, "NOT_FOUND", "models/gemini-0 is not found for API version v1beta."),
    {
      kind: "invalid_request",
    },
  ),
  answered(
    "a limit of the minute",
    429,
    google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details.", [
      {
        ...rpc("QuotaFailure"),
        violations: [
          {
            quotaMetric: "generativelanguage.googleapis.com/generate_content_free_tier_requests",
            quotaId: "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
            quotaValue: "10",
          },
        ],
      },
      {
        ...rpc("Help"),
        links: [{ description: "Learn more", url: "https://ai.google.dev/gemini-api/docs/rate-limits" }],
      },
      { ...rpc("RetryInfo"), retryDelay: "34.074824224s" },
    ]),
    { kind: "rate_limit", code: "RESOURCE_EXHAUSTED", retryAfterMs: 34_075 },
  ),
  answered(
    "a limit of the day",
    429,
    google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details.", [
      {
        ...rpc("QuotaFailure"),
        violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel-FreeTier", quotaValue: "250" }],
      },
      { ...rpc("RetryInfo"), retryDelay: "22s" },
    ]),
    { kind: "quota", retryAfterMs: 22_000 },
  ),
  answered("a failure of its own", 500, google(500, "INTERNAL", "An internal error has occurred. Please retry."), {
    kind: "provider",
  }),
  answered("an overload", 503, google(503, "UNAVAILABLE", "The model is overloaded. Please try again later."), {
    kind: "overloaded",
  }),
  answered("a timeout", 504, google(504, "DEADLINE_EXCEEDED", "The request timed out. Please try again."), {
    kind: "timeout",
  }),
];

/** Servers that speak OpenAI's chat completions. */
const compatibleErrors: readonly ProviderError[] = [
  // https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
  answered(
    "llama.cpp: the model is being loaded",
    503,
    { error: { code: 503, message: "Loading model", type: "unavailable_error" } },
    {
      kind: "overloaded",
    },
  ),
  answered(
    "llama.cpp: a long prompt",
    400,
    {
      error: {
        code: 400,
        message: "request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it",
        type: "exceed_context_size_error",
        n_prompt_tokens: 9412,
        n_ctx: 8192,
      },
    },
    { kind: "context_overflow", code: "exceed_context_size_error" },
  ),
  answered(
    "llama.cpp: a bad key",
    401,
    { error: { code: 401, message: "Invalid API Key", type: "authentication_error" } },
    {
      kind: "auth",
    },
  ),
  answered(
    "llama.cpp: something it cannot do",
    501,
    { error: { code: 501, message: "Not supported", type: "not_supported_error" } },
    {
      kind: "provider",
    },
  ),
  answered(
    "llama.cpp: a failure of its own",
    500,
    { error: { code: 500, message: "Failed to parse", type: "server_error" } },
    {
      kind: "provider",
    },
  ),
  streamed(
    "llama.cpp: a failure in the stream",
    [begun, data({ error: { code: 500, message: "Compute error.", type: "server_error" } })],
    {
      kind: "provider",
      statusCode: 500,
    },
  ),
  // https://github.com/ollama/ollama/blob/main/openai/openai.go
  answered(
    "Ollama: a model that is not there",
    404,
    {
      error: {
        message: 'model "llama0" not found, try pulling it first',
        type: "not_found_error",
        param: null,
        code: null,
      },
    },
    { kind: "invalid_request", code: "not_found_error" },
  ),
  answered(
    "Ollama: too many requests wait",
    503,
    {
      error: {
        message: "server busy, please try again.  maximum pending requests exceeded",
        type: "api_error",
        param: null,
        code: null,
      },
    },
    { kind: "overloaded" },
  ),
  answered(
    "Ollama: a model without tools",
    400,
    {
      error: {
        message: "registry.ollama.ai/library/phi:latest does not support tools",
        type: "invalid_request_error",
        param: null,
        code: null,
      },
    },
    { kind: "invalid_request" },
  ),
  answered(
    "Ollama: its runner died",
    500,
    {
      error: {
        message: "llama runner process has terminated: signal: killed",
        type: "api_error",
        param: null,
        code: null,
      },
    },
    { kind: "provider" },
  ),
  // https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
  answered(
    "vLLM: a long prompt",
    400,
    {
      error: {
        message:
          "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens in the messages.",
        type: "BadRequestError",
        param: null,
        code: 400,
      },
    },
    { kind: "context_overflow" },
  ),
  answered(
    "vLLM: a long prompt, in the form of older versions",
    400,
    {
      object: "error",
      message: "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
      type: "BadRequestError",
      param: null,
      code: 400,
    },
    { kind: "context_overflow" },
  ),
  answered(
    "vLLM: a model that is not there",
    404,
    { error: { message: "The model `llama0` does not exist.", type: "NotFoundError", param: "model", code: 404 } },
    { kind: "invalid_request" },
  ),
  answered("vLLM: a bad key", 401, { error: "Unauthorized" }, { kind: "auth" }),
  answered(
    "vLLM: a failure of its own",
    500,
    { error: { message: "", type: "InternalServerError", param: null, code: 500 } },
    {
      kind: "provider",
    },
  ),
  streamed(
    "vLLM: a failure in the stream",
    [begun, data({ error: { message: "Engine died.", type: "InternalServerError", param: null, code: 500 } })],
    { kind: "provider", statusCode: 500 },
  ),
  // https://openrouter.ai/docs/api/reference/errors-and-debugging
  answered(
    "OpenRouter: credits that are used up",
    402,
    { error: { code: 402, message: "Insufficient credits." } },
    { kind: "quota" },
  ),
  answered(
    "OpenRouter: a prompt that moderation flagged",
    403,
    {
      error: {
        code: 403,
        message: "The model requires moderation and your input was flagged.",
        metadata: { reasons: ["violence"], flagged_input: "…", provider_name: "OpenAI", model_slug: "gpt-5" },
      },
    },
    { kind: "content_filter" },
  ),
  answered(
    "OpenRouter: a key that may not",
    403,
    { error: { code: 403, message: "This key may not use this model." } },
    {
      kind: "auth",
    },
  ),
  answered(
    "OpenRouter: a timeout",
    408,
    { error: { code: 408, message: "Your request timed out." } },
    { kind: "timeout" },
  ),
  answered(
    "OpenRouter: a limit",
    429,
    { error: { code: 429, message: "Rate limit exceeded: free-models-per-min." } },
    { kind: "rate_limit", retryAfterMs: 3_000 },
    { "retry-after": "3" },
  ),
  answered(
    "OpenRouter: the provider behind it failed",
    502,
    {
      error: {
        code: 502,
        message: "Provider returned error",
        metadata: { provider_name: "X", raw: "upstream connect error" },
      },
    },
    { kind: "provider" },
  ),
  answered(
    "OpenRouter: no provider",
    503,
    { error: { code: 503, message: "No provider meets your requirements." } },
    {
      kind: "overloaded",
    },
  ),
  streamed(
    "OpenRouter: the provider behind it failed in the stream",
    [
      ": OPENROUTER PROCESSING\n\n",
      begun,
      data({
        ...chunk,
        error: { code: "server_error", message: "Provider disconnected unexpectedly" },
        choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
      }),
    ],
    { kind: "provider", statusCode: 500, code: "server_error" },
  ),
  // https://lmstudio.ai/docs/app/api
  answered(
    "LM Studio: a long prompt",
    400,
    {
      error:
        "Trying to keep the first 5040 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens.",
    },
    { kind: "context_overflow" },
  ),
  // Others: https://console.groq.com/docs/errors, https://api-docs.deepseek.com/quick_start/error_codes, https://docs.mistral.ai
  answered(
    "Groq: flex capacity",
    498,
    { error: { message: "Flex tier capacity exceeded.", type: "capacity_exceeded" } },
    {
      kind: "overloaded",
    },
  ),
  answered(
    "DeepSeek: a balance that is used up",
    402,
    { error: { message: "Insufficient Balance", type: "unknown_error", param: null, code: "invalid_request_error" } },
    {
      kind: "quota",
    },
  ),
  answered(
    "Mistral: a limit",
    429,
    { object: "error", message: "Requests rate limit exceeded", type: "rate_limited", param: null, code: "1300" },
    {
      kind: "rate_limit",
    },
  ),
  answered("Mistral: a bad key", 401, { detail: "Unauthorized" }, { kind: "auth" }),
  answered(
    "Mistral: a request that is not valid",
    422,
    {
      object: "error",
      message: { detail: [{ type: "missing", loc: ["body", "model"], msg: "Field required" }] },
      type: "invalid_request_error",
    },
    { kind: "invalid_request" },
  ),
  // Whatever else answers: a proxy, a load balancer, a server that says nothing.
  answered(
    "a proxy's page",
    502,
    "<html>\n<head><title>502 Bad Gateway</title></head>\n</html>",
    { kind: "provider" },
    {
      "content-type": "text/html",
    },
  ),
  answered("no body at all", 503, "", { kind: "overloaded" }),
  answered(
    "a text",
    429,
    "Too Many Requests",
    { kind: "rate_limit", retryAfterMs: 9_000 },
    {
      "content-type": "text/plain",
      "retry-after": "9",
    },
  ),
  answered("half a JSON text", 500, '{"error": {"mess', { kind: "provider" }),
  answered("JSON that is no object", 400, "[]", { kind: "invalid_request" }),
];

export const providerErrors: { readonly [Name in FormatName]: readonly ProviderError[] } = {
  "openai-responses": [...openaiErrors, ...responsesErrors],
  "openai-chat": [...openaiErrors, ...compatibleErrors],
  "anthropic-messages": anthropicErrors,
  "google-generate-content": googleErrors,
};
