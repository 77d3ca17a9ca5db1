/**
 * Runs a command that the person has typed.
 */
import { PawlError } from "../../../index.js";
import { lineOf } from "../../screen/line.js";
import { toOneLine, truncate } from "../../terminal/text.js";
import type { SessionControl } from "../session-control.js";
import { type CommandContext, createMustWaitLine, isAtWork } from "./command-context.js";
import { type Command, findCommand } from "./command-table.js";

/**
 * Runs the command, and shows its errors on the screen.
 * @returns null, or for a command that blocks later lines, a promise that settles when the command has ended
 */
export function runCommand(line: string, context: CommandContext, control: SessionControl): Promise<void> | null {
  const match = findCommand(line, context.custom.list);
  if (match.type === "unknown") {
    control.say([lineOf(match.message, "yellow")]);
    return null;
  }
  const done = execute(match.command, match.words, context, control);
  return match.command.atRest ? done : null;
}

const maxWords = 60;

async function execute(
  command: Command,
  words: string,
  context: CommandContext,
  control: SessionControl,
): Promise<void> {
  control.view.separate();
  try {
    if (command.takes === "" && words !== "")
      throw new PawlError(
        "bad_input",
        `/${command.name} takes nothing after it, not "${truncate(toOneLine(words), maxWords)}".`,
      );
    if (command.atRest && (await isAtWork(context))) return control.say([createMustWaitLine(`/${command.name}`)]);
    await command.run(context, words);
  } catch (error) {
    control.fail(error);
  }
}
