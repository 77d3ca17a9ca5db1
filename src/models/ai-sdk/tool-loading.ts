/**
 * Models whose providers load deferred tools themselves, with the date and the source of each list. An unlisted model gets
 * deferred tools through `call_tool`, which every model can do.
 */
import { withoutDate } from "../../core/data/model-id.js";

/** How a request reports to the provider which tools were found. */
export type ToolLoading =
  /** Deferred tools are in the request, and the result of the search refers to them by name (Anthropic's Messages API). */
  | "tool_reference"
  /** The result of the search contains the tools themselves (OpenAI's Responses API). */
  | "tool_search";

type LoadingList = {
  /** The date on which the source was read: `YYYY-MM-DD`. */
  readonly asOf: string;
  readonly source: string;
  /** The `provider` of the AI SDK's models. Clouds that serve the same models need other headers, so they are not listed. */
  readonly provider: string;
  readonly loading: ToolLoading;
  /** Without the date of a snapshot. */
  readonly models: readonly string[];
};

const anthropic: LoadingList = {
  asOf: "2026-11-28",
  // https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool (of 2026-05) also has Opus 4.0 to 4.1 and Sonnet 4.0.
  source: "Model Capabilities in the documentation of @ai-sdk/anthropic 4.0.105, column Tool Search",
  provider: "anthropic.messages",
  loading: "tool_reference",
  models: [
    "claude-fable-5-2",
    "claude-fable-5-1",
    "claude-fable-5",
    "claude-opus-5-5",
    "claude-opus-5",
    "claude-opus-4-8",
    "claude-opus-4-7",
    "claude-opus-4-6",
    "claude-opus-4-5",
    "claude-sonnet-5-5",
    "claude-sonnet-5",
    "claude-sonnet-4-6",
    "claude-sonnet-4-5",
    "claude-haiku-5-5",
    "claude-haiku-4-5",
  ],
};

const openai: LoadingList = {
  asOf: "2026-11-28",
  // "Only gpt-5.4 and later models support tool_search." The ids are those of @ai-sdk/openai 4.0.118, without gpt-5.4-nano,
  // which no page mentions.
  source: "https://developers.openai.com/api/docs/guides/tools-tool-search",
  provider: "openai.responses",
  loading: "tool_search",
  models: [
    "gpt-6.1-sol",
    "gpt-6.1-terra",
    "gpt-6-astra",
    "gpt-6-luna",
    "gpt-6-sol",
    "gpt-5.6",
    "gpt-5.6-luna",
    "gpt-5.6-sol",
    "gpt-5.6-terra",
    "gpt-5.5",
    "gpt-5.4",
    "gpt-5.4-mini",
    "gpt-5.4-pro",
  ],
};

const loadingLists: readonly LoadingList[] = [anthropic, openai];

/** Null for a model that is not known to load tools. */
export function findToolLoading({
  provider,
  modelId,
}: {
  readonly provider: string;
  readonly modelId: string;
}): ToolLoading | null {
  const name = withoutDate(modelId);
  const list = loadingLists.find((entry) => entry.provider === provider && entry.models.includes(name));
  return list?.loading ?? null;
}
