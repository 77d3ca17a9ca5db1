/**
 * The commands for people who watch over runs: approvals, answers, steering, forks, and the worker that carries on.
 */
import { type AnswerCommandOptions, answer } from "./commands/answer.js";
import { approvals } from "./commands/approvals.js";
import { type ForkOptions, fork } from "./commands/fork.js";
import { steer } from "./commands/steer.js";
import { type TraceCommandOptions, trace } from "./commands/trace.js";
import { type WorkerCommandOptions, worker } from "./commands/worker.js";
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

type JsonOption = { readonly json?: true };

export const addPeopleCommands: Add = (program, terminal, finish) => {
  for (const add of [addApprovals, addApprove, addDeny, addSteer, addFork, addTrace, addWorker])
    add(program, terminal, finish);
};

const addApprovals: Add = (program, terminal, finish) => {
  program
    .command("approvals")
    .description("list what waits for a person, in all sessions")
    .argument("[id]", "only what waits in this session, or this call")
    .option("--json", "print one JSON object a line")
    .addHelpText("after", examples("pawl approvals", "pawl approvals 3f8c", "pawl approvals --json | jq -r .id"))
    .action(async (id: string | undefined, options: JsonOption) => finish(await approvals(id, options, terminal)));
};

const callArgument = [
  "<id>",
  "the call as pawl approvals names it (3f8c2a1b/1/2), or its session where only one call of it waits",
] as const;

const addApprove: Add = (program, terminal, finish) => {
  const command = program
    .command("approve")
    .description("approve a call that waits, as it is or changed; or answer what its recovery asks")
    .argument(...callArgument)
    .option("--edit", "change its input in $VISUAL or $EDITOR first")
    .option("--input <json>", "run it with this input instead")
    .option("--rerun", "of a call whose outcome is unknown: run it again")
    .option("--result <text>", "of a call whose outcome is unknown, or that runs elsewhere: this is its result")
    .option("--failed", "of such a call: count it as failed")
    .option("--note <text>", "with --failed: why");
  addAnswerOptions(command)
    .addHelpText(
      "after",
      `${examples(
        "pawl approve 3f8c",
        "pawl approve 3f8c/1/2 --edit",
        `pawl approve 3f8c/1/2 --input '{"path":"a.txt","content":"b"}'`,
        "pawl approve 3f8c/1/2 --rerun",
        "pawl approve 3f8c --resume --allow-shell",
      )}${answerHelp}`,
    )
    .action(async (id: string, options: AnswerCommandOptions) =>
      finish(await answer("approve", id, options, terminal)),
    );
};

const addDeny: Add = (program, terminal, finish) => {
  const command = program
    .command("deny")
    .description("deny a call that waits; the model is told, and goes on without it")
    .argument(...callArgument)
    .option("--note <text>", "why: the model is told");
  addAnswerOptions(command)
    .addHelpText(
      "after",
      `${examples('pawl deny 3f8c --note "Use a branch"', "pawl deny 3f8c/1/2 --resume")}${answerHelp}`,
    )
    .action(async (id: string, options: AnswerCommandOptions) => finish(await answer("deny", id, options, terminal)));
};

function addAnswerOptions(command: ReturnType<Parameters<Add>[0]["command"]>) {
  command
    .option("--by <name>", "who decides, for the record (default: the user of this process)")
    .option("--hash <hash>", "answer only if the input still has this inputHash, or one that begins so")
    .option("--resume", "carry the session on at once, as pawl resume does")
    .option("--json", "print the answer as JSON");
  return addPermissions(addModel(command));
}

const answerHelp =
  "\nThe first answer counts. A second one is told so, changes nothing, and ends with 0 where it said the same and with 2 where it did not.\n";

const addSteer: Add = (program, terminal, finish) => {
  program
    .command("steer")
    .description("say something to a run under way; it goes in before the next model call")
    .argument(...sessionArgument)
    .argument("[words...]", "what it is to know; from standard input where it is left out")
    .option("--json", "print what was said as JSON")
    .addHelpText("after", examples('pawl steer 3f8c "Leave the tests alone"', "pawl steer 3f8c < hints.txt"))
    .action(async (id: string, words: readonly string[], options: JsonOption) =>
      finish(await steer(id, words, options, terminal)),
    );
};

const addFork: Add = (program, terminal, finish) => {
  const command = program
    .command("fork")
    .description("make a new session that shares a session's history up to an entry")
    .argument(...sessionArgument)
    .option(
      "--at <entry>",
      "the last entry that is shared, as pawl sessions show --numbers has it (default: the last)",
      positive,
    )
    .option("--id <id>", "the id of the new session (default: a random one)")
    .option("--input <text>", "go on with it: what is to be done")
    .option("--json", "print the new id, and what happens, as JSON");
  addRunOptions(addPermissions(addModel(command)))
    .addHelpText(
      "after",
      `${examples("pawl fork 3f8c --at 12", 'pawl fork 3f8c --at 12 --input "Do it with a loop instead"', "pawl fork 3f8c --json")}${exitCodeHelp}`,
    )
    .action(async (id: string, options: ForkOptions) => finish(await fork(id, options, terminal)));
};

const addTrace: Add = (program, terminal, finish) => {
  program
    .command("trace")
    .description("show what took how long in the runs of a session: model calls, tools, hooks, waiting")
    .argument(...sessionArgument)
    .option("--run <id>", "only this run; the beginning of its id is enough")
    .option("--content", "with --json: what was said and done as well, without the keys in it")
    .option("--json", "print one JSON record a line")
    .addHelpText("after", examples("pawl trace 3f8c", "pawl trace 3f8c --json | jq 'select(.type == \"step\")'"))
    .action(async (id: string, options: TraceCommandOptions) => finish(await trace(id, options, terminal)));
};

const addWorker: Add = (program, terminal, finish) => {
  const command = program
    .command("worker")
    .description("carry on the sessions that are due: answered, cut off, or waited long enough")
    .option("--once", "end when nothing is due any more")
    .option("--concurrency <count>", "sessions side by side", positive, 4)
    .option("--json", "print one JSON event a line");
  addPermissions(command)
    .addHelpText(
      "after",
      `${examples("pawl worker", "pawl worker --once", "pawl worker --allow-shell --json >> worker.jsonl")}
Ctrl-C and SIGTERM let what runs settle, and end with 0. What a run was allowed when it began is not allowed here by itself.\n`,
    )
    .action(async (options: WorkerCommandOptions) => finish(await worker(options, terminal)));
};
