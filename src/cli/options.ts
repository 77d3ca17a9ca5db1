/**
 * What commands have in common: their options, their arguments, how their help shows examples.
 */
import { type Command, InvalidArgumentError } from "commander";
import type { Terminal } from "./terminal.js";

/** Adds a command; `finish` is given the exit code when it has run. */
export type Add = (program: Command, terminal: Terminal, finish: (exitCode: number) => void) => void;

export const sessionArgument = ["<id>", "the session, or the beginning of its id"] as const;

/** What carries a run on. What was allowed to one is not allowed to the next. */
export function addPermissions(command: Command): Command {
  return command
    .option("-y, --yes", "allow every tool without asking")
    .option("--allow-shell", "let the agent run commands")
    .option("--expire-after <time>", "how long a question waits before it counts as denied, as 30m, 12h or 7d", span);
}

export function addModel(command: Command): Command {
  return command
    .option("--model <name>", "provider/model, or demo (default: what the environment offers)")
    .option("--context-window <tokens>", "what the model can take in and give out, where that is not known", positive);
}

/** What a new run may be told. */
export function addRunOptions(command: Command): Command {
  return command
    .option("--max-steps <count>", "the most model calls", positive)
    .option("--max-tokens <count>", "the most tokens, in and out together", positive)
    .option("--max-cost <dollars>", "the most that it may cost, by list prices", dollars)
    .option("--max-wall-clock <time>", "the longest that it may take, as 90s, 30m or 2h", span)
    .option("--park", "where nobody can be asked, wait for an answer (exit code 3) instead of denying");
}

export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}\n`;
}

export const exitCodeHelp =
  "\nExit codes: 0 done, 2 usage, 3 waits for a person, 4 a limit, 5 failed, 75 interrupted (pawl resume goes on), 130 aborted.\n";

export function positive(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number of 1 or more.");
}

function dollars(text: string): number {
  if (/^\d{1,6}(\.\d{1,6})?$/.test(text) && Number(text) > 0) return Number(text);
  throw new InvalidArgumentError("It must be an amount of US dollars above 0, as 2 or 0.25.");
}

const units: { readonly [unit: string]: number } = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A length of time in milliseconds. */
function span(text: string): number {
  const [, count = "", unit = ""] = /^([1-9]\d{0,5})([smhd])$/.exec(text) ?? [];
  const ms = units[unit];
  if (ms !== undefined) return Number(count) * ms;
  throw new InvalidArgumentError("It must be a length of time, as 90s, 30m, 12h or 7d.");
}
