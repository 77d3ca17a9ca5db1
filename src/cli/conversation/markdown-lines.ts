/**
 * Markdown as lines of styled text.
 *
 * 1. A link shows its address. A picture is a text. HTML is a text.
 * 2. Prose is wrapped between words at `prose` columns at most. Code is not wrapped: the terminal does it, so that what
 *    is copied has no line breaks of ours.
 * 3. Code has the colours of its language, line by line.
 * 4. Deep nesting is shown as text, so that a hostile text takes no more time than a plain one.
 */
import { lexer, type Token, type Tokens } from "marked";
import { type Line, lineOf, linesOf, type Span, spanOf, widthOfLine, wrapLine } from "../screen/line.js";
import type { TextStyle } from "../text-style.js";
import { createHighlighter } from "./highlight.js";
import { type Block, createBlockCutter, nestsDeeply } from "./markdown-blocks.js";

/** Columns. Longer lines are hard to read. */
const prose = 100;
/** A line with more marks in front of it than this is text. */
const deepest = 20;
const mostTableRows = 200;
/** A table whose columns would get less than this is shown as records. */
const narrowestColumn = 6;

export type MarkdownLines = {
  /** @returns the lines that do not change any more */
  readonly add: (text: string, columns: number) => readonly Line[];
  /** The lines of the block that is still open. */
  readonly open: (columns: number) => readonly Line[];
  /** @returns all that is left; the next text begins again */
  readonly end: (columns: number) => readonly Line[];
};

export function createMarkdownLines(): MarkdownLines {
  let cutter = createBlockCutter();
  let code = createHighlighter("");
  /** Whether the last line is blank: several blank lines are one, and there is none at the beginning. */
  let isBlank = true;

  function linesOfBlocks(blocks: readonly Block[], columns: number): readonly Line[] {
    const lines: Line[] = [];
    for (const block of blocks) {
      if (block.type === "blank" && isBlank) continue;
      if (block.type === "code-start") code = createHighlighter(block.language);
      for (const line of linesOfBlock(block, columns, code.next)) lines.push(line);
      isBlank = block.type === "blank";
    }
    return lines;
  }

  return {
    add: (text, columns) => linesOfBlocks(cutter.add(text), columns),
    open(columns) {
      const block = cutter.open();
      return block === null ? [] : linesOfBlock(block, columns, code.peek);
    },
    end(columns) {
      const lines = linesOfBlocks(cutter.end(), columns);
      cutter = createBlockCutter();
      isBlank = true;
      return lines;
    },
  };
}

function linesOfBlock(block: Block, columns: number, coloured: (line: string) => Line): readonly Line[] {
  switch (block.type) {
    case "blank":
      return [[]];
    case "code-start":
      return block.language === "" ? [] : [lineOf(`  ${block.language}`, "dim")];
    case "code":
      return [[spanOf("  "), ...coloured(block.line)]];
    case "code-end":
      return [];
    case "markdown":
      return indented(markdownLines(block.text, columns - block.indent), block.indent);
  }
}

function indented(lines: readonly Line[], by: number): readonly Line[] {
  return by === 0 ? lines : lines.map((line) => (line.length === 0 ? line : [spanOf(" ".repeat(by)), ...line]));
}

function codeLine(line: string): Line {
  return [spanOf("  "), spanOf(line, "cyan")];
}

/** A whole piece of Markdown as lines. */
function markdownLines(text: string, columns: number): readonly Line[] {
  const width = Math.max(8, Math.min(prose, columns - 1));
  if (nestsDeeply(text)) return linesOf(text);
  return lexer(text).flatMap((token) => blockLines(token, width, 0));
}

function blockLines(token: Token, width: number, depth: number): readonly Line[] {
  if (depth > deepest) return linesOf(token.raw);
  switch (token.type) {
    case "space":
      return [];
    case "heading":
      return wrapLine(spansOf(inside(token), "bold"), width);
    case "code":
      return (token as Tokens.Code).text.split("\n").map(codeLine);
    case "hr":
      return [lineOf("───", "dim")];
    case "blockquote":
      return inside(token)
        .flatMap((part) => blockLines(part, width - 2, depth + 1))
        .map((line) => [spanOf("│ ", "dim"), ...line]);
    case "list":
      return listLines(token as Tokens.List, width, depth);
    case "table":
      return tableLines(token as Tokens.Table, width);
    case "paragraph":
    case "text":
      return proseLines(inside(token).length > 0 ? spansOf(inside(token)) : [spanOf(decoded(textIn(token)))], width);
    default:
      return linesOf(token.raw.replace(/\n+$/, ""));
  }
}

/** Wraps each line of a paragraph, where the text says that a line ends. */
function proseLines(spans: readonly Span[], width: number): readonly Line[] {
  if (!spans.some(({ text }) => text.includes("\n"))) return wrapLine(spans, width);
  const lines: Span[][] = [[]];
  for (const span of spans)
    for (const [at, text] of span.text.split("\n").entries()) {
      if (at > 0) lines.push([]);
      if (text !== "") lines.at(-1)?.push({ ...span, text });
    }
  return lines.flatMap((line) => wrapLine(line, width));
}

function listLines({ items, ordered, start }: Tokens.List, width: number, depth: number): readonly Line[] {
  return items.flatMap((item, at) => {
    const number = (typeof start === "number" ? start : 1) + at;
    const box = item.task ? (item.checked ? "[x] " : "[ ] ") : "";
    const mark = `${ordered ? `${number}. ` : "- "}${box}`;
    const lines = item.tokens
      .filter(({ type }) => type !== "checkbox")
      .flatMap((token) => blockLines(token, Math.max(8, width - mark.length), depth + 1));
    return (lines.length === 0 ? [[]] : lines).map((line, row) => [
      spanOf(row === 0 ? mark : " ".repeat(mark.length)),
      ...line,
    ]);
  });
}

type Cells = readonly (readonly Span[])[];

function tableLines({ header, rows, raw }: Tokens.Table, width: number): readonly Line[] {
  if (rows.length > mostTableRows) return linesOf(raw.replace(/\n+$/, ""));
  const head: Cells = header.map((cell) => spansOf(cell.tokens, "bold"));
  const body: readonly Cells[] = rows.map((row) => row.map((cell) => spansOf(cell.tokens)));
  const natural = head.map((cell, at) => Math.max(1, ...[cell, ...body.map((row) => row[at] ?? [])].map(widthOfLine)));
  const gaps = 2 * (head.length - 1);
  const widths = fitted(natural, width - gaps);
  if (widths === null) return body.flatMap((row) => recordLines(head, row, width));
  const lines = (cells: Cells) => rowLines(cells, widths);
  const rule = lineOf(widths.map((columns) => "─".repeat(columns)).join("  "), "dim");
  return [...lines(head), rule, ...body.flatMap(lines)];
}

/** Widths of columns that fit together; null if one of them would be too narrow to read. */
function fitted(natural: readonly number[], width: number): readonly number[] | null {
  const total = natural.reduce((sum, one) => sum + one, 0);
  if (total <= width) return natural;
  // Columns that need less than an equal share keep what they need. The others share the rest.
  let open = natural.map((_, at) => at);
  let room = width;
  for (;;) {
    const share = Math.floor(room / Math.max(1, open.length));
    const small = open.filter((at) => (natural[at] ?? 0) <= share);
    if (small.length === 0) {
      if (share < narrowestColumn) return null;
      return natural.map((one, at) => (open.includes(at) ? share : one));
    }
    room -= small.reduce((sum, at) => sum + (natural[at] ?? 0), 0);
    open = open.filter((at) => !small.includes(at));
  }
}

function rowLines(cells: Cells, widths: readonly number[]): readonly Line[] {
  const columns = widths.map((width, at) => wrapLine(cells[at] ?? [], width));
  const height = Math.max(...columns.map((lines) => lines.length));
  return Array.from({ length: height }, (_, row) =>
    columns.flatMap((lines, at) => {
      const line = lines[row] ?? [];
      const isLast = at === columns.length - 1;
      const padding = isLast ? 0 : (widths[at] ?? 0) - widthOfLine(line) + 2;
      return [...line, ...(padding > 0 ? [spanOf(" ".repeat(padding))] : [])];
    }),
  );
}

/** A row of a table, one line for each cell. */
function recordLines(head: Cells, cells: Cells, width: number): readonly Line[] {
  const lines = head.flatMap((name, at) => wrapLine([...name, spanOf(": "), ...(cells[at] ?? [])], width));
  return [...lines, []];
}

function inside(token: Token): readonly Token[] {
  return "tokens" in token && token.tokens !== undefined ? token.tokens : [];
}

function textIn(token: Token): string {
  return "text" in token && typeof token.text === "string" ? token.text : token.raw;
}

/** Inline Markdown as spans. The innermost style counts. */
function spansOf(tokens: readonly Token[], style?: TextStyle, depth = 0): readonly Span[] {
  if (depth > deepest) return tokens.map(({ raw }) => spanOf(raw, style));
  return tokens.flatMap((token): readonly Span[] => {
    switch (token.type) {
      case "strong":
        return spansOf(inside(token), "bold", depth + 1);
      case "em":
        return spansOf(inside(token), "italic", depth + 1);
      case "codespan":
        return [spanOf(decoded(textIn(token)), "cyan")];
      case "br":
        return [spanOf("\n", style)];
      case "del":
        return [spanOf("~~"), ...spansOf(inside(token), style, depth + 1), spanOf("~~")];
      case "link":
        return linkSpans(token as Tokens.Link, style, depth);
      case "image":
        return [spanOf(`[image: ${textIn(token)}] ${(token as Tokens.Image).href}`, style)];
      case "text":
        return inside(token).length > 0
          ? spansOf(inside(token), style, depth + 1)
          : [spanOf(flowing(decoded(textIn(token))), style)];
      case "escape":
        return [spanOf(decoded(textIn(token)), style)];
      default:
        return [spanOf(token.raw, style)];
    }
  });
}

/** A link's text, then its address: nobody has to trust the text. */
function linkSpans(token: Tokens.Link, style: TextStyle | undefined, depth: number): readonly Span[] {
  const isBare = token.text === token.href || token.href === `mailto:${token.text}`;
  const address = spanOf(token.href, "underline");
  return isBare ? [address] : [...spansOf(token.tokens, style, depth + 1), spanOf(" ("), address, spanOf(")")];
}

/** A line break within a paragraph is a space. One that counts is a token of its own. */
function flowing(text: string): string {
  return text.replace(/ *\n */g, " ");
}

const entities: { readonly [name: string]: string | undefined } = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&nbsp;": " ",
};

/** Undoes the escapes that HTML needs, and a terminal does not. */
function decoded(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#39|nbsp);/g, (entity) => entities[entity] ?? entity);
}
