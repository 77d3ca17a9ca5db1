/**
 * Permission rules as a person writes them: `shell(npm test *)`, `edit_file(src/**)`, `fetch_url(*.npmjs.org)`, `todo`.
 *
 * 1. A rule that cannot be read is an error. It is never skipped.
 * 2. A rule allows exactly what its text says. No pattern is a regular expression.
 */
import { nearestName, type PermissionRule } from "../../core/index.js";
import { PawlError } from "../../index.js";
import { type HostPattern, readHostPattern } from "../../tools/sandbox/hosts.js";
import { joinWords, sanitizeStrictly } from "../terminal/text.js";
import { type CommandPattern, parseCommandPattern } from "./command-pattern.js";
import { createHostTest, type HostTest } from "./host-pattern.js";
import { compilePathPattern, type PathPattern } from "./path-pattern.js";
import type { CreateRuleError, RuleScope, StoredRule, Verdict } from "./rule-types.js";

export type Rule = StoredRule & {
  readonly verdict: Verdict;
  readonly scope: RuleScope;
  readonly tool: string;
  /** The version of an MCP server's tool that it allows. */
  readonly version?: string;
  readonly about:
    | { readonly kind: "tool" }
    | { readonly kind: "command"; readonly pattern: CommandPattern }
    | { readonly kind: "path"; readonly pattern: PathPattern }
    | { readonly kind: "domain"; readonly test: HostTest }
    /** Hosts that commands in the sandbox may reach. */
    | { readonly kind: "reach"; readonly hosts: HostPattern }
    /** A command line that may run outside of the sandbox, word for word. */
    | { readonly kind: "outside"; readonly line: string };
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

/** The prefix of the tools that call agents from files. */
export const agentToolPrefix = "agent_";

/** Whether the tool calls an agent from a file. */
export const isAgentTool = (tool: string) => tool.startsWith(agentToolPrefix);

/** The tool that asks the person a question of the model. */
export const personTool = "ask_person";

/** The tool with which the model keeps its list of tasks. Its result is the list, one line for each task. */
export const todoTool = "todo";

/** The tool with which the model shows its plan in plan mode. */
export const planTool = "finish_plan";

/** Tools that show the person all of their input in a question. The first line of their result is the answer. */
export const questionTools: ReadonlySet<string> = new Set([personTool, planTool]);

/** The tool with which the model sends itself a message later. */
export const reminderTool = "remind_me";

/** The question about a reminder that a run without a person sets. It is in the log, so that other processes recognize it. */
export const reminderQuestion =
  "A reminder, a schedule or the end of an agent started this run, and you have not written to it since.";

/** The built-in tools that the setting `tools.off` can name. */
export const toolsToTurnOff: readonly string[] = [
  ...pathFields.keys(),
  ...["shell", "read_process", "stop_process", "fetch_url", todoTool, personTool, planTool, reminderTool],
];

/** Whether the setting `tools.off` can name the tool. The tools of an MCP server are not known until it has started. */
export const canBeTurnedOff = (tool: string) =>
  toolsToTurnOff.includes(tool) || tool.startsWith("mcp__") || isAgentTool(tool);

const knownTools = [...toolsToTurnOff, ...["read_agent", "stop_agent", "read_skill", "read_output", "search_output"]];

/** Maps the tool names of other programs to Pawl's tools. The first name of a tool is the usual one. */
export const toolsElsewhere: ReadonlyMap<string, string> = new Map([
  ["Read", "read_file"],
  ["NotebookRead", "read_file"],
  ["Glob", "list_files"],
  ["LS", "list_files"],
  ["Grep", "search_files"],
  ["Write", "write_file"],
  ["Edit", "edit_file"],
  ["MultiEdit", "edit_file"],
  ["Bash", "shell"],
  ["BashOutput", "read_process"],
  ["KillShell", "stop_process"],
  ["KillBash", "stop_process"],
  ["WebFetch", "fetch_url"],
  ["TodoWrite", "todo"],
  ["AskUserQuestion", personTool],
  ["Skill", "read_skill"],
]);

/** Names of rules about leaving the limits of the sandbox. They are not tools. */
const beyondSandbox = ["reach", "outside"];

/** Whether a rule is about leaving the limits of the sandbox, which no rule for commands allows. */
export const isBeyondSandbox = ({ tool }: Pick<Rule, "tool">) => beyondSandbox.includes(tool);

/** Whether the rule is for every call of the tool. */
export function isAboutTool({ tool, about }: Rule, name: string): boolean {
  return about.kind === "tool" && (tool === name || (tool.endsWith("_*") && name.startsWith(tool.slice(0, -1))));
}

/** Whether the tool is built in, so that Pawl knows what its input means. */
export const isBuiltInTool = (tool: string) => knownTools.includes(tool) || isAgentTool(tool);

/** Whether a rule can name the tool. The tools of MCP servers and of agents in files are not looked up: they may come later. */
export const isKnownTool = (tool: string) =>
  isBuiltInTool(tool) || tool.startsWith("mcp__") || beyondSandbox.includes(tool);

/** The path that a call of a path tool names. */
export function pathOfCall(tool: string, input: unknown): string {
  const field = pathFields.get(tool)?.field ?? "path";
  const path = (input as { readonly [name: string]: unknown } | null)?.[field];
  return typeof path === "string" ? path : ".";
}

const maxRule = 1_000;

/**
 * @param createError the error for a rule that cannot be read; by default a PawlError `bad_configuration` that quotes the rule
 * @throws what `createError` returns
 */
export function parseRule(
  verdict: Verdict,
  stored: StoredRule,
  scope: RuleScope,
  home: string,
  createError: CreateRuleError = (why) => createRuleError(stored.rule.trim(), scope, why),
): Rule {
  const text = stored.rule.trim();
  if (text.length > maxRule) throw createError(`it has more than ${maxRule} characters`);
  if (sanitizeStrictly(text) !== text) throw createError("it has hidden characters");
  const [, tool, version, pattern] = /^([A-Za-z_][\w-]*(?:_\*)?)(?:@([^()]*))?(?:\((.*)\))?$/s.exec(text) ?? [];
  if (tool === undefined)
    throw createError("write the name of a tool, alone or with a pattern in parentheses: shell(npm test *)");
  const versionProblem = version === undefined ? null : findVersionProblem(tool, version, verdict);
  if (versionProblem !== null) throw createError(versionProblem);
  const base = { ...stored, rule: text, verdict, scope, tool, ...(version === undefined ? {} : { version }) };
  if (pattern === undefined) {
    if (tool === "reach") throw createError("name the hosts, as in reach(npm) or reach(*.example.org)");
    if (tool === "outside" && verdict === "allow")
      throw createError(
        "name the command line that may run outside of the sandbox, word for word: outside(npm publish)",
      );
    if (tool.endsWith("*") && tool !== `${agentToolPrefix}*` && !/^mcp__[\w-]+__\*$/.test(tool))
      throw createError("a * in a name is only for mcp__SERVER__* and agent_*");
    const known = [...knownTools, ...beyondSandbox];
    const suggestion = known.includes(tool) ? undefined : (toolsElsewhere.get(tool) ?? nearestName(tool, known));
    if (suggestion !== undefined) throw createError(`there is no tool ${tool}. Did you mean ${suggestion}?`);
    return { ...base, about: { kind: "tool" } };
  }
  if (pattern.trim() === "") throw createError("the parentheses are empty. Leave them out for every call of the tool");
  if (tool === "shell")
    return { ...base, about: { kind: "command", pattern: parseCommandPattern(pattern, verdict, createError) } };
  if (tool === "outside") return { ...base, about: { kind: "outside", line: pattern.trim() } };
  if (tool === "reach") {
    const hosts = readHostPattern(pattern.trim());
    if (typeof hosts === "string") throw createError(hosts);
    return { ...base, about: { kind: "reach", hosts } };
  }
  if (tool === "fetch_url")
    return { ...base, about: { kind: "domain", test: createHostTest(pattern, verdict, createError) } };
  if (isPathTool(tool))
    return { ...base, about: { kind: "path", pattern: compilePathPattern(pattern, home, createError) } };
  const own = toolsElsewhere.get(tool);
  if (own !== undefined) throw createError(`there is no tool ${tool}. Did you mean ${own}(${toOwnPattern(pattern)})?`);
  const withPattern = ["shell", "reach", "outside", "fetch_url", ...pathFields.keys()];
  const nearest = knownTools.includes(tool) ? undefined : nearestName(tool, withPattern);
  if (nearest !== undefined) throw createError(`there is no tool ${tool}. Did you mean ${nearest}(${pattern})?`);
  throw createError(`only ${joinWords(withPattern, "and")} take something in parentheses`);
}

/** The pattern of a rule of Claude Code, as it is written here. */
function toOwnPattern(pattern: string): string {
  return pattern.replace(/:\*$/, " *").replace(/^domain:/, "");
}

function findVersionProblem(tool: string, version: string, verdict: Verdict): string | null {
  if (!tool.startsWith("mcp__") || tool.endsWith("*")) return "only a tool of an MCP server has a version after @";
  if (verdict !== "allow") return "a rule that denies or asks is for every version. Leave out the @ and what follows";
  return /^[0-9a-f]{64}$/.test(version) ? null : "after @, give the SHA-256 of the tool, as 64 characters";
}

/** The error for a rule that cannot be read. It quotes the rule and says where it comes from. */
export function createRuleError(text: string, scope: RuleScope, why: string): PawlError {
  const source = scope === "option" ? "" : ` (${formatRuleSource({ scope })})`;
  return new PawlError(
    "bad_configuration",
    `The permission rule ${JSON.stringify(text.slice(0, 200))}${source} cannot be read: ${why}${why.endsWith("?") ? "" : "."}`,
  );
}

/** The log has no kinds for the rules about the sandbox, because its readers do not need to distinguish them. */
const recordedKinds: { readonly [Kind in Rule["about"]["kind"]]: PermissionRule["kind"] } = {
  tool: "tool",
  command: "command",
  path: "path",
  domain: "domain",
  reach: "domain",
  outside: "command",
};

/** A rule as it is stored in the log. */
export function toPermissionRule({ verdict, about, rule, scope }: Rule): PermissionRule {
  return { verdict, kind: recordedKinds[about.kind], pattern: rule, scope };
}

const sourceTexts: { readonly [Scope in RuleScope]: string } = {
  option: "of this command",
  session: "of this session",
  project: "yours, for this folder",
  user: "yours, everywhere",
  folder: "of the folder",
};

export function formatRuleSource({ scope }: Pick<Rule, "scope">): string {
  return sourceTexts[scope];
}
