/**
 * Texts in files `NAME.md` of a folder `commands`, which a person sends by `/NAME`: beside their own `pawl.config.json`, and in the
 * `.pawl` of a folder.
 *
 * 1. A text runs nothing: a `!` in it is text, and an `@` names no file.
 * 2. No file takes the place of a command of pawl.
 * 3. The folder and its files are bounded. A file that does not count is told of.
 * 4. What a folder brings is read within the folder, also through links.
 */
import { type Dirent, opendirSync } from "node:fs";
import { join, resolve } from "node:path";
import { isCommandName } from "../command-names.js";
import { decodeText, readFolderFile, resolveInFolder } from "../files/folder-file.js";
import { readSmallText } from "../files/small-file.js";
import { toOneLine } from "../terminal/text.js";

export type CommandFile = {
  readonly name: string;
  /** Where it is named. */
  readonly path: string;
  /** Where its bytes are. */
  readonly real: string;
  readonly text: string;
};

export type CommandFiles = {
  readonly list: readonly CommandFile[];
  /** The files that do not count, and why. */
  readonly problems: readonly string[];
};

const maxFiles = 100;
const maxEntries = 1_000;
/** Bytes of a file. */
const maxBytes = 32 * 1024;
/** Bytes of all files of a folder: a person is shown each of them before it counts. */
const maxOfFolder = 256 * 1024;
/** The others are counted. */
const maxProblems = 5;
const namePattern = /^[a-z0-9][a-z0-9-]{0,39}$/;

/** Where a folder has its commands. */
export const folderCommandsName = ".pawl/commands";

/** The person's own, in the folder of their configuration. */
export function readUserCommands(configuration: string): CommandFiles {
  const folder = join(configuration, "commands");
  return readCommands(folder, folder, (path) => {
    const text = readSmallText(path, maxBytes, (why) => new Error(why));
    if (text === null) throw new Error("it leads to no file");
    return { text, real: path };
  });
}

/** Those that a folder brings. Nothing is said here of whether they count. */
export function readFolderCommands(root: string): CommandFiles {
  const shownFolder = join(root, folderCommandsName);
  const folder = resolveInFolder(root, folderCommandsName);
  if (folder.type === "missing") return { list: [], problems: [] };
  if (folder.type === "refused")
    return { list: [], problems: [toOneLine(`${shownFolder} brings no commands: ${folder.why}.`)] };
  let remainingBytes = maxOfFolder;
  return readCommands(folder.real, shownFolder, (path) => {
    const found = readFolderFile(root, path, maxBytes);
    if (found.type !== "file") throw new Error(found.type === "refused" ? found.why : "it leads to no file");
    if (found.bytes.length > remainingBytes)
      throw new Error(`the commands of the folder have more than ${maxOfFolder.toLocaleString("en-US")} bytes`);
    const text = decodeText(found.bytes);
    if (text === null) throw new Error("it is no text in UTF-8");
    remainingBytes -= found.bytes.length;
    return { text, real: resolve(root, found.path) };
  });
}

type ReadFile = (path: string) => Pick<CommandFile, "text" | "real">;

/** @param shownFolder the folder as it is named. @param read a file of it. @throws Error that says why it does not count */
function readCommands(folder: string, shownFolder: string, read: ReadFile): CommandFiles {
  const files = listCommandFiles(folder);
  if (files === null)
    return {
      list: [],
      problems: [
        toOneLine(`${shownFolder} has more than ${maxEntries.toLocaleString("en-US")} files: none of them counts.`),
      ],
    };
  const list: CommandFile[] = [];
  const problems: string[] = [];
  if (files.length > maxFiles)
    problems.push(`${shownFolder} has more than ${maxFiles} commands: the first ${maxFiles} by name count.`);
  for (const file of files.slice(0, maxFiles)) {
    const path = join(shownFolder, file);
    const name = file.slice(0, -".md".length);
    try {
      list.push({ name, path, ...readCommand(name, join(folder, file), read) });
    } catch (error) {
      problems.push(`${path} is no command: ${error instanceof Error ? error.message : String(error)}.`);
    }
  }
  const reportedProblems = problems.slice(0, maxProblems);
  const more = problems.length - reportedProblems.length;
  return {
    list,
    problems: [
      ...reportedProblems,
      ...(more === 0 ? [] : [`${more} more files of ${shownFolder} are no commands.`]),
    ].map(toOneLine),
  };
}

/** @throws Error that says why it does not count */
function readCommand(name: string, path: string, read: ReadFile): Pick<CommandFile, "text" | "real"> {
  if (isCommandName(name)) throw new Error(`pawl has a command /${name} of its own`);
  if (!namePattern.test(name)) throw new Error("its name is not made of at most 40 small letters, digits and hyphens");
  const found = read(path);
  if (found.text.trim() === "") throw new Error("it is empty");
  return found;
}

/** The files of commands, by name; null if there are too many to look at. */
function listCommandFiles(folder: string): readonly string[] | null {
  const names: string[] = [];
  try {
    const entries = opendirSync(folder);
    try {
      for (let entry: Dirent | null = entries.readSync(); entry !== null; entry = entries.readSync()) {
        if (names.length === maxEntries) return null;
        names.push(entry.name);
      }
    } finally {
      entries.closeSync();
    }
  } catch {
    // No folder: no commands.
    return [];
  }
  return names.filter((name) => name.endsWith(".md")).sort();
}
