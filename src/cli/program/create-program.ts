/**
 * The program `pawl`: its commands, their options and their help.
 */
import { Command, Option } from "commander";
import type { AbortOptions } from "../commands/abort.js";
import type { AcpCommandOptions } from "../commands/acp.js";
import type { RemoveOptions } from "../commands/delete-session.js";
import type { InitOptions } from "../commands/init.js";
import type { RedactCommandOptions } from "../commands/redact.js";
import type { ReplayCommandOptions } from "../commands/replay.js";
import type { RunCommandOptions } from "../commands/run.js";
import type { SandboxCommandOptions } from "../commands/sandbox.js";
import type { JsonOption, ListCommandOptions } from "../commands/sessions.js";
import type { ShowOptions } from "../commands/show-session.js";
import type { ConversationOptions } from "../conversation/conversation-deps.js";
import { resolveStoreName } from "../files/store-location.js";
import type { DriveOptions } from "../run/drive-session.js";
import { installProxies } from "../server/install-proxies.js";
import type { Terminal } from "../terminal/terminal.js";
import { readVersion } from "../version.js";
import { helpGroups } from "./command-groups.js";
import { rejectMisplacedOption, rejectUnknownSubcommand } from "./command-mistakes.js";
import { addCompletion } from "./completion.js";
import { addConfigurationCommands } from "./configuration.js";
import { addEval } from "./evals.js";
import { addHelp } from "./help.js";
import { addMcp } from "./mcp.js";
import { addNotices } from "./notices.js";
import {
  type AddCommand,
  addModelOptions,
  addPermissionOptions,
  addRunOptions,
  exitCodeHelp,
  formatExamples,
  parsePositive,
  sessionArgument,
} from "./options.js";
import { addPermissionCommands } from "./permissions.js";
import { addPostgres } from "./postgres.js";
import { addSchedule } from "./schedule.js";
import { addServe, addUi } from "./serve.js";
import { addSupervisionCommands } from "./supervision.js";
import { addTransfer } from "./transfer.js";

/** @param finish takes the exit code of the command that ran */
export function createProgram(terminal: Terminal, finish: (exitCode: number) => void): Command {
  const program = new Command("pawl")
    .description(
      "An agent that works on a folder. Run pawl on its own in a terminal to talk to it; each command below does one thing. Everything is recorded, so interrupted work can be continued.",
    )
    .version(readVersion(), "--version", "show the version")
    .helpOption("-h, --help", "show help")
    .commandsGroup("More:")
    .exitOverride()
    .showHelpAfterError("(--help shows the commands and options, with examples)")
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
    // Options after the name of a command belong to that command.
    .enablePositionalOptions();
  addConversation(program, terminal, finish);
  addInit(program, terminal, finish);
  addRun(program, terminal, finish);
  addResume(program, terminal, finish);
  addAbort(program, terminal, finish);
  addSupervisionCommands(program, terminal, finish);
  addPermissionCommands(program, terminal, finish);
  addSandbox(program, terminal, finish);
  addConfigurationCommands(program, terminal, finish);
  addReplay(program, terminal, finish);
  addEval(program, terminal, finish);
  addNotices(program, terminal, finish);
  addSchedule(program, terminal, finish);
  addServe(program, terminal, finish);
  addUi(program, terminal, finish);
  addSessions(program, terminal, finish);
  addAcp(program, terminal, finish);
  addMcp(readVersion())(program, terminal, finish);
  addPostgres(program, terminal, finish);
  addDoctor(program, terminal, finish);
  addCompletion(program, terminal, finish);
  addHelp(program, terminal, finish);
  for (const command of program.commands) command.helpGroup(findHelpGroup(command.name()));
  for (const command of listWithSubcommands(program)) {
    if (usesStore(command))
      command.option(
        "--store <file or address>",
        "where sessions are stored: a file, or a PostgreSQL database, postgres://… (default: PAWL_STORE)",
      );
    command.option("--debug", "print the stack trace of an error");
    // The hook below names what is wrong; Commander would only count the words.
    if (command.commands.length > 0 && command.registeredArguments.length === 0) command.allowExcessArguments();
  }
  program.hook("preAction", (_, command) => {
    rejectUnknownSubcommand(command);
    rejectMisplacedOption(program, command);
    const { store = process.env.PAWL_STORE } = command.optsWithGlobals<{ readonly store?: string }>();
    if (store !== undefined) process.env.PAWL_STORE = resolveStoreName(store);
    installProxies(process.env);
  });
  program.addHelpText(
    "after",
    formatExamples(
      "pawl",
      'pawl "Why does the parse test fail?"',
      "pawl --continue",
      'pawl run "Find the TODO comments under src, then write a report to TODO.md"',
      "pawl sessions",
      "pawl resume 3f8c",
      "pawl approvals",
    ),
  );
  return program;
}

function continueOption(): Option {
  return new Option("-c, --continue", "continue the latest session of this folder").conflicts("session");
}

/** `pawl` without a command. */
const addConversation: AddCommand = (program, terminal, finish) => {
  addPermissionOptions(addModelOptions(program.argument("[message...]", "the first message of the conversation")))
    .option("-p, --print", "run the message as a task and print the answer, as pawl run does")
    .option("--root <folder>", "the folder to work on (default: the current folder)")
    .addOption(continueOption())
    .option("--session <id>", "continue this session")
    .option("--screen-reader", "append text only, for screen readers and simple terminals")
    .option("--no-screen-reader", "use the live screen even if ui.screenReader is set")
    .action(
      async (words: readonly string[], { print, ...options }: ConversationOptions & { readonly print?: true }) => {
        if (print === true) {
          const { run } = await import("../commands/run.js");
          finish(await run(words, options, terminal));
          return;
        }
        const { conversation } = await import("../commands/conversation.js");
        finish(await conversation(words, options, readVersion(), program, terminal));
      },
    );
};

const addInit: AddCommand = (program, terminal, finish) => {
  program
    .command("init")
    .description("create a project with your own agent, which runs without an API key")
    .argument("[folder]", "a new or empty folder", ".")
    .option("--json", "print the folder, the files and the next commands as JSON")
    .addHelpText("after", initHelp)
    .action(async (folder: string, options: InitOptions) => {
      const { init } = await import("../commands/init.js");
      finish(init(folder, options, terminal));
    });
};

const initHelp = `${formatExamples("pawl init my-agent", "mkdir my-agent && cd my-agent && npx pawl init")}
The project is written in TypeScript: an agent, a tool that reads, a tool that
asks before it acts, tests, a terminal program, and a page (npm run page).
The command installs nothing and overwrites nothing.

Exit codes: 0 created, 2 wrong usage, such as a folder that is not empty.
`;

const addRun: AddCommand = (program, terminal, finish) => {
  const command = program
    .command("run")
    .description("run an agent on a folder with a task")
    .argument("[task...]", "what the agent should do (default: read from standard input)")
    .option("--json", "print one JSON event per line");
  addRunOptions(addPermissionOptions(addModelOptions(command)))
    .option("--root <folder>", "the folder to work on (default: the session's folder, else the current folder)")
    .option("--session <id>", "continue this session, or start one with this id")
    .addOption(continueOption())
    .option("--background", "run in a separate process, print the session's id, and exit; questions wait")
    .option(
      "--output-schema <file>",
      "print the answer as JSON that matches this JSON Schema (exit code 4 if it does not)",
    )
    .addHelpText(
      "after",
      `${formatExamples(
        'pawl run "List the files under src"',
        'pawl run --model anthropic/claude-sonnet-5-5 --root ../site "Fix the links"',
        'pawl run --yes --json "Find the TODO comments" > events.jsonl',
        "pawl run --continue --allow-shell < task.txt",
        'git diff | pawl run "Review this change"',
        'pawl run --park --expire-after 12h "Tidy the folder"',
        'pawl run --background --yes --max-cost 2 "Write the missing tests"',
      )}${exitCodeHelp}`,
    )
    .action(async (words: readonly string[], options: RunCommandOptions) => {
      if (options.background === true) {
        const { runInBackground } = await import("../commands/run-background.js");
        finish(await runInBackground(options, terminal));
        return;
      }
      const { run } = await import("../commands/run.js");
      finish(await run(words, options, terminal));
    });
};

const addResume: AddCommand = (program, terminal, finish) => {
  const command = program
    .command("resume")
    .description("continue an interrupted or waiting run, or follow a run that another process drives")
    .argument(
      "[id]",
      "the session's id or a prefix of it (default: the latest session of this folder with an unfinished run)",
    )
    .option("--json", "print one JSON event per line");
  addPermissionOptions(addModelOptions(command))
    .addHelpText(
      "after",
      `${formatExamples("pawl resume", "pawl resume 3f8c", "pawl resume 3f8c --yes --allow-shell")}${exitCodeHelp}`,
    )
    .action(async (id: string | undefined, options: DriveOptions) => {
      const { resume } = await import("../commands/resume.js");
      finish(await resume(id, options, terminal));
    });
};

const addAbort: AddCommand = (program, terminal, finish) => {
  program
    .command("abort")
    .description("end the run of a session, even if another process drives it")
    .argument(...sessionArgument)
    .option("--json", "print the result as JSON")
    .addHelpText("after", formatExamples("pawl abort 3f8c"))
    .action(async (id: string, options: AbortOptions) => {
      const { abort } = await import("../commands/abort.js");
      finish(await abort(id, options, terminal));
    });
};

const addReplay: AddCommand = (program, terminal, finish) => {
  program
    .command("replay")
    .description("replay a session's log with the current code, changing nothing, and show the first difference")
    .argument(...sessionArgument)
    .option("--allow-shell", "give the replayed agent a shell, as the recorded runs had")
    .option("--ignore-prompt", "ignore changes to the system prompt and tool descriptions")
    .option("--json", "print the outcome as JSON")
    .addHelpText(
      "after",
      `${formatExamples("pawl replay 3f8c", "pawl replay 3f8c --allow-shell --json | jq .difference")}
Exit codes: 0 no difference, 2 usage, 5 a difference.
`,
    )
    .action(async (id: string, options: ReplayCommandOptions) => {
      const { replay } = await import("../commands/replay.js");
      finish(await replay(id, options, terminal));
    });
};

const addSessions: AddCommand = (program, terminal, finish) => {
  const command = program
    .command("sessions")
    .description("list the sessions of this folder, newest first")
    .option("--all", "list the sessions of all folders, this folder's first")
    .option("--limit <count>", "how many to list", parsePositive, 20)
    .option("--json", "print one JSON object per line")
    .addHelpText(
      "after",
      formatExamples(
        "pawl sessions",
        "pawl sessions --all",
        "pawl sessions show 3f8c",
        "pawl sessions export 3f8c > log.jsonl",
      ),
    )
    .action(async (options: ListCommandOptions) => {
      const { list } = await import("../commands/sessions.js");
      finish(await list(options, terminal));
    });
  const addSubcommand = (name: string, description: string) =>
    command
      .command(name)
      .description(description)
      .argument(...sessionArgument);
  addSubcommand("show", "show the transcript of a session")
    .option("--json", "print one JSON event per line")
    .option("--numbers", "show entry numbers, for pawl fork --at")
    .addHelpText("after", formatExamples("pawl sessions show 3f8c", "pawl sessions show 3f8c --json"))
    .action(async (id: string, _: ShowOptions, self: Command) => {
      const { show } = await import("../commands/show-session.js");
      finish(await show(id, self.optsWithGlobals(), terminal));
    });
  addSubcommand("rename", "change the title of a session")
    .argument("<title...>", "the new title, at most 200 characters")
    .option("--json", "print the id and the title as JSON")
    .addHelpText("after", formatExamples('pawl sessions rename 3f8c "The build of March"'))
    .action(async (id: string, words: readonly string[], _: JsonOption, self: Command) => {
      const { rename } = await import("../commands/rename.js");
      finish(await rename(id, words, self.optsWithGlobals(), terminal));
    });
  addSubcommand("redact", "permanently remove leaked text, entries or calls from an idle session")
    .option("--seq <entry...>", "remove all content of these entries; pawl sessions show --numbers shows the numbers")
    .option("--call <key...>", "remove the input and the output of these calls, such as run/1/2")
    .option("--note <text>", "the reason, which is recorded in the session's log")
    .option("--json", "print what was removed as JSON")
    .addHelpText("after", redactHelp)
    .action(async (id: string, _: RedactCommandOptions, self: Command) => {
      const { redact } = await import("../commands/redact.js");
      finish(await redact(id, self.optsWithGlobals(), terminal));
    });
  addTransfer(command, terminal, finish);
  addSubcommand("delete", "delete a session and all its data, unless a run is in progress")
    .option("--force", "delete it even if a run is in progress or its import is incomplete")
    .option("--json", "print the id of the deleted session as JSON")
    .addHelpText("after", formatExamples("pawl sessions delete 3f8c"))
    .action(async (id: string, _: RemoveOptions, self: Command) => {
      const { remove } = await import("../commands/delete-session.js");
      finish(await remove(id, self.optsWithGlobals(), terminal));
    });
};

const redactHelp = `${formatExamples("pawl sessions redact 3f8c", "pawl sessions redact 3f8c < key.txt", "pawl sessions redact 3f8c --seq 12 14")}
Without --seq and --call, pawl prompts for the text or reads it from standard
input, because an argument would stay in your shell history. Every occurrence
in the session, in its stored files and in the sessions that its calls started
is replaced. Exports, backups and data already sent to the model provider are
not changed, so revoke a leaked key.
`;

const addAcp: AddCommand = (program, terminal, finish) => {
  const command = program
    .command("acp")
    .description("serve the agent to an editor, over standard input and output (Agent Client Protocol)");
  addPermissionOptions(addModelOptions(command))
    .addHelpText("after", formatExamples("pawl acp", "pawl acp --model anthropic/claude-sonnet-5-5 --allow-shell"))
    .action(async (options: AcpCommandOptions) => {
      const { acp } = await import("../commands/acp.js");
      finish(await acp(options, readVersion(), terminal));
    });
};

const addDoctor: AddCommand = (program, terminal, finish) => {
  program
    .command("doctor")
    .description("check Node, the store, folders, keys, model servers and the sandbox")
    .option("--json", "print the findings as JSON")
    .addHelpText("after", formatExamples("pawl doctor", "pawl doctor --json"))
    .action(async (options: { readonly json?: true }) => {
      const { doctor } = await import("../commands/doctor.js");
      finish(await doctor(options, terminal));
    });
};

const addSandbox: AddCommand = (program, terminal, finish) => {
  const command = program
    .command("sandbox")
    .description("show which files and hosts the agent's commands can reach in this folder")
    .option("--root <folder>", "the folder (default: the current folder)")
    .option("--json", "print it as JSON")
    .addHelpText("after", formatExamples("pawl sandbox", "pawl sandbox clean"))
    .action(async (options: SandboxCommandOptions) => {
      const { show } = await import("../commands/sandbox.js");
      finish(show(options, terminal));
    });
  command
    .command("clean")
    .description("remove the home folder of this folder's commands, including its caches")
    .addHelpText("after", formatExamples("pawl sandbox clean"))
    .action(async (_: unknown, self: Command) => {
      const { clean } = await import("../commands/sandbox.js");
      finish(clean(self.optsWithGlobals(), terminal));
    });
};

function findHelpGroup(name: string): string {
  return Object.keys(helpGroups).find((heading) => helpGroups[heading]?.includes(name)) ?? "More:";
}

/** These commands and their subcommands do not use the session store. */
const commandsWithoutStore: ReadonlySet<string> = new Set([
  "init",
  "permissions",
  "config",
  "sandbox",
  "trust",
  "hooks",
  "completion",
  "help",
]);

function usesStore(command: Command): boolean {
  if (commandsWithoutStore.has(command.name())) return false;
  return command.parent === null || usesStore(command.parent);
}

function listWithSubcommands(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(listWithSubcommands)];
}
