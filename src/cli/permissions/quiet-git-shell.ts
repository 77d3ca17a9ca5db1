/**
 * A shell tool with the variables of the session. For lines whose Git commands only read, it keeps Git from running programs of the
 * repository's configuration.
 */
import type { Tool, ToolContext } from "../../index.js";
import { commandOf } from "./command-pattern.js";
import { quietGit } from "./inspect-git-folder.js";
import { isReadOnlyGit } from "./known-commands.js";
import { parseShellLine } from "./shell-line.js";

type Shell = Tool<{ readonly command: string }, string>;
type Variables = { readonly [name: string]: string };

/**
 * @param env overrides the variables of the session
 * @param create creates the shell tool with these environment variables
 * @param loadVariables loads the variables of the session that a call belongs to
 */
export function createQuietGitShell(
  root: string,
  env: Variables,
  create: (env: Variables) => Shell,
  loadVariables: (context: ToolContext) => Promise<Variables | undefined>,
): Shell {
  const defaultShell = create(env);
  let quietShell: Shell | null = null;

  function chooseShell(isQuiet: boolean, variables: Variables | undefined): Shell {
    if (variables !== undefined) return create({ ...variables, ...env, ...(isQuiet ? quietGit : {}) });
    if (!isQuiet) return defaultShell;
    quietShell ??= create({ ...env, ...quietGit });
    return quietShell;
  }

  return {
    ...defaultShell,
    async *execute(input, context) {
      const isQuiet = await onlyReadsGit(input.command, root);
      const variables = await loadVariables(context);
      // The wait can be long, and a command in the background does not look at the signal.
      context.signal.throwIfAborted();
      const { execute } = chooseShell(isQuiet, variables);
      const result = await execute?.(input, context);
      if (typeof result === "object" && result !== null && Symbol.asyncIterator in result) return yield* result;
      return result;
    },
  };
}

/** Whether the line can be parsed, has a Git command, and each of its Git commands only reads. */
export async function onlyReadsGit(line: string, root: string): Promise<boolean> {
  const parsed = await parseShellLine(line, root);
  if (!parsed.ok) return false;
  const git = parsed.commands.map(({ words }) => commandOf(words)).filter(([program]) => program === "git");
  return git.length > 0 && git.every(isReadOnlyGit);
}
