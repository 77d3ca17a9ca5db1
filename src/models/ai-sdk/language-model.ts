/**
 * Language models of the AI SDK: its provider interface in specifications v3 and v4.
 */

/**
 * The part of a v3 model that Pawl uses. It is declared here, so that its type needs no package. Every real v3 model is assignable
 * to it.
 */
export type LanguageModelV3 = {
  /** The version of the AI SDK's specification. */
  readonly specificationVersion: "v3";
  /** The provider of the model. */
  readonly provider: string;
  readonly modelId: string;
  /** Streams one answer. */
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
};

/** The part of a v4 model that Pawl uses. Every real v4 model is assignable to it. */
export type LanguageModelV4 = {
  /** The version of the AI SDK's specification. */
  readonly specificationVersion: "v4";
  /** The provider of the model. */
  readonly provider: string;
  readonly modelId: string;
  /** Streams one answer. */
  doStream(options: never): PromiseLike<{ readonly stream: ReadableStream<unknown> }>;
};

/** A language model of an AI SDK provider package: `openai("…")`, `anthropic("…")` and so on. */
export type LanguageModel = LanguageModelV3 | LanguageModelV4;

/** Whether a value is an AI SDK language model of specification v3 or v4. */
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
