/**
 * Reads the Markdown files of a folder that each define one thing by name, such as a command or an agent.
 *
 * 1. The folder and its files are bounded. A file that is ignored is reported.
 * 2. A project's files are read only within the project, even through links, and apply once they are trusted.
 */

import { type Dirent, opendirSync } from "node:fs";
import { join, resolve } from "node:path";
import { getErrorMessage } from "../../core/data/error-message.js";
import { formatNumber } from "../../view/format-number.js";
import { toOneLine } from "../terminal/text.js";
import { decodeText, readFolderFile, resolveInFolder } from "./folder-file.js";
import { readSmallText } from "./small-file.js";

/** A file `NAME.md`. */
export type TextFile = {
  readonly name: string;
  /** The path as shown to the person. */
  readonly path: string;
  /** The real path. */
  readonly real: string;
  readonly text: string;
};

export type TextFiles<File extends TextFile = TextFile> = {
  /** Sorted by the names of the files. */
  readonly list: readonly File[];
  /** Why files are ignored, one string for each. */
  readonly problems: readonly string[];
};

/** What the files of a folder define. */
export type TextFileKind<File extends TextFile> = {
  /** For messages: `a command`. */
  readonly noun: string;
  /** For messages: `commands`. */
  readonly plural: string;
  readonly maxFiles: number;
  /** The maximum size of a file; bytes. */
  readonly maxBytes: number;
  /** The maximum size of all files of a project folder; bytes. It is small because a person is shown each file before it applies. */
  readonly maxTotalBytes: number;
  /** Throws an Error that says why no file may have this name. */
  readonly checkName: (name: string) => void;
  /** Throws an Error that says why the file is ignored. */
  readonly parse: (file: TextFile) => File;
};

const maxEntries = 1_000;
/** The maximum number of problems that are listed. The others are counted. */
const maxProblems = 5;
const extension = ".md";

/** Reads a folder of the person. */
export function readUserTexts<File extends TextFile>(folder: string, kind: TextFileKind<File>): TextFiles<File> {
  return readTexts(folder, folder, kind, (path) => {
    const text = readSmallText(path, kind.maxBytes, (why) => new Error(why));
    if (text === null) throw new Error("it is a broken link");
    return { text, real: path };
  });
}

/**
 * Reads a folder of a project, whether its files are trusted or not.
 * @param root the project
 * @param name the folder's path in the project
 */
export function readProjectTexts<File extends TextFile>(
  root: string,
  name: string,
  kind: TextFileKind<File>,
): TextFiles<File> {
  const { plural, maxBytes, maxTotalBytes } = kind;
  const shownFolder = join(root, name);
  const folder = resolveInFolder(root, name);
  if (folder.type === "missing") return { list: [], problems: [] };
  if (folder.type === "refused")
    return { list: [], problems: [toOneLine(`${shownFolder} has no usable ${plural}: ${folder.why}.`)] };
  let remainingBytes = maxTotalBytes;
  return readTexts(folder.real, shownFolder, kind, (path) => {
    const found = readFolderFile(root, path, maxBytes);
    if (found.type !== "file") throw new Error(found.type === "refused" ? found.why : "it is a broken link");
    if (found.bytes.length > remainingBytes)
      throw new Error(`the ${plural} of the folder have more than ${formatNumber(maxTotalBytes)} bytes`);
    const text = decodeText(found.bytes);
    if (text === null) throw new Error("it is not UTF-8 text");
    remainingBytes -= found.bytes.length;
    return { text, real: resolve(root, found.path) };
  });
}

/** Whether a file belongs to the person or to a project folder. */
type Scope = "user" | "folder";

/** A file, and why it is off; null if it is on. */
export type ResolvedText<File extends TextFile> = File & { readonly scope: Scope; readonly off: string | null };

export type ResolvedTexts<File extends TextFile> = {
  /** The person's files, then those of the folder. */
  readonly all: readonly ResolvedText<File>[];
  /** Why files are ignored, and why trusted ones are off. Files that only wait for trust are not included. */
  readonly problems: readonly string[];
};

/**
 * Decides which files apply: the first trusted one of each name, and the person's own before those of the folder. A file that is not
 * trusted turns no other file off.
 * @param noun for messages: `a command`
 * @param supplied the files of the folder, and whether they are trusted
 */
export function resolveTexts<File extends TextFile>(
  noun: string,
  user: TextFiles<File>,
  folder: TextFiles<File>,
  supplied: readonly { readonly path: string; readonly isTrusted: boolean }[],
): ResolvedTexts<File> {
  const trusted = new Set(supplied.filter(({ isTrusted }) => isTrusted).map(({ path }) => path));
  const replaced: string[] = [];
  const firsts = new Map<string, ResolvedText<File>>();
  const resolveText = (file: File, scope: Scope): ResolvedText<File> => {
    if (scope === "folder" && !trusted.has(file.path))
      return { ...file, scope, off: "its file is not trusted: pawl trust" };
    const first = firsts.get(file.name);
    if (first === undefined) {
      const resolved = { ...file, scope, off: null };
      firsts.set(file.name, resolved);
      return resolved;
    }
    const off =
      scope === "folder" && first.scope === "user"
        ? `you have ${noun} with the same name`
        : `${first.path} has ${noun} with the same name`;
    replaced.push(toOneLine(`${file.path} is off: ${off}.`));
    return { ...file, scope, off };
  };
  return {
    all: [
      ...user.list.map((file) => resolveText(file, "user")),
      ...folder.list.map((file) => resolveText(file, "folder")),
    ],
    problems: [...user.problems, ...folder.problems, ...replaced],
  };
}

/** @param shownFolder the folder in messages. @param read reads a file of it, and throws an Error that says why it is ignored */
function readTexts<File extends TextFile>(
  folder: string,
  shownFolder: string,
  { noun, plural, maxFiles, checkName, parse }: TextFileKind<File>,
  read: (path: string) => Pick<TextFile, "text" | "real">,
): TextFiles<File> {
  const files = listTextFiles(folder);
  if (files === null)
    return {
      list: [],
      problems: [toOneLine(`${shownFolder} has more than ${formatNumber(maxEntries)} files: none of them is read.`)],
    };
  const list: File[] = [];
  const problems: string[] = [];
  if (files.length > maxFiles)
    problems.push(`${shownFolder} has more than ${maxFiles} ${plural}: only the first ${maxFiles} by name are read.`);
  for (const file of files.slice(0, maxFiles)) {
    const path = join(shownFolder, file);
    const name = file.slice(0, -extension.length);
    try {
      checkName(name);
      const found = read(join(folder, file));
      if (found.text.trim() === "") throw new Error("it is empty");
      list.push(parse({ name, path, ...found }));
    } catch (error) {
      problems.push(`${path} is not ${noun}: ${getErrorMessage(error)}.`);
    }
  }
  const reportedProblems = problems.slice(0, maxProblems);
  const more = problems.length - reportedProblems.length;
  return {
    list,
    problems: [
      ...reportedProblems,
      ...(more === 0 ? [] : [`${more} more files of ${shownFolder} are not ${plural}.`]),
    ].map(toOneLine),
  };
}

/** The names of the Markdown files, sorted; null if the folder has too many entries. */
function listTextFiles(folder: string): readonly string[] | null {
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
    // Without a readable folder, there are no files.
    return [];
  }
  return names.filter((name) => name.endsWith(extension)).sort();
}
