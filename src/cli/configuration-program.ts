/**
 * The commands `pawl config` and `pawl trust`.
 */
import type { Command } from "commander";
import * as config from "./commands/config.js";
import { type TrustOptions, trust } from "./commands/trust.js";
import { type Add, examples } from "./options.js";

export const addConfigurationCommands: Add = (program, terminal, finish) => {
  for (const add of [addConfig, addTrust]) add(program, terminal, finish);
};

const addConfig: Add = (program, terminal, finish) => {
  const command = program
    .command("config")
    .description("show what pawl.config.json sets, for you and in this folder, and where it is from")
    .option("--root <folder>", "the folder (default: this one)")
    .option("--json", "print it as JSON")
    .addHelpText("after", examples("pawl config", "pawl config get model", "pawl config check"))
    .action(async (options: config.ConfigOptions) => finish(config.config(options, terminal)));
  command
    .command("get")
    .description("print one setting")
    .argument("<key>", "model, or limits.maxSteps, limits.maxTokens, limits.maxCostUsd, limits.maxWallClockMs")
    .addHelpText("after", examples("pawl config get limits.maxCostUsd"))
    .action(async (key: string, _: unknown, self: Command) =>
      finish(config.get(key, self.optsWithGlobals(), terminal)),
    );
  command
    .command("path")
    .description("print where the files are: yours, then the folder's")
    .addHelpText("after", examples("pawl config path"))
    .action(async (_: unknown, self: Command) => finish(config.path(self.optsWithGlobals(), terminal)));
  command
    .command("check")
    .description("read all files, and say what cannot be used")
    .addHelpText("after", examples("pawl config check"))
    .action(async (_: unknown, self: Command) => finish(config.check(self.optsWithGlobals(), terminal)));
};

const addTrust: Add = (program, terminal, finish) => {
  program
    .command("trust")
    .description("look at the folder's pawl.config.json, and let it count exactly as it is now")
    .option("--root <folder>", "the folder (default: this one)")
    .option("--show", "show the file, whether it is trusted, and its hash")
    .option("--revoke", "trust it no more")
    .option("--hash <hash>", "trust it without being asked, if it has exactly this hash")
    .option("--json", "print the outcome as JSON")
    .addHelpText("after", examples("pawl trust", "pawl trust --show", "pawl trust --hash 5f2c…", "pawl trust --revoke"))
    .action(async (options: TrustOptions) => finish(await trust(options, terminal)));
};
