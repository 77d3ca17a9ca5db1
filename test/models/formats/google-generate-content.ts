/**
 * Google's streamGenerateContent with `alt=sse`: https://ai.google.dev/api/generate-content; errors as in
 * https://cloud.google.com/apis/design/errors
 */
import type { ProviderFormat, WireFailure } from "../provider-server.js";
import { event, pieces, usageOf } from "./wire.js";

function failed(
  status: number,
  code: string,
  message: string,
  details: readonly { readonly "@type": string; readonly [key: string]: unknown }[] = [],
): WireFailure {
  return { status, body: JSON.stringify({ error: { code: status, message, status: code, details } }) };
}

function type(name: string): string {
  return `type.googleapis.com/google.rpc.${name}`;
}

export const googleGenerateContent: ProviderFormat = {
  basePath: "/v1beta",
  accepts: (path) => /^\/v1beta\/models\/[^/:]+:streamGenerateContent$/.test(path),
  events(answer, { turn }) {
    const about = { modelVersion: "gemini-test", responseId: `response-${turn}` };
    const chunk = (part: object) =>
      event({ candidates: [{ content: { parts: [part], role: "model" }, index: 0 }], ...about });
    const signature = answer.signature !== undefined ? { thoughtSignature: answer.signature } : {};
    const calls = (answer.calls ?? []).map((call, index) =>
      // The signature of the reasoning comes with the first call.
      chunk({
        functionCall: { name: call.name, args: call.input, ...(call.id !== undefined && { id: call.id }) },
        ...(index === 0 && signature),
      }),
    );
    const finish = { length: "MAX_TOKENS", "content-filter": "SAFETY" } as const;
    const usage = usageOf(answer);
    return [
      ...pieces(answer.reasoning ?? "").map((text) => chunk({ text, thought: true })),
      ...pieces(answer.text ?? "").map((text) => chunk({ text })),
      ...calls,
      event({
        candidates: [
          {
            content: { parts: [{ text: "" }], role: "model" },
            finishReason: answer.finish ? finish[answer.finish] : "STOP",
            index: 0,
          },
        ],
        ...(answer.usage !== undefined && {
          usageMetadata: {
            promptTokenCount: usage.input,
            cachedContentTokenCount: usage.cached,
            candidatesTokenCount: usage.output - usage.reasoning,
            thoughtsTokenCount: usage.reasoning,
            totalTokenCount: usage.input + usage.output,
          },
        }),
        ...about,
      }),
    ];
  },
  errorEvent: event({ error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } }),
  failure(name) {
    switch (name) {
      case "rate-limit":
        return failed(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).");
      case "quota":
        return failed(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", [
          {
            "@type": type("QuotaFailure"),
            violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel-FreeTier" }],
          },
          { "@type": type("RetryInfo"), retryDelay: "34.4s" },
        ]);
      case "overflow":
        return failed(
          400,
          "INVALID_ARGUMENT",
          "The input token count (1197285) exceeds the maximum number of tokens allowed (1048576).",
        );
      case "unauthorized":
        return failed(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [
          { "@type": type("ErrorInfo"), reason: "API_KEY_INVALID", domain: "googleapis.com" },
        ]);
      case "overloaded":
        return failed(503, "UNAVAILABLE", "The model is overloaded. Please try again later.");
      case "server-error":
        return failed(500, "INTERNAL", "An internal error has occurred.");
      case "not-found":
        return failed(404, "NOT_FOUND", "models/no-such-model is not found for API version v1beta.");
    }
  },
};
