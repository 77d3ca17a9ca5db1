/**
 * What the rules say of a call.
 *
 * 1. Deny beats ask beats allow, over all rules together. A more specific rule does not win over a general one.
 * 2. A rule that allows must be sure of the whole call. A rule that denies or asks looks further.
 */
import { realpathSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { Json } from "../../index.js";
import { allows, catches } from "./command-pattern.js";
import { matchesPath, type PathPattern } from "./path-pattern.js";
import { isPathTool, pathOfCall, type Rule, writesFiles } from "./rule.js";
import type { Verdict } from "./rule-text.js";
import { readLoosely, readShellLine } from "./shell-line.js";

export type CallToDecide = { readonly tool: string; readonly readOnly: boolean; readonly input: Json };

export type Decided = {
  readonly verdict: Verdict;
  readonly rule?: Rule;
  /** Why no rule allows the call, for a person who wonders. */
  readonly why?: string;
  /** Whether the line may run something that a rule denies, but cannot be read. */
  readonly mayBeDenied?: true;
};

/** @param root the real path of the folder that relative paths are about */
export async function decideByRules(call: CallToDecide, rules: readonly Rule[], root: string): Promise<Decided> {
  const relevant = rules.filter(
    (rule) => rule.tool === call.tool || rule.about.kind === "path" || rule.tool.endsWith("*"),
  );
  const test = await createTest(call, relevant, root);
  for (const verdict of ["deny", "ask"] as const) {
    const rule = relevant.find((one) => one.verdict === verdict && test.catches(one));
    if (rule !== undefined) return { verdict, rule };
  }
  const byRule = test.allowedBy(relevant.filter(({ verdict }) => verdict === "allow"));
  if ("rule" in byRule) return { verdict: "allow", rule: byRule.rule };
  if (call.readOnly || harmless.has(call.tool)) return { verdict: "allow" };
  return { verdict: "ask", why: byRule.why, ...(test.mayBeDenied ? { mayBeDenied: true } : {}) };
}

/** It ends only what the session has started. */
const harmless: ReadonlySet<string> = new Set(["stop_process"]);

type AllowedBy = { readonly rule: Rule } | { readonly why: string };

type CallTest = {
  readonly catches: (rule: Rule) => boolean;
  readonly allowedBy: (rules: readonly Rule[]) => AllowedBy;
  readonly mayBeDenied: boolean;
};

async function createTest(call: CallToDecide, rules: readonly Rule[], root: string): Promise<CallTest> {
  if (call.tool === "shell") return await shellTest(call, rules, root);
  if (isPathTool(call.tool)) return pathTest(call, root);
  if (call.tool === "fetch_url") return webTest(call);
  return {
    catches: (rule) => namesTool(rule, call.tool),
    allowedBy: (all) => first(all, (rule) => namesTool(rule, call.tool), "No rule allows this tool."),
    mayBeDenied: false,
  };
}

/** Whether the rule is for every call of the tool. */
function namesTool({ tool, about }: Rule, name: string): boolean {
  return about.kind === "tool" && (tool === name || (tool.endsWith("__*") && name.startsWith(tool.slice(0, -1))));
}

function first(rules: readonly Rule[], fits: (rule: Rule) => boolean, why: string): AllowedBy {
  const rule = rules.find(fits);
  return rule === undefined ? { why } : { rule };
}

async function shellTest({ input }: CallToDecide, rules: readonly Rule[], root: string): Promise<CallTest> {
  const given = (input as { readonly command?: unknown } | null)?.command;
  const line = typeof given === "string" ? given : "";
  const isStricter = rules.some(({ verdict, about }) => verdict !== "allow" && about.kind !== "tool");
  const loose = isStricter ? await readLoosely(line) : { commands: [], words: [], isUnknown: false };
  const strict = await readShellLine(line);
  return {
    mayBeDenied: loose.isUnknown && rules.some(({ verdict, tool }) => verdict === "deny" && tool === "shell"),
    catches({ tool, verdict, about, ...rule }) {
      if (about.kind === "command") return loose.commands.some((command) => catches(about.pattern, command));
      if (about.kind !== "path") return namesTool({ tool, verdict, about, ...rule }, "shell");
      // A command that names a file may read it or write it. What only keeps files from being written is asked about.
      const isDenied = verdict === "deny" && !writesFiles(tool);
      return isDenied && loose.words.some((word) => pathsIn(word).some((path) => namesPath(about.pattern, path, root)));
    },
    allowedBy(all) {
      const whole = all.find((rule) => namesTool(rule, "shell"));
      if (whole !== undefined) return { rule: whole };
      if (!strict.ok) return { why: `No rule can allow this line, because ${strict.why}.` };
      const found = strict.commands.map((command) =>
        all.find(({ about }) => about.kind === "command" && allows(about.pattern, command)),
      );
      const missing = found.indexOf(undefined);
      const [rule] = found;
      if (missing === -1 && rule !== undefined) return { rule };
      return { why: `No rule allows ${(strict.commands[missing] ?? []).join(" ")}.` };
    },
  };
}

/** What of a word may be a path: all of it, or what stands behind `=` and `:`. */
function pathsIn(word: string): readonly string[] {
  return [word, ...word.split(/[=:]/).slice(1)].filter((path) => path !== "");
}

function pathTest({ tool, input }: CallToDecide, root: string): CallTest {
  const path = pathOfCall(tool, input);
  const real = realAsFarAsItExists(resolve(root, path));
  return {
    mayBeDenied: false,
    catches(rule) {
      if (rule.about.kind !== "path") return namesTool(rule, tool);
      // A rule about reading is about every tool with a path. One about writing is about those that write.
      if (rule.tool !== tool && writesFiles(rule.tool) && !writesFiles(tool)) return false;
      if (rule.verdict === "ask" && rule.tool !== tool && writesFiles(rule.tool) !== writesFiles(tool)) return false;
      return namesPath(rule.about.pattern, path, root);
    },
    allowedBy: (all) =>
      first(
        all.filter((rule) => rule.tool === tool),
        (rule) => (rule.about.kind === "path" ? isOf(rule.about.pattern, real, root) : true),
        `No rule allows ${tool} for this path.`,
      ),
  };
}

/** What lies outside of the folder is of no relative pattern, also not of `**`. */
function isOf(pattern: PathPattern, real: string, root: string): boolean {
  const subject = subjectOf(pattern, real, root);
  return subject !== null && matchesPath(pattern, subject);
}

/** Whether a path, as it is written or as it really is, is one of the pattern. */
export function namesPath(pattern: PathPattern, path: string, root: string): boolean {
  const written = resolve(root, path);
  return [written, realAsFarAsItExists(written)].some((absolute) => {
    const subject = subjectOf(pattern, absolute, root);
    return subject !== null && matchesPath(pattern, subject, ignoresCase);
  });
}

/** File systems that take two spellings for one file: a denial must not be passed by writing it otherwise. */
const ignoresCase = process.platform === "darwin" || process.platform === "win32";

/** The path as the pattern is about it; null if it lies outside of the folder, and the pattern is relative. */
function subjectOf({ isAbsolute: isWhole }: PathPattern, absolute: string, root: string): string | null {
  if (isWhole) return absolute.split(sep).join("/").replace(/^\//, "");
  const inner = relative(root, absolute).split(sep).join("/");
  return inner === ".." || inner.startsWith("../") || isAbsolute(inner) ? null : inner;
}

/** Follows links as far as the path exists. */
export function realAsFarAsItExists(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realAsFarAsItExists(parent), basename(path));
  }
}

function webTest({ input }: CallToDecide): CallTest {
  const given = (input as { readonly url?: unknown } | null)?.url;
  const url = typeof given === "string" && URL.canParse(given) ? new URL(given) : null;
  const fits = (rule: Rule) =>
    rule.about.kind === "domain" ? url !== null && rule.about.test(url) : namesTool(rule, "fetch_url");
  return {
    mayBeDenied: false,
    catches: fits,
    allowedBy: (all) => first(all, fits, `No rule allows ${url === null ? "this address" : url.host}.`),
  };
}
