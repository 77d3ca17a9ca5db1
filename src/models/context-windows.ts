/**
 * Context windows of models: data, as providers' pages give it. A model that is not here has an unknown one, which is said so.
 *
 * Only models whose window is the same for everybody are listed; where it depends on an account or a header, the smaller one is.
 */
export type ContextWindows = { readonly [modelId: string]: number };

/** Tokens that a model can take in and give out together, by `provider/model`; a dated id falls back to the one without its date. */
export const contextWindows: ContextWindows = {
  "anthropic/claude-opus-4-5": 200_000,
  "anthropic/claude-haiku-4-5": 200_000,
  "openai/gpt-4o-mini": 128_000,
  "google/gemini-2.5-pro": 1_048_576,
  "google/gemini-2.5-flash": 1_048_576,
  "google/gemini-2.5-flash-lite": 1_048_576,
};
