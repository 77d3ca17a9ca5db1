/**
 * Options, arguments and help texts that several commands share.
 */
import { type Command, InvalidArgumentError } from "commander";
import type { Terminal } from "../terminal/terminal.js";
import { parseDollars, parseDuration } from "../terminal/text.js";

/** Adds a command to the program. When the command has run, it passes its exit code to `finish`. */
export type AddCommand = (program: Command, terminal: Terminal, finish: (exitCode: number) => void) => void;

export const sessionArgument = ["<id>", "the session's id or a prefix of it"] as const;

/** Options of every command that runs tools. They apply to that command only, in addition to the stored rules. */
export function addPermissionOptions(command: Command): Command {
  return command
    .option("-y, --yes", "allow every tool without asking, except what a rule denies")
    .option("--allow <rule>", 'allow calls that match a rule, e.g. "shell(npm test *)"; repeatable', collectOption)
    .option("--deny <rule>", 'deny calls that match a rule, e.g. "edit_file(src/**)", even with --yes', collectOption)
    .option("--allow-shell", "let the agent run shell commands")
    .option("--no-context-files", "ignore AGENTS.md files and skills, both the folder's and your own")
    .option("--no-hooks", "run no hooks from files, neither the folder's nor your own")
    .option(
      "--expire-after <time>",
      "deny a call that is not answered within this time, e.g. 30m, 12h or 7d",
      parseDurationOption,
    );
}

export function addModelOptions(command: Command): Command {
  return command
    .option("--model <name>", "provider/model, or demo (default: chosen from the environment)")
    .option("--context-window <tokens>", "the model's context window, if Pawl does not know it", parsePositive)
    .option(
      "--timeout <time>",
      "how long the model may take to start its response, e.g. 90s or 20m",
      parseDurationOption,
    );
}

/** Limits and behavior of a new run. */
export function addRunOptions(command: Command): Command {
  return command
    .option("--max-steps <count>", "end the run after this many model calls", parsePositive)
    .option("--max-tokens <count>", "end the run at this many tokens, input and output together", parsePositive)
    .option("--max-cost <dollars>", "end the run at this cost in US dollars, at list prices", parseDollarsOption)
    .option("--max-wall-clock <time>", "end the run after this time, e.g. 90s, 30m or 2h", parseDurationOption)
    .option("--park", "without a person to ask, leave calls waiting instead of denying them (exit code 3)");
}

export function formatExamples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}\n`;
}

export const exitCodeHelp = `
Exit codes:
  0 done, 2 wrong usage, 3 waiting for a person, 4 limit reached, 5 failed,
  75 interrupted (continue with pawl resume), 130 aborted
`;

export function collectOption(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

export function parsePositive(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number, 1 or more.");
}

export function parseDollarsOption(text: string): number {
  const amount = parseDollars(text);
  if (amount !== null) return amount;
  throw new InvalidArgumentError("It must be an amount of US dollars above 0, e.g. 2 or 0.25.");
}

/** @returns milliseconds */
export function parseDurationOption(text: string): number {
  const ms = parseDuration(text);
  if (ms !== null) return ms;
  throw new InvalidArgumentError("It must be a length of time, e.g. 90s, 30m, 12h or 7d.");
}

export function parsePort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError("It must be a number from 0 to 65535.");
}
