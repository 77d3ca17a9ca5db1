/**
 * Reads a line of a shell for rules that deny or ask: what it may run or name, wherever that is in the line.
 *
 * It looks through programs that start programs: `sudo`, `xargs`, `find -exec`, `sh -c`, `… | sh` and others. It reads more
 * into a line than is there rather than less. It is no proof: a program can do what its name does not say.
 */
import { basename } from "node:path";
import type { Command, ParsedScript, Pipeline, Redirection, SyntaxNode, Word } from "unbash";
import { executesInput, runsItsArguments } from "./command-pattern.js";
import { isPlainPattern } from "./file-patterns.js";
import { findInnerCommand, findPossibleStarts, isWrapper } from "./inner-commands.js";
import { loadParser } from "./shell-line.js";

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

type LooseFindings = {
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

export async function parseLoosely(line: string): Promise<LooseLine> {
  const facts: LooseFindings = {
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
  if (facts.isUnknown) return facts;
  const { parse, forEachChild } = await loadParser();
  const lines = [{ text: line, depth: 0 }];
  for (let next = lines.pop(); next !== undefined; next = lines.pop()) {
    const { text, depth } = next;
    visit(parse(text), facts, forEachChild, (inner) => {
      facts.charactersLeft -= inner.length;
      if (depth < maxNestedLines && facts.charactersLeft > 0) lines.push({ text: inner, depth: depth + 1 });
      else facts.isUnknown = true;
    });
  }
  return { ...facts, isUnknown: facts.isUnknown || facts.nodesLeft <= 0 || facts.commandsLeft <= 0 };
}

function visit(top: SyntaxNode, facts: LooseFindings, forEachChild: Parser["forEachChild"], addLine: AddLine): void {
  const pendingNodes: SyntaxNode[] = [top];
  for (let node = pendingNodes.pop(); node !== undefined && facts.nodesLeft > 0; node = pendingNodes.pop()) {
    facts.nodesLeft -= 1;
    if (node.type === "Script" && ((node as ParsedScript).errors ?? []).length > 0) facts.isUnknown = true;
    if (node.type === "Word") addWord(node, facts);
    if (node.type === "Command" && node.name !== undefined) addCommand(node, node.name, facts, addLine);
    if (node.type === "Pipeline") addPipedInput(node, facts, addLine);
    forEachChild(node, (child) => pendingNodes.push(child));
  }
}

function addWord(word: Word, facts: LooseFindings): void {
  facts.upwardLeft -= word.value.split("..").length - 1;
  if (facts.upwardLeft < 0) facts.mayNameMore = true;
  else facts.words.push(word.value);
  const has = (kind: string) => word.parts?.some(({ type }) => type === kind) === true;
  if (has("BraceExpansion") || has("ExtendedGlob")) facts.mayNameMore = true;
  if (!has("Glob")) return;
  if (isPlainPattern(word.value) && !/['"\\]/.test(word.text)) facts.patterns.push(word.value);
  else facts.mayNameMore = true;
}

function addCommand(command: Command, name: Word, facts: LooseFindings, addLine: AddLine): void {
  const args = command.suffix.flatMap((one) => (one.type === "Word" || one.type === "Assignment" ? [one] : []));
  const words = [name.value, ...args.map((one) => (one.type === "Word" ? one.value : one.text))];
  if (isComputed(name)) facts.isUnknown = true;
  if (/^(cd|pushd)$/.test(name.value)) {
    if (facts.folders.length === maxFolders) facts.mayNameMore = true;
    else facts.folders.push(words.slice(1).find((word) => !/^-[LPe@]+$/.test(word)) ?? "");
  }
  if (executesInput(words))
    for (const one of command.redirects) addRedirectedInput(one, facts, runsInputLines(words) ? addLine : () => {});
  followStarts(words, facts, addLine, (at) => {
    const word = args[at - 1];
    if (word?.type === "Word" && isComputed(word)) facts.isUnknown = true;
  });
}

/** Follows a command to those that it starts. @param onInner called with the position of the name of each */
function followStarts(
  words: readonly string[],
  facts: LooseFindings,
  addLine: AddLine,
  onInner: (at: number) => void,
): void {
  const starts = findPossibleStarts(words).filter((at) => at === 0 || startsOtherPrograms(words[at] ?? ""));
  const visitedStarts = new Set<number>();
  for (
    let at = starts.pop();
    at !== undefined && facts.commandsLeft > 0 && facts.charactersLeft > 0;
    at = starts.pop()
  ) {
    if (visitedStarts.has(at)) continue;
    visitedStarts.add(at);
    facts.commandsLeft -= 1;
    const command = words.slice(at);
    const [name = "", ...args] = command;
    const program = basename(name);
    facts.commands.push(command);
    if (at > 0) onInner(at);
    const inner = findInnerCommand(command);
    if (inner !== null) starts.push(at + inner);
    if (program === "find") {
      if (args.includes("-delete")) facts.commands.push(["rm"]);
      for (const [position, word] of args.entries())
        if (/^-(exec|ok)(dir)?$/.test(word)) starts.push(at + position + 2);
    }
    if (lineRunners.has(program)) for (const line of [...listNestedCode(args), args.join(" ")]) addLine(line);
    else if (runsItsArguments(name) && !dataPrograms.has(program)) for (const word of args) addMentions(word, facts);
    for (const line of listNestedLines(program, args)) addLine(line);
  }
}

/** Whether a word is the name of a program whose arguments are lines, or another command. */
function startsOtherPrograms(word: string): boolean {
  const program = basename(word);
  return lineRunners.has(program) || isWrapper(program);
}

/** A word may be a line, or have one after `=` or a letter: `sh -c 'rm x'`, `alias x='rm y'`. */
function listNestedCode(args: readonly string[]): readonly string[] {
  return args.flatMap((word, at) => {
    const [, inner] = /^(?:-\w|[^\s=]*=)(.+)$/s.exec(word) ?? [];
    const mayBeLine = /[^\w./-]/.test(word) || args[at - 1]?.startsWith("-") === true;
    return [...(mayBeLine && !word.startsWith("-") ? [word] : []), ...(inner === undefined ? [] : [inner])];
  });
}

/** The code of an interpreter is not read. If it has the name of a program that is denied, it counts as running it. */
function addMentions(code: string, facts: LooseFindings): void {
  if (/[\s;|(){}'"]/.test(code)) for (const [mention] of code.matchAll(/[\w.-]{1,100}/g)) facts.mentions.add(mention);
}

/** Programs among those that choose what runs whose arguments are data. */
const dataPrograms: ReadonlySet<string> = new Set(
  "curl wget test [ printf less more most man info find fd docker podman kubectl helm kill wait ssh scp".split(" "),
);

/** Programs whose arguments are lines of a shell. */
const lineRunners: ReadonlySet<string> = new Set(
  "sh bash dash zsh ksh mksh ash fish eval alias trap watch su sg runuser ssh script flock parallel npx pnpx bunx".split(
    " ",
  ),
);

/** Options, and words, of other programs after which a line or the name of a program comes. */
const optionsBeforeLines: { readonly [program: string]: readonly string[] | undefined } = {
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
function listNestedLines(program: string, args: readonly string[]): readonly string[] {
  const names = Object.hasOwn(optionsBeforeLines, program) ? (optionsBeforeLines[program] ?? []) : [];
  return names.flatMap((name) =>
    args.slice(0, maxOptions).flatMap((word, at) => {
      const rest = args.slice(at + 1);
      if (word === name) return [rest.filter((one) => one !== "--").join(" "), stripSettingName(rest[0] ?? "")];
      const isAttached = word.startsWith(/^-.$/.test(name) ? name : `${name}=`);
      return isAttached ? [[word.slice(name.length).replace(/^=/, ""), ...rest].join(" "), stripSettingName(word)] : [];
    }),
  );
}

/** `alias.x=!rm y` of Git's settings, or the whole word. */
function stripSettingName(word: string): string {
  return word.replace(/^[\w.-]+=!?/, "");
}

/** What a command gets as its input is what it runs: `echo 'rm x' | sh`. */
function addPipedInput({ commands }: Pipeline, facts: LooseFindings, addLine: AddLine): void {
  for (const [at, command] of commands.entries()) {
    const previous = commands[at - 1];
    if (previous === undefined || command.type !== "Command" || command.name === undefined) continue;
    const words = [command.name, ...command.suffix].flatMap((one) => (one.type === "Word" ? [one.value] : []));
    if (!executesInput(words)) continue;
    const isText = previous.type === "Command" && /^(echo|printf)$/.test(previous.name?.value ?? "");
    const args =
      previous.type === "Command" ? previous.suffix.flatMap((one) => (one.type === "Word" ? [one] : [])) : [];
    const runsLines = runsInputLines(words);
    if (previous.type === "Command")
      for (const one of previous.redirects) addRedirectedInput(one, facts, runsLines ? addLine : () => {});
    if (runsLines && (!isText || args.some(isComputed))) facts.isUnknown = true;
    if (!isText) continue;
    for (const text of [...args.map(({ value }) => value), args.map(({ value }) => value).join(" ")]) {
      if (runsLines) addLine(text);
      addMentions(text, facts);
    }
  }
}

/** Whether the lines of a command's input are run: by a shell, or by `xargs` with the name of the program in the input. */
function runsInputLines(words: readonly string[], isGivenInput = false): boolean {
  const [name = "", ...args] = words;
  const program = basename(name);
  if (shells.has(program))
    return (
      args.includes("-s") ||
      args.every((word) => word.startsWith("-") || standardInputPath.test(word)) ||
      args.some((word) => word.includes("{}"))
    );
  const inner = findInnerCommand(words);
  // What xargs gives to a program that starts another may be the name of that.
  if (inner === null) return /^(parallel|at|batch)$/.test(program) || (isGivenInput && isWrapper(program));
  const innerName = words[inner] ?? "";
  return /[{}%]/.test(innerName) || runsInputLines(words.slice(inner), isGivenInput || program === "xargs");
}

const standardInputPath = /^\/(dev\/stdin|dev\/fd\/0|proc\/self\/fd\/0)$/;

const shells: ReadonlySet<string> = new Set("sh bash dash zsh ksh mksh ash fish csh tcsh".split(" "));

function addRedirectedInput(redirection: Redirection, facts: LooseFindings, addLine: AddLine): void {
  if (redirection.type === "Redirect") return;
  if (redirection.type === "HereString" && redirection.target !== undefined && isComputed(redirection.target))
    facts.isUnknown = true;
  const text = redirection.type === "HereString" ? (redirection.target?.value ?? "") : redirection.body.text;
  addLine(text);
  addMentions(text, facts);
}

/** Whether the text of a word is known only when it runs. */
function isComputed({ parts = [] }: Word): boolean {
  return parts.some(
    (part) =>
      !["Literal", "SingleQuoted", "AnsiCQuoted"].includes(part.type) &&
      !(part.type === "DoubleQuoted" && part.parts.every(({ type }) => type === "Literal")),
  );
}
