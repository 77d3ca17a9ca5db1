/**
 * Context windows of models, with the date and the source of each list. The window of an unlisted model is unknown. The
 * lists in this file take precedence over the generated table.
 *
 * If a window depends on the account or a header, the smaller value is listed.
 */
import { asOf, generatedWindows, source } from "./prices.generated.js";

export type ContextWindows = { readonly [modelId: string]: number };

type WindowList = {
  /** The date on which the source was read: `YYYY-MM-DD`. */
  readonly asOf: string;
  /** The page from which each model's page is linked, or the package that lists all models. */
  readonly source: string;
  readonly windows: ContextWindows;
};

const anthropic: WindowList = {
  asOf: "2026-11-22",
  source: "https://platform.claude.com/docs/en/models/overview",
  windows: {
    "anthropic/claude-fable-5-2": 1_000_000,
    "anthropic/claude-fable-5-1": 1_000_000,
    "anthropic/claude-opus-5-5": 1_000_000,
    "anthropic/claude-opus-5": 1_000_000,
    "anthropic/claude-opus-4-8": 1_000_000,
    "anthropic/claude-opus-4-7": 1_000_000,
    "anthropic/claude-opus-4-6": 1_000_000,
    "anthropic/claude-opus-4-5": 200_000,
    "anthropic/claude-sonnet-5-5": 1_000_000,
    "anthropic/claude-sonnet-5": 1_000_000,
    "anthropic/claude-sonnet-4-6": 1_000_000,
    "anthropic/claude-haiku-5-5": 1_000_000,
    "anthropic/claude-haiku-4-5": 200_000,
  },
};

const openai: WindowList = {
  asOf: "2026-11-22",
  source: "https://developers.openai.com/api/docs/models",
  windows: {
    "openai/gpt-6-astra": 1_050_000,
    "openai/gpt-6-sol": 1_050_000,
    "openai/gpt-6-luna": 1_050_000,
    "openai/gpt-5.6-sol": 1_050_000,
    "openai/gpt-5.6-terra": 1_050_000,
    "openai/gpt-5.6-luna": 1_050_000,
    "openai/gpt-4o-mini": 128_000,
  },
};

const google: WindowList = {
  asOf: "2026-11-22",
  source: "https://ai.google.dev/gemini-api/docs/models",
  windows: {
    "google/gemini-3.8-flash": 1_048_576,
    "google/gemini-3.7-flash": 1_048_576,
    "google/gemini-3.5-flash": 1_048_576,
    "google/gemini-3.1-pro-preview": 1_048_576,
    "google/gemini-2.5-pro": 1_048_576,
    "google/gemini-2.5-flash": 1_048_576,
    "google/gemini-2.5-flash-lite": 1_048_576,
  },
};

const generated: WindowList = { asOf, source, windows: generatedWindows };

/** The lists that `contextWindows` combines. A later list replaces windows of an earlier one. */
export const windowLists: readonly WindowList[] = [generated, anthropic, openai, google];

/** Tokens by `provider/model`, input and output together. A dated id falls back to the id without its date. */
export const contextWindows: ContextWindows = Object.assign({}, ...windowLists.map(({ windows }) => windows));
