/**
 * The command `pawl completion`.
 */
import { Argument, type Command } from "commander";
import { completion, type Shell, shells } from "./commands/completion.js";
import { type Add, examples } from "./options.js";

export const addCompletion: Add = (program, terminal, finish) => {
  program
    .command("completion")
    .description("print a script that completes commands and options in your shell")
    .addArgument(new Argument("<shell>", "which shell reads it").choices(shells))
    .addHelpText(
      "after",
      `${examples(
        "pawl completion bash > ~/.local/share/bash-completion/completions/pawl",
        "pawl completion zsh > ~/.zfunc/_pawl",
        "pawl completion fish > ~/.config/fish/completions/pawl.fish",
      )}
The shell reads the script when it is started again; zsh, if the folder is in
its fpath. Write it again after an update of Pawl.
`,
    )
    .action((shell: Shell, _: unknown, self: Command) => finish(completion(shell, rootOf(self), terminal)));
};

function rootOf(command: Command): Command {
  return command.parent === null ? command : rootOf(command.parent);
}
