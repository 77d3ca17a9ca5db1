/**
 * Parses a shell line for rules that deny or ask: finds what it may run or name, anywhere in the line.
 *
 * It looks into programs that start programs: `sudo`, `xargs`, `find -exec`, `sh -c`, `… | sh` and others. When in doubt, it
 * finds too much rather than too little. It is not a proof: a program can do what its name does not suggest.
 */
import { basename } from "node:path";
import type { Command, ParsedScript, Pipeline, Redirection, SyntaxNode, Word } from "unbash";
import { executesInput, runsItsArguments } from "./command-pattern.js";
import { isPlainPattern } from "./file-patterns.js";
import { findInnerCommand, findPossibleStarts, isWrapper } from "./inner-commands.js";
import { loadParser } from "./shell-line.js";

type Parser = typeof import("unbash");

/** The commands and names that may be in a line. */
export type LooseLine = {
  readonly commands: readonly (readonly string[])[];
  /** Names in code that is passed to interpreters: `rm` of `perl -e 'system("rm x")'`. */
  readonly mentions: ReadonlySet<string>;
  /** All words, including those of redirections and assignments. */
  readonly words: readonly string[];
  /** Words that the shell expands to file names. */
  readonly patterns: readonly string[];
  /** The folders that `cd` may enter, as written. */
  readonly folders: readonly string[];
  /** Whether the line may name files that are not in this list: through braces, or patterns that are not expanded. */
  readonly mayNameMore: boolean;
  /** Whether a part of the line cannot be known in advance: its syntax, or the name of a command. */
  readonly isUnknown: boolean;
};

const maxBytes = 128 * 1024;
const maxNodes = 20_000;
const maxNestedLines = 8;
/** The maximum size of all nested lines together. */
const maxNestedCharacters = 8 * maxBytes;
const maxCommands = 2_000;
const maxFolders = 10;
/** The maximum number of `..` that are followed. */
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
  const findings: LooseFindings = {
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
  if (findings.isUnknown) return findings;
  const { parse, forEachChild } = await loadParser();
  const lines = [{ text: line, depth: 0 }];
  for (let next = lines.pop(); next !== undefined; next = lines.pop()) {
    const { text, depth } = next;
    visit(parse(text), findings, forEachChild, (inner) => {
      findings.charactersLeft -= inner.length;
      if (depth < maxNestedLines && findings.charactersLeft > 0) lines.push({ text: inner, depth: depth + 1 });
      else findings.isUnknown = true;
    });
  }
  return { ...findings, isUnknown: findings.isUnknown || findings.nodesLeft <= 0 || findings.commandsLeft <= 0 };
}

function visit(top: SyntaxNode, findings: LooseFindings, forEachChild: Parser["forEachChild"], addLine: AddLine): void {
  const pendingNodes: SyntaxNode[] = [top];
  for (let node = pendingNodes.pop(); node !== undefined && findings.nodesLeft > 0; node = pendingNodes.pop()) {
    findings.nodesLeft -= 1;
    if (node.type === "Script" && ((node as ParsedScript).errors ?? []).length > 0) findings.isUnknown = true;
    if (node.type === "Word") addWord(node, findings);
    if (node.type === "Command" && node.name !== undefined) addCommand(node, node.name, findings, addLine);
    if (node.type === "Pipeline") addPipedInput(node, findings, addLine);
    forEachChild(node, (child) => pendingNodes.push(child));
  }
}

function addWord(word: Word, findings: LooseFindings): void {
  findings.upwardLeft -= word.value.split("..").length - 1;
  if (findings.upwardLeft < 0) findings.mayNameMore = true;
  else findings.words.push(word.value);
  const has = (kind: string) => word.parts?.some(({ type }) => type === kind) === true;
  if (has("BraceExpansion") || has("ExtendedGlob")) findings.mayNameMore = true;
  if (!has("Glob")) return;
  if (isPlainPattern(word.value) && !/['"\\]/.test(word.text)) findings.patterns.push(word.value);
  else findings.mayNameMore = true;
}

function addCommand(command: Command, name: Word, findings: LooseFindings, addLine: AddLine): void {
  const args = command.suffix.flatMap((one) => (one.type === "Word" || one.type === "Assignment" ? [one] : []));
  const words = [name.value, ...args.map((one) => (one.type === "Word" ? one.value : one.text))];
  if (isComputed(name)) findings.isUnknown = true;
  if (/^(cd|pushd)$/.test(name.value)) {
    if (findings.folders.length === maxFolders) findings.mayNameMore = true;
    else findings.folders.push(words.slice(1).find((word) => !/^-[LPe@]+$/.test(word)) ?? "");
  }
  if (executesInput(words))
    for (const one of command.redirects) addRedirectedInput(one, findings, runsInputLines(words) ? addLine : () => {});
  followStarts(words, findings, addLine, (at) => {
    const word = args[at - 1];
    if (word?.type === "Word" && isComputed(word)) findings.isUnknown = true;
  });
}

/** Finds the commands that a command starts. @param onInner called with the position of each name */
function followStarts(
  words: readonly string[],
  findings: LooseFindings,
  addLine: AddLine,
  onInner: (at: number) => void,
): void {
  const starts = findPossibleStarts(words).filter((at) => at === 0 || startsOtherPrograms(words[at] ?? ""));
  const visitedStarts = new Set<number>();
  for (
    let at = starts.pop();
    at !== undefined && findings.commandsLeft > 0 && findings.charactersLeft > 0;
    at = starts.pop()
  ) {
    if (visitedStarts.has(at)) continue;
    visitedStarts.add(at);
    findings.commandsLeft -= 1;
    const command = words.slice(at);
    const [name = "", ...args] = command;
    const program = basename(name);
    findings.commands.push(command);
    if (at > 0) onInner(at);
    const inner = findInnerCommand(command);
    if (inner !== null) starts.push(at + inner);
    if (program === "find") {
      if (args.includes("-delete")) findings.commands.push(["rm"]);
      for (const [position, word] of args.entries())
        if (/^-(exec|ok)(dir)?$/.test(word)) starts.push(at + position + 2);
    }
    if (lineRunners.has(program)) for (const line of [...listNestedCode(args), args.join(" ")]) addLine(line);
    else if (runsItsArguments(name) && !dataPrograms.has(program)) for (const word of args) addMentions(word, findings);
    for (const line of listNestedLines(program, args)) addLine(line);
  }
}

/** Whether a word names a program whose arguments are shell lines or another command. */
function startsOtherPrograms(word: string): boolean {
  const program = basename(word);
  return lineRunners.has(program) || isWrapper(program);
}

/** Words that may be shell lines, or contain one after `=` or an option's letter: `sh -c 'rm x'`, `alias x='rm y'`. */
function listNestedCode(args: readonly string[]): readonly string[] {
  return args.flatMap((word, at) => {
    const [, inner] = /^(?:-\w|[^\s=]*=)(.+)$/s.exec(word) ?? [];
    const mayBeLine = /[^\w./-]/.test(word) || args[at - 1]?.startsWith("-") === true;
    return [...(mayBeLine && !word.startsWith("-") ? [word] : []), ...(inner === undefined ? [] : [inner])];
  });
}

/** The code of an interpreter is not read. If it has the name of a program that is denied, it counts as running it. */
function addMentions(code: string, findings: LooseFindings): void {
  if (/[\s;|(){}'"]/.test(code))
    for (const [mention] of code.matchAll(/[\w.-]{1,100}/g)) findings.mentions.add(mention);
}

/** The runner programs whose arguments are data. */
const dataPrograms: ReadonlySet<string> = new Set(
  "curl wget test [ printf less more most man info find fd docker podman kubectl helm kill wait ssh scp".split(" "),
);

/** Programs whose arguments are shell lines. */
const lineRunners: ReadonlySet<string> = new Set(
  "sh bash dash zsh ksh mksh ash fish eval alias trap watch su sg runuser ssh script flock parallel npx pnpx bunx".split(
    " ",
  ),
);

/** Options and words of other programs that are followed by a shell line or the name of a program. */
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

/** The text after such an option: the rest of the words, or the value that is attached to the option. */
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

/** Removes the name of a Git setting: `alias.x=!rm y` becomes `rm y`. Other words are unchanged. */
function stripSettingName(word: string): string {
  return word.replace(/^[\w.-]+=!?/, "");
}

/** Adds the commands that a shell reads from a pipe: `echo 'rm x' | sh`. */
function addPipedInput({ commands }: Pipeline, findings: LooseFindings, addLine: AddLine): void {
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
      for (const one of previous.redirects) addRedirectedInput(one, findings, runsLines ? addLine : () => {});
    if (runsLines && (!isText || args.some(isComputed))) findings.isUnknown = true;
    if (!isText) continue;
    for (const text of [...args.map(({ value }) => value), args.map(({ value }) => value).join(" ")]) {
      if (runsLines) addLine(text);
      addMentions(text, findings);
    }
  }
}

/** Whether the lines of a command's input are run: by a shell, or by `xargs` if the input names the program. */
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
  // The input that xargs passes to a wrapper may be the name of the program that it starts.
  if (inner === null) return /^(parallel|at|batch)$/.test(program) || (isGivenInput && isWrapper(program));
  const innerName = words[inner] ?? "";
  return /[{}%]/.test(innerName) || runsInputLines(words.slice(inner), isGivenInput || program === "xargs");
}

const standardInputPath = /^\/(dev\/stdin|dev\/fd\/0|proc\/self\/fd\/0)$/;

const shells: ReadonlySet<string> = new Set("sh bash dash zsh ksh mksh ash fish csh tcsh".split(" "));

function addRedirectedInput(redirection: Redirection, findings: LooseFindings, addLine: AddLine): void {
  if (redirection.type === "Redirect") return;
  if (redirection.type === "HereString" && redirection.target !== undefined && isComputed(redirection.target))
    findings.isUnknown = true;
  const text = redirection.type === "HereString" ? (redirection.target?.value ?? "") : redirection.body.text;
  addLine(text);
  addMentions(text, findings);
}

/** Whether the value of a word is known only when the line runs. */
function isComputed({ parts = [] }: Word): boolean {
  return parts.some(
    (part) =>
      !["Literal", "SingleQuoted", "AnsiCQuoted"].includes(part.type) &&
      !(part.type === "DoubleQuoted" && part.parts.every(({ type }) => type === "Literal")),
  );
}
