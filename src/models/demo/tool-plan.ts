/**
 * The demo model's plan for an agent with other tools: it calls each tool that the request names, as soon as it knows the tool's
 * inputs.
 *
 * 1. The plan has at most three steps, and calls each tool at most once: it always comes to an end.
 * 2. A request must contain every word of a tool's name, so "Show order 1041" never calls `delete_order`.
 * 3. An input is never invented: it comes from the request, from a result after it, or from a result before it.
 */
import type { Json } from "../../core/data/message.js";
import type { JsonSchema, ToolSpecification } from "../../ports/model.js";
import type { CallResult, PlannedCall } from "./conversation.js";
import { joinWithAnd, type Plan } from "./plan.js";
import { maxCharacters } from "./request.js";

const maxSteps = 3;
const maxCallsInStep = 3;
const maxListedTools = 10;

/** @param earlier The results of the previous request, for "now refund it". */
export function* createToolPlan(
  request: string,
  tools: readonly ToolSpecification[],
  earlier: readonly CallResult[],
): Plan {
  const text = request.length > maxCharacters ? "" : request;
  const named = tools.filter((tool) => isNamedIn(text, tool.name));
  let open = named;
  const results: CallResult[] = [];
  for (let step = 1; step <= maxSteps; step++) {
    const sources = [text, ...readTexts(results), ...readTexts(earlier)];
    const calls = open.flatMap((tool) => createCall(tool, sources)).slice(0, maxCallsInStep);
    if (calls.length === 0) break;
    open = open.filter((tool) => !calls.some(({ name }) => name === tool.name));
    results.push(...(yield { say: `I will call ${joinWithAnd(calls.map(({ name }) => name))}.`, calls }));
  }
  const notes = open.map((tool) => `I did not call ${tool.name}: I need to know ${joinWithAnd(listInputs(tool))}.`);
  return { results, changed: [], notes: named.length === 0 ? [formatHelp(tools)] : notes };
}

/** Whether the text contains every word of the name: `find_order` is in "Find the orders of 2026". */
function isNamedIn(text: string, name: string): boolean {
  const words = new Set(splitWords(text).map(toSingular));
  return splitWords(name).every((word) => words.has(toSingular(word)));
}

/** In lower case. Names are split at underscores and capitals. */
function splitWords(text: string): readonly string[] {
  const words = text.replace(/([a-z\d])([A-Z])/g, "$1 $2").match(/[\p{L}\d]+/gu) ?? [];
  return words.map((word) => word.toLowerCase());
}

function toSingular(word: string): string {
  return word.replace(/s$/, "");
}

function readTexts(results: readonly CallResult[]): readonly string[] {
  return results.filter((result) => !result.isError).map((result) => result.text.slice(0, maxCharacters));
}

/** The call of a tool; empty if a required input is unknown. */
function createCall(tool: ToolSpecification, sources: readonly string[]): readonly PlannedCall[] {
  const input: { [name: string]: Json } = {};
  for (const name of listInputs(tool)) {
    const value = findValue(name, readType(tool.inputSchema, name), sources);
    if (value === undefined) return [];
    input[name] = value;
  }
  return [{ name: tool.name, input }];
}

/** The names of the required inputs. */
function listInputs({ inputSchema }: ToolSpecification): readonly string[] {
  const { required } = inputSchema;
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}

function readType({ properties }: JsonSchema, name: string): Json | undefined {
  const property = (properties as { readonly [name: string]: JsonSchema | undefined } | undefined)?.[name];
  return property?.type;
}

/**
 * The value next to the name in the first text that has one: `order 1041`, `order: "1041"` or, for a number, `2900 cents`.
 * Unquoted text must contain a digit, because most words after a name are not its value.
 */
function findValue(name: string, type: Json | undefined, texts: readonly string[]): string | number | undefined {
  const isNumber = type === "number" || type === "integer";
  if (!isNumber && type !== "string") return undefined;
  const escapedName = name.replace(/\W/g, "\\$&");
  const value = isNumber ? numberPattern : wordWithDigitPattern;
  const patterns = [
    new RegExp(`\\b${escapedName}"?\\s?[:=#]?\\s?(?:"([^"\\n]{1,200})"|(${value}))`, "i"),
    ...(isNumber ? [new RegExp(`(?<![\\w.])(${numberPattern})\\s(?:${escapedName})\\b`, "i")] : []),
  ];
  for (const text of texts)
    for (const pattern of patterns) {
      const [, quotedOrBefore, after] = pattern.exec(text) ?? [];
      const found = after ?? quotedOrBefore;
      if (found === undefined) continue;
      if (!isNumber) return found;
      if (Number.isFinite(Number(found))) return Number(found);
    }
  return undefined;
}

const numberPattern = "-?\\d{1,15}(?:\\.\\d{1,9})?\\b";
const wordWithDigitPattern = "[\\w.@-]{0,100}\\d[\\w@-]{0,100}";

function formatHelp(tools: readonly ToolSpecification[]): string {
  const lines = tools.slice(0, maxListedTools).map((tool) => {
    const inputs = listInputs(tool).map((name) => `${name} …`);
    return `    ${[splitWords(tool.name).join(" "), ...inputs].join(", ")}`;
  });
  return `I call a tool if the request contains the words of its name, and its inputs:\n\n${lines.join("\n")}`;
}
