/**
 * The command files that apply in a folder: the person's own, and those of the folder that are trusted.
 */
import { resolveUserConfigurationFolder } from "../files/configuration-folder.js";
import type { Environment } from "../files/store-location.js";
import { type ResolvedText, resolveTexts } from "../files/text-folder.js";
import { toOneLine, truncate } from "../terminal/text.js";
import type { FolderTrust } from "../trust/trust.js";
import { type CommandFile, readUserCommands } from "./command-files.js";

export type CustomCommand = {
  readonly name: string;
  /** The first line of the text. */
  readonly about: string;
  readonly text: string;
  /** Whether the file belongs to the person or to the folder. */
  readonly scope: "user" | "folder";
  readonly path: string;
};

/** A command, and why it is off; null if it is on. */
export type ResolvedCommand = CustomCommand & { readonly off: string | null };

export type ResolvedCommands = {
  readonly all: readonly ResolvedCommand[];
  /** The commands that are on. */
  readonly list: readonly CustomCommand[];
  /** Why files are ignored. Files that only wait for trust are not included. */
  readonly problems: readonly string[];
};

const maxAbout = 100;

export function resolveCommands(
  { files, commands }: Pick<FolderTrust, "files" | "commands">,
  environment: Environment = process.env,
): ResolvedCommands {
  const user = readUserCommands(resolveUserConfigurationFolder(environment));
  const resolved = resolveTexts("a command", user, commands, files);
  const all = resolved.all.map(toResolvedCommand);
  return { all, list: all.filter(({ off }) => off === null), problems: resolved.problems };
}

function toResolvedCommand({ name, path, text, scope, off }: ResolvedText<CommandFile>): ResolvedCommand {
  const [first = ""] = text.trim().split("\n", 1);
  const about = truncate(toOneLine(first).replace(/^#+\s+/, ""), maxAbout);
  return { name, about, text: text.trim(), scope, path, off };
}

/** The text to send: the person's words replace `$ARGUMENTS`, or are appended if the text does not have it. */
export function expandCommand({ text }: Pick<CustomCommand, "text">, words: string): string {
  if (text.includes("$ARGUMENTS")) return text.replaceAll("$ARGUMENTS", () => words);
  return words === "" ? text : `${text}\n\n${words}`;
}

/** Formats a command for `pawl config`. The result may have control characters. */
export function formatCommand({ name, path, about, off }: ResolvedCommand): string {
  return `command  /${name}  ${about}  (${path})${off === null ? "" : `  off: ${off}`}`;
}

/** The command as JSON, for programs. */
export function toCommandRecord({ name, scope, path, about, off }: ResolvedCommand) {
  return { name, scope, path, about, ...(off === null ? { on: true } : { on: false, why: off }) };
}
