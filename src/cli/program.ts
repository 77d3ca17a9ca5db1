/**
 * The commands, their options and their help.
 */
import { readFileSync } from "node:fs";
import { Command, InvalidArgumentError } from "commander";
import { type AbortOptions, abort } from "./commands/abort.js";
import { doctor } from "./commands/doctor.js";
import { resume } from "./commands/resume.js";
import { type RunOptions, run } from "./commands/run.js";
import * as sessions from "./commands/sessions.js";
import type { Terminal } from "./terminal.js";
import type { WorkOptions } from "./work.js";

/** @param finish is given the exit code of the command that ran */
export function createProgram(terminal: Terminal, finish: (exitCode: number) => void): Command {
  const program = new Command("pawl")
    .description(
      "Runs an agent on a folder. What happened is kept: a run that was cut off is carried on with pawl resume.",
    )
    .version(versionOf(), "--version", "show the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show help of a command")
    .exitOverride()
    .showHelpAfterError("(--help shows what can be said, with examples)")
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err });
  addRun(program, terminal, finish);
  addResume(program, terminal, finish);
  addAbort(program, terminal, finish);
  addSessions(program, terminal, finish);
  addDoctor(program, terminal, finish);
  for (const command of withSubcommands(program)) command.option("--debug", "show where an error comes from");
  program.addHelpText(
    "after",
    examples(
      'pawl run "Find the TODO comments under src, then write a summary of them to TODO-REPORT.md"',
      "pawl sessions",
      "pawl resume 3f8c",
    ),
  );
  return program;
}

type Add = (program: Command, terminal: Terminal, finish: (exitCode: number) => void) => void;

const addRun: Add = (program, terminal, finish) => {
  worker(
    program
      .command("run")
      .description("run a task on a folder")
      .argument("[task...]", "what is to be done; from standard input where it is left out"),
  )
    .option("--root <folder>", "the folder to work on (default: this one, or that of the session)")
    .option("--session <id>", "go on with this session, or begin one of this id")
    .option("--continue", "go on with the latest session of this folder")
    .option("--max-steps <count>", "the most model calls", positive)
    .addHelpText(
      "after",
      `${examples(
        'pawl run "List the TypeScript files, then count their lines"',
        'pawl run --model anthropic/claude-sonnet-5-5 --root ../site "Fix the broken links"',
        'pawl run --yes --json "Find the TODO comments" > events.jsonl',
        "pawl run --continue --allow-shell < task.txt",
      )}${exitCodeHelp}`,
    )
    .action(async (words: readonly string[], options: RunOptions) => finish(await run(words, options, terminal)));
};

const addResume: Add = (program, terminal, finish) => {
  worker(
    program
      .command("resume")
      .description("carry on a run that was interrupted or waits; follow one that another process drives")
      .argument("<id>", "the session, or the beginning of its id"),
  )
    .addHelpText("after", `${examples("pawl resume 3f8c", "pawl resume 3f8c --yes --allow-shell")}${exitCodeHelp}`)
    .action(async (id: string, options: WorkOptions) => finish(await resume(id, options, terminal)));
};

/** What `run` and `resume` share. What was allowed to one is not allowed to the next. */
function worker(command: Command): Command {
  return command
    .option("--model <name>", "provider/model, or demo (default: what the environment offers)")
    .option("-y, --yes", "allow every tool without asking")
    .option("--allow-shell", "let the agent run commands")
    .option("--json", "print one JSON event a line");
}

const addAbort: Add = (program, terminal, finish) => {
  program
    .command("abort")
    .description("end the run of a session, whichever process drives it")
    .argument("<id>", "the session, or the beginning of its id")
    .option("--json", "print the result as JSON")
    .addHelpText("after", examples("pawl abort 3f8c"))
    .action(async (id: string, options: AbortOptions) => finish(await abort(id, options, terminal)));
};

const addSessions: Add = (program, terminal, finish) => {
  const command = program
    .command("sessions")
    .description("list sessions, newest first")
    .option("--limit <count>", "how many", positive, 20)
    .option("--json", "print one JSON object a line")
    .addHelpText("after", examples("pawl sessions", "pawl sessions show 3f8c", "pawl sessions export 3f8c > log.jsonl"))
    .action(async (options: sessions.JsonOption & { readonly limit: number }) =>
      finish(await sessions.list(options, terminal)),
    );
  const named = (name: string, description: string) =>
    command.command(name).description(description).argument("<id>", "the session, or the beginning of its id");
  named("show", "show what was said and done")
    .option("--json", "print one JSON event a line")
    .addHelpText("after", examples("pawl sessions show 3f8c", "pawl sessions show 3f8c --json"))
    .action(async (id: string, _: sessions.JsonOption, self: Command) =>
      finish(await sessions.show(id, self.optsWithGlobals(), terminal)),
    );
  named("export", "print the log, one JSON entry a line")
    .option("--json", "the same: the log is always JSON")
    .addHelpText("after", examples("pawl sessions export 3f8c > log.jsonl"))
    .action(async (id: string) => finish(await sessions.exportLog(id, terminal)));
  named("delete", "delete a session, its log and what it keeps; refused while its run is under way")
    .option("--json", "print what was deleted as JSON")
    .addHelpText("after", examples("pawl sessions delete 3f8c"))
    .action(async (id: string, _: sessions.JsonOption, self: Command) =>
      finish(await sessions.remove(id, self.optsWithGlobals(), terminal)),
    );
};

const addDoctor: Add = (program, terminal, finish) => {
  program
    .command("doctor")
    .description("look whether everything works: Node, SQLite, folders, keys, model servers, sandbox")
    .option("--json", "print the findings as JSON")
    .addHelpText("after", examples("pawl doctor", "pawl doctor --json"))
    .action(async (options: { readonly json?: true }) => finish(await doctor(options, terminal)));
};

function withSubcommands(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}

function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join("\n")}\n`;
}

const exitCodeHelp =
  "\nExit codes: 0 done, 2 usage, 3 waits for a person, 4 a limit, 5 failed, 75 interrupted (pawl resume goes on), 130 aborted.\n";

function positive(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number of 1 or more.");
}

function versionOf(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return (manifest as { readonly version: string }).version;
}
