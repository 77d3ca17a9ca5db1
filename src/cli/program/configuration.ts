/**
 * The commands `pawl config`, `pawl trust` and `pawl hooks`.
 */
import type { Command } from "commander";
import type { ConfigOptions } from "../commands/config.js";
import type { HooksOptions } from "../commands/hooks.js";
import type { TrustOptions } from "../commands/trust.js";
import { settingNames } from "../configuration/configuration.js";
import { type AddCommand, formatExamples } from "./options.js";

export const addConfigurationCommands: AddCommand = (program, terminal, finish) => {
  for (const add of [addConfig, addTrust, addHooks]) add(program, terminal, finish);
};

const addConfig: AddCommand = (program, terminal, finish) => {
  const command = program
    .command("config")
    .description("show your settings and this folder's from pawl.config.json, and which file each comes from")
    .option("--root <folder>", "the folder (default: the current folder)")
    .option("--json", "print it as JSON")
    .addHelpText(
      "after",
      formatExamples("pawl config", "pawl config get model", "pawl config set model demo", "pawl config check"),
    )
    .action(async (options: ConfigOptions) => {
      const { config } = await import("../commands/config.js");
      finish(config(options, terminal));
    });
  // Commander passes options after a command's name only to that command.
  const addSubcommand = (name: string, description: string) =>
    command
      .command(name)
      .description(description)
      .option("--root <folder>", "the folder (default: the current folder)")
      .option("--json", "print it as JSON");
  addSubcommand("get", "print one setting")
    .argument("<key>", settingNames.join(", "))
    .addHelpText("after", formatExamples("pawl config get limits.maxCostUsd"))
    .action(async (key: string, _: unknown, self: Command) => {
      const { get } = await import("../commands/config.js");
      finish(get(key, self.optsWithGlobals(), terminal));
    });
  const folderOption = [
    "--folder",
    "use the folder's file, shared by everyone who works on it, instead of yours",
  ] as const;
  const projectOption = ["--project", "use your private file for this folder"] as const;
  addSubcommand("set", "set a value in your file; an invalid value is not written")
    .argument("<key>", settingNames.join(", "))
    .argument("<value>", "the value")
    .option(...folderOption)
    .option(...projectOption)
    .addHelpText("after", formatExamples("pawl config set model demo", "pawl config set limits.maxCostUsd 5 --folder"))
    .action(async (key: string, value: string, _: unknown, self: Command) => {
      const { set } = await import("../commands/config-change.js");
      finish(set(key, value, self.optsWithGlobals(), terminal));
    });
  addSubcommand("unset", "remove a setting from your file, and show what applies without it")
    .argument("<key>", settingNames.join(", "))
    .option(...folderOption)
    .option(...projectOption)
    .addHelpText("after", formatExamples("pawl config unset model", "pawl config unset limits.maxCostUsd --folder"))
    .action(async (key: string, _: unknown, self: Command) => {
      const { unset } = await import("../commands/config-change.js");
      finish(unset(key, self.optsWithGlobals(), terminal));
    });
  addSubcommand("edit", "open your file in VISUAL or EDITOR; an invalid file is not written")
    .option(...folderOption)
    .option(...projectOption)
    .addHelpText("after", formatExamples("pawl config edit", "pawl config edit --folder"))
    .action(async (_: unknown, self: Command) => {
      const { edit } = await import("../commands/config-change.js");
      finish(await edit(self.optsWithGlobals(), terminal));
    });
  addSubcommand("path", "print the paths of the files: yours, the folder's, and yours for this folder")
    .addHelpText("after", formatExamples("pawl config path"))
    .action(async (_: unknown, self: Command) => {
      const { path } = await import("../commands/config.js");
      finish(path(self.optsWithGlobals(), terminal));
    });
  addSubcommand("check", "check all files and report what is invalid")
    .addHelpText("after", formatExamples("pawl config check"))
    .action(async (_: unknown, self: Command) => {
      const { check } = await import("../commands/config.js");
      finish(check(self.optsWithGlobals(), terminal));
    });
};

const addTrust: AddCommand = (program, terminal, finish) => {
  program
    .command("trust")
    .description("review the files that the folder brings, and trust exactly their current content")
    .option("--root <folder>", "the folder (default: the current folder)")
    .option("--show", "show the files, whether they are trusted, and the hash")
    .option("--revoke", "stop trusting them")
    .option("--hash <hash>", "trust them without a prompt, if their hash is exactly this")
    .option("--sandbox", "run their MCP servers in the sandbox")
    .option("--json", "print the outcome as JSON")
    .addHelpText(
      "after",
      formatExamples("pawl trust", "pawl trust --show", "pawl trust --hash 5f2c…", "pawl trust --revoke"),
    )
    .action(async (options: TrustOptions) => {
      const { trust } = await import("../commands/trust.js");
      finish(await trust(options, terminal));
    });
};

const addHooks: AddCommand = (program, terminal, finish) => {
  const command = program
    .command("hooks")
    .description("list the hooks of your hooks.json and of this folder's, and why some are off")
    .option("--root <folder>", "the folder (default: the current folder)")
    .option("--json", "print them as JSON")
    .addHelpText("after", formatExamples("pawl hooks", "pawl hooks import"))
    .action(async (options: HooksOptions) => {
      const { list } = await import("../commands/hooks.js");
      finish(list(options, terminal));
    });
  command
    .command("import")
    .description("copy the hooks of .claude/settings.json, in the folder and in your home, after you have seen them")
    .option("--root <folder>", "the folder (default: the current folder)")
    .addHelpText("after", formatExamples("pawl hooks import"))
    .action(async (_: HooksOptions, self: Command) => {
      const { importHooks } = await import("../commands/hooks.js");
      finish(await importHooks(self.optsWithGlobals(), terminal));
    });
};
