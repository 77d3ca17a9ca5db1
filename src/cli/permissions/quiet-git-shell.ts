/**
 * A shell whose lines run no programs of a repository's configuration, if their Git commands only read.
 */
import type { Tool } from "../../index.js";
import { commandOf } from "./command-pattern.js";
import { quietGit } from "./inspect-git-folder.js";
import { isReadOnlyGit } from "./known-commands.js";
import { parseShellLine } from "./shell-line.js";

type Shell = Tool<{ readonly command: string }, string>;
type Variables = { readonly [name: string]: string };

/** @param create makes the shell for lines that get these variables */
export function createQuietGitShell(root: string, env: Variables, create: (env: Variables) => Shell): Shell {
  const defaultShell = create(env);
  let quietShell: Shell | null = null;
  return {
    ...defaultShell,
    async *execute(input, context) {
      const isQuiet = await onlyReadsGit(input.command, root);
      if (isQuiet) quietShell ??= create({ ...env, ...quietGit });
      const { execute } = isQuiet && quietShell !== null ? quietShell : defaultShell;
      const result = await execute?.(input, context);
      if (typeof result === "object" && result !== null && Symbol.asyncIterator in result) return yield* result;
      return result;
    },
  };
}

/** Whether the line is understood, and each Git command in it only reads. */
export async function onlyReadsGit(line: string, root: string): Promise<boolean> {
  const parsed = await parseShellLine(line, root);
  if (!parsed.ok) return false;
  const git = parsed.commands.map(({ words }) => commandOf(words)).filter(([program]) => program === "git");
  return git.length > 0 && git.every(isReadOnlyGit);
}
