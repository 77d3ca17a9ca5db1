/**
 * Commands in files: `/NAME` sends the text of `NAME.md` in a folder `commands`, which is next to the person's
 * `pawl.config.json` or in the `.pawl` of a folder.
 *
 * 1. A text runs nothing: a `!` in it is plain text, and an `@` does not name a file.
 * 2. No file replaces a built-in command of pawl.
 * 3. The folder and its files are bounded. A file that is ignored is reported.
 * 4. The files that a folder supplies are read within the folder, also through links.
 */
import { type Dirent, opendirSync } from "node:fs";
import { join, resolve } from "node:path";
import { isCommandName } from "../command-names.js";
import { decodeText, readFolderFile, resolveInFolder } from "../files/folder-file.js";
import { readSmallText } from "../files/small-file.js";
import { toOneLine } from "../terminal/text.js";

export type CommandFile = {
  readonly name: string;
  /** The path as shown to the person. */
  readonly path: string;
  /** The real path. */
  readonly real: string;
  readonly text: string;
};

export type CommandFiles = {
  readonly list: readonly CommandFile[];
  /** Why files are ignored, one string for each. */
  readonly problems: readonly string[];
};

const maxFiles = 100;
const maxEntries = 1_000;
/** The maximum size of a file; bytes. */
const maxBytes = 32 * 1024;
/** The maximum size of all files of a folder; bytes. It is small because a person is shown each file before it applies. */
const maxOfFolder = 256 * 1024;
/** The maximum number of problems that are listed. The others are counted. */
const maxProblems = 5;
const namePattern = /^[a-z0-9][a-z0-9-]{0,39}$/;

/** The folder of the commands within a project folder. */
export const folderCommandsName = ".pawl/commands";

/** Reads the person's own commands, from the folder of their configuration. */
export function readUserCommands(configuration: string): CommandFiles {
  const folder = join(configuration, "commands");
  return readCommands(folder, folder, (path) => {
    const text = readSmallText(path, maxBytes, (why) => new Error(why));
    if (text === null) throw new Error("it leads to no file");
    return { text, real: path };
  });
}

/** Reads the commands that a folder supplies, whether they are trusted or not. */
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

/** @param shownFolder the folder in messages. @param read reads a file of it, and throws an Error that says why it is ignored */
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

/** @throws Error that says why the file is ignored */
function readCommand(name: string, path: string, read: ReadFile): Pick<CommandFile, "text" | "real"> {
  if (isCommandName(name)) throw new Error(`pawl has a command /${name} of its own`);
  if (!namePattern.test(name)) throw new Error("its name must be at most 40 lower-case letters, digits and hyphens");
  const found = read(path);
  if (found.text.trim() === "") throw new Error("it is empty");
  return found;
}

/** The names of the command files, sorted; null if the folder has too many entries. */
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
