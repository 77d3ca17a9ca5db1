/**
 * Reads a line of a shell for rules that deny or ask: what it may run or name, wherever that is in the line.
 *
 * It looks through programs that start programs: `sudo`, `xargs`, `find -exec`, `sh -c`, `… | sh` and others. It reads more
 * into a line than is there rather than less. It is no proof: a program can do what its name does not say.
 */
import { basename } from "node:path";
import type { Command, ParsedScript, Pipeline, Redirection, SyntaxNode, Word } from "unbash";
import { choosesWhatRuns, obeysInput } from "./command-pattern.js";
import { isPlainPattern } from "./file-patterns.js";
import { loadParser } from "./shell-line.js";
import { innerCommand, isWrapper, laterStarts } from "./started-commands.js";

type Parser = typeof import("unbash");

/** What a line may run or name. */
export type LooseLine = {
  readonly commands: readonly (readonly string[])[];
  /** Names in the code that it gives to interpreters: `rm` of `perl -e 'system("rm x")'`. */
  readonly mentions: ReadonlySet<string>;
  /** All words, also those of redirections and assignments. */
  readonly words: readonly string[];
  /** Words that the shell replaces by the names of files. */
  readonly patterns: readonly string[];
  /** Where `cd` in the line may lead, as it is written. */
  readonly folders: readonly string[];
  /** Whether it may name files that are not listed here: by braces, or by patterns that are not read. */
  readonly mayNameMore: boolean;
  /** Whether something in it cannot be known beforehand: its syntax, or the name of a command. */
  readonly isUnknown: boolean;
};

const maxBytes = 128 * 1024;
const maxNodes = 20_000;
const maxNestedLines = 8;
/** Of all lines within lines together. */
const maxNestedCharacters = 8 * maxBytes;
const maxCommands = 2_000;
const maxFolders = 10;
/** How many `..` are followed. */
const maxUpward = 500;

type Found = {
  commands: (readonly string[])[];
  mentions: Set<string>;
  words: string[];
  patterns: string[];
  folders: string[];
  mayNameMore: boolean;
  isUnknown: boolean;
  upwardLeft: number;
  nodesLeft: number;
  commandsLeft: number;
  charactersLeft: number;
};

type AddLine = (text: string) => void;

export async function readLoosely(line: string): Promise<LooseLine> {
  const found: Found = {
    commands: [],
    mentions: new Set(),
    words: [],
    patterns: [],
    folders: [],
    mayNameMore: false,
    upwardLeft: maxUpward,
    isUnknown: Buffer.byteLength(line) > maxBytes,
    nodesLeft: maxNodes,
    commandsLeft: maxCommands,
    charactersLeft: maxNestedCharacters,
  };
  if (found.isUnknown) return found;
  const { parse, forEachChild } = await loadParser();
  const lines = [{ text: line, depth: 0 }];
  for (let next = lines.pop(); next !== undefined; next = lines.pop()) {
    const { text, depth } = next;
    visit(parse(text), found, forEachChild, (inner) => {
      found.charactersLeft -= inner.length;
      if (depth < maxNestedLines && found.charactersLeft > 0) lines.push({ text: inner, depth: depth + 1 });
      else found.isUnknown = true;
    });
  }
  return { ...found, isUnknown: found.isUnknown || found.nodesLeft <= 0 || found.commandsLeft <= 0 };
}

function visit(top: SyntaxNode, found: Found, forEachChild: Parser["forEachChild"], addLine: AddLine): void {
  const open: SyntaxNode[] = [top];
  for (let node = open.pop(); node !== undefined && found.nodesLeft > 0; node = open.pop()) {
    found.nodesLeft -= 1;
    if (node.type === "Script" && ((node as ParsedScript).errors ?? []).length > 0) found.isUnknown = true;
    if (node.type === "Word") addWord(node, found);
    if (node.type === "Command" && node.name !== undefined) addCommand(node, node.name, found, addLine);
    if (node.type === "Pipeline") addFed(node, found, addLine);
    forEachChild(node, (child) => open.push(child));
  }
}

function addWord(word: Word, found: Found): void {
  found.upwardLeft -= word.value.split("..").length - 1;
  if (found.upwardLeft < 0) found.mayNameMore = true;
  else found.words.push(word.value);
  const has = (kind: string) => word.parts?.some(({ type }) => type === kind) === true;
  if (has("BraceExpansion") || has("ExtendedGlob")) found.mayNameMore = true;
  if (!has("Glob")) return;
  if (isPlainPattern(word.value) && !/['"\\]/.test(word.text)) found.patterns.push(word.value);
  else found.mayNameMore = true;
}

function addCommand(command: Command, name: Word, found: Found, addLine: AddLine): void {
  const given = command.suffix.flatMap((one) => (one.type === "Word" || one.type === "Assignment" ? [one] : []));
  const words = [name.value, ...given.map((one) => (one.type === "Word" ? one.value : one.text))];
  if (isComputed(name)) found.isUnknown = true;
  if (/^(cd|pushd)$/.test(name.value)) {
    if (found.folders.length === maxFolders) found.mayNameMore = true;
    else found.folders.push(words.slice(1).find((word) => !/^-[LPe@]+$/.test(word)) ?? "");
  }
  if (obeysInput(words))
    for (const one of command.redirects) addInput(one, found, runsInput(words) ? addLine : () => {});
  lookThrough(words, found, addLine, (at) => {
    const word = given[at - 1];
    if (word?.type === "Word" && isComputed(word)) found.isUnknown = true;
  });
}

/** Follows a command to those that it starts. @param onInner called with the position of the name of each */
function lookThrough(words: readonly string[], found: Found, addLine: AddLine, onInner: (at: number) => void): void {
  const starts = laterStarts(words).filter((at) => at === 0 || startsOthers(words[at] ?? ""));
  const followed = new Set<number>();
  for (
    let at = starts.pop();
    at !== undefined && found.commandsLeft > 0 && found.charactersLeft > 0;
    at = starts.pop()
  ) {
    if (followed.has(at)) continue;
    followed.add(at);
    found.commandsLeft -= 1;
    const command = words.slice(at);
    const [name = "", ...given] = command;
    const program = basename(name);
    found.commands.push(command);
    if (at > 0) onInner(at);
    const inner = innerCommand(command);
    if (inner !== null) starts.push(at + inner);
    if (program === "find") {
      if (given.includes("-delete")) found.commands.push(["rm"]);
      for (const [position, word] of given.entries())
        if (/^-(exec|ok)(dir)?$/.test(word)) starts.push(at + position + 2);
    }
    if (takeLines.has(program)) for (const line of [...codeIn(given), given.join(" ")]) addLine(line);
    else if (choosesWhatRuns(name) && !takeData.has(program)) for (const word of given) addMentions(word, found);
    for (const line of linesOf(program, given)) addLine(line);
  }
}

/** Whether a word is the name of a program whose arguments are lines, or another command. */
function startsOthers(word: string): boolean {
  const program = basename(word);
  return takeLines.has(program) || isWrapper(program);
}

/** A word may be a line, or have one after `=` or a letter: `sh -c 'rm x'`, `alias x='rm y'`. */
function codeIn(given: readonly string[]): readonly string[] {
  return given.flatMap((word, at) => {
    const [, inner] = /^(?:-\w|[^\s=]*=)(.+)$/s.exec(word) ?? [];
    const mayBeLine = /[^\w./-]/.test(word) || given[at - 1]?.startsWith("-") === true;
    return [...(mayBeLine && !word.startsWith("-") ? [word] : []), ...(inner === undefined ? [] : [inner])];
  });
}

/** The code of an interpreter is not read. If it has the name of a program that is denied, it counts as running it. */
function addMentions(code: string, found: Found): void {
  if (/[\s;|(){}'"]/.test(code)) for (const [mention] of code.matchAll(/[\w.-]{1,100}/g)) found.mentions.add(mention);
}

/** Programs among those that choose what runs whose arguments are data. */
const takeData: ReadonlySet<string> = new Set(
  "curl wget test [ printf less more most man info find fd docker podman kubectl helm kill wait ssh scp".split(" "),
);

/** Programs whose arguments are lines of a shell. */
const takeLines: ReadonlySet<string> = new Set(
  "sh bash dash zsh ksh mksh ash fish eval alias trap watch su sg runuser ssh script flock parallel npx pnpx bunx".split(
    " ",
  ),
);

/** Options, and words, of other programs after which a line or the name of a program comes. */
const linesAfter: { readonly [program: string]: readonly string[] | undefined } = {
  env: ["-S", "--split-string"],
  npm: ["exec", "x", "--call", "-c"],
  pnpm: ["exec", "dlx"],
  yarn: ["exec", "dlx"],
  split: ["--filter"],
  sdiff: ["--diff-program"],
  sort: ["--compress-program"],
  tar: ["--to-command", "--use-compress-program", "-I", "--checkpoint-action=exec"],
  rsync: ["-e", "--rsh"],
  rg: ["--pre"],
  git: `foreach run --exec -x --extcmd --tree-filter --index-filter --msg-filter --env-filter --commit-filter --upload-pack
    --receive-pack --open-files-in-pager -O -c`.split(/\s+/),
};

const maxOptions = 30;

/** What follows such an option: the rest of the words, or the value that is attached to it. */
function linesOf(program: string, given: readonly string[]): readonly string[] {
  const names = Object.hasOwn(linesAfter, program) ? (linesAfter[program] ?? []) : [];
  return names.flatMap((name) =>
    given.slice(0, maxOptions).flatMap((word, at) => {
      const rest = given.slice(at + 1);
      if (word === name) return [rest.filter((one) => one !== "--").join(" "), afterSetting(rest[0] ?? "")];
      const isAttached = word.startsWith(/^-.$/.test(name) ? name : `${name}=`);
      return isAttached ? [[word.slice(name.length).replace(/^=/, ""), ...rest].join(" "), afterSetting(word)] : [];
    }),
  );
}

/** `alias.x=!rm y` of Git's settings, or the whole word. */
function afterSetting(word: string): string {
  return word.replace(/^[\w.-]+=!?/, "");
}

/** What a command gets as its input is what it runs: `echo 'rm x' | sh`. */
function addFed({ commands }: Pipeline, found: Found, addLine: AddLine): void {
  for (const [at, command] of commands.entries()) {
    const before = commands[at - 1];
    if (before === undefined || command.type !== "Command" || command.name === undefined) continue;
    const words = [command.name, ...command.suffix].flatMap((one) => (one.type === "Word" ? [one.value] : []));
    if (!obeysInput(words)) continue;
    const isText = before.type === "Command" && /^(echo|printf)$/.test(before.name?.value ?? "");
    const given = before.type === "Command" ? before.suffix.flatMap((one) => (one.type === "Word" ? [one] : [])) : [];
    const runs = runsInput(words);
    if (before.type === "Command") for (const one of before.redirects) addInput(one, found, runs ? addLine : () => {});
    if (runs && (!isText || given.some(isComputed))) found.isUnknown = true;
    if (!isText) continue;
    for (const text of [...given.map(({ value }) => value), given.map(({ value }) => value).join(" ")]) {
      if (runs) addLine(text);
      addMentions(text, found);
    }
  }
}

/** Whether the lines of a command's input are run: by a shell, or by `xargs` with the name of the program in the input. */
function runsInput(words: readonly string[], isGivenInput = false): boolean {
  const [name = "", ...given] = words;
  const program = basename(name);
  if (shells.has(program))
    return (
      given.includes("-s") ||
      given.every((word) => word.startsWith("-") || isInput.test(word)) ||
      given.some((word) => word.includes("{}"))
    );
  const inner = innerCommand(words);
  // What xargs gives to a program that starts another may be the name of that.
  if (inner === null) return /^(parallel|at|batch)$/.test(program) || (isGivenInput && isWrapper(program));
  const innerName = words[inner] ?? "";
  return /[{}%]/.test(innerName) || runsInput(words.slice(inner), isGivenInput || program === "xargs");
}

const isInput = /^\/(dev\/stdin|dev\/fd\/0|proc\/self\/fd\/0)$/;

const shells: ReadonlySet<string> = new Set("sh bash dash zsh ksh mksh ash fish csh tcsh".split(" "));

function addInput(redirection: Redirection, found: Found, addLine: AddLine): void {
  if (redirection.type === "Redirect") return;
  if (redirection.type === "HereString" && redirection.target !== undefined && isComputed(redirection.target))
    found.isUnknown = true;
  const text = redirection.type === "HereString" ? (redirection.target?.value ?? "") : redirection.body.text;
  addLine(text);
  addMentions(text, found);
}

/** Whether the text of a word is known only when it runs. */
function isComputed({ parts = [] }: Word): boolean {
  return parts.some(
    (part) =>
      !["Literal", "SingleQuoted", "AnsiCQuoted"].includes(part.type) &&
      !(part.type === "DoubleQuoted" && part.parts.every(({ type }) => type === "Literal")),
  );
}
