/**
 * The commands of schedules: `pawl schedule add`, `list`, `show`, `next`, `pause`, `resume`, `run-now` and `remove`.
 */
import { InvalidArgumentError, Option } from "commander";
import type { AddOptions, NextOptions } from "../commands/schedule.js";
import { type AddCommand, exitCodeHelp, formatExamples, parseDurationOption, parsePositive } from "./options.js";

type JsonOption = { readonly json?: true };

const idArgument = ["<id>", "the schedule's id"] as const;

export const addSchedule: AddCommand = (program, terminal, finish) => {
  const command = program
    .command("schedule")
    .description(
      "list the schedules, or run an agent at given times; a worker (pawl worker, pawl serve) fires the schedules",
    )
    .addHelpText("after", formatExamples("pawl schedule", ...examples, "pawl worker --allow-shell"))
    .action(async () => {
      const { list } = await import("../commands/schedule.js");
      finish(await list({}, terminal));
    });
  command
    .command("add")
    .description("create a schedule, or replace the schedule with this id")
    .argument("<id>", "letters, digits, _, . and -")
    .argument("<when>", 'a cron expression ("0 8 * * 1-5"), an interval (10m), or a time (2026-12-01T08:00Z)')
    .argument("[words...]", "the task for the agent (default: read from standard input)")
    .option("--zone <name>", "the time zone of the cron expression, e.g. Europe/Berlin (default: UTC)")
    .option("--agent <name>", "the agent, for a worker with a module (default: the agent of the command line)")
    .option("--root <folder>", "the folder to work on (default: the current folder)")
    .addOption(
      new Option(
        "--missed <which>",
        "which missed slots run later: the last, all (the last 100), or none (skip)",
      ).choices(["last", "all", "skip"]),
    )
    .addOption(
      new Option(
        "--overlap <what>",
        "what to do while the last run is still in progress: skip the slot, or queue or allow its run",
      ).choices(["skip", "queue", "allow"]),
    )
    .option(
      "--session <new|same|id>",
      "a new session for each run (default), the same session for all, or the session with this id",
    )
    .option("--jitter <time>", "fire each slot up to this much later, e.g. 30s or 5m", parseDurationOption)
    .option("--paused", "create the schedule paused")
    .option("--if-new", "fail if the schedule already exists")
    .option("--json", "print the schedule as JSON")
    .addHelpText("after", `${formatExamples(...examples)}${permissionHelp}`)
    .action(async (id: string, when: string, words: readonly string[], options: AddOptions) => {
      const { add } = await import("../commands/schedule.js");
      finish(await add(id, when, words, options, terminal));
    });
  command
    .command("list")
    .description("list the schedules, with their next slots")
    .option("--json", "print one JSON object per line")
    .addHelpText("after", formatExamples("pawl schedule list"))
    .action(async (options: JsonOption) => {
      const { list } = await import("../commands/schedule.js");
      finish(await list(options, terminal));
    });
  command
    .command("show")
    .description("show a schedule and the outcome of its last slots")
    .argument(...idArgument)
    .option("--json", "print the schedule and its slots as JSON")
    .addHelpText("after", formatExamples("pawl schedule show morning"))
    .action(async (id: string, options: JsonOption) => {
      const { show } = await import("../commands/schedule.js");
      finish(await show(id, options, terminal));
    });
  command
    .command("next")
    .description("print the next slots of a schedule or of a cron expression, in its time zone and in UTC")
    .argument("<id|cron>", 'the schedule\'s id, or a cron expression ("0 8 * * 1-5")')
    .option("--zone <name>", "the time zone of the cron expression (default: UTC)")
    .option("--count <count>", "how many (default: 10)", parseCount)
    .option("--json", "print one JSON object per line")
    .addHelpText("after", formatExamples('pawl schedule next "30 2 * * *" --zone Europe/Berlin'))
    .action(async (given: string, options: NextOptions) => {
      const { next } = await import("../commands/schedule.js");
      finish(await next(given, options, terminal));
    });
  for (const [name, description] of changes)
    command
      .command(name)
      .description(description)
      .argument(...idArgument)
      .option("--json", "print the result as JSON")
      .addHelpText("after", formatExamples(`pawl schedule ${name} morning`))
      .action(async (id: string, options: JsonOption) => {
        const { change } = await import("../commands/schedule.js");
        finish(await change(name, id, options, terminal));
      });
};

const examples = [
  'pawl schedule add morning "0 8 * * 1-5" --zone Europe/Berlin "What is new?"',
  'pawl schedule add inbox 10m "Sort the new files in inbox"',
] as const;

const changes = [
  ["pause", "pause a schedule; slots during the pause do not count as missed"],
  ["resume", "continue a paused schedule from its next slot"],
  ["run-now", "post a run now, in addition to the schedule"],
  ["remove", "remove a schedule; its runs continue"],
] as const;

const permissionHelp = `
The runs have the permissions of the worker that drives them. Calls that need
approval wait: pawl approvals.
${exitCodeHelp}`;

function parseCount(text: string): number {
  const count = parsePositive(text);
  if (count > 1_000) throw new InvalidArgumentError("It must be at most 1000.");
  return count;
}
