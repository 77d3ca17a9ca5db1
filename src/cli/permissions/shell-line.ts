/**
 * Reads a line of a shell for permission rules.
 *
 * 1. For what allows, the line is read strictly: only plain and quoted words, and commands joined by `&&`, `||`, `;`, `|` and
 *    new lines. Every character belongs to a word, a blank or a joint. What a parser learns later is refused, too.
 * 2. For what denies, every command that stands anywhere in the line is found, also in substitutions.
 */
import type { Command, ParsedScript, Statement, SyntaxNode, Word } from "unbash";
import { changesLaterWords, unwrapped } from "./command-pattern.js";

type Parser = typeof import("unbash");

/** The commands of a line that is nothing but commands, or why it is more than that. */
export type StrictLine =
  | { readonly ok: true; readonly commands: readonly (readonly string[])[] }
  | { readonly ok: false; readonly why: string };

const mostBytes = 8 * 1024;
const mostCommands = 50;

/** The parser is loaded when the first line is read. */
let parser: Promise<Parser> | null = null;

function loadParser(): Promise<Parser> {
  parser ??= import("unbash");
  return parser;
}

/** Reads a line for rules that allow. */
export async function readShellLine(line: string): Promise<StrictLine> {
  if (Buffer.byteLength(line) > mostBytes) return unreadable(`it is longer than ${mostBytes / 1024} kB`);
  if (/(?![ \t\n])[\p{C}\p{Z}]/u.test(line)) return unreadable("it has hidden characters or blanks of another kind");
  const { parse } = await loadParser();
  const script = parse(line);
  if ((script.errors ?? []).length > 0) return unreadable("its syntax cannot be read");
  const commands = simpleCommands(script);
  if (commands === null) return unreadable("it is more than commands joined by &&, ||, ;, | or new lines");
  if (commands.length === 0 || commands.length > mostCommands)
    return unreadable(commands.length === 0 ? "it has no command" : `it has more than ${mostCommands} commands`);
  return wordsOf(line, commands);
}

function unreadable(why: string): StrictLine {
  return { ok: false, why };
}

/** The words of the simple commands in their order; null if there is anything else. */
function simpleCommands({ commands }: ParsedScript): readonly (readonly Word[])[] | null {
  const found: (readonly Word[])[] = [];
  for (const statement of commands) {
    const inner = statement.background === true ? null : pipelinesOf(statement);
    if (inner === null) return null;
    for (const command of inner) {
      const words = plainWords(command);
      if (words === null) return null;
      found.push(words);
    }
  }
  return found;
}

function pipelinesOf({ command }: Statement): readonly Command[] | null {
  const pipelines = command.type === "AndOr" ? command.commands : [command];
  const commands: Command[] = [];
  for (const pipeline of pipelines) {
    const isPlain =
      pipeline.type !== "Pipeline" ||
      (pipeline.prefixes.length === 0 && pipeline.operators.every((one) => one === "|"));
    if (!isPlain) return null;
    for (const one of pipeline.type === "Pipeline" ? pipeline.commands : [pipeline]) {
      if (one.type !== "Command") return null;
      commands.push(one);
    }
  }
  return commands;
}

function plainWords({ name, prefix, suffix }: Command): readonly Word[] | null {
  if (name === undefined || prefix.length > 0) return null;
  const words: Word[] = [name];
  for (const one of suffix) {
    if (one.type !== "Word") return null;
    words.push(one);
  }
  return words;
}

/** Characters that mean nothing but themselves in every shell, outside of quotes. */
const plainText = /^[\p{L}\p{N}_@%+=:,./-]+$/u;
const blank = /^[ \t]+$/;
const joint = /^[ \t]*(?:&&|\|\||\||;|\n)[ \t\n]*$/;

/** Decodes the words by their own characters, and looks at all that stands between them. */
function wordsOf(line: string, commands: readonly (readonly Word[])[]): StrictLine {
  const read: (readonly string[])[] = [];
  let end = 0;
  for (const [index, words] of commands.entries()) {
    const texts: string[] = [];
    for (const [at, word] of words.entries()) {
      const between = line.slice(end, word.pos);
      const expected = at > 0 ? blank : index > 0 ? joint : /^[ \t\n]*$/;
      const text = decoded(line.slice(word.pos, word.end));
      if (!expected.test(between) || text === null || text !== word.value)
        return unreadable("it has expansions, patterns, redirections or other marks of a shell");
      texts.push(text);
      end = word.end;
    }
    const [name = ""] = texts;
    if (name === "" || name.includes("=") || name.startsWith("-")) return unreadable("a command has no plain name");
    if (changesLaterWords.has(name)) return unreadable(`${name} can change what later words mean`);
    read.push(texts);
  }
  if (!/^[ \t]*;?[ \t\n]*$/.test(line.slice(end))) return unreadable("something stands behind its last word");
  return { ok: true, commands: read };
}

/** The text of a word that is plain or quoted; null if it is more than that. */
function decoded(source: string): string | null {
  let text = "";
  for (const [part] of source.matchAll(/'[^']*'|"[^"]*"|[^'"]+|['"]/gs)) {
    if (part.length > 1 && part.startsWith("'")) text += part.slice(1, -1);
    else if (part.length > 1 && part.startsWith('"')) {
      if (/[\\$`!]/.test(part)) return null;
      text += part.slice(1, -1);
    } else if (plainText.test(part)) text += part;
    else return null;
  }
  // At the beginning of a word, zsh takes = for the place of a program.
  return source.startsWith("=") ? null : text;
}

/** What a line may run or name, for rules that deny or ask. */
export type LooseLine = {
  readonly commands: readonly (readonly string[])[];
  /** All words, also those of redirections and assignments. */
  readonly words: readonly string[];
  /** Whether something in it cannot be known beforehand: its syntax, or the name of a command. */
  readonly isUnknown: boolean;
};

const mostNodes = 20_000;
const mostNestedLines = 8;

export async function readLoosely(line: string): Promise<LooseLine> {
  const found = { commands: [] as (readonly string[])[], words: [] as string[], isUnknown: false, left: mostNodes };
  if (Buffer.byteLength(line) > 128 * 1024) return { commands: [], words: [], isUnknown: true };
  const { parse, forEachChild } = await loadParser();
  const lines = [{ text: line, depth: 0 }];
  for (let next = lines.pop(); next !== undefined; next = lines.pop()) {
    const { text, depth } = next;
    visit(parse(text), found, forEachChild, (inner) => {
      if (depth < mostNestedLines) lines.push({ text: inner, depth: depth + 1 });
      else found.isUnknown = true;
    });
  }
  return { commands: found.commands, words: found.words, isUnknown: found.isUnknown || found.left <= 0 };
}

type Found = { commands: (readonly string[])[]; words: string[]; isUnknown: boolean; left: number };

function visit(
  top: SyntaxNode,
  found: Found,
  forEachChild: Parser["forEachChild"],
  addLine: (text: string) => void,
): void {
  const open: SyntaxNode[] = [top];
  for (let node = open.pop(); node !== undefined && found.left > 0; node = open.pop()) {
    found.left -= 1;
    if (node.type === "Script" && ((node as ParsedScript).errors ?? []).length > 0) found.isUnknown = true;
    if (node.type === "Word") found.words.push(node.value);
    if (node.type === "Command" && node.name !== undefined) addCommand(node, node.name, found, addLine);
    forEachChild(node, (child) => open.push(child));
  }
}

function addCommand({ suffix }: Command, name: Word, found: Found, addLine: (text: string) => void): void {
  if (isComputed(name)) found.isUnknown = true;
  let command: readonly string[] = [
    name.value,
    ...suffix.flatMap((one) => (one.type === "Word" ? [one.value] : one.type === "Assignment" ? [one.text] : [])),
  ];
  for (let layers = 0; command.length > 0 && layers < mostNestedLines; layers++) {
    found.commands.push(command);
    const inner = unwrapped(command);
    if (inner === null) return;
    if (inner.line !== null) addLine(inner.line);
    command = inner.inner;
  }
}

/** Whether the text of a word is known only when it runs. */
function isComputed({ parts = [] }: Word): boolean {
  return parts.some(
    (part) =>
      !["Literal", "SingleQuoted", "AnsiCQuoted"].includes(part.type) &&
      !(part.type === "DoubleQuoted" && part.parts.every(({ type }) => type === "Literal")),
  );
}
