/**
 * Permission rules as a person writes them: `shell(npm test *)`, `edit_file(src/**)`, `fetch_url(*.npmjs.org)`, `todo`.
 *
 * 1. A rule that cannot be read is an error, never a rule that is left out.
 * 2. What a rule allows is what its text says. No pattern is a regular expression.
 */
import { nearestName } from "../../core/index.js";
import { PawlError, type PermissionRule } from "../../index.js";
import { exact } from "../text.js";
import { type CommandPattern, readCommandPattern } from "./command-pattern.js";
import { createHostTest, type HostTest } from "./host-pattern.js";
import { compilePathPattern, type PathPattern } from "./path-pattern.js";
import type { KeptRule, RuleScope, Verdict } from "./rule-text.js";

export type Rule = KeptRule & {
  readonly verdict: Verdict;
  readonly scope: RuleScope;
  readonly tool: string;
  /** The version of an MCP server's tool that it allows. */
  readonly version?: string;
  readonly about:
    | { readonly kind: "tool" }
    | { readonly kind: "command"; readonly pattern: CommandPattern }
    | { readonly kind: "path"; readonly pattern: PathPattern }
    | { readonly kind: "domain"; readonly test: HostTest };
};

/** The field of the input that names a file or folder, by tool. */
const pathFields: ReadonlyMap<string, { readonly field: string; readonly writes: boolean }> = new Map([
  ["list_files", { field: "path", writes: false }],
  ["read_file", { field: "path", writes: false }],
  ["search_files", { field: "path", writes: false }],
  ["write_file", { field: "path", writes: true }],
  ["edit_file", { field: "path", writes: true }],
]);

export const isPathTool = (tool: string) => pathFields.has(tool);
export const writesFiles = (tool: string) => pathFields.get(tool)?.writes === true;

const knownTools = [
  ...pathFields.keys(),
  ...["shell", "read_process", "stop_process", "fetch_url", "todo", "read_skill", "read_output", "search_output"],
];

/** Whether the rule is for every call of the tool. */
export function namesTool({ tool, about }: Rule, name: string): boolean {
  return about.kind === "tool" && (tool === name || (tool.endsWith("__*") && name.startsWith(tool.slice(0, -1))));
}

/** Whether Pawl has made the tool, and knows what its input means. */
export const isOwnTool = (tool: string) => knownTools.includes(tool);

/** The path that a call of a path tool names. */
export function pathOfCall(tool: string, input: unknown): string {
  const field = pathFields.get(tool)?.field ?? "path";
  const path = (input as { readonly [name: string]: unknown } | null)?.[field];
  return typeof path === "string" ? path : ".";
}

const longestRule = 1_000;

/** @throws PawlError `bad_configuration` that says what is wrong with the rule */
export function readRule(verdict: Verdict, kept: KeptRule, scope: RuleScope, home: string): Rule {
  const text = kept.rule.trim();
  const refuse = (why: string) => refused(text, why);
  if (text.length > longestRule) throw refuse(`it has more than ${longestRule} characters`);
  if (exact(text) !== text) throw refuse("it has hidden characters");
  const [, tool, version, pattern] = /^([A-Za-z_][\w-]*(?:__\*)?)(?:@([^()]*))?(?:\((.*)\))?$/s.exec(text) ?? [];
  if (tool === undefined) throw refuse("write a tool's name, and in parentheses what it is about");
  const wrong = version === undefined ? null : wrongVersion(tool, version, verdict);
  if (wrong !== null) throw refuse(wrong);
  const base = { ...kept, rule: text, verdict, scope, tool, ...(version === undefined ? {} : { version }) };
  if (pattern === undefined) {
    if (tool.endsWith("*") && !/^mcp__[\w-]+__\*$/.test(tool)) throw refuse("a * in a name is only for mcp__SERVER__*");
    const meant = knownTools.includes(tool) ? undefined : nearestName(tool, knownTools);
    if (meant !== undefined) throw refuse(`there is no tool ${tool}. Did you mean ${meant}?`);
    return { ...base, about: { kind: "tool" } };
  }
  if (pattern.trim() === "") throw refuse("the parentheses are empty. Leave them out for every call of the tool");
  if (tool === "shell")
    return { ...base, about: { kind: "command", pattern: readCommandPattern(pattern, verdict, refuse) } };
  if (tool === "fetch_url")
    return { ...base, about: { kind: "domain", test: createHostTest(pattern, verdict, refuse) } };
  if (isPathTool(tool)) return { ...base, about: { kind: "path", pattern: compilePathPattern(pattern, home, refuse) } };
  throw refuse(`only shell, fetch_url and ${[...pathFields.keys()].join(", ")} take something in parentheses`);
}

function wrongVersion(tool: string, version: string, verdict: Verdict): string | null {
  if (!tool.startsWith("mcp__") || tool.endsWith("*")) return "only a tool of an MCP server has a version after @";
  if (verdict !== "allow") return "a rule that denies or asks is for every version. Leave out the @ and what follows";
  return /^[0-9a-f]{64}$/.test(version) ? null : "after @ it takes the SHA-256 of the tool, as 64 characters";
}

function refused(text: string, why: string): PawlError {
  return new PawlError(
    "bad_configuration",
    `The permission rule ${JSON.stringify(text.slice(0, 200))} cannot be read: ${why}.`,
  );
}

/** A rule as the log keeps it. */
export function recordOf({ verdict, about, rule, scope }: Rule): PermissionRule {
  return { verdict, kind: about.kind, pattern: rule, scope };
}

const sources: { readonly [Scope in RuleScope]: string } = {
  option: "of this command",
  session: "of this session",
  project: "yours, for this folder",
  user: "yours, everywhere",
  folder: "of the folder",
};

export function sourceOf({ scope }: Pick<Rule, "scope">): string {
  return sources[scope];
}
