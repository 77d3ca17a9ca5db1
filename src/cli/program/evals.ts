/**
 * The commands `pawl eval` and `pawl eval add`.
 */
import { Option } from "commander";
import type { EvalCommandOptions } from "../commands/eval.js";
import type { EvalAddOptions } from "../commands/eval-add.js";
import {
  type AddCommand,
  collectOption,
  formatExamples,
  parseDollarsOption,
  parsePositive,
  sessionArgument,
} from "./options.js";

export const addEval: AddCommand = (program, terminal, finish) => {
  const command = program
    .command("eval")
    .description("play recorded sessions with the current code and judge them; tool results come from the recording")
    .argument("[file...]", "*.eval.ts or *.eval.js (default: all under evals)")
    .addOption(
      new Option("--play <what>", "run: the whole agent; steps: the model at each recorded step").choices([
        "run",
        "steps",
      ]),
    )
    .option("--repeat <count>", "how often to play each case (default: the eval's setting, else once)", parsePositive)
    .option("--concurrency <count>", "how many trials to play at the same time (default: 4)", parsePositive)
    .option("--budget <dollars>", "stop calling models once this much is spent", parseDollarsOption)
    .option("--offline", "use stored answers only")
    .addOption(new Option("--fresh", "call the models again, and replace the stored answers").conflicts("offline"))
    .option("--case <name or tag>", "play only these cases; repeatable", collectOption)
    .option("--baseline <file>", "compare with this report (default: baseline/NAME.json next to the eval)")
    .option("--save <file>", "write the report; --save baseline makes it the baseline")
    .option("--junit <file>", "write the reports as JUnit XML")
    .option("--strict", "fail if any case that passed in the baseline fails now, even by chance")
    .option("--keep-logs", "keep the logs of the trials, for the Evals page of pawl ui")
    .addOption(new Option("--watch", "play again whenever a file of this folder changes").conflicts(["save", "junit"]))
    .option("--json", "print the report as JSON")
    .addHelpText(
      "after",
      `${formatExamples(
        "pawl eval",
        "pawl eval evals/desk.eval.ts --repeat 3 --budget 2",
        "pawl eval --save baseline",
        "pawl eval add 3f8c --name refund-twice --hide name",
      )}
Exit codes: 0 passed, or not worse than the baseline; 2 usage, or a file that
cannot be loaded; 4 the budget ran out before all trials; 5 failed, a broken
rule, or worse than the baseline; 130 stopped.
`,
    )
    .action(async (files: readonly string[], options: EvalCommandOptions) => {
      const { evalFiles } = await import("../commands/eval.js");
      finish(await evalFiles(files, options, terminal));
    });
  addEvalAdd(command, terminal, finish);
};

const addEvalAdd: AddCommand = (command, terminal, finish) => {
  command
    .command("add")
    .description("create a case from a recorded session, with personal data replaced")
    .argument(...sessionArgument)
    .option(
      "--at <entry>",
      "take everything up to this log entry from the recording, and call the model from there on",
      parsePositive,
    )
    .option("--name <name>", "the name of the case (default: the beginning of the id)")
    .option("--to <folder>", "the folder to write the case to (default: evals/cases)")
    .option("--tag <tag>", "a tag to select the case by; repeatable", collectOption)
    .option("--hide <member>", "replace the values of this JSON member wherever they occur; repeatable", collectOption)
    .option(
      "--outside <tool>",
      'keep a tool of an MCP server or plugin, or all of "calendar_*"; repeatable',
      collectOption,
    )
    .option("--force", "replace a case with the same name")
    .option("--json", "print what was written as JSON")
    .addHelpText(
      "after",
      `${formatExamples("pawl eval add 3f8c", "pawl eval add 3f8c --at 57 --name refund --tag billing --hide name")}
Exit codes: 0 written; 2 usage, or a session without a finished run.
`,
    )
    .action(async (id: string, _: unknown, self) => {
      const { evalAdd } = await import("../commands/eval-add.js");
      finish(await evalAdd(id, self.optsWithGlobals() as EvalAddOptions, terminal));
    });
};
