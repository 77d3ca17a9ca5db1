/**
 * Tools for one run: `run(input, { tools })`.
 *
 * 1. The log stores their names as an option of the run, and their schemas like those of the agent's tools. Their functions stay in the
 *    process that received them.
 * 2. The run treats them like the agent's tools, until it is handed over to another agent.
 * 3. A process without them can continue the run: it does not offer them to the model, a call of one ends with an error, and a
 *    `hook_failed` event reports it.
 */
import { PawlError } from "../../errors.js";
import { type CompiledTool, listTools, normaliseTools, type Tools } from "../tools/compile-tools.js";

export type RunTools = ReadonlyMap<string, CompiledTool>;

/** @throws PawlError `bad_input`, `bad_configuration`, `duplicate_tool` */
export function compileRunTools(tools: Tools): RunTools {
  return normaliseTools(checkList(tools));
}

function checkList(tools: Tools): Tools {
  if (typeof tools === "object" && tools !== null) return tools;
  throw new PawlError("bad_input", "The option tools must be a list of tools, or a record { name: tool }.");
}

/** The names for the log; undefined if there are none. @throws PawlError `bad_input`, `bad_configuration` */
export function listRunToolNames({ tools }: { readonly tools?: Tools }): readonly string[] | undefined {
  const names = tools === undefined ? [] : listTools(checkList(tools)).map(({ name }) => name);
  return names.length === 0 ? undefined : names;
}
