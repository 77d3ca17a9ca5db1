/**
 * Parses the Markdown that models write most into data. The page renders it as elements, never as markup.
 *
 * 1. Every character of the text is in the result, or is Markdown syntax. Unsupported syntax stays as text.
 * 2. Each line, and each character of a line, is read a bounded number of times.
 * 3. Unfinished text is accepted, because it may be streaming.
 */

export type Inline =
  | { readonly kind: "text" | "code"; readonly text: string }
  | { readonly kind: "strong" | "em" | "strike"; readonly children: readonly Inline[] }
  /** `href` is a web or mail address. Other addresses remain text. */
  | { readonly kind: "link"; readonly text: string; readonly href: string };

export type Align = "left" | "right" | "center";

export type Block =
  | { readonly kind: "heading"; readonly level: number; readonly children: readonly Inline[] }
  | { readonly kind: "paragraph"; readonly children: readonly Inline[] }
  | { readonly kind: "code"; readonly language: string; readonly text: string }
  | { readonly kind: "quote"; readonly blocks: readonly Block[] }
  | { readonly kind: "rule" }
  | {
      readonly kind: "list";
      /** The first number; null for a list without numbers. */
      readonly start: number | null;
      readonly items: readonly (readonly Block[])[];
    }
  | {
      readonly kind: "table";
      readonly align: readonly Align[];
      readonly head: readonly (readonly Inline[])[];
      readonly rows: readonly (readonly (readonly Inline[])[])[];
    };

/** The maximum nesting of lists and quotes. */
const maxDepth = 8;

export function parseMarkdown(text: string): readonly Block[] {
  return parseBlocks(text.split("\n"), 0);
}

function parseBlocks(lines: readonly string[], depth: number): readonly Block[] {
  const blocks: Block[] = [];
  let position = 0;
  while (position < lines.length) {
    const line = lines[position] ?? "";
    if (line.trim() === "") {
      position += 1;
      continue;
    }
    const found =
      parseFence(lines, position) ??
      parseHeading(line, position) ??
      parseTable(lines, position) ??
      parseNested(lines, position, depth);
    const [block, next] = found ?? parseParagraph(lines, position);
    blocks.push(block);
    position = next;
  }
  return blocks;
}

type ParsedBlock = readonly [block: Block, next: number];

const fencePattern = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;

function parseFence(lines: readonly string[], position: number): ParsedBlock | null {
  const [, sign = "", infoString = ""] = fencePattern.exec(lines[position] ?? "") ?? [];
  if (sign === "") return null;
  const language = infoString.trim();
  const isEnd = (line: string) =>
    line.trimStart().startsWith(sign) && line.trim() === sign[0]?.repeat(line.trim().length);
  let end = position + 1;
  while (end < lines.length && !isEnd(lines[end] ?? "")) end += 1;
  return [{ kind: "code", language, text: lines.slice(position + 1, end).join("\n") }, end + 1];
}

function parseHeading(line: string, position: number): ParsedBlock | null {
  const [, signs = "", text = ""] = /^ {0,3}(#{1,6})\s+(\S.*)$/.exec(line) ?? [];
  if (signs !== "") {
    const title = text.replace(/\s#+\s*$/, "").trim();
    return [{ kind: "heading", level: signs.length, children: parseInlines(title) }, position + 1];
  }
  return /^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$/.test(line) ? [{ kind: "rule" }, position + 1] : null;
}

const tableRulePattern = /^\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$/;

function parseTable(lines: readonly string[], position: number): ParsedBlock | null {
  const [head = "", line = ""] = [lines[position], lines[position + 1]];
  if (!head.includes("|") || !tableRulePattern.test(line.trim())) return null;
  const align = splitCells(line).map(parseAlign);
  const heads = splitCells(head);
  if (heads.length !== align.length) return null;
  let end = position + 2;
  while (end < lines.length && (lines[end] ?? "").includes("|")) end += 1;
  const rows = lines.slice(position + 2, end).map((row) => {
    const cells = splitCells(row);
    const last = align.length - 1;
    // Cells beyond the head are joined into the last cell.
    return align.map((_, index) => parseInlines(index === last ? cells.slice(last).join(" | ") : (cells[index] ?? "")));
  });
  return [{ kind: "table", align, head: heads.map(parseInlines), rows }, end];
}

function splitCells(line: string): readonly string[] {
  const cells = line.trim().replace(/^\|/, "").split("|");
  if (cells.at(-1)?.trim() === "") cells.pop();
  return cells.map((cell) => cell.trim());
}

function parseAlign(cell: string): Align {
  if (!cell.endsWith(":")) return "left";
  return cell.startsWith(":") ? "center" : "right";
}

const itemPattern = /^( {0,8})([-*+]|(\d{1,9})[.)])(\s+)(?=\S)/;

/** Parses a quote or a list; deeper nesting is a paragraph. */
function parseNested(lines: readonly string[], position: number, depth: number): ParsedBlock | null {
  if (depth >= maxDepth) return null;
  const line = lines[position] ?? "";
  if (/^ {0,3}>/.test(line)) {
    let end = position;
    while (end < lines.length && /^ {0,3}>/.test(lines[end] ?? "")) end += 1;
    const inner = lines.slice(position, end).map((one) => one.replace(/^ {0,3}> ?/, ""));
    return [{ kind: "quote", blocks: parseBlocks(inner, depth + 1) }, end];
  }
  return itemPattern.test(line) ? parseList(lines, position, depth) : null;
}

function parseList(lines: readonly string[], position: number, depth: number): ParsedBlock {
  const [, indent = "", , number] = itemPattern.exec(lines[position] ?? "") ?? [];
  const items: string[][] = [];
  let end = position;
  let width = 0;
  for (; end < lines.length; end += 1) {
    const line = lines[end] ?? "";
    const found = itemPattern.exec(line);
    const spaces = line.length - line.trimStart().length;
    if (found !== null && spaces <= indent.length + 1) {
      if ((found[3] === undefined) !== (number === undefined)) break;
      width = found[0].length;
      items.push([line.slice(width)]);
    } else if (line.trim() === "") {
      const next = lines[end + 1] ?? "";
      const continues =
        next.trim() !== "" && (next.startsWith(" ".repeat(indent.length + 2)) || itemPattern.test(next));
      if (!continues) break;
      items.at(-1)?.push("");
    } else if (spaces > indent.length) items.at(-1)?.push(line.slice(Math.min(width, spaces)));
    else break;
  }
  const blocks = items.map((one) => parseBlocks(one, depth + 1));
  return [{ kind: "list", start: number === undefined ? null : Number(number), items: blocks }, end];
}

function parseParagraph(lines: readonly string[], position: number): ParsedBlock {
  let end = position + 1;
  while (end < lines.length && !startsBlock(lines, end)) end += 1;
  return [{ kind: "paragraph", children: parseInlines(lines.slice(position, end).join("\n")) }, end];
}

function startsBlock(lines: readonly string[], position: number): boolean {
  const line = lines[position] ?? "";
  return line.trim() === "" || fencePattern.test(line) || /^ {0,3}(?:#{1,6}\s|>)/.test(line) || itemPattern.test(line);
}

/** The signs that open and close a span. */
const spanSigns = [
  ["**", "strong"],
  ["__", "strong"],
  ["~~", "strike"],
  ["*", "em"],
  ["_", "em"],
] as const;

/** The maximum length of a span, in characters. It bounds the cost of unclosed signs. */
const maxSpan = 2_000;

function parseInlines(text: string, depth = 0): readonly Inline[] {
  const inlines: Inline[] = [];
  let plainStart = 0;
  let position = 0;
  const add = (inline: Inline, next: number): void => {
    if (position > plainStart) inlines.push({ kind: "text", text: text.slice(plainStart, position) });
    inlines.push(inline);
    position = next;
    plainStart = next;
  };
  while (position < text.length) {
    const found =
      parseCode(text, position) ?? parseLink(text, position) ?? (depth < 3 ? parseSpan(text, position, depth) : null);
    if (found !== null) add(...found);
    else if (text[position] === "\\" && /[\\`*_~[\]()#|>-]/.test(text[position + 1] ?? "")) {
      const sign = text[position + 1] ?? "";
      add({ kind: "text", text: sign }, position + 2);
    } else position += 1;
  }
  if (text.length > plainStart) inlines.push({ kind: "text", text: text.slice(plainStart) });
  return inlines;
}

type ParsedInline = readonly [inline: Inline, next: number];

function parseCode(text: string, position: number): ParsedInline | null {
  if (text[position] !== "`" || text[position - 1] === "`") return null;
  let size = 1;
  while (text[position + size] === "`" && size < 4) size += 1;
  const end = indexOfWithin(text, "`".repeat(size), position + size);
  return end === -1 ? null : [{ kind: "code", text: text.slice(position + size, end) }, end + size];
}

const bareUrlPattern = /https?:\/\/[^\s<>"'`\u0000-\u001f]{1,1000}/y;

function parseLink(text: string, position: number): ParsedInline | null {
  if (text[position] === "h" && !/\w/.test(text[position - 1] ?? "")) {
    bareUrlPattern.lastIndex = position;
    const [found = ""] = bareUrlPattern.exec(text) ?? [];
    const address = found.replace(/[.,;:!?)\]}*_]+$/, "");
    return isAddress(address) ? [{ kind: "link", text: address, href: address }, position + address.length] : null;
  }
  if (text[position] !== "[") return null;
  const middle = indexOfWithin(text, "](", position);
  if (middle === -1) return null;
  const end = indexOfWithin(text, ")", middle + 2);
  const href =
    end === -1
      ? ""
      : text
          .slice(middle + 2, end)
          .trim()
          .replace(/\s+"[^"]*"$/, "");
  return isAddress(href) ? [{ kind: "link", text: text.slice(position + 1, middle), href }, end + 1] : null;
}

function isAddress(href: string): boolean {
  return /^(?:https?:\/\/|mailto:)[^\s\u0000-\u001f]+$/i.test(href) && URL.canParse(href);
}

function parseSpan(text: string, position: number, depth: number): ParsedInline | null {
  const sign = spanSigns.find(([one]) => text.startsWith(one, position));
  if (sign === undefined) return null;
  const [signs, kind] = sign;
  const start = position + signs.length;
  // Within a word, an underscore is part of a name.
  if (/\s/.test(text[start] ?? " ") || (signs[0] === "_" && /\w/.test(text[position - 1] ?? ""))) return null;
  const end = indexOfWithin(text, signs, start);
  if (end <= start || /\s/.test(text[end - 1] ?? " ")) return null;
  if (signs[0] === "_" && /\w/.test(text[end + signs.length] ?? "")) return null;
  return [{ kind, children: parseInlines(text.slice(start, end), depth + 1) }, end + signs.length];
}

function indexOfWithin(text: string, needle: string, from: number): number {
  const found = text.slice(from, from + maxSpan).indexOf(needle);
  return found === -1 ? -1 : from + found;
}
