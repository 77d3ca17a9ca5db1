/**
 * The shell in plan mode: commands cannot write the folder.
 */
import type { Tool, ToolContext } from "../../index.js";
import type { CommandSandbox } from "../../tools/index.js";

/** The same sandbox, in which commands can only read the folder. */
export function withReadOnlyFolder(sandbox: CommandSandbox): CommandSandbox {
  return {
    ...sandbox,
    prepare: (command, options) => sandbox.prepare(command, { ...options, readOnly: true }),
  };
}

type Shell = Tool<{ readonly command: string }, string>;

const note = "(plan mode: the folder is read-only)";

/** @param isReadOnly whether the session is in plan mode when a command starts. It rejects if the command must not start. */
export function createPlanShell(
  shell: Shell,
  readOnlyShell: Shell,
  isReadOnly: (input: unknown, context: ToolContext) => Promise<boolean>,
): Shell {
  return {
    ...shell,
    async *execute(input, context) {
      const isPlan = await isReadOnly(input, context);
      const { execute } = isPlan ? readOnlyShell : shell;
      const result = await execute?.(input, context);
      const text =
        typeof result === "object" && result !== null && Symbol.asyncIterator in result ? yield* result : result;
      return isPlan ? `${note}\n${text}` : text;
    },
  };
}
