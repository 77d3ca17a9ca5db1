/**
 * What the rules say of a line of the shell.
 */
import { resolve } from "node:path";
import type { CallTest, CallToDecide } from "./call-test.js";
import { allows, catches, programOf } from "./command-pattern.js";
import { matchingFiles } from "./file-patterns.js";
import { type LooseLine, readLoosely } from "./loose-line.js";
import { folderRisk, onlyReads, pathsInWord, type ReadingPlace } from "./reading-commands.js";
import { namesTool, type Rule, writesFiles } from "./rule.js";
import { readShellLine, type StrictLine } from "./shell-line.js";

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
  const strict = await readShellLine(line, root);
  const reading = readingPlace(rules, { root, names, closesPath });
  return {
    mayBeDenied: loose?.isUnknown === true && rules.some(({ verdict, tool }) => verdict === "deny" && tool === "shell"),
    catches(rule) {
      const { about } = rule;
      if (about.kind === "tool") return namesTool(rule, "shell");
      if (loose === null) return false;
      if (about.kind === "command")
        return (
          loose.commands.some((command) => catches(about.pattern, command)) ||
          loose.mentions.has(programOf(about.pattern.words))
        );
      // A command that names a file may read it or write it. What only keeps files from being written is asked about.
      return rule.verdict === "deny" && pathsOf(loose, root).some((path) => closesPath(rule, path, root));
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
    const risk = await folderRisk(command, reading.root);
    if (risk !== null) return { why: `${said} may run programs that the folder names: ${risk}.` };
    first ??= rule;
  }
  return { rule: first };
}

/** The paths that a line may name, from each folder that it may be in. */
function pathsOf({ words, patterns, folders }: LooseLine, root: string): readonly string[] {
  const bases = [root];
  for (const folder of folders) bases.push(resolve(bases.at(-1) ?? root, folder));
  return bases.flatMap((base) => [
    ...words.flatMap(pathsInWord).map((path) => resolve(base, path)),
    ...patterns.flatMap((pattern) => matchingFiles(pattern, base) ?? []),
  ]);
}
