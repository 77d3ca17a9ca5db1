/**
 * Parses the front matter of a skill: the lines between two `---` at the start of a file. Only `name` and `description` are read,
 * in YAML's forms of strings: plain, in single or double quotes, literal (`|`) or folded (`>`).
 *
 * The front matter may take 16 KiB, and is read in linear time.
 */

export type FrontMatter = { readonly name?: string; readonly description?: string };

/** How much of a file is read for its front matter; bytes. */
export const maxFrontMatterBytes = 16 * 1024;

/** Null if the text does not begin with front matter, or the front matter is unterminated. */
export function parseFrontMatter(text: string): FrontMatter | null {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/);
  const end = lines.findIndex((line, index) => index > 0 && /^(---|\.\.\.)[ \t]*$/.test(line));
  if (end === -1 || !/^---[ \t]*$/.test(lines[0] ?? "")) return null;
  const own = lines.slice(1, end);
  return { ...parseKey("name", own), ...parseKey("description", own) };
}

function parseKey(key: "name" | "description", lines: readonly string[]): FrontMatter {
  const at = lines.findIndex((line) => line.startsWith(`${key}:`) && /^(?:[ \t]|$)/.test(line.slice(key.length + 1)));
  if (at === -1) return {};
  const first = (lines[at] ?? "").slice(key.length + 1).trim();
  const next = lines.findIndex((line, index) => index > at && /^[^\s#]/.test(line));
  const value = parseScalar(first, lines.slice(at + 1, next === -1 ? lines.length : next));
  return value === "" ? {} : { [key]: value };
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
