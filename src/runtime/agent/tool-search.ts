/**
 * Deferred tools, for agents with too many tools to send with every request (COST-5). A model finds them with `find_tools`, and calls them
 * through `call_tool`.
 *
 * 1. The list of tools that a model is offered never changes in a session. Providers keep tools at the beginning of their prompt cache, so
 *    adding a found tool to the list would cost the whole conversation again. Its schema is in a result of `find_tools` instead.
 *    A provider that loads tools itself inserts the found tools there, so it is also sent the deferred tools, and they never change either:
 *    see models/ai-sdk/deferred-tools.ts.
 * 2. A call of `call_tool` is turned into the call of the found tool before anything else reads it: see repair-call.ts.
 * 3. The session's data keeps the names of found tools. After a compaction, which drops the results, a hint lists them.
 */
import type { Json } from "../../core/data/message.js";
import { callToolName, findToolsName } from "../../core/data/tool-search-names.js";
import { PawlError } from "../../errors.js";
import type { SessionData, ToolData } from "../../ports/session-data.js";
import type { TokenEstimator } from "../../ports/tokens.js";
import type { AnyTool } from "../../ports/tool.js";
import type { AiSdkToolSearch } from "../tools/ai-sdk-tool-search.js";
import { type CompiledTool, compileBuiltIn } from "../tools/compile-tools.js";

/** The key of the session's data under which the names of found tools are stored. */
const foundToolsKey = "pawl.foundTools";

/** The maximum number of stored names; the oldest are dropped. */
const maxFoundNames = 200;

const defaultResults = 8;

/** Above this share of the context window, tools with `defer: "auto"` are deferred. */
const autoShare = 0.1;

export type SearchDeps = {
  /** The maximum size of a request, in tokens. */
  readonly windowTokens: number;
  readonly tokens: TokenEstimator;
  /** The author's `toolSearch()` of the AI SDK. */
  readonly search: AiSdkToolSearch | undefined;
};

/** The tools that are not offered from the start. */
export function selectDeferred(
  tools: ReadonlyMap<string, CompiledTool>,
  { windowTokens, tokens }: SearchDeps,
): ReadonlyMap<string, CompiledTool> {
  const all = [...tools.values()];
  const auto = all.filter(({ tool }) => tool.defer === "auto");
  const size = auto.reduce((sum, { specification }) => sum + tokens.text(JSON.stringify(specification)), 0);
  const isTooMuch = size > windowTokens * autoShare;
  const deferred = all.filter(({ tool }) => tool.defer === true || (tool.defer === "auto" && isTooMuch));
  return new Map(deferred.map((one) => [one.tool.name, one]));
}

/**
 * Creates `find_tools` and `call_tool` for these tools.
 * @throws PawlError `duplicate_tool` if the author has a tool with one of these names
 */
export function createSearchTools(
  deferred: ReadonlyMap<string, CompiledTool>,
  own: ReadonlyMap<string, CompiledTool>,
  { search }: SearchDeps,
): readonly CompiledTool[] {
  for (const name of [findToolsName, callToolName])
    if (own.has(name))
      throw new PawlError(
        "duplicate_tool",
        `The agent has deferred tools, so Pawl adds a tool named "${name}". Rename your own tool.`,
      );
  return [createFindTools(deferred, search), callTool].map(compileBuiltIn);
}

type FindInput = { readonly query: string };

function createFindTools(
  deferred: ReadonlyMap<string, CompiledTool>,
  { search, maxResults = defaultResults }: AiSdkToolSearch = {},
): AnyTool {
  let index: Promise<Search> | undefined;
  return {
    name: findToolsName,
    description: `Finds more tools. ${describeTools([...deferred.keys()])} Describe what you want to do, in a few words. The result has up to ${maxResults} tools with their input schemas.`,
    input: {
      type: "object",
      properties: { query: { type: "string", description: 'For example "create an invoice".' } },
      required: ["query"],
      additionalProperties: false,
    },
    readOnly: true,
    lenientInput: true,
    async execute({ query }: FindInput, { data }) {
      index ??= search === undefined ? createSearch(deferred) : Promise.resolve(createCustomSearch(search, deferred));
      const ranked = await (await index)(query.slice(0, maxQueryCharacters));
      const found = [...new Set(ranked)].filter((name) => deferred.has(name)).slice(0, maxResults);
      if (found.length === 0) return `No tool matches. Try other words. ${describeTools([...deferred.keys()])}`;
      recordFound(data, found);
      return found.map((name) => formatTool(deferred.get(name))).join("\n");
    },
  };
}

const maxQueryCharacters = 1_000;

/** Handles a call of a tool that cannot be found, or whose arguments are malformed. All other calls are handled in repair-call.ts. */
const callTool: AnyTool = {
  name: callToolName,
  description: `Calls a tool that ${findToolsName} has found.`,
  input: {
    type: "object",
    properties: {
      name: { type: "string", description: "The name of the tool." },
      input: { type: "object", description: "Its input, which fits the tool's input schema." },
    },
    required: ["name", "input"],
    additionalProperties: false,
  },
  readOnly: true,
  execute: () => {
    throw new Error(`Give the name of a tool that ${findToolsName} has found, and its input as an object.`);
  },
};

/** Tools of servers are named `server_tool`, or `mcp__server__tool` in the terminal. The text depends only on the tools. */
function describeTools(names: readonly string[]): string {
  const groups = new Map<string, number>();
  for (const name of names) {
    const group = /^mcp__(.+?)__/.exec(name)?.[1] ?? /^([^_]+)_/.exec(name)?.[1];
    if (group !== undefined) groups.set(group, (groups.get(group) ?? 0) + 1);
  }
  const large = [...groups].filter(([, count]) => count >= 2).map(([group, count]) => `${group} (${count})`);
  const listed = large.slice(0, maxGroups).join(", ");
  return `There are ${names.length}${listed === "" ? "" : `, among them those of ${listed}`}.`;
}

const maxGroups = 40;

function formatTool(compiled: CompiledTool | undefined): string {
  if (compiled === undefined) return "";
  const { name, description, inputSchema, inputExamples } = compiled.specification;
  return JSON.stringify({ name, description, inputSchema, ...(inputExamples !== undefined && { inputExamples }) });
}

/** The search works without the record: if a session's data is full, no names are stored. */
function recordFound(data: ToolData, found: readonly string[]): void {
  try {
    data.update(foundToolsKey, (old) => {
      const before = readNames(old).filter((name) => !found.includes(name));
      return [...before, ...found].slice(-maxFoundNames);
    });
  } catch (error) {
    if (!(error instanceof PawlError) || error.code !== "bad_input") throw error;
  }
}

/** After a compaction, the schemas are gone, but the names are known. */
export function createFoundToolsHint(data: SessionData): { readonly name: string; readonly text: string } | undefined {
  const names = readNames(data[foundToolsKey]);
  if (names.length === 0) return undefined;
  return { name: "tools found so far", text: `${names.join(", ")}. ${findToolsName} shows their input schemas again.` };
}

/** The session's data is untrusted: anyone may change it. */
function readNames(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}

/** Names of matches, best first. */
type Search = (query: string) => readonly string[] | Promise<readonly string[]>;

function createCustomSearch(
  search: NonNullable<AiSdkToolSearch["search"]>,
  deferred: ReadonlyMap<string, CompiledTool>,
): Search {
  const tools = [...deferred.values()].map(({ specification: { name, description } }) => ({ name, description }));
  return async (query) => (await search({ query, tools: tools.map((tool) => ({ ...tool })) })) as readonly string[];
}

/** BM25 over names, which count three times, and descriptions, with prefix and fuzzy matching. */
async function createSearch(deferred: ReadonlyMap<string, CompiledTool>): Promise<Search> {
  const { default: MiniSearch } = await import("minisearch");
  const search = new MiniSearch({ fields: ["words", "description"], idField: "name" });
  search.addAll(
    [...deferred.values()].map(({ specification: { name, description } }) => ({
      name,
      words: name.replaceAll(/[_-]+/g, " ").replaceAll(/([a-z])([A-Z])/g, "$1 $2"),
      description,
    })),
  );
  return (query) => search.search(query, { boost: { words: 3 }, prefix: true, fuzzy: 0.2 }).map(({ id }) => String(id));
}
