/**
 * The commands for people who supervise runs: agents, approvals, approve, deny, steer, fork, trace and worker.
 */

import type { Command } from "commander";
import type { AgentsOptions } from "../commands/agents.js";
import type { AnswerCommandOptions } from "../commands/approve-deny.js";
import type { ForkOptions } from "../commands/fork.js";
import type { SteerCommandOptions } from "../commands/steer.js";
import type { TraceCommandOptions } from "../commands/trace.js";
import type { WorkerCommandOptions } from "../commands/worker.js";
import type { DriveOptions } from "../run/drive-session.js";
import {
  type AddCommand,
  addModelOptions,
  addPermissionOptions,
  addRunOptions,
  exitCodeHelp,
  formatExamples,
  parsePort,
  parsePositive,
  sessionArgument,
} from "./options.js";

type JsonOption = { readonly json?: true };

export const addSupervisionCommands: AddCommand = (program, terminal, finish) => {
  for (const add of [addAgents, addApprovals, addApprove, addDeny, addSteer, addFork, addTrace, addWorker])
    add(program, terminal, finish);
};

const addAgents: AddCommand = (program, terminal, finish) => {
  const command = program
    .command("agents")
    .description("list the sessions of this folder that are running, waiting or interrupted")
    .option("--all", "list the sessions of all folders")
    .option("--json", "print one JSON object per line")
    .addHelpText("after", formatExamples("pawl agents", "pawl agents --all", "pawl agents stop 3f8c"))
    .action(async (options: AgentsOptions) => {
      const { agents } = await import("../commands/agents.js");
      finish(await agents(options, terminal));
    });
  command
    .command("stop")
    .description("end the run of a session, whichever process drives it, as pawl abort does")
    .argument(...sessionArgument)
    .option("--json", "print the result as JSON")
    .addHelpText("after", formatExamples("pawl agents stop 3f8c"))
    .action(async (id: string, _: JsonOption, self: Command) => {
      const { abort } = await import("../commands/abort.js");
      finish(await abort(id, self.optsWithGlobals(), terminal));
    });
  const attach = command
    .command("attach")
    .description("follow a session until its run ends, and answer its questions, as pawl resume does; Ctrl-C leaves it")
    .argument(...sessionArgument)
    .option("--json", "print one JSON event per line");
  addPermissionOptions(addModelOptions(attach))
    .addHelpText("after", `${formatExamples("pawl agents attach 3f8c")}${exitCodeHelp}`)
    .action(async (id: string, _: DriveOptions, self: Command) => {
      const { resume } = await import("../commands/resume.js");
      finish(await resume(id, self.optsWithGlobals(), terminal));
    });
};

const addApprovals: AddCommand = (program, terminal, finish) => {
  program
    .command("approvals")
    .description("list the calls that wait for a person, in all sessions")
    .argument("[id]", "list only this call, or the calls of this session")
    .option("--json", "print one JSON object per line")
    .addHelpText("after", formatExamples("pawl approvals", "pawl approvals 3f8c", "pawl approvals --json | jq -r .id"))
    .action(async (id: string | undefined, options: JsonOption) => {
      const { approvals } = await import("../commands/approvals.js");
      finish(await approvals(id, options, terminal));
    });
};

const callArgument = [
  "<id>",
  "a call's id from pawl approvals (3f8c2a1b/1/2), or its session's id if only one call waits there",
] as const;

const addApprove: AddCommand = (program, terminal, finish) => {
  const command = program
    .command("approve")
    .description("approve a waiting call, or settle a call that was interrupted or runs elsewhere")
    .argument(...callArgument)
    .option("--edit", "edit the input in $VISUAL or $EDITOR first")
    .option("--input <json>", "run the call with this input instead")
    .option("--rerun", "run an interrupted call again")
    .option("--result <text>", "give the result of a call that was interrupted or runs elsewhere")
    .option("--reply <json|text>", "answer the question of a tool")
    .option("--question <name>", "with --reply: which question, if the tool asks several")
    .option("--failed", "record such a call as failed")
    .option("--note <text>", "with --failed: the reason, which the model gets");
  addDecisionOptions(command)
    .addHelpText(
      "after",
      `${formatExamples(
        "pawl approve 3f8c",
        "pawl approve 3f8c/1/2 --edit",
        `pawl approve 3f8c/1/2 --input '{"path":"a.txt","content":"b"}'`,
        "pawl approve 3f8c/1/2 --rerun",
        `pawl approve 3f8c/1/2 --reply '{"account":"DE02"}'`,
        "pawl approve 3f8c --resume --allow-shell",
      )}${answerHelp}`,
    )
    .action(async (id: string, options: AnswerCommandOptions) => {
      const { answer } = await import("../commands/approve-deny.js");
      finish(await answer("approve", id, options, terminal));
    });
};

const addDeny: AddCommand = (program, terminal, finish) => {
  const command = program
    .command("deny")
    .description("deny a waiting call; the model learns why and continues without it")
    .argument(...callArgument)
    .option("--note <text>", "the reason, which the model gets")
    .option("--question <name>", "which question, if a tool asks several");
  addDecisionOptions(command)
    .addHelpText(
      "after",
      `${formatExamples('pawl deny 3f8c --note "Use a branch"', "pawl deny 3f8c/1/2 --resume")}${answerHelp}`,
    )
    .action(async (id: string, options: AnswerCommandOptions) => {
      const { answer } = await import("../commands/approve-deny.js");
      finish(await answer("deny", id, options, terminal));
    });
};

function addDecisionOptions(command: ReturnType<Parameters<AddCommand>[0]["command"]>) {
  command
    .option("--by <name>", "the name recorded with the answer (default: your user name)")
    .option("--hash <hash>", "answer only if the inputHash begins with this, 8 characters or more")
    .option("--resume", "then continue the session, as pawl resume does")
    .option("--json", "print the answer as JSON");
  return addPermissionOptions(addModelOptions(command));
}

const answerHelp = `
Only the first answer counts. A second one changes nothing; pawl then exits
with 0 if both answers agree, and with 2 if they differ.
`;

const addSteer: AddCommand = (program, terminal, finish) => {
  program
    .command("steer")
    .description("send a message to a run in progress; the model gets it with its next call")
    .argument(...sessionArgument)
    .argument("[words...]", "the message (default: read from standard input)")
    .option("--skip-unstarted", "skip the calls that have not started, including calls that wait for an answer")
    .option("--json", "print the message as JSON")
    .addHelpText(
      "after",
      formatExamples(
        'pawl steer 3f8c "Leave the tests alone"',
        'pawl steer 3f8c --skip-unstarted "Do not deploy"',
        "pawl steer 3f8c < hints.txt",
      ),
    )
    .action(async (id: string, words: readonly string[], options: SteerCommandOptions) => {
      const { steer } = await import("../commands/steer.js");
      finish(await steer(id, words, options, terminal));
    });
};

const addFork: AddCommand = (program, terminal, finish) => {
  const command = program
    .command("fork")
    .description("start a new session with a session's history up to an entry")
    .argument(...sessionArgument)
    .option(
      "--at <entry>",
      "the last entry to share, a number from pawl sessions show --numbers (default: the last entry)",
      parsePositive,
    )
    .option("--id <id>", "the id of the new session (default: a random one)")
    .option("--input <text>", "run this task in the new session")
    .option("--json", "print the new id, and the events of a run, as JSON");
  addRunOptions(addPermissionOptions(addModelOptions(command)))
    .addHelpText(
      "after",
      `${formatExamples("pawl fork 3f8c --at 12", 'pawl fork 3f8c --at 12 --input "Do it with a loop instead"', "pawl fork 3f8c --json")}${exitCodeHelp}`,
    )
    .action(async (id: string, options: ForkOptions) => {
      const { fork } = await import("../commands/fork.js");
      finish(await fork(id, options, terminal));
    });
};

const addTrace: AddCommand = (program, terminal, finish) => {
  program
    .command("trace")
    .description("show how long model calls, tools, hooks and waits took in a session")
    .argument("[id]", "the session's id or a prefix of it (default: the latest session of this folder)")
    .option("--run <id>", "show only this run; a prefix of its id is enough")
    .option("--content", "with --json: include messages, inputs and results, with secrets redacted")
    .option("--json", "print one JSON record per line")
    .addHelpText(
      "after",
      formatExamples("pawl trace", "pawl trace 3f8c", "pawl trace 3f8c --json | jq 'select(.type == \"step\")'"),
    )
    .action(async (id: string | undefined, options: TraceCommandOptions) => {
      const { trace } = await import("../commands/trace.js");
      finish(await trace(id, options, terminal));
    });
};

const addWorker: AddCommand = (program, terminal, finish) => {
  const command = program
    .command("worker")
    .description("continue sessions that were answered or interrupted, or whose wait is over")
    .argument("[module]", "a module with agents, as for pawl serve (default: the agent of each session's folder)")
    .option("--once", "exit when no session is due")
    .option("--concurrency <count>", "sessions at the same time", parsePositive, 4)
    .option(
      "--metrics-port <number>",
      "serve Prometheus metrics and /health on this port; 0 takes any free one",
      parsePort,
    )
    .option(
      "--metrics-host <address>",
      "the address of the metrics; any but 127.0.0.1, the default, requires your own token",
    )
    .option("--token-file <path>", "the file with the token for the metrics (default: PAWL_TOKEN, else a new token)")
    .option("--json", "print one JSON event per line");
  addPermissionOptions(command)
    .addHelpText(
      "after",
      `${formatExamples("pawl worker", "pawl worker --once", "pawl worker agents.js", "pawl worker --allow-shell --json >> worker.jsonl")}
Ctrl-C and SIGTERM stop the worker: tools that run have 5 s to finish, and the
exit code is 0. A worker has only the permissions that you give it here, not
those that a run started with.
`,
    )
    .action(async (module: string | undefined, options: WorkerCommandOptions) => {
      const { worker } = await import("../commands/worker.js");
      finish(await worker(module, options, terminal));
    });
};
