/**
 * Which commands in files there are in a folder: the person's own, and those of the folder, as far as each file is trusted.
 */
import { configurationOf } from "../configuration-folder.js";
import type { Environment } from "../home.js";
import { cut, oneLine } from "../text.js";
import type { FolderTrust } from "../trust/trust.js";
import { type CommandFile, userCommandFiles } from "./command-files.js";

export type CustomCommand = {
  readonly name: string;
  /** The first line of the text. */
  readonly about: string;
  readonly text: string;
  /** Whose file it is. */
  readonly scope: "user" | "folder";
  readonly path: string;
};

/** A command, and why it is off; null: it counts. */
export type CommandInForce = CustomCommand & { readonly off: string | null };

export type CommandsInForce = {
  readonly all: readonly CommandInForce[];
  /** Those that count. */
  readonly list: readonly CustomCommand[];
  /** The files that do not count, and why. What only waits for trust is not among them. */
  readonly problems: readonly string[];
};

const mostAbout = 100;

export function commandsInForce(
  { files, commands }: Pick<FolderTrust, "files" | "commands">,
  environment: Environment = process.env,
): CommandsInForce {
  const user = userCommandFiles(configurationOf(environment));
  const own = new Set(user.list.map(({ name }) => name));
  const trusted = new Set(files.filter(({ isTrusted }) => isTrusted).map(({ path }) => path));
  const all = [
    ...user.list.map((file) => command(file, "user", null)),
    ...commands.list.map((file) => {
      const shadowed = own.has(file.name) ? "you have a command of this name yourself" : null;
      return command(file, "folder", trusted.has(file.path) ? shadowed : "its file is not trusted: pawl trust");
    }),
  ];
  const shadowed = all.filter(({ scope, off, path }) => scope === "folder" && off !== null && trusted.has(path));
  return {
    all,
    list: all.filter(({ off }) => off === null),
    problems: [
      ...user.problems,
      ...commands.problems,
      ...shadowed.map(({ path, off }) => oneLine(`${path} is off: ${off}.`)),
    ],
  };
}

function command({ name, path, text }: CommandFile, scope: "user" | "folder", off: string | null): CommandInForce {
  const [first = ""] = text.trim().split("\n", 1);
  return { name, about: cut(oneLine(first).replace(/^#+\s+/, ""), mostAbout), text: text.trim(), scope, path, off };
}

/** What is sent: the text with the person's words in the place of `$ARGUMENTS`, or behind it. */
export function textWith({ text }: Pick<CustomCommand, "text">, words: string): string {
  if (text.includes("$ARGUMENTS")) return text.replaceAll("$ARGUMENTS", () => words);
  return words === "" ? text : `${text}\n\n${words}`;
}

/** For `pawl config`. It may have control characters. */
export function commandLine({ name, path, about, off }: CommandInForce): string {
  return `command  /${name}  ${about}  (${path})${off === null ? "" : `  off: ${off}`}`;
}

/** For programs. */
export function commandRecord({ name, scope, path, about, off }: CommandInForce) {
  return { name, scope, path, about, ...(off === null ? { on: true } : { on: false, why: off }) };
}
