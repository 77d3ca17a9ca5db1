#!/usr/bin/env node
/**
 * The command `pawl`.
 */
import { CommanderError } from "commander";
import { describeError, exitCodeOfError, exitCodes } from "./exit.js";
import { createProgram } from "./program.js";
import { openTerminal } from "./terminal.js";
import { visible } from "./text.js";

const terminal = openTerminal(process.env);
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
  // What commander throws it has told already; showing help is no error.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  terminal.err(
    `${terminal.paint("red", "pawl:")} ${visible(terminal.redaction.text(describeError(error, isDebugging)))}\n`,
  );
  return exitCodeOfError(error);
}

async function leave(exitCode: number): Promise<void> {
  await terminal.flush();
  // What is left behind, a tool that ignores its signal or a kept connection, does not hold the process.
  process.exit(exitCode);
}

process.on("uncaughtException", (error) => void leave(fail(error)));
await leave(await main());
