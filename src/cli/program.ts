/**
 * The program `pawl`: its commands, their options and their help.
 */
import { readFileSync } from "node:fs";
import { Command } from "commander";
import { type AbortOptions, abort } from "./commands/abort.js";
import { type AcpCommandOptions, acp } from "./commands/acp.js";
import { doctor } from "./commands/doctor.js";
import { type ReplayCommandOptions, replay } from "./commands/replay.js";
import { resume } from "./commands/resume.js";
import { type RunCommandOptions, run } from "./commands/run.js";
import * as sessions from "./commands/sessions.js";
import type { DriveOptions } from "./drive-session.js";
import {
  type Add,
  addModel,
  addPermissions,
  addRunOptions,
  examples,
  exitCodeHelp,
  positive,
  sessionArgument,
} from "./options.js";
import { addPeopleCommands } from "./people-commands.js";
import { addServe } from "./serve-command.js";
import type { Terminal } from "./terminal.js";

/** @param finish takes the exit code of the command that ran */
export function createProgram(terminal: Terminal, finish: (exitCode: number) => void): Command {
  const program = new Command("pawl")
    .description(
      "Runs an agent on a folder. Every run is recorded, so pawl resume can continue one that was interrupted.",
    )
    .version(versionOf(), "--version", "show the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show the help of a command")
    .exitOverride()
    .showHelpAfterError("(--help shows the commands and options, with examples)")
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err });
  addRun(program, terminal, finish);
  addResume(program, terminal, finish);
  addAbort(program, terminal, finish);
  addPeopleCommands(program, terminal, finish);
  addReplay(program, terminal, finish);
  addServe(program, terminal, finish);
  addSessions(program, terminal, finish);
  addAcp(program, terminal, finish);
  addDoctor(program, terminal, finish);
  for (const command of withSubcommands(program)) command.option("--debug", "print the stack of an error");
  program.addHelpText(
    "after",
    examples(
      'pawl run "Find the TODO comments under src, then write a report to TODO.md"',
      "pawl sessions",
      "pawl resume 3f8c",
      "pawl approvals",
    ),
  );
  return program;
}

const addRun: Add = (program, terminal, finish) => {
  const command = program
    .command("run")
    .description("run an agent on a folder with a task")
    .argument("[task...]", "what the agent should do (default: read from standard input)")
    .option("--json", "print one JSON event per line");
  addRunOptions(addPermissions(addModel(command)))
    .option("--root <folder>", "the folder to work on (default: the session's, else this one)")
    .option("--session <id>", "continue this session, or start one with this id")
    .option("--continue", "continue the latest session of this folder")
    .addHelpText(
      "after",
      `${examples(
        'pawl run "List the files under src"',
        'pawl run --model anthropic/claude-sonnet-5-5 --root ../site "Fix the broken links"',
        'pawl run --yes --json "Find the TODO comments" > events.jsonl',
        "pawl run --continue --allow-shell < task.txt",
        'pawl run --park --expire-after 12h "Tidy the folder"',
      )}${exitCodeHelp}`,
    )
    .action(async (words: readonly string[], options: RunCommandOptions) =>
      finish(await run(words, options, terminal)),
    );
};

const addResume: Add = (program, terminal, finish) => {
  const command = program
    .command("resume")
    .description("continue a run that was interrupted or waits, or follow one that another process drives")
    .argument(...sessionArgument)
    .option("--json", "print one JSON event per line");
  addPermissions(addModel(command))
    .addHelpText("after", `${examples("pawl resume 3f8c", "pawl resume 3f8c --yes --allow-shell")}${exitCodeHelp}`)
    .action(async (id: string, options: DriveOptions) => finish(await resume(id, options, terminal)));
};

const addAbort: Add = (program, terminal, finish) => {
  program
    .command("abort")
    .description("end the run of a session, even if another process drives it")
    .argument(...sessionArgument)
    .option("--json", "print the result as JSON")
    .addHelpText("after", examples("pawl abort 3f8c"))
    .action(async (id: string, options: AbortOptions) => finish(await abort(id, options, terminal)));
};

const addReplay: Add = (program, terminal, finish) => {
  program
    .command("replay")
    .description("replay a session's log with the current code, changing nothing, and show the first difference")
    .argument(...sessionArgument)
    .option("--allow-shell", "give the replayed agent a shell, as the recorded runs had")
    .option("--ignore-prompt", "ignore changes of the system prompt and of tool descriptions")
    .option("--json", "print the outcome as JSON")
    .addHelpText(
      "after",
      `${examples("pawl replay 3f8c", "pawl replay 3f8c --allow-shell --json | jq .difference")}
Exit codes: 0 no difference, 2 usage, 5 a difference.
`,
    )
    .action(async (id: string, options: ReplayCommandOptions) => finish(await replay(id, options, terminal)));
};

const addSessions: Add = (program, terminal, finish) => {
  const command = program
    .command("sessions")
    .description("list sessions, newest first")
    .option("--limit <count>", "how many to list", positive, 20)
    .option("--json", "print one JSON object per line")
    .addHelpText("after", examples("pawl sessions", "pawl sessions show 3f8c", "pawl sessions export 3f8c > log.jsonl"))
    .action(async (options: sessions.JsonOption & { readonly limit: number }) =>
      finish(await sessions.list(options, terminal)),
    );
  const named = (name: string, description: string) =>
    command
      .command(name)
      .description(description)
      .argument(...sessionArgument);
  named("show", "show the transcript of a session")
    .option("--json", "print one JSON event per line")
    .option("--numbers", "show entry numbers, for pawl fork --at")
    .addHelpText("after", examples("pawl sessions show 3f8c", "pawl sessions show 3f8c --json"))
    .action(async (id: string, _: sessions.ShowOptions, self: Command) =>
      finish(await sessions.show(id, self.optsWithGlobals(), terminal)),
    );
  named("export", "print the log as JSON, one entry per line, with secrets redacted")
    .option("--raw", "print the log as stored, with keys and passwords in it")
    .option("--json", "no effect: the log is always JSON")
    .addHelpText("after", examples("pawl sessions export 3f8c > log.jsonl"))
    .action(async (id: string, options: { readonly raw?: true }) =>
      finish(await sessions.exportLog(id, options, terminal)),
    );
  named("delete", "delete a session and all its data, unless its run is under way")
    .option("--json", "print the id of the deleted session as JSON")
    .addHelpText("after", examples("pawl sessions delete 3f8c"))
    .action(async (id: string, _: sessions.JsonOption, self: Command) =>
      finish(await sessions.remove(id, self.optsWithGlobals(), terminal)),
    );
};

const addAcp: Add = (program, terminal, finish) => {
  const command = program
    .command("acp")
    .description("serve the agent to an editor, over standard input and output (Agent Client Protocol)");
  addPermissions(addModel(command))
    .addHelpText("after", examples("pawl acp", "pawl acp --model anthropic/claude-sonnet-5-5 --allow-shell"))
    .action(async (options: AcpCommandOptions) => finish(await acp(options, versionOf(), terminal)));
};

const addDoctor: Add = (program, terminal, finish) => {
  program
    .command("doctor")
    .description("check Node, SQLite, folders, keys, model servers and the sandbox")
    .option("--json", "print the findings as JSON")
    .addHelpText("after", examples("pawl doctor", "pawl doctor --json"))
    .action(async (options: { readonly json?: true }) => finish(await doctor(options, terminal)));
};

function withSubcommands(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}

function versionOf(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return (manifest as { readonly version: string }).version;
}
