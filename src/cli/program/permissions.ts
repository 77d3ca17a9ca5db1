/**
 * The command `pawl permissions` with its subcommands.
 */
import type { Command } from "commander";
import type { PermissionsOptions } from "../commands/permissions.js";
import { type AddCommand, formatExamples } from "./options.js";

const ruleHelp = `
Rules:
  shell(npm test *)        npm test with any arguments; without *, only npm test
  edit_file(src/**)        a path: * and ? within a name, ** for any folders
  fetch_url(*.npmjs.org)   a host, or the hosts below it
  reach(npm)               hosts that sandboxed commands can reach
  outside(npm publish)     exactly this command line, outside the sandbox
  todo                     every call of this tool
Deny beats ask, and ask beats allow, even if the allow rule is more specific.
`;

export const addPermissionCommands: AddCommand = (program, terminal, finish) => {
  const command = program
    .command("permissions")
    .description("list the rules that allow, ask and deny calls in this folder")
    .option("--root <folder>", "the folder (default: the current folder)")
    .option("--json", "print one JSON object per line")
    .addHelpText(
      "after",
      `${ruleHelp}${formatExamples("pawl permissions", 'pawl permissions add allow "shell(npm test *)"', 'pawl permissions test "git status && rm -rf ."')}`,
    )
    .action(async (options: PermissionsOptions) => {
      const { list } = await import("../commands/permissions.js");
      finish(list(options, terminal));
    });
  const addSubcommand = (text: string, description: string) => command.command(text).description(description);
  addSubcommand("add", "store a rule, for this folder unless you set --user")
    .argument("<verdict>", "allow, ask or deny")
    .argument("<rule>", "the rule, in quotes")
    .option("--user", "the rule applies in every folder")
    .addHelpText("after", `${ruleHelp}${formatExamples('pawl permissions add deny "read_file(**/.env*)" --user')}`)
    .action(async (verdict: string, rule: string, _: unknown, self: Command) => {
      const { add } = await import("../commands/permissions.js");
      finish(await add(verdict, rule, self.optsWithGlobals(), terminal));
    });
  addSubcommand("remove", "remove a rule, also for runs in progress")
    .argument("<rule>", "the rule as it is listed, in quotes")
    .addHelpText("after", formatExamples('pawl permissions remove "shell(npm test *)"'))
    .action(async (rule: string, _: unknown, self: Command) => {
      const { remove } = await import("../commands/permissions.js");
      finish(await remove(rule, self.optsWithGlobals(), terminal));
    });
  addSubcommand("test", "show what the rules decide about a command line")
    .argument("<line>", "a shell command line, in quotes")
    .addHelpText("after", formatExamples('pawl permissions test "npm test && git push"'))
    .action(async (line: string, _: unknown, self: Command) => {
      const { test } = await import("../commands/permissions.js");
      finish(await test(line, self.optsWithGlobals(), terminal));
    });
};
