/**
 * Models of specifications v3 and v4 that stream what a test gives them.
 */
import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3StreamPart } from "@ai-sdk/provider";
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "provider-v4";

/** How a stream of parts ends: closed, failed with an error, or left open until it is cancelled. */
export type StreamEnd =
  | { readonly type: "close" }
  | { readonly type: "fail"; readonly error: unknown }
  | { readonly type: "hang" };

export type StreamingModel<Model, Options> = {
  readonly model: Model;
  /** The options of each call, in order. */
  readonly calls: readonly Options[];
  /** How often a stream was cancelled. */
  readonly cancelled: () => number;
};

export const sampleUsage = {
  inputTokens: { total: 12, noCache: 2, cacheRead: 10, cacheWrite: undefined },
  outputTokens: { total: 5, text: 3, reasoning: 2 },
};

export function createFinishPart(
  unified: "stop" | "tool-calls" | "length" | "error" | "other" = "stop",
  raw: string | null = unified,
): Extract<LanguageModelV3StreamPart, { type: "finish" }> {
  return { type: "finish", finishReason: { unified, raw: raw ?? undefined }, usage: sampleUsage };
}

export function createStreamingV3(
  parts: readonly LanguageModelV3StreamPart[],
  end: StreamEnd = { type: "close" },
): StreamingModel<LanguageModelV3, LanguageModelV3CallOptions> {
  const calls: LanguageModelV3CallOptions[] = [];
  const { stream, cancelled } = createPartSource(parts, end);
  const model: LanguageModelV3 = {
    specificationVersion: "v3",
    provider: "test.chat",
    modelId: "model",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("The port streams.")),
    async doStream(options) {
      calls.push(options);
      return { stream: stream() };
    },
  };
  return { model, calls, cancelled };
}

export function createStreamingV4(
  parts: readonly LanguageModelV4StreamPart[],
  end: StreamEnd = { type: "close" },
): StreamingModel<LanguageModelV4, LanguageModelV4CallOptions> {
  const calls: LanguageModelV4CallOptions[] = [];
  const { stream, cancelled } = createPartSource(parts, end);
  const model: LanguageModelV4 = {
    specificationVersion: "v4",
    provider: "test.chat",
    modelId: "model",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("The port streams.")),
    async doStream(options) {
      calls.push(options);
      return { stream: stream() };
    },
  };
  return { model, calls, cancelled };
}

function createPartSource<Part>(parts: readonly Part[], end: StreamEnd) {
  let cancelCount = 0;
  const stream = () => {
    let next = 0;
    return new ReadableStream<Part>({
      pull(controller) {
        const part = parts[next];
        if (next < parts.length) {
          next += 1;
          controller.enqueue(part as Part);
        } else if (end.type === "close") controller.close();
        else if (end.type === "fail") controller.error(end.error);
        else return new Promise<void>(() => {});
        return undefined;
      },
      cancel() {
        cancelCount += 1;
      },
    });
  };
  return { stream, cancelled: () => cancelCount };
}
