/**
 * The command `pawl completion`.
 */
import { Argument, type Command } from "commander";
import type { Shell } from "../commands/completion.js";
import { type AddCommand, formatExamples } from "./options.js";

export const addCompletion: AddCommand = (program, terminal, finish) => {
  program
    .command("completion")
    .description("print a script that completes commands and options in your shell")
    .addArgument(
      new Argument("<shell>", "the shell to print it for").choices(["bash", "zsh", "fish"] satisfies readonly Shell[]),
    )
    .addHelpText(
      "after",
      `${formatExamples(
        "pawl completion bash > ~/.local/share/bash-completion/completions/pawl",
        "pawl completion zsh > ~/.zfunc/_pawl",
        "pawl completion fish > ~/.config/fish/completions/pawl.fish",
      )}
Restart the shell to load the script; zsh needs its folder in fpath. Write the
script again after you update Pawl.
`,
    )
    .action(async (shell: Shell, _: unknown, self: Command) => {
      const { completion } = await import("../commands/completion.js");
      finish(completion(shell, findRootCommand(self), terminal));
    });
};

function findRootCommand(command: Command): Command {
  return command.parent === null ? command : findRootCommand(command.parent);
}
