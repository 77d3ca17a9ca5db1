/**
 * The commands that run without a question because they only read: a built-in list, based on what each was observed to do.
 *
 * 1. A command on the list writes nothing, starts nothing, and reads nothing that is outside of the root or closed by a rule.
 * 2. Its program is a program of the system, not a file of the folder with the same name.
 */
import { realpathSync, statSync } from "node:fs";
import { basename, isAbsolute, join, resolve } from "node:path";
import { commandOf } from "./command-pattern.js";
import { findMatchingFiles } from "./file-patterns.js";
import { findProgram, isWithinFolder } from "./find-program.js";
import { inspectGitFolder } from "./inspect-git-folder.js";
import {
  acceptsOperands,
  findKnownCommand,
  isExactReadCommand,
  isOption,
  isPlainFind,
  isPlainSed,
  isReadOnlyGit,
  type KnownCommand,
} from "./known-commands.js";
import { followPath, maxPathCharacters } from "./real-path.js";
import type { PlainCommand } from "./shell-line.js";

export type ReadingAccess = {
  /** A real path. */
  readonly root: string;
  /** Whether a rule closes a path to reading. */
  readonly isClosed: (path: string) => boolean;
  /** Whether rules close any path. */
  readonly closesSome: boolean;
  /** The names of the commands that may run without a question: `ls`, `git status`. */
  readonly names: ReadonlySet<string>;
};

/** Whether a command only reads, and only permitted files. */
export async function onlyReads(command: PlainCommand, access: ReadingAccess): Promise<boolean> {
  const words = commandOf(command.words);
  const [program = "", ...givenArgs] = words;
  if (command.words[0] !== program || !isSystemProgram(program, access.root)) return false;
  const reads = classifyReading(words);
  if (reads === null || !access.names.has(reads.name)) return false;
  const variableCount = command.words.length - words.length;
  const args = givenArgs.slice(reads.skipped);
  const patterns = new Set([...command.patterns].map((at) => at - variableCount - 1 - reads.skipped));
  if (!optionsOnlyRead(reads, args, patterns)) return false;
  if (readsBelow(reads, args) && access.closesSome) return false;
  const folder = join(access.root, command.folder);
  const isListing = reads.what === "below" || listingCommands.test(reads.name) || readsBelow(reads, args);
  const folderPolicy = reads.followsLinks ? "refused" : isListing ? "read" : "not read";
  const canName = (path: string) => canRead(path, folder, access, folderPolicy);
  if (!readsInputsBelow(command, access)) return false;
  const paths = reads.what === "nothing" ? [] : args.filter((_, at) => !patterns.has(at)).flatMap(listPathsInWord);
  if (!paths.every(canName)) return false;
  if (![...patterns].every((at) => canMatch(args[at] ?? "", folder, access, folderPolicy))) return false;
  if (program !== "git" || reads.name.endsWith("version")) return true;
  const { risk, isBelow } = await inspectGitFolder(folder, access.root);
  return risk === null && isBelow;
}

/** Whether a command may read the files that are redirected to its input. */
export function readsInputsBelow({ inputs, folder }: PlainCommand, access: ReadingAccess): boolean {
  return inputs.every((path) => canRead(path, join(access.root, folder), access, "not read"));
}

type ReadingCommand = NonNullable<KnownCommand["reads"]> & {
  readonly name: string;
  readonly known: Omit<KnownCommand, "words">;
  /** The number of arguments that are part of its name. */
  readonly skipped: number;
};

const noOptions = { letters: "", names: [] };
const plain = { strays: noOptions, below: noOptions, followsLinks: false, known: { never: noOptions } };

function classifyReading(words: readonly string[]): ReadingCommand | null {
  const [program = "", ...givenArgs] = words;
  if (isExactReadCommand(words)) return { ...plain, what: "nothing", name: words.join(" "), skipped: givenArgs.length };
  if (program === "find" && isPlainFind(givenArgs)) return { ...plain, what: "below", name: "find", skipped: 0 };
  if (program === "sed" && isPlainSed(givenArgs)) return { ...plain, what: "names", name: "sed -n", skipped: 2 };
  const known = findKnownCommand(words);
  if (known?.reads === undefined) return null;
  return { ...known.reads, known, name: known.words.join(" "), skipped: known.words.length - 1 };
}

/** Commands that read folders as well as files. */
const listingCommands = /^(ls|stat|realpath|readlink|file|git .*)$/;

function optionsOnlyRead(reads: ReadingCommand, args: readonly string[], patterns: ReadonlySet<number>): boolean {
  const { never, maxOperands } = reads.known;
  const end = args.indexOf("--");
  const options = (end === -1 ? args : args.slice(0, end)).filter((word) => word.startsWith("-"));
  if (options.some((word) => isOption(never, word) || isOption(reads.strays, word))) return false;
  // A file whose name looks like an option may appear after this check.
  const hasOptions = never.letters !== "" || never.names.length > 0 || reads.name === "find";
  const mayBeOption = (word: string, at: number) =>
    hasOptions && patterns.has(at) && /^[*?[-]/.test(word) && (end === -1 || at < end);
  if (args.some(mayBeOption)) return false;
  return (maxOperands === undefined || patterns.size === 0) && acceptsOperands(reads.known, args);
}

function readsBelow(reads: ReadingCommand, args: readonly string[]): boolean {
  return reads.what === "below" || args.some((word) => isOption(reads.below, word));
}

/** The parts of an argument that may be a path: all of it, the text after `=` or `:`, and a value attached to a letter. */
export function listPathsInWord(word: string): readonly string[] {
  const attached = /^-[^-]./.test(word) ? listAttachedValues(word) : [];
  return [word, ...word.split(/[=:]/).slice(1), ...attached].filter((path) => path !== "");
}

const maxLetters = 32;

function listAttachedValues(word: string): readonly string[] {
  return Array.from({ length: Math.min(word.length, maxLetters) - 2 }, (_, at) => word.slice(at + 2));
}

/** How a program handles a folder that is named to it. */
type FolderPolicy = "read" | "not read" | "refused";

/** Most programs open a path as it is. A few, such as Git, normalize it first, so both paths must be readable. */
function canRead(path: string, folder: string, access: ReadingAccess, folderPolicy: FolderPolicy): boolean {
  const paths = new Set([followPath(folder, path), resolve(folder, path)]);
  return [...paths].every((absolute) => canOpen(absolute, access, folderPolicy));
}

function canOpen(absolute: string, { root, isClosed }: ReadingAccess, folderPolicy: FolderPolicy): boolean {
  if (absolute === "/dev/null") return true;
  if (isClosed(absolute)) return false;
  try {
    const real = realpathSync(absolute);
    if (isWithinFolder(root, real)) return folderPolicy !== "refused" || !statSync(real).isDirectory();
    return folderPolicy === "not read" && statSync(real).isDirectory();
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    // A missing file has no content. A path that is too long from the root may be short enough from a folder deep below it.
    if (code === "ENAMETOOLONG") return Buffer.byteLength(absolute) < maxPathCharacters;
    return code === "ENOENT" || code === "ENOTDIR";
  }
}

function canMatch(pattern: string, folder: string, access: ReadingAccess, folderPolicy: FolderPolicy): boolean {
  const policyForMatches = folderPolicy === "refused" ? folderPolicy : "read";
  if (isAbsolute(pattern) || pattern.split("/").includes("..")) return false;
  // A pattern without a match is passed on unchanged.
  if (!canRead(pattern, folder, access, policyForMatches)) return false;
  const matchedFiles = findMatchingFiles(pattern, folder);
  const mayBeOption = (path: string) =>
    /^[*?[]/.test(pattern) && basename(path).startsWith("-") && !pattern.includes("/");
  return matchedFiles?.every((path) => !mayBeOption(path) && canRead(path, folder, access, policyForMatches)) === true;
}

const builtins: ReadonlySet<string> = new Set(["echo", "pwd", "true", "false"]);

function isSystemProgram(program: string, root: string): boolean {
  return builtins.has(program) || findProgram(program, root)?.isBelow === false;
}

/** Why a command that a rule allows may run programs that the folder names; null if it cannot. */
export async function findFolderRisk({ words, folder }: PlainCommand, root: string): Promise<string | null> {
  const command = commandOf(words);
  const [program = ""] = command;
  if (isReadOnlyGit(command)) return (await inspectGitFolder(join(root, folder), root)).risk;
  if (findKnownCommand(command) === null || builtins.has(program)) return null;
  return findProgram(program, root)?.isBelow === true ? `${program} is a program of the folder here` : null;
}
