/**
 * Which commands run without a question because they only read: a built-in list, by what each of them was seen to do.
 *
 * 1. A command on the list writes nothing, starts nothing, and reads nothing outside of the root or that a rule closes.
 * 2. Its program is one of the system, not a file of the folder that has the same name.
 */
import { realpathSync, statSync } from "node:fs";
import { basename, isAbsolute, join, resolve } from "node:path";
import { commandOf } from "./command-pattern.js";
import { matchingFiles } from "./file-patterns.js";
import { lookAtGit } from "./git-folder.js";
import {
  isGitReading,
  isOption,
  type KnownCommand,
  knownCommand,
  onlyFinds,
  onlyPrintsLines,
  readsExactly,
  takesOperands,
} from "./programs.js";
import { followPath, maxPathCharacters } from "./real-path.js";
import type { PlainCommand } from "./shell-line.js";
import { findProgram, isIn } from "./system-program.js";

export type ReadingPlace = {
  /** A real path. */
  readonly root: string;
  /** Whether a rule closes a path to what reads. */
  readonly isClosed: (path: string) => boolean;
  /** Whether rules close any path. */
  readonly closesSome: boolean;
  /** The names of the commands that may run unasked: `ls`, `git status`. */
  readonly names: ReadonlySet<string>;
};

/** Whether a command only reads, and only what it may. */
export async function onlyReads(command: PlainCommand, place: ReadingPlace): Promise<boolean> {
  const words = commandOf(command.words);
  const [program = "", ...given] = words;
  if (command.words[0] !== program || !isOfSystem(program, place.root)) return false;
  const reads = readingOf(words);
  if (reads === null || !place.names.has(reads.name)) return false;
  const removed = command.words.length - words.length;
  const further = given.slice(reads.skipped);
  const patterns = new Set([...command.patterns].map((at) => at - removed - 1 - reads.skipped));
  if (!optionsOnlyRead(reads, further, patterns)) return false;
  if (readsBelow(reads, further) && place.closesSome) return false;
  const folder = join(place.root, command.folder);
  const isListing = reads.what === "below" || listing.test(reads.name) || readsBelow(reads, further);
  const folders = reads.followsLinks ? "refused" : isListing ? "read" : "not read";
  const mayName = (path: string) => mayRead(path, folder, place, folders);
  if (!readsInputsBelow(command, place)) return false;
  const paths = reads.what === "nothing" ? [] : further.filter((_, at) => !patterns.has(at)).flatMap(pathsInWord);
  if (!paths.every(mayName)) return false;
  if (![...patterns].every((at) => mayMatch(further[at] ?? "", folder, place, folders))) return false;
  if (program !== "git" || reads.name.endsWith("version")) return true;
  const { risk, isBelow } = await lookAtGit(folder, place.root);
  return risk === null && isBelow;
}

/** Whether the files that a command gets as its input are ones that it may read. */
export function readsInputsBelow({ inputs, folder }: PlainCommand, place: ReadingPlace): boolean {
  return inputs.every((path) => mayRead(path, join(place.root, folder), place, "not read"));
}

type Reading = NonNullable<KnownCommand["reads"]> & {
  readonly name: string;
  readonly known: Omit<KnownCommand, "words">;
  /** How many of the arguments are part of its name. */
  readonly skipped: number;
};

const noOptions = { letters: "", names: [] };
const plain = { strays: noOptions, below: noOptions, followsLinks: false, known: { never: noOptions } };

function readingOf(words: readonly string[]): Reading | null {
  const [program = "", ...given] = words;
  if (readsExactly(words)) return { ...plain, what: "nothing", name: words.join(" "), skipped: given.length };
  if (program === "find" && onlyFinds(given)) return { ...plain, what: "below", name: "find", skipped: 0 };
  if (program === "sed" && onlyPrintsLines(given)) return { ...plain, what: "names", name: "sed -n", skipped: 2 };
  const known = knownCommand(words);
  if (known?.reads === undefined) return null;
  return { ...known.reads, known, name: known.words.join(" "), skipped: known.words.length - 1 };
}

/** Reads folders, not only files. */
const listing = /^(ls|stat|realpath|readlink|file|git .*)$/;

function optionsOnlyRead(reads: Reading, further: readonly string[], patterns: ReadonlySet<number>): boolean {
  const { never, maxOperands } = reads.known;
  const end = further.indexOf("--");
  const options = (end === -1 ? further : further.slice(0, end)).filter((word) => word.startsWith("-"));
  if (options.some((word) => isOption(never, word) || isOption(reads.strays, word))) return false;
  // A name that looks like an option may come up after the names were looked at.
  const hasOptions = never.letters !== "" || never.names.length > 0 || reads.name === "find";
  const mayBeOption = (word: string, at: number) =>
    hasOptions && patterns.has(at) && /^[*?[-]/.test(word) && (end === -1 || at < end);
  if (further.some(mayBeOption)) return false;
  return (maxOperands === undefined || patterns.size === 0) && takesOperands(reads.known, further);
}

function readsBelow(reads: Reading, further: readonly string[]): boolean {
  return reads.what === "below" || further.some((word) => isOption(reads.below, word));
}

/** What of an argument may be a path: all of it, what follows `=` or `:`, and what may be attached to a letter. */
export function pathsInWord(word: string): readonly string[] {
  const attached = /^-[^-]./.test(word) ? attachedTo(word) : [];
  return [word, ...word.split(/[=:]/).slice(1), ...attached].filter((path) => path !== "");
}

const maxLetters = 32;

function attachedTo(word: string): readonly string[] {
  return Array.from({ length: Math.min(word.length, maxLetters) - 2 }, (_, at) => word.slice(at + 2));
}

/** What a program does with a folder that is named to it. */
type Folders = "read" | "not read" | "refused";

/** Most programs open a path as it is. A few, such as Git, normalise it before. */
function mayRead(path: string, folder: string, place: ReadingPlace, folders: Folders): boolean {
  const paths = new Set([followPath(folder, path), resolve(folder, path)]);
  return [...paths].every((absolute) => mayOpen(absolute, place, folders));
}

function mayOpen(absolute: string, { root, isClosed }: ReadingPlace, folders: Folders): boolean {
  if (absolute === "/dev/null") return true;
  if (isClosed(absolute)) return false;
  try {
    const real = realpathSync(absolute);
    if (isIn(root, real)) return folders !== "refused" || !statSync(real).isDirectory();
    return folders === "not read" && statSync(real).isDirectory();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    // Nothing can be read where nothing is. From a folder deep below, a path may be short enough that is too long from the root.
    if (code === "ENAMETOOLONG") return Buffer.byteLength(absolute) < maxPathCharacters;
    return code === "ENOENT" || code === "ENOTDIR";
  }
}

function mayMatch(pattern: string, folder: string, place: ReadingPlace, folders: Folders): boolean {
  const ofEach = folders === "refused" ? folders : "read";
  if (isAbsolute(pattern) || pattern.split("/").includes("..")) return false;
  // A pattern that matches nothing is passed as it is.
  if (!mayRead(pattern, folder, place, ofEach)) return false;
  const found = matchingFiles(pattern, folder);
  const mayBeOption = (path: string) =>
    /^[*?[]/.test(pattern) && basename(path).startsWith("-") && !pattern.includes("/");
  return found?.every((path) => !mayBeOption(path) && mayRead(path, folder, place, ofEach)) === true;
}

const builtins: ReadonlySet<string> = new Set(["echo", "pwd", "true", "false"]);

function isOfSystem(program: string, root: string): boolean {
  return builtins.has(program) || findProgram(program, root)?.isBelow === false;
}

/** Why a command that a rule allows may run programs that the folder names; null if it cannot. */
export async function folderRisk({ words, folder }: PlainCommand, root: string): Promise<string | null> {
  const command = commandOf(words);
  const [program = ""] = command;
  if (isGitReading(command)) return (await lookAtGit(join(root, folder), root)).risk;
  if (knownCommand(command) === null || builtins.has(program)) return null;
  return findProgram(program, root)?.isBelow === true ? `${program} is a program of the folder here` : null;
}
