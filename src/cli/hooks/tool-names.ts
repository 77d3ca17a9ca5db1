/**
 * Translates tool calls to the names of Claude Code, which hook scripts expect, and back.
 */
import { relative, resolve } from "node:path";
import { isJsonObject } from "../../core/data/is-object.js";
import type { Json } from "../../index.js";
import { agentToolPrefix, isAgentTool, toolsElsewhere } from "../permissions/rule.js";

/** All names of a tool that a matcher may use: first its name in Claude Code, last its own. */
export function listToolNames(tool: string): readonly string[] {
  if (isAgentTool(tool)) return ["Task", "Agent", tool];
  const elsewhere = [...toolsElsewhere].flatMap(([name, own]) => (own === tool ? [name] : []));
  return [...elsewhere, tool];
}

/** The fields of inputs whose names differ. */
const fields: { readonly [tool: string]: { readonly [field: string]: string } } = {
  shell: { timeoutMs: "timeout", background: "run_in_background" },
  read_file: { path: "file_path", startLine: "offset" },
  write_file: { path: "file_path" },
  edit_file: { path: "file_path", oldText: "old_string", newText: "new_string", replaceAll: "replace_all" },
  search_files: { text: "pattern", pattern: "glob", ignoreCase: "-i" },
};

/** The tool input that a script reads. Paths of files are absolute. */
export function toScriptInput(tool: string, input: Json, root: string): Json {
  if (!isJsonObject(input)) return input;
  if (isAgentTool(tool)) {
    const background = input.background === true ? { run_in_background: true } : {};
    return { subagent_type: tool.slice(agentToolPrefix.length), prompt: input.task ?? "", ...background };
  }
  const names = fields[tool] ?? {};
  return Object.fromEntries(
    Object.entries(input).map(([field, value]) => {
      const name = Object.hasOwn(names, field) ? (names[field] ?? field) : field;
      return [name, name === "file_path" && typeof value === "string" ? resolve(root, value) : value];
    }),
  );
}

/** The tool's input with the changes of a script. */
export function fromScriptInput(
  tool: string,
  input: Json,
  changed: { readonly [field: string]: Json },
  root: string,
): Json {
  const before = isJsonObject(input) ? input : {};
  if (isAgentTool(tool)) return typeof changed.prompt === "string" ? { ...before, task: changed.prompt } : before;
  const names = new Map(Object.entries(fields[tool] ?? {}).map(([field, name]) => [name, field]));
  const changes = Object.entries(changed).map(([name, value]) => {
    const isPath = name === "file_path" && typeof value === "string";
    return [names.get(name) ?? name, isPath ? relative(root, resolve(root, value)) || "." : value];
  });
  return { ...before, ...Object.fromEntries(changes) };
}
