/**
 * Runs the command that the arguments name, and ends the process with its exit code.
 */
import { CommanderError } from "commander";
import { describeError, exitCodeOfError, exitCodes } from "./exit.js";
import { createProgram } from "./program.js";
import type { Prompt } from "./screen/prompt.js";
import { openTerminal } from "./terminal.js";
import { visible } from "./text.js";
import type { Theme } from "./text-style.js";

/**
 * @param prompt the prompt of a conversation, if it is on the screen already
 * @param theme as the person's own file has it
 */
export async function runProgram(prompt: Prompt | null, theme?: Theme): Promise<void> {
  const terminal = openTerminal(process.env, prompt, theme);
  const isDebugging = process.argv.includes("--debug");

  async function main(): Promise<number> {
    let exitCode: number = exitCodes.done;
    try {
      await createProgram(terminal, (code) => {
        exitCode = code;
      }).parseAsync();
      return exitCode;
    } catch (error) {
      return fail(error);
    }
  }

  function fail(error: unknown): number {
    // Commander has printed its message already. Help and the version exit with 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    terminal.err(
      `${terminal.style("red", "pawl:")} ${visible(terminal.redaction.text(describeError(error, isDebugging)))}\n`,
    );
    return exitCodeOfError(error);
  }

  async function leave(exitCode: number): Promise<void> {
    await terminal.flush();
    // A tool that ignores its signal, or an open connection, must not keep the process alive.
    process.exit(exitCode);
  }

  process.on("uncaughtException", (error) => void leave(fail(error)));
  await leave(await main());
}
