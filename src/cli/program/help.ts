/**
 * The command `pawl help`, in place of Commander's own, which knows one level of commands and prints the whole help for an unknown one.
 */
import { exitCodes } from "../exit.js";
import { rejectUnknownCommand } from "./command-mistakes.js";
import { type AddCommand, formatExamples } from "./options.js";

export const addHelp: AddCommand = (program, _, finish) => {
  program.helpCommand(false);
  program
    .command("help")
    .description("show help for a command")
    .argument("[command...]", "the command, such as: sessions show")
    .addHelpText("after", formatExamples("pawl help run", "pawl help sessions show"))
    .action((words: readonly string[]) => {
      let shown = program;
      for (const word of words) {
        shown = shown.commands.find((command) => command.name() === word) ?? rejectUnknownCommand(word, shown);
      }
      shown.outputHelp();
      finish(exitCodes.done);
    });
};
