/**
 * Parses a shell line for rules that allow.
 *
 * The parsing is strict. Allowed are plain and quoted words, patterns of file names, plain variables, redirections that write no
 * file, and `cd` into a folder below the root. Commands are joined by `&&`, `||`, `;`, `|` and new lines. Every character belongs
 * to one of these. Syntax that the parser learns later is refused until this file handles it.
 */
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { posix, relative, resolve, sep } from "node:path";
import type { Assignment, Command, ParsedScript, Redirection, Statement, Word } from "unbash";
import { isPlainPattern } from "./file-patterns.js";
import { changesPrograms, isPlainValue } from "./variables.js";

type Parser = typeof import("unbash");

/** One command of a line, as the shell would run it. */
export type PlainCommand = {
  /** The words. Variables that a rule must name come first: `TZ=Asia/Tokyo date`. */
  readonly words: readonly string[];
  /** The positions of words that the shell expands to file names: `*.js`. */
  readonly patterns: ReadonlySet<number>;
  /** The files that are redirected to its input: `< a.txt`. */
  readonly inputs: readonly string[];
  /** Whether its input is the output of another command, or a file. */
  readonly isFed: boolean;
  /** The folder in which it runs, relative to the root, with `/` between names. Empty for the root. */
  readonly folder: string;
};

/** The commands of a line that consists only of commands, or why it does not. */
export type StrictLine =
  | { readonly ok: true; readonly commands: readonly PlainCommand[] }
  | { readonly ok: false; readonly why: string };

const maxBytes = 8 * 1024;
const maxCommands = 50;

/** The parser is loaded when the first line is read. */
let parser: Promise<Parser> | null = null;

export function loadParser(): Promise<Parser> {
  parser ??= import("unbash");
  return parser;
}

/** @param root the real path of the folder in which the line runs */
export async function parseShellLine(line: string, root: string): Promise<StrictLine> {
  if (Buffer.byteLength(line) > maxBytes) return toUnreadable(`it is longer than ${maxBytes / 1024} kB`);
  if (/(?![ \t\n])[\p{C}\p{Z}]/u.test(line)) return toUnreadable("it has hidden characters or unusual blanks");
  const { parse } = await loadParser();
  const script = parse(line);
  if ((script.errors ?? []).length > 0) return toUnreadable("its syntax cannot be read");
  const joinedCommands = listSimpleCommands(script);
  if (joinedCommands === null) return toUnreadable("it is more than commands joined by &&, ||, ;, | or new lines");
  if (joinedCommands.length === 0 || joinedCommands.length > maxCommands)
    return toUnreadable(joinedCommands.length === 0 ? "it has no command" : `it has more than ${maxCommands} commands`);
  try {
    return { ok: true, commands: assignFolders(decodeCommands(line, joinedCommands), root) };
  } catch (error) {
    if (error instanceof UnreadableLineError) return toUnreadable(error.message);
    throw error;
  }
}

function toUnreadable(why: string): StrictLine {
  return { ok: false, why };
}

class UnreadableLineError extends Error {}

/** A command, and how it is joined to the previous one. */
type JoinedCommand = {
  readonly command: Command;
  readonly isPiped: boolean;
  /** Its position in a chain of `&&` and `||`, and the length of the chain. */
  readonly chain: { readonly at: number; readonly length: number; readonly hasOr: boolean; readonly isLast: boolean };
  readonly isInPipeline: boolean;
};

/** The simple commands in order; null if there is anything else. */
function listSimpleCommands({ commands }: ParsedScript): readonly JoinedCommand[] | null {
  const joinedCommands: JoinedCommand[] = [];
  for (const [index, statement] of commands.entries()) {
    const inner =
      statement.background === true ? null : listStatementCommands(statement, index + 1 === commands.length);
    if (inner === null) return null;
    joinedCommands.push(...inner);
  }
  return joinedCommands;
}

function listStatementCommands({ command }: Statement, isLast: boolean): readonly JoinedCommand[] | null {
  const pipelines = command.type === "AndOr" ? command.commands : [command];
  const hasOr = command.type === "AndOr" && command.operators.includes("||");
  const joinedCommands: JoinedCommand[] = [];
  for (const [at, pipeline] of pipelines.entries()) {
    const isPlain =
      pipeline.type !== "Pipeline" ||
      (pipeline.prefixes.length === 0 && pipeline.operators.every((one) => one === "|"));
    if (!isPlain) return null;
    const parts = pipeline.type === "Pipeline" ? pipeline.commands : [pipeline];
    for (const [position, one] of parts.entries()) {
      if (one.type !== "Command") return null;
      const chain = { at, length: pipelines.length, hasOr, isLast };
      joinedCommands.push({ command: one, isPiped: position > 0, isInPipeline: parts.length > 1, chain });
    }
  }
  return joinedCommands;
}

type DecodedCommand = Omit<PlainCommand, "folder"> & Pick<JoinedCommand, "chain" | "isInPipeline">;

const blankPattern = /^[ \t]+$/;
const maybeBlankPattern = /^[ \t]*$/;
const separatorPattern = /^[ \t]*(?:&&|\|\||\||;|\n)[ \t\n]*$/;

/** Decodes each part of a command from its own characters, and checks everything between the parts. */
function decodeCommands(line: string, joinedCommands: readonly JoinedCommand[]): readonly DecodedCommand[] {
  let end = 0;
  const decodedCommands = joinedCommands.map(({ command, isPiped, chain, isInPipeline }, index) => {
    const words: DecodedCommand["words"][number][] = [];
    const patterns = new Set<number>();
    const inputs: string[] = [];
    for (const [at, part] of listCommandParts(command).entries()) {
      const between = line.slice(end, part.pos);
      const expected =
        at === 0
          ? index > 0
            ? separatorPattern
            : /^[ \t\n]*$/
          : part.type === "Redirect"
            ? maybeBlankPattern
            : blankPattern;
      if (!expected.test(between)) throw new UnreadableLineError(syntaxProblem);
      end = part.end;
      const source = line.slice(part.pos, part.end);
      if (part.type === "Word") {
        const { text, isPattern } = decodeWord(source, part);
        if (isPattern) patterns.add(words.length);
        words.push(text);
      } else if (part.type === "Assignment") words.push(...decodeVariable(source, part));
      else inputs.push(...decodeRedirection(source, part));
    }
    assertPlainName(words, patterns, command.name);
    return { words, patterns, inputs, isFed: isPiped || inputs.length > 0, chain, isInPipeline };
  });
  if (!/^[ \t]*;?[ \t\n]*$/.test(line.slice(end))) throw new UnreadableLineError("something follows its last word");
  return decodedCommands;
}

const syntaxProblem = "it has expansions or other shell syntax";

function listCommandParts({ name, prefix, suffix }: Command): readonly (Word | Assignment | Redirection)[] {
  if (name === undefined) throw new UnreadableLineError("it sets variables for later commands");
  if (suffix.some(({ type }) => type === "Assignment")) throw new UnreadableLineError(syntaxProblem);
  return [...prefix, name, ...suffix].sort((one, other) => one.pos - other.pos);
}

function decodeWord(source: string, { value }: Word): { readonly text: string; readonly isPattern: boolean } {
  const decoded = decodeSource(source);
  if (decoded === null || decoded.text !== value) throw new UnreadableLineError(syntaxProblem);
  return decoded;
}

/** A rule must name a variable, unless its value is plain. */
function decodeVariable(source: string, { name, value, append, index }: Assignment): readonly string[] {
  if (value.type !== "Word" || append === true || index !== undefined || !source.startsWith(`${name}=`))
    throw new UnreadableLineError("it sets a variable in an unusual way");
  if (changesPrograms(name)) throw new UnreadableLineError(`the variable ${name} can change what runs`);
  const text = value.text === "" ? "" : decodeWord(source.slice(name.length + 1), value).text;
  return isPlainValue(text) ? [] : [`${name}=${text}`];
}

/** Accepts redirections that write no file. @returns the files that are read */
function decodeRedirection(source: string, redirection: Redirection): readonly string[] {
  if (redirection.type !== "Redirect") throw new UnreadableLineError("it has a here-document");
  if (/^[012]?>&[12]$|^(?:[012]?>{1,2}|&>{1,2}|[0]?<)[ \t]*\/dev\/null$/.test(source)) return [];
  const [, path] = /^0?<[ \t]*([^<>&].*)$/s.exec(source) ?? [];
  if (path === undefined || redirection.target === undefined)
    throw new UnreadableLineError("a redirection writes a file");
  const { text, isPattern } = decodeWord(path, redirection.target);
  if (isPattern) throw new UnreadableLineError(syntaxProblem);
  // Bash opens a connection instead of a file.
  if (/^\/+dev\/(tcp|udp)(\/|$)/.test(posix.normalize(text)))
    throw new UnreadableLineError("a redirection opens a connection");
  return [text];
}

function assertPlainName(words: readonly string[], patterns: ReadonlySet<number>, name: Word | undefined): void {
  const at = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word));
  const program = words[at] ?? "";
  if (program === "" || program !== name?.value || program.includes("=") || program.startsWith("-") || patterns.has(at))
    throw new UnreadableLineError("a command has no plain name");
  if (program !== "cd" && changesLaterWords.has(program))
    throw new UnreadableLineError(`${program} can change what later words mean`);
}

/** Shell commands that change the meaning of later words in the line, or where they run. */
const changesLaterWords: ReadonlySet<string> = new Set(
  `cd pushd popd alias unalias export set unset shopt source . eval exec command builtin enable hash trap read readonly
   declare typeset local let umask ulimit getopts mapfile readarray return break continue shift exit logout wait`.split(
    /\s+/,
  ),
);

/** Characters without a special meaning in any shell, outside of quotes. A `~` is plain within a word: `HEAD~1`. */
const plainTextPattern = /^(?:[\p{L}\p{N}_@%+=:,./-]|(?<=[\p{L}\p{N}_])~(?=\d|$))+$/u;
const globTextPattern = /^[\p{L}\p{N}_@%+=:,./*?[\]-]+$/u;

/**
 * The value of a word that is plain, quoted, or a pattern of file names; null if it is more than that. A word with quotes is not
 * read as a pattern, because its value does not show which of its characters were quoted.
 */
function decodeSource(source: string): { readonly text: string; readonly isPattern: boolean } | null {
  let text = "";
  let isPattern = false;
  for (const [part] of source.matchAll(/'[^']*'|"[^"]*"|[^'"]+|['"]/gs)) {
    if (part.length > 1 && part.startsWith("'")) text += part.slice(1, -1);
    else if (part.length > 1 && part.startsWith('"')) {
      if (/[\\$`!]/.test(part)) return null;
      text += part.slice(1, -1);
    } else if (plainTextPattern.test(part)) text += part;
    else if (globTextPattern.test(part)) {
      text += part;
      isPattern = true;
    } else return null;
  }
  if (isPattern && (text !== source || !isPlainPattern(text))) return null;
  // Zsh replaces a leading `=` with the path of a program.
  return source.startsWith("=") ? null : { text, isPattern };
}

/** Removes each `cd` from the line, and assigns its folder to the commands after it. */
function assignFolders(decodedCommands: readonly DecodedCommand[], root: string): readonly PlainCommand[] {
  let folder = "";
  const commands: PlainCommand[] = [];
  for (const { chain, isInPipeline, ...command } of decodedCommands) {
    if (command.words[0] !== "cd") {
      commands.push({ ...command, folder });
      continue;
    }
    const isFolderCertain = !isInPipeline && !chain.hasOr && (chain.at === 0 || chain.isLast);
    if (!isFolderCertain) throw new UnreadableLineError("it is not certain in which folder its commands run");
    folder = resolveFolderBelow(command, folder, root);
  }
  if (commands.length === 0) throw new UnreadableLineError("it only changes the folder");
  return commands;
}

/** Resolves a folder whose path has no links: after a link, a shell and a program resolve the next `..` differently. */
function resolveFolderBelow(
  { words, patterns, inputs }: Omit<PlainCommand, "folder">,
  folder: string,
  root: string,
): string {
  const [, path = "", ...others] = words;
  const outsideError = new UnreadableLineError("cd leads out of the folder, or to no folder");
  if (path === "" || path.startsWith("-") || others.length > 0 || patterns.size > 0 || inputs.length > 0)
    throw outsideError;
  try {
    const real = resolve(root, folder, path);
    if (realpathSync(real) !== real) throw outsideError;
    const inner = relative(root, real).split(sep).join("/");
    if (!statSync(real).isDirectory() || inner === ".." || inner.startsWith("../") || inner.startsWith("/"))
      throw outsideError;
    accessSync(real, constants.X_OK);
    return inner;
  } catch {
    throw outsideError;
  }
}
