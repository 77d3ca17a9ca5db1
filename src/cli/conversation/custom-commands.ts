/**
 * Custom commands: texts in files `commands/NAME.md` beside a person's own `pawl.config.json`, which the person sends by `/NAME`.
 *
 * 1. Only the person's own files count, and none of a folder: what a folder brings is not sent in the person's name.
 * 2. What is sent is shown. It runs nothing: a `!` in it is text, and an `@` names no file.
 * 3. No file takes the place of a command of pawl.
 * 4. The folder and its files are bounded. A file that does not count is told of.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { configurationOf, type Environment } from "../home.js";
import { readSmallText } from "../small-file.js";
import { cut, oneLine } from "../text.js";

export type CustomCommand = {
  readonly name: string;
  /** The first line of the text. */
  readonly about: string;
  readonly text: string;
};

export type CustomCommands = {
  readonly list: readonly CustomCommand[];
  /** The files that do not count, and why. */
  readonly problems: readonly string[];
};

const mostFiles = 100;
const mostBytes = 32 * 1024;
const mostAbout = 100;
const namePattern = /^[a-z0-9][a-z0-9-]{0,39}$/;

/** @param taken the names of pawl's own commands */
export function readCustomCommands(environment: Environment, taken: ReadonlySet<string>): CustomCommands {
  const folder = join(configurationOf(environment), "commands");
  const files = namesIn(folder);
  const list: CustomCommand[] = [];
  const problems: string[] = [];
  if (files.length > mostFiles)
    problems.push(`${folder} has more than ${mostFiles} commands: the first ${mostFiles} by name count.`);
  for (const file of files.slice(0, mostFiles)) {
    const name = file.slice(0, -".md".length);
    const path = join(folder, file);
    const read = readCommand(name, path, taken);
    if (typeof read === "string") problems.push(`${path} is no command: ${read}.`);
    else list.push({ name, ...read });
  }
  return { list, problems: problems.map(oneLine) };
}

/** The text, or why it does not count. */
function readCommand(
  name: string,
  path: string,
  taken: ReadonlySet<string>,
): Pick<CustomCommand, "about" | "text"> | string {
  if (taken.has(name)) return `pawl has a command /${name} of its own`;
  if (!namePattern.test(name)) return "its name is not made of at most 40 small letters, digits and hyphens";
  try {
    const text = readSmallText(path, mostBytes, (why) => new Error(why))?.trim() ?? "";
    if (text === "") return "it is empty";
    return { text, about: cut(oneLine(text.split("\n", 1)[0] ?? "").replace(/^#+\s+/, ""), mostAbout) };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".md"))
      .sort();
  } catch {
    // No folder: no commands.
    return [];
  }
}

/** What is sent: the text with the person's words in the place of `$ARGUMENTS`, or behind it. */
export function textWith({ text }: CustomCommand, words: string): string {
  if (text.includes("$ARGUMENTS")) return text.replaceAll("$ARGUMENTS", () => words);
  return words === "" ? text : `${text}\n\n${words}`;
}
