/**
 * Commands in files: `/NAME` sends the text of `NAME.md` in a folder `commands`, which is next to the person's
 * `pawl.config.json` or in the `.pawl` of a folder.
 *
 * 1. The text of a command runs nothing: a `!` in it is plain text, and an `@` does not name a file.
 * 2. No file can override a built-in command of pawl.
 */
import { join } from "node:path";
import { isCommandName } from "../command-names.js";
import {
  readProjectTexts,
  readUserTexts,
  type TextFile,
  type TextFileKind,
  type TextFiles,
} from "../files/text-folder.js";

export type CommandFile = TextFile;
export type CommandFiles = TextFiles<CommandFile>;

const namePattern = /^[a-z0-9][a-z0-9-]{0,39}$/;

const commandKind: TextFileKind<CommandFile> = {
  noun: "a command",
  plural: "commands",
  maxFiles: 100,
  maxBytes: 32 * 1024,
  maxTotalBytes: 256 * 1024,
  checkName(name) {
    if (isCommandName(name)) throw new Error(`/${name} is a built-in command`);
    if (!namePattern.test(name)) throw new Error("its name must be at most 40 lower-case letters, digits and hyphens");
  },
  parse: (file) => file,
};

/** The folder of the commands within a project folder. */
export const folderCommandsName = ".pawl/commands";

/** Reads the person's own commands, from the folder of their configuration. */
export function readUserCommands(configuration: string): CommandFiles {
  return readUserTexts(join(configuration, "commands"), commandKind);
}

/** Reads the commands that a folder supplies, whether they are trusted or not. */
export function readFolderCommands(root: string): CommandFiles {
  return readProjectTexts(root, folderCommandsName, commandKind);
}
