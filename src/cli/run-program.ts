/**
 * Runs the command in the arguments, and exits with its exit code.
 */
import { CommanderError } from "commander";
import { exitCodeOfError, exitCodes, formatError } from "./exit.js";
import { finishNotifications } from "./hooks/running-notifications.js";
import { createProgram } from "./program/create-program.js";
import type { Prompt } from "./screen/early-prompt.js";
import { nameAsStarted } from "./terminal/started-as.js";
import { openTerminal } from "./terminal/terminal.js";
import { sanitize } from "./terminal/text.js";
import type { Theme } from "./terminal/text-style.js";

/**
 * @param prompt the prompt of a conversation, if it is already on the screen
 * @param theme the theme in the person's own configuration
 */
export async function runProgram(prompt: Prompt | null, theme?: Theme): Promise<void> {
  const terminal = openTerminal(process.env, prompt, theme);
  const isDebugging = process.argv.includes("--debug");

  async function runArguments(): Promise<number> {
    let exitCode: number = exitCodes.done;
    try {
      await createProgram(terminal, (code) => {
        exitCode = code;
      }).parseAsync();
      return exitCode;
    } catch (error) {
      return reportFailure(error);
    }
  }

  function reportFailure(error: unknown): number {
    // Commander has printed its message already. Help and the version exit with 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    terminal.err(
      `${terminal.style("red", "pawl:")} ${sanitize(nameAsStarted(terminal.redaction.text(formatError(error, isDebugging))))}\n`,
    );
    return exitCodeOfError(error);
  }

  async function exitAfterFlush(exitCode: number): Promise<void> {
    await finishNotifications();
    await terminal.flush();
    // A tool that ignores its signal, or an open connection, must not keep the process alive.
    process.exit(exitCode);
  }

  process.on("uncaughtException", (error) => void exitAfterFlush(reportFailure(error)));
  await exitAfterFlush(await runArguments());
}
