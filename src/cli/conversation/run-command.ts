/**
 * Runs the command that a person has typed.
 */
import { lineOf } from "../screen/line.js";
import { type Command, findCommand } from "./commands.js";
import { type CommandContext, hasToWait, isAtWork } from "./session-commands.js";
import type { SessionControl } from "./session-control.js";

/**
 * What goes wrong is told on the screen.
 * @returns null, or when a command is over that other lines wait for
 */
export function runCommand(line: string, context: CommandContext, control: SessionControl): Promise<void> | null {
  const found = findCommand(line, context.custom.list);
  if (found.type === "unknown") {
    control.say([lineOf(found.message, "yellow")]);
    return null;
  }
  const done = run(found.command, found.words, context, control);
  return found.command.atRest ? done : null;
}

async function run(command: Command, words: string, context: CommandContext, control: SessionControl): Promise<void> {
  try {
    if (command.atRest && (await isAtWork(context))) return control.say([hasToWait(`/${command.name}`)]);
    await command.run(context, words);
  } catch (error) {
    control.fail(error);
  }
}
