/**
 * Decides what the rules say about a call.
 *
 * 1. Deny beats ask beats allow, over all rules together. A more specific rule does not win over a general one.
 * 2. A rule that allows must be sure of the whole call. A rule that denies or asks looks further.
 */
import { isAbsolute, relative, resolve, sep } from "node:path";
import type { Json } from "../../index.js";
import { runLaterNames } from "../../tools/sandbox/folder-mounts.js";
import type { HostPattern } from "../../tools/sandbox/hosts.js";
import { addSandboxRequests } from "./decide-sandbox.js";
import { createShellTest } from "./decide-shell.js";
import { readingNames } from "./known-commands.js";
import { matchesBelow, matchesPath, type PathPattern } from "./path-pattern.js";
import { maxPathCharacters, resolveExistingPart } from "./real-path.js";
import {
  isAboutTool,
  isAgentTool,
  isBeyondSandbox,
  isBuiltInTool,
  isPathTool,
  pathOfCall,
  type Rule,
  reminderTool,
  writesFiles,
} from "./rule.js";
import type { AllowResult, CallToDecide, RuleTest } from "./rule-test.js";
import type { Verdict } from "./rule-types.js";
import { coversVersion, explainVersionMismatch } from "./tool-version.js";

export type RuleDecision = {
  readonly verdict: Verdict;
  readonly rule?: Rule;
  /** Explains to a person why no rule allows the call. */
  readonly why?: string;
  /** What a person has to know to decide about the call. */
  readonly question?: string;
  /** Whether the line may run something that a rule denies, but cannot be read. */
  readonly mayBeDenied?: true;
  /** Whether the call asks for more than the sandbox gives, which `--yes` does not allow. */
  readonly isBeyondSandbox?: true;
  /** The real path that was decided about, as far as it existed. */
  readonly path?: string;
};

/**
 * @param root the real path of the folder that paths are relative to
 * @param reading the commands that may run unasked because they only read: `ls`, `git status`
 * @param reachable the hosts that every command may reach
 */
export async function decideByRules(
  call: CallToDecide,
  rules: readonly Rule[],
  root: string,
  reading: ReadonlySet<string> = new Set(readingNames),
  reachable: readonly HostPattern[] = [],
): Promise<RuleDecision> {
  const relevant = rules.filter(
    (rule) =>
      rule.tool === call.tool ||
      rule.about.kind === "path" ||
      rule.tool.endsWith("*") ||
      (call.tool === "shell" && isBeyondSandbox(rule)),
  );
  const test = await createTest(call, relevant, root, reading, reachable);
  const path = test.path === undefined ? {} : { path: test.path };
  for (const verdict of ["deny", "ask"] as const) {
    const rule = relevant.find((one) => one.verdict === verdict && test.catches(one));
    if (rule !== undefined)
      return { verdict, rule, ...path, ...(test.isBeyondSandbox === true ? { isBeyondSandbox: true } : {}) };
  }
  const byRule = await test.allowedBy(relevant.filter(({ verdict }) => verdict === "allow"));
  if ("rule" in byRule) return { verdict: "allow", ...(byRule.rule === null ? {} : { rule: byRule.rule }), ...path };
  // The agent's own calls are decided one by one.
  const isHarmless = harmlessTools.has(call.tool) && call.asks === undefined;
  if (call.readOnly || isHarmless || isAgentTool(call.tool)) return { verdict: "allow", ...path };
  const { why, question = call.asks } = byRule;
  const questionField = {
    ...(question === undefined ? {} : { question }),
    ...(byRule.isBeyondSandbox === true ? { isBeyondSandbox: true as const } : {}),
  };
  return { verdict: "ask", why, ...questionField, ...(test.mayBeDenied ? { mayBeDenied: true } : {}), ...path };
}

/** Tools that only end what the session has started, or send a message to the session itself. */
const harmlessTools: ReadonlySet<string> = new Set(["stop_process", "stop_agent", reminderTool]);

async function createTest(
  call: CallToDecide,
  rules: readonly Rule[],
  root: string,
  reading: ReadonlySet<string>,
  reachable: readonly HostPattern[],
): Promise<RuleTest> {
  if (call.tool === "shell") {
    const test = await createShellTest(call, rules, { root, names: reading, closesPath });
    return addSandboxRequests(call, test, reachable, rules);
  }
  if (isPathTool(call.tool)) return createPathTest(call, root);
  if (call.tool === "fetch_url") return createWebTest(call);
  return {
    catches: (rule) =>
      isAboutTool(rule, call.tool) || (!isBuiltInTool(call.tool) && closesPathInInput(rule, call.input, root)),
    allowedBy: (all) => findRuleByName(all, call),
    mayBeDenied: false,
  };
}

function findRuleByName(rules: readonly Rule[], call: CallToDecide): AllowResult {
  const namingRules = rules.filter((rule) => isAboutTool(rule, call.tool));
  const rule = namingRules.find((one) => coversVersion(one, call));
  if (rule !== undefined) return { rule };
  const [newest] = namingRules.toSorted((a, b) => (b.at ?? "").localeCompare(a.at ?? ""));
  if (newest === undefined) return { why: "No rule allows this tool." };
  const why = explainVersionMismatch(newest, call);
  return { why, question: why };
}

function findFirst(rules: readonly Rule[], matches: (rule: Rule) => boolean, why: string): AllowResult {
  const rule = rules.find(matches);
  return rule === undefined ? { why } : { rule };
}

function createPathTest({ tool, input }: CallToDecide, root: string): RuleTest {
  const writtenPath = resolve(root, pathOfCall(tool, input));
  const real = resolveExistingPart(writtenPath);
  return {
    mayBeDenied: false,
    path: real,
    catches(rule) {
      if (rule.about.kind !== "path") return isAboutTool(rule, tool);
      // A rule for a reading tool applies to every tool with a path, and a rule for a writing tool to the tools that write.
      if (rule.tool !== tool && writesFiles(rule.tool) && !writesFiles(tool)) return false;
      if (rule.verdict === "ask" && rule.tool !== tool && writesFiles(rule.tool) !== writesFiles(tool)) return false;
      return matchesAnyPath(rule.about.pattern, [writtenPath, real], root);
    },
    allowedBy: (all) => {
      const runLater = writesFiles(tool) ? findRunLaterName(real, root) : null;
      const covers = ({ about }: Rule) =>
        about.kind === "path"
          ? isInPattern(about.pattern, real, root) && (runLater === null || namesFirst(about.pattern, runLater, root))
          : runLater === null;
      const why =
        runLater === null
          ? `No rule allows ${tool} for this path.`
          : `Other programs run what is in ${runLater}, so only a rule that names it allows ${tool}.`;
      return findFirst(
        all.filter((rule) => rule.tool === tool),
        covers,
        why,
      );
    },
  };
}

/** The entry of the root that contains a path, if editors, shells or agents run what is in it; otherwise null. */
function findRunLaterName(path: string, root: string): string | null {
  const [written = ""] = relative(root, path).split(sep);
  const name = ignoresCase ? written.toLowerCase() : written;
  return runLaterNames.includes(name) ? name : null;
}

/** Whether the pattern spells out this entry of the root rather than matching it with a wildcard. */
function namesFirst({ isAbsolute: isPatternAbsolute, names }: PathPattern, name: string, root: string): boolean {
  const inRoot = isPatternAbsolute ? names.slice(root.split(sep).length - 1) : names;
  return inRoot[0] === name;
}

/** Whether a rule closes a path to every tool that reads. */
export function closesPath({ verdict, tool, about }: Rule, path: string, root: string): boolean {
  return verdict === "deny" && about.kind === "path" && !writesFiles(tool) && namesPath(about.pattern, path, root);
}

const maxValues = 1_000;

/**
 * Whether a rule closes a path that the input of another tool names: a tool of an MCP server may read or write it. The meaning
 * of its fields is unknown, so each string counts.
 */
function closesPathInInput(rule: Rule, input: Json, root: string): boolean {
  if (rule.verdict !== "deny" || rule.about.kind !== "path") return false;
  const pending: Json[] = [input];
  for (let visited = 0; pending.length > 0; visited += 1) {
    const value = pending.pop();
    if (visited > maxValues) return true;
    if (typeof value === "string" && value.length <= maxPathCharacters) {
      if (closesPath(rule, value.replace(/^file:\/\//i, ""), root)) return true;
    } else if (typeof value === "object" && value !== null) pending.push(...Object.values(value));
  }
  return false;
}

/** A relative pattern, even `**`, matches nothing outside of the folder. */
function isInPattern(pattern: PathPattern, real: string, root: string): boolean {
  const subject = toSubject(pattern, real, root);
  return subject !== null && matchesPath(pattern, subject);
}

/** Whether the pattern matches a path, as written or with its links resolved. */
export function namesPath(pattern: PathPattern, path: string, root: string): boolean {
  const writtenPath = resolve(root, path);
  return matchesAnyPath(pattern, [writtenPath, resolveExistingPart(writtenPath)], root);
}

/** Whether the pattern matches a path as written, without resolving links. */
export function matchesWritten(pattern: PathPattern, path: string, root: string): boolean {
  return matchesAnyPath(pattern, [path], root);
}

/** Whether the pattern can match a path below a folder as written. */
export function matchesWrittenBelow(pattern: PathPattern, folder: string, root: string): boolean {
  const subject = toSubject(pattern, folder, root);
  return subject !== null && matchesBelow(pattern, subject, ignoresCase);
}

function matchesAnyPath(pattern: PathPattern, absolute: readonly string[], root: string): boolean {
  return absolute.some((path) => {
    const subject = toSubject(pattern, path, root);
    return subject !== null && matchesPath(pattern, subject, ignoresCase);
  });
}

/** Case-insensitive file systems: another spelling of a file must not bypass a denial. */
const ignoresCase = process.platform === "darwin" || process.platform === "win32";

/** The path in the form that the pattern matches; null if the pattern is relative and the path lies outside of the folder. */
function toSubject({ isAbsolute: isPatternAbsolute }: PathPattern, absolute: string, root: string): string | null {
  if (isPatternAbsolute) return absolute.split(sep).join("/").replace(/^\//, "");
  const inner = relative(root, absolute).split(sep).join("/");
  return inner === ".." || inner.startsWith("../") || isAbsolute(inner) ? null : inner;
}

function createWebTest({ input }: CallToDecide): RuleTest {
  const urlInput = (input as { readonly url?: unknown } | null)?.url;
  const url = typeof urlInput === "string" && URL.canParse(urlInput) ? new URL(urlInput) : null;
  const matches = (rule: Rule) =>
    rule.about.kind === "domain" ? url !== null && rule.about.test(url) : isAboutTool(rule, "fetch_url");
  return {
    mayBeDenied: false,
    catches: matches,
    allowedBy: (all) => findFirst(all, matches, `No rule allows ${url === null ? "this address" : url.host}.`),
  };
}
