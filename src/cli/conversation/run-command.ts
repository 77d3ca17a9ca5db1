/**
 * Runs the command that a person has typed.
 */
import { isResting } from "../../core/index.js";
import { lineOf } from "../screen/line.js";
import { findCommand } from "./commands.js";
import type { CommandContext } from "./session-commands.js";
import type { SessionControl } from "./session-control.js";

/** What goes wrong is told on the screen. */
export async function runCommand(line: string, context: CommandContext, control: SessionControl): Promise<void> {
  const found = findCommand(line, context.custom);
  if (found.type === "unknown") return control.say([lineOf(found.message, "yellow")]);
  const { name, atRest, run } = found.command;
  try {
    if (atRest && (await isAtWork(context)))
      return control.say([lineOf(`/${name} has to wait until the run is over. Esc stops it.`, "yellow")]);
    await run(context, found.words);
  } catch (error) {
    control.fail(error);
  }
}

/** While a session is opened, the screen is behind the log: a run that is shown as under way may be over. */
async function isAtWork({ agent, sessionId, state }: CommandContext): Promise<boolean> {
  const { runId, isWaiting } = state();
  return runId !== null && !isWaiting && !isResting(await agent.session(sessionId).state());
}
