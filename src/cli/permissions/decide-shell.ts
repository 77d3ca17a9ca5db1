/**
 * Tests the rules against a shell line.
 */
import { resolve } from "node:path";
import { allowsCommand, programOf } from "./command-pattern.js";
import { findMatchingFiles } from "./file-patterns.js";
import { matchesStartedCommand } from "./inner-commands.js";
import { type LooseLine, parseLoosely } from "./loose-line.js";
import {
  findFolderRisk,
  listPathsInWord,
  onlyReads,
  type ReadingAccess,
  readsInputsBelow,
} from "./reading-commands.js";
import { followPath } from "./real-path.js";
import { isAboutTool, type Rule, writesFiles } from "./rule.js";
import type { CallToDecide, RuleTest } from "./rule-test.js";
import { parseShellLine, type StrictLine } from "./shell-line.js";

export type ShellTestDeps = Pick<ReadingAccess, "root" | "names"> & {
  /** Whether a rule closes a path to every tool that reads. */
  readonly closesPath: (rule: Rule, path: string, root: string) => boolean;
};

export async function createShellTest(
  { input }: CallToDecide,
  rules: readonly Rule[],
  { root, names, closesPath }: ShellTestDeps,
): Promise<RuleTest> {
  const commandInput = (input as { readonly command?: unknown } | null)?.command;
  const line = typeof commandInput === "string" ? commandInput : "";
  const hasStricterRules = rules.some(({ verdict, about }) => verdict !== "allow" && about.kind !== "tool");
  const loose = hasStricterRules ? await parseLoosely(line) : null;
  let paths: ReadonlySet<string> | null = null;
  const strict = await parseShellLine(line, root);
  const reading = createReadingAccess(rules, { root, names, closesPath });
  return {
    mayBeDenied:
      (loose?.isUnknown === true && rules.some(({ verdict, tool }) => verdict === "deny" && tool === "shell")) ||
      (loose?.mayNameMore === true && reading.closesSome),
    catches(rule) {
      const { about } = rule;
      if (about.kind === "tool") return isAboutTool(rule, "shell");
      if (loose === null) return false;
      if (about.kind === "command")
        return (
          loose.commands.some((command) => matchesStartedCommand(about.pattern, command)) ||
          loose.mentions.has(programOf(about.pattern.words))
        );
      // A command that names a file may read or write it. A rule that only protects against writing makes the line ask.
      if (rule.verdict !== "deny") return false;
      paths ??= listNamedPaths(loose, root);
      return [...paths].some((path) => closesPath(rule, path, root));
    },
    async allowedBy(all) {
      const toolRule = all.find((rule) => isAboutTool(rule, "shell"));
      return toolRule === undefined ? await findAllowingRule(strict, all, reading) : { rule: toolRule };
    },
  };
}

/** The permissions that the rules give to commands that only read. */
export function createReadingAccess(rules: readonly Rule[], { root, names, closesPath }: ShellTestDeps): ReadingAccess {
  return {
    root,
    names,
    closesSome: rules.some(
      ({ verdict, tool, about }) => verdict === "deny" && about.kind === "path" && !writesFiles(tool),
    ),
    isClosed: (path) => rules.some((rule) => closesPath(rule, path, root)),
  };
}

/** Finds the rule that allows a line. Each of its commands must be allowed by a rule, or only read. */
async function findAllowingRule(strict: StrictLine, rules: readonly Rule[], reading: ReadingAccess) {
  if (!strict.ok) return { why: `No rule can allow this line, because ${strict.why}.` };
  let first: Rule | null = null;
  for (const command of strict.commands) {
    const commandText = command.words.join(" ");
    const rule = rules.find(({ about }) => about.kind === "command" && allowsCommand(about.pattern, command));
    if (rule === undefined) {
      if (!(await onlyReads(command, reading))) return { why: `No rule allows ${commandText}.` };
      continue;
    }
    if (!readsInputsBelow(command, reading))
      return {
        why: `${commandText} gets a file as its input that no rule for its words is about: ${command.inputs.join(" ")}.`,
      };
    const risk = await findFolderRisk(command, reading.root);
    if (risk !== null) return { why: `${commandText} may run programs that the folder names: ${risk}.` };
    first ??= rule;
  }
  return { rule: first };
}

/**
 * The paths that a line may name, from each folder that it may be in. A `..` after a link is resolved in both ways: lexically, as
 * a shell's `cd` does, and to the parent of the link's target, as system calls do.
 */
function listNamedPaths({ words, patterns, folders }: LooseLine, root: string): ReadonlySet<string> {
  const resolveBothWays = (base: string, path: string) => [resolve(base, path), followPath(base, path)];
  const bases = new Set([root]);
  let currentFolders = [root];
  for (const folder of folders) {
    currentFolders = [...new Set(currentFolders.flatMap((base) => resolveBothWays(base, folder)))].slice(0, maxFolders);
    for (const base of currentFolders) bases.add(base);
  }
  const named = words.flatMap(listPathsInWord);
  const matchFiles = (base: string) => patterns.flatMap((pattern) => findMatchingFiles(pattern, base) ?? []);
  return new Set(
    [...bases].flatMap((base) => [...named, ...matchFiles(base)].flatMap((path) => resolveBothWays(base, path))),
  );
}

const maxFolders = 8;
