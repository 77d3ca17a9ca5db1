/**
 * What the rules say of a line of the shell.
 */
import { resolve } from "node:path";
import type { CallTest, CallToDecide } from "./call-test.js";
import { allows, programOf } from "./command-pattern.js";
import { matchingFiles } from "./file-patterns.js";
import { type LooseLine, readLoosely } from "./loose-line.js";
import { folderRisk, onlyReads, pathsInWord, type ReadingPlace, readsInputsBelow } from "./reading-commands.js";
import { followPath } from "./real-path.js";
import { namesTool, type Rule, writesFiles } from "./rule.js";
import { readShellLine, type StrictLine } from "./shell-line.js";
import { catchesWithin } from "./started-commands.js";

export type ShellPlace = Pick<ReadingPlace, "root" | "names"> & {
  /** Whether a rule closes a path to every tool that reads. */
  readonly closesPath: (rule: Rule, path: string, root: string) => boolean;
};

export async function shellTest(
  { input }: CallToDecide,
  rules: readonly Rule[],
  { root, names, closesPath }: ShellPlace,
): Promise<CallTest> {
  const given = (input as { readonly command?: unknown } | null)?.command;
  const line = typeof given === "string" ? given : "";
  const isStricter = rules.some(({ verdict, about }) => verdict !== "allow" && about.kind !== "tool");
  const loose = isStricter ? await readLoosely(line) : null;
  let paths: ReadonlySet<string> | null = null;
  const strict = await readShellLine(line, root);
  const reading = readingPlace(rules, { root, names, closesPath });
  return {
    mayBeDenied:
      (loose?.isUnknown === true && rules.some(({ verdict, tool }) => verdict === "deny" && tool === "shell")) ||
      (loose?.mayNameMore === true && reading.closesSome),
    catches(rule) {
      const { about } = rule;
      if (about.kind === "tool") return namesTool(rule, "shell");
      if (loose === null) return false;
      if (about.kind === "command")
        return (
          loose.commands.some((command) => catchesWithin(about.pattern, command)) ||
          loose.mentions.has(programOf(about.pattern.words))
        );
      // A command that names a file may read it or write it. What only keeps files from being written is asked about.
      if (rule.verdict !== "deny") return false;
      paths ??= pathsOf(loose, root);
      return [...paths].some((path) => closesPath(rule, path, root));
    },
    async allowedBy(all) {
      const whole = all.find((rule) => namesTool(rule, "shell"));
      return whole === undefined ? await allowedByWords(strict, all, reading) : { rule: whole };
    },
  };
}

/** What the rules leave to the commands that only read. */
export function readingPlace(rules: readonly Rule[], { root, names, closesPath }: ShellPlace): ReadingPlace {
  return {
    root,
    names,
    closesSome: rules.some(
      ({ verdict, tool, about }) => verdict === "deny" && about.kind === "path" && !writesFiles(tool),
    ),
    isClosed: (path) => rules.some((rule) => closesPath(rule, path, root)),
  };
}

/** Each command has to be allowed by a rule, or it only reads. */
async function allowedByWords(strict: StrictLine, rules: readonly Rule[], reading: ReadingPlace) {
  if (!strict.ok) return { why: `No rule can allow this line, because ${strict.why}.` };
  let first: Rule | null = null;
  for (const command of strict.commands) {
    const said = command.words.join(" ");
    const rule = rules.find(({ about }) => about.kind === "command" && allows(about.pattern, command));
    if (rule === undefined) {
      if (!(await onlyReads(command, reading))) return { why: `No rule allows ${said}.` };
      continue;
    }
    if (!readsInputsBelow(command, reading))
      return {
        why: `${said} gets a file as its input that no rule for its words is about: ${command.inputs.join(" ")}.`,
      };
    const risk = await folderRisk(command, reading.root);
    if (risk !== null) return { why: `${said} may run programs that the folder names: ${risk}.` };
    first ??= rule;
  }
  return { rule: first };
}

/**
 * The paths that a line may name, from each folder that it may be in. A `..` after a link is taken in both ways: back, as a shell
 * does it in `cd`, and on to the parent of the link's target, as system calls do.
 */
function pathsOf({ words, patterns, folders }: LooseLine, root: string): ReadonlySet<string> {
  const both = (base: string, path: string) => [resolve(base, path), followPath(base, path)];
  const bases = new Set([root]);
  let last = [root];
  for (const folder of folders) {
    last = [...new Set(last.flatMap((base) => both(base, folder)))].slice(0, maxFolders);
    for (const base of last) bases.add(base);
  }
  const named = words.flatMap(pathsInWord);
  const found = (base: string) => patterns.flatMap((pattern) => matchingFiles(pattern, base) ?? []);
  return new Set([...bases].flatMap((base) => [...named, ...found(base)].flatMap((path) => both(base, path))));
}

const maxFolders = 8;
