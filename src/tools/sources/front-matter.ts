/**
 * Parses front matter: the lines between two `---` at the start of a file. Keys are looked up by name. A value is a string in one
 * of YAML's forms: plain, in single or double quotes, literal (`|`) or folded (`>`); or a list of strings.
 *
 * Parsing takes linear time. The front matter of a skill may have up to 16 KiB.
 */

export type FrontMatter = { readonly name?: string; readonly description?: string };

/** A text with front matter. */
export type FrontMatterText = {
  /** The top-level keys as written, in order. */
  readonly keys: readonly string[];
  /** The top-level lines that are ignored, such as `"key": x` and `key : x`, in order. */
  readonly ignoredLines: readonly string[];
  /** The text of a key; undefined if the key is missing or empty. If the key occurs twice, the first one counts. */
  readonly value: (key: string) => string | undefined;
  /** The strings of a list, written as `a, b`, as `[a, b]`, or as lines with `- a`; undefined if the key is missing. */
  readonly list: (key: string) => readonly string[] | undefined;
  /** The text after the front matter. */
  readonly body: string;
};

/** How many bytes of a file are read for its front matter. */
export const maxFrontMatterBytes = 16 * 1024;

/** Null if the text does not begin with front matter, or the front matter is unterminated. */
export function parseFrontMatter(text: string): FrontMatter | null {
  const parsed = parseFrontMatterText(text);
  if (parsed === null) return null;
  const [name, description] = [parsed.value("name"), parsed.value("description")];
  return { ...(name === undefined ? {} : { name }), ...(description === undefined ? {} : { description }) };
}

/** Null if the text does not begin with front matter, or the front matter is unterminated. */
export function parseFrontMatterText(text: string): FrontMatterText | null {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/);
  const end = lines.findIndex((line, index) => index > 0 && /^(---|\.\.\.)[ \t]*$/.test(line));
  if (end === -1 || !/^---[ \t]*$/.test(lines[0] ?? "")) return null;
  const own = lines.slice(1, end);
  return {
    keys: own.flatMap((line) => keyLine.exec(line)?.[1] ?? []),
    ignoredLines: listIgnoredLines(own),
    value(key) {
      const found = findKey(key, own, /^[^\s#]/);
      const value = found === null ? "" : parseScalar(found.first, found.rest);
      return value === "" ? undefined : value;
    },
    list(key) {
      // The lines of a list need not be indented.
      const found = findKey(key, own, /^(?!-[ \t])[^\s#]/);
      return found === null ? undefined : parseList(found.first, found.rest);
    },
    body: lines.slice(end + 1).join("\n"),
  };
}

const keyLine = /^([A-Za-z][\w-]*):(?:[ \t]|$)/;

/** List items, and the brackets that end a list, need not be indented. Indented lines belong to the preceding key. */
function listIgnoredLines(lines: readonly string[]): readonly string[] {
  const first = lines.findIndex((line) => keyLine.test(line));
  const isRead = (line: string, index: number) =>
    /^[ \t]*(?:#|$)/.test(line) ||
    keyLine.test(line) ||
    (index > first && first !== -1 && /^(?:[ \t\]}]|-(?:[ \t]|$))/.test(line));
  return lines.filter((line, index) => !isRead(line, index));
}

/** The value of a key: the rest of its line, and the lines up to the next key. */
type KeyLines = { readonly first: string; readonly rest: readonly string[] };

/** @param nextKey matches the beginning of the line that ends the value */
function findKey(key: string, lines: readonly string[], nextKey: RegExp): KeyLines | null {
  const at = lines.findIndex((line) => line.startsWith(`${key}:`) && /^(?:[ \t]|$)/.test(line.slice(key.length + 1)));
  if (at === -1) return null;
  const first = (lines[at] ?? "").slice(key.length + 1).trim();
  const next = lines.findIndex((line, index) => index > at && nextKey.test(line));
  return { first, rest: lines.slice(at + 1, next === -1 ? lines.length : next) };
}

function parseList(first: string, rest: readonly string[]): readonly string[] {
  const items = rest.flatMap((line) => /^[ \t]*-[ \t]+(.*)$/.exec(line)?.[1] ?? []);
  const written =
    items.length > 0 && stripComment(first) === ""
      ? items
      : splitAtCommas([first, ...rest].map(stripComment).join(" ").trim().replace(/^\[/, "").replace(/\]$/, ""));
  return written.map((item) => parseScalar(item.trim(), [])).filter((item) => item !== "");
}

/** A comma in parentheses or quotes is part of its item: `Bash(git diff:*, git log:*)`. */
function splitAtCommas(text: string): readonly string[] {
  const items: string[] = [];
  let [from, depth, quote] = [0, 0, ""];
  let isBlank = true;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (quote !== "") quote = character === quote ? "" : quote;
    else if (isBlank && (character === '"' || character === "'")) quote = character;
    else if (character === "(") depth += 1;
    else if (character === ")") depth = Math.max(0, depth - 1);
    else if (character === "," && depth === 0) {
      items.push(text.slice(from, at));
      from = at + 1;
    }
    isBlank = from === at + 1 || (isBlank && character === " ");
  }
  return [...items, text.slice(from)];
}

/** @param rest the indented lines that follow */
function parseScalar(first: string, rest: readonly string[]): string {
  if (/^[|>][-+0-9]*(?:[ \t]+#.*)?$/.test(first)) return parseBlockScalar(first.startsWith("|"), rest);
  if (first.startsWith('"')) return parseDoubleQuoted([first, ...rest]);
  if (first.startsWith("'")) return parseSingleQuoted([first, ...rest]);
  return foldLines([first, ...rest].map(stripComment)).trim();
}

function parseBlockScalar(isLiteral: boolean, lines: readonly string[]): string {
  const indents = lines.filter((line) => line.trim() !== "").map((line) => line.length - line.trimStart().length);
  const indent = indents[0] ?? 0;
  const own = lines.map((line) => (line.trim() === "" ? "" : line.slice(Math.min(indent, countIndent(line)))));
  return (isLiteral ? own.join("\n") : foldLines(own)).trim();
}

function countIndent(line: string): number {
  return line.length - line.trimStart().length;
}

/** Joins lines with spaces. Each empty line is a line break. */
function foldLines(lines: readonly string[]): string {
  const parts: string[] = [];
  for (const line of lines) {
    const before = parts.at(-1);
    if (line.trim() === "") parts.push("\n");
    else if (before === undefined || before === "\n") parts.push(line.trim());
    else parts.push(" ", line.trim());
  }
  return parts.join("");
}

/** A `#` after a space begins a comment. */
function stripComment(line: string): string {
  if (line.trimStart().startsWith("#")) return "";
  const at = line.search(/[ \t]#/);
  return at === -1 ? line : line.slice(0, at);
}

function parseSingleQuoted(lines: readonly string[]): string {
  const text = foldLines(lines).slice(1);
  const parts: string[] = [];
  for (let from = 0; ; ) {
    const at = text.indexOf("'", from);
    parts.push(text.slice(from, at === -1 ? text.length : at));
    if (at === -1 || text[at + 1] !== "'") return parts.join("");
    parts.push("'");
    from = at + 2;
  }
}

function parseDoubleQuoted(lines: readonly string[]): string {
  const text = foldLines(lines).slice(1);
  const parts: string[] = [];
  const pattern = /\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(.))|"|[^"\\]+/gsu;
  for (const [whole, unicode, hex, letter] of text.matchAll(pattern)) {
    if (whole === '"') break;
    const code = unicode ?? hex;
    if (code !== undefined) parts.push(String.fromCharCode(Number.parseInt(code, 16)));
    else parts.push(letter === undefined ? whole : (escapes[letter] ?? letter));
  }
  return parts.join("");
}

const escapes: { readonly [letter: string]: string } = { n: "\n", t: "\t", r: "\r", "0": "\0", e: "\x1b" };
