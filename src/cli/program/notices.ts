/**
 * The commands of notices: `pawl notices list`, `retry` and `remove`.
 */
import { type AddCommand, exitCodeHelp, formatExamples, parsePositive } from "./options.js";

export const addNotices: AddCommand = (program, terminal, finish) => {
  const command = program
    .command("notices")
    .description("list the webhooks that a worker could not deliver, and deliver them again")
    .addHelpText("after", formatExamples("pawl notices list --dead", "pawl notices retry 7"));
  command
    .command("list")
    .description("list the notices that no destination has acknowledged, and why")
    .option("--dead", "list only notices that are no longer retried")
    .option("--json", "print one line of JSON for each notice")
    .addHelpText("after", formatExamples("pawl notices list --dead"))
    .action(async (options: { readonly dead?: true; readonly json?: true }) => {
      const { list } = await import("../commands/notices.js");
      finish(await list(options, terminal));
    });
  for (const [name, description] of changes)
    command
      .command(name)
      .description(description)
      .argument("<number>", "the notice's number in the list", parsePositive)
      .addHelpText("after", `${formatExamples(`pawl notices ${name} 7`)}${exitCodeHelp}`)
      .action(async (number: number) => {
        const { change } = await import("../commands/notices.js");
        finish(await change(name, number, terminal));
      });
};

const changes = [
  ["retry", "deliver a dead notice again, with a full set of attempts"],
  ["remove", "remove a notice without delivering it"],
] as const;
