/**
 * Mistakes in a command line that Commander ignores, or reports without saying what would be right.
 */
import type { Command, Option } from "commander";
import { isNear } from "../terminal/is-near.js";

/** Ends the program with an error that suggests commands of a similar name. */
export function rejectUnknownCommand(word: string, command: Command): never {
  const suggestions = command.commands.map((one) => one.name()).filter((name) => isNear(name, word));
  const suggestionNote = suggestions.length === 0 ? "" : `\n(Did you mean ${suggestions.join(" or ")}?)`;
  command.error(`error: unknown command '${word}'${suggestionNote}`, { code: "commander.unknownCommand" });
}

/**
 * For a command that has subcommands and also works alone: ends the program if a word after the command is not one of the subcommands.
 * `list` after a command that lists something alone is not a mistake.
 */
export function rejectUnknownSubcommand(command: Command): void {
  if (command.commands.length === 0 || command.registeredArguments.length > 0) return;
  const words =
    command.args[0] === "list" && listingCommands.has(command.name()) ? command.args.slice(1) : command.args;
  const [word] = words;
  if (word !== undefined) rejectUnknownCommand(word, command);
}

const listingCommands: ReadonlySet<string> = new Set(["sessions", "agents", "permissions", "hooks", "config"]);

/**
 * Ends the program if an option of the conversation precedes the name of a command, as in `pawl --deny … run`: the command would
 * not get it.
 */
export function rejectMisplacedOption(program: Command, command: Command): void {
  if (command === program) return;
  const misplaced = program.options.find(
    (option) =>
      program.getOptionValueSource(option.attributeName()) === "cli" && !sharedOptions.has(option.attributeName()),
  );
  if (misplaced === undefined) return;
  const owner = findOwner(program, command, misplaced);
  command.error(
    owner === null
      ? `error: '${formatPath(command)}' has no option '${misplaced.long}'`
      : `error: option '${misplaced.long}' has to follow the command: ${formatPath(owner)} ${misplaced.flags.replace(/^-\w, /, "")}`,
    { code: "pawl.misplacedOption" },
  );
}

/** Options that every command takes, also before its name. */
const sharedOptions: ReadonlySet<string> = new Set(["store", "debug"]);

/** The command that takes the option: this one, or one that it is within. */
function findOwner(program: Command, command: Command, option: Option): Command | null {
  if (command === program) return null;
  if (command.options.some(({ long }) => long === option.long)) return command;
  return command.parent === null ? null : findOwner(program, command.parent, option);
}

function formatPath(command: Command): string {
  return command.parent === null ? command.name() : `${formatPath(command.parent)} ${command.name()}`;
}
