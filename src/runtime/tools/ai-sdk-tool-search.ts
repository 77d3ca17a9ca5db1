/**
 * `toolSearch()` of AI SDK 7. It has no effect outside the AI SDK: `find_tools` replaces it, with its settings.
 */

/** The settings of a `toolSearch()`. */
export type AiSdkToolSearch = {
  /** Returns the names of matching tools, best first. */
  readonly search?: (options: { readonly query: string; readonly tools: readonly FoundTool[] }) => unknown;
  readonly maxResults?: number;
};

type FoundTool = { readonly name: string; readonly description: string };

const marker = Symbol.for("vercel.ai.toolSearch");
const searchKey = Symbol.for("vercel.ai.toolSearch.search");
const maxResultsKey = Symbol.for("vercel.ai.toolSearch.maxResults");

export function isToolSearch(tool: object): boolean {
  return (tool as { readonly [key: symbol]: unknown })[marker] === true;
}

/** The first `toolSearch()` in a record of tools. */
export function findToolSearch(tools: object): AiSdkToolSearch | undefined {
  const found = Object.values(tools).find((tool) => typeof tool === "object" && tool !== null && isToolSearch(tool));
  if (found === undefined) return undefined;
  const { [searchKey]: search, [maxResultsKey]: maxResults } = found as { readonly [key: symbol]: unknown };
  return {
    ...(typeof search === "function" ? { search: search as NonNullable<AiSdkToolSearch["search"]> } : {}),
    ...(Number.isSafeInteger(maxResults) ? { maxResults: maxResults as number } : {}),
  };
}
