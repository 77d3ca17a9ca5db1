/**
 * The script as a model of the AI SDK's provider interface, versions 2 to 4, for all contenders that take such a
 * model.
 */
import { usage } from "./work.mjs";

/** @param version "v2", "v3" or "v4" */
export function languageModel(work, version) {
  return {
    specificationVersion: version,
    provider: "bench",
    modelId: "bench",
    supportedUrls: {},
    async doGenerate() {
      throw new Error("Only streaming is measured.");
    },
    async doStream({ prompt }) {
      const parts = streamParts(work.answerTo(newestResult(prompt)), version);
      return {
        stream: new ReadableStream({
          pull(controller) {
            const { done, value } = parts.next();
            if (done) controller.close();
            else controller.enqueue(value);
          },
        }),
      };
    },
  };
}

function newestResult(prompt) {
  const newest = prompt.at(-1);
  if (newest.role !== "tool") return null;
  const { output } = newest.content.at(-1);
  return String(output.value);
}

function* streamParts({ texts, call }, version) {
  yield { type: "stream-start", warnings: [] };
  yield { type: "text-start", id: "t" };
  for (const delta of texts) yield { type: "text-delta", id: "t", delta };
  yield { type: "text-end", id: "t" };
  if (call !== null)
    yield { type: "tool-call", toolCallId: call.id, toolName: call.name, input: JSON.stringify(call.input) };
  yield { type: "finish", ...ending(call === null ? "stop" : "tool-calls", version) };
}

function ending(reason, version) {
  if (version === "v2")
    return {
      finishReason: reason,
      usage: { inputTokens: usage.input, outputTokens: usage.output, totalTokens: usage.input + usage.output },
    };
  return {
    finishReason: { unified: reason, raw: reason },
    usage: {
      inputTokens: { total: usage.input, noCache: usage.input, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: usage.output, text: usage.output, reasoning: 0 },
    },
  };
}
