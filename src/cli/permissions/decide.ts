/**
 * What the rules say of a call.
 *
 * 1. Deny beats ask beats allow, over all rules together. A more specific rule does not win over a general one.
 * 2. A rule that allows must be sure of the whole call. A rule that denies or asks looks further.
 */
import { isAbsolute, relative, resolve, sep } from "node:path";
import type { Json } from "../../index.js";
import type { AllowedBy, CallTest, CallToDecide } from "./call-test.js";
import { shellTest } from "./decide-shell.js";
import { matchesPath, type PathPattern } from "./path-pattern.js";
import { readingNames } from "./programs.js";
import { maxPathCharacters, realAsFarAsItExists } from "./real-path.js";
import { isOwnTool, isPathTool, namesTool, pathOfCall, type Rule, writesFiles } from "./rule.js";
import type { Verdict } from "./rule-text.js";
import { coversVersion, whyOtherVersion } from "./tool-version.js";

export type Decided = {
  readonly verdict: Verdict;
  readonly rule?: Rule;
  /** Why no rule allows the call, for a person who wonders. */
  readonly why?: string;
  /** What a person who is asked about the call has to know. */
  readonly question?: string;
  /** Whether the line may run something that a rule denies, but cannot be read. */
  readonly mayBeDenied?: true;
  /** The real path that was decided about, as far as it existed. */
  readonly path?: string;
};

/**
 * @param root the real path of the folder that relative paths are about
 * @param reading the commands that may run unasked because they only read: `ls`, `git status`
 */
export async function decideByRules(
  call: CallToDecide,
  rules: readonly Rule[],
  root: string,
  reading: ReadonlySet<string> = new Set(readingNames),
): Promise<Decided> {
  const relevant = rules.filter(
    (rule) => rule.tool === call.tool || rule.about.kind === "path" || rule.tool.endsWith("*"),
  );
  const test = await createTest(call, relevant, root, reading);
  const path = test.path === undefined ? {} : { path: test.path };
  for (const verdict of ["deny", "ask"] as const) {
    const rule = relevant.find((one) => one.verdict === verdict && test.catches(one));
    if (rule !== undefined) return { verdict, rule, ...path };
  }
  const byRule = await test.allowedBy(relevant.filter(({ verdict }) => verdict === "allow"));
  if ("rule" in byRule) return { verdict: "allow", ...(byRule.rule === null ? {} : { rule: byRule.rule }), ...path };
  if (call.readOnly || harmless.has(call.tool)) return { verdict: "allow", ...path };
  const { why, question } = byRule;
  const asked = question === undefined ? {} : { question };
  return { verdict: "ask", why, ...asked, ...(test.mayBeDenied ? { mayBeDenied: true } : {}), ...path };
}

/** It ends only what the session has started. */
const harmless: ReadonlySet<string> = new Set(["stop_process"]);

async function createTest(
  call: CallToDecide,
  rules: readonly Rule[],
  root: string,
  reading: ReadonlySet<string>,
): Promise<CallTest> {
  if (call.tool === "shell") return await shellTest(call, rules, { root, names: reading, closesPath });
  if (isPathTool(call.tool)) return pathTest(call, root);
  if (call.tool === "fetch_url") return webTest(call);
  return {
    catches: (rule) => namesTool(rule, call.tool) || (!isOwnTool(call.tool) && closesPathIn(rule, call.input, root)),
    allowedBy: (all) => allowedByName(all, call),
    mayBeDenied: false,
  };
}

function allowedByName(rules: readonly Rule[], call: CallToDecide): AllowedBy {
  const naming = rules.filter((rule) => namesTool(rule, call.tool));
  const rule = naming.find((one) => coversVersion(one, call));
  if (rule !== undefined) return { rule };
  const [newest] = naming.toSorted((a, b) => (b.at ?? "").localeCompare(a.at ?? ""));
  if (newest === undefined) return { why: "No rule allows this tool." };
  const why = whyOtherVersion(newest, call);
  return { why, question: why };
}

function first(rules: readonly Rule[], fits: (rule: Rule) => boolean, why: string): AllowedBy {
  const rule = rules.find(fits);
  return rule === undefined ? { why } : { rule };
}

function pathTest({ tool, input }: CallToDecide, root: string): CallTest {
  const written = resolve(root, pathOfCall(tool, input));
  const real = realAsFarAsItExists(written);
  return {
    mayBeDenied: false,
    path: real,
    catches(rule) {
      if (rule.about.kind !== "path") return namesTool(rule, tool);
      // A rule about reading is about every tool with a path. One about writing is about those that write.
      if (rule.tool !== tool && writesFiles(rule.tool) && !writesFiles(tool)) return false;
      if (rule.verdict === "ask" && rule.tool !== tool && writesFiles(rule.tool) !== writesFiles(tool)) return false;
      return namesOne(rule.about.pattern, [written, real], root);
    },
    allowedBy: (all) =>
      first(
        all.filter((rule) => rule.tool === tool),
        (rule) => (rule.about.kind === "path" ? isOf(rule.about.pattern, real, root) : true),
        `No rule allows ${tool} for this path.`,
      ),
  };
}

/** Whether a rule closes a path to every tool that reads. */
export function closesPath({ verdict, tool, about }: Rule, path: string, root: string): boolean {
  return verdict === "deny" && about.kind === "path" && !writesFiles(tool) && namesPath(about.pattern, path, root);
}

const maxValues = 1_000;

/**
 * Whether a rule closes a path that the input of another tool names: a server's tool may read it, or write it. What the
 * fields of a stranger mean is not known, so each string counts.
 */
function closesPathIn(rule: Rule, input: Json, root: string): boolean {
  if (rule.verdict !== "deny" || rule.about.kind !== "path") return false;
  const open: Json[] = [input];
  for (let looked = 0; open.length > 0; looked += 1) {
    const value = open.pop();
    if (looked > maxValues) return true;
    if (typeof value === "string" && value.length <= maxPathCharacters) {
      if (closesPath(rule, value.replace(/^file:\/\//i, ""), root)) return true;
    } else if (typeof value === "object" && value !== null) open.push(...Object.values(value));
  }
  return false;
}

/** What lies outside of the folder is of no relative pattern, also not of `**`. */
function isOf(pattern: PathPattern, real: string, root: string): boolean {
  const subject = subjectOf(pattern, real, root);
  return subject !== null && matchesPath(pattern, subject);
}

/** Whether a path, as it is written or as it really is, is one of the pattern. */
export function namesPath(pattern: PathPattern, path: string, root: string): boolean {
  const written = resolve(root, path);
  return namesOne(pattern, [written, realAsFarAsItExists(written)], root);
}

function namesOne(pattern: PathPattern, absolute: readonly string[], root: string): boolean {
  return absolute.some((path) => {
    const subject = subjectOf(pattern, path, root);
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
