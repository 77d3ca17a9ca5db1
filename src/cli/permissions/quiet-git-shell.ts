/**
 * A shell whose lines run no programs of a repository's configuration, if their Git commands only read.
 */
import type { Tool } from "../../index.js";
import { commandOf } from "./command-pattern.js";
import { quietGit } from "./git-folder.js";
import { isGitReading } from "./programs.js";
import { readShellLine } from "./shell-line.js";

type Shell = Tool<{ readonly command: string }, string>;
type Variables = { readonly [name: string]: string };

/** @param create makes the shell for lines that get these variables */
export function quietGitShell(root: string, env: Variables, create: (env: Variables) => Shell): Shell {
  const usual = create(env);
  let quiet: Shell | null = null;
  return {
    ...usual,
    async *execute(input, context) {
      const isQuiet = await onlyReadsGit(input.command, root);
      if (isQuiet) quiet ??= create({ ...env, ...quietGit });
      const { execute } = isQuiet && quiet !== null ? quiet : usual;
      const result = await execute?.(input, context);
      if (typeof result === "object" && result !== null && Symbol.asyncIterator in result) return yield* result;
      return result;
    },
  };
}

/** Whether the line is understood, and each Git command in it only reads. */
export async function onlyReadsGit(line: string, root: string): Promise<boolean> {
  const read = await readShellLine(line, root);
  if (!read.ok) return false;
  const git = read.commands.map(({ words }) => commandOf(words)).filter(([program]) => program === "git");
  return git.length > 0 && git.every(isGitReading);
}
