/**
 * What this package takes for a model of the AI SDK: the provider interface in its specifications v3 and v4.
 */
import type { LanguageModelV3 } from "@ai-sdk/provider";

/**
 * A model of specification v4, as far as it is used here. Written out, so that Node 20 users need no package of v4:
 * any real v4 model fits it.
 */
export type LanguageModelV4 = {
  readonly specificationVersion: "v4";
  readonly provider: string;
  readonly modelId: string;
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
};

/** A language model of an AI SDK provider package: `openai("…")`, `anthropic("…")` and so on. */
export type LanguageModel = LanguageModelV3 | LanguageModelV4;

/** Whether a value is a language model of the AI SDK that can be used here (specification v3 or v4). */
export function isAiSdkModel(value: unknown): value is LanguageModel {
  if (typeof value !== "object" || value === null) return false;
  const model = value as { readonly [key: string]: unknown };
  return (
    (model.specificationVersion === "v3" || model.specificationVersion === "v4") &&
    typeof model.provider === "string" &&
    typeof model.modelId === "string" &&
    typeof model.doStream === "function"
  );
}
