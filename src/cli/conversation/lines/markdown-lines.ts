/**
 * Renders Markdown as lines of styled text.
 *
 * 1. A link shows its address. Images and HTML are shown as text.
 * 2. Prose is wrapped between words at `maxProseColumns` columns at most. Code is not wrapped: the terminal does it, so that copied
 *    code has no extra line breaks.
 * 3. Code has the colors of its language, line by line.
 * 4. Deep nesting is shown as text, so that hostile text takes no more time than plain text.
 */
import { lexer, type Token, type Tokens } from "marked";
import { type Line, lineOf, linesOf, measureLine, type Span, spanOf, wrapLine } from "../../screen/line.js";
import type { TextStyle } from "../../terminal/text-style.js";
import { createHighlighter } from "./highlight.js";
import { type Block, createBlockCutter, isDeeplyNested } from "./markdown-blocks.js";

/** The maximum width of prose; columns. Longer lines are hard to read. */
const maxProseColumns = 100;
/** Tokens that are nested more deeply are shown as text. */
const maxDepth = 20;
const maxTableRows = 200;
/** A table with a narrower column is shown as records. */
const minColumnWidth = 6;

export type MarkdownLines = {
  /** @returns the lines that can no longer change */
  readonly add: (text: string, columns: number) => readonly Line[];
  /** The lines of the block that is still open. */
  readonly open: (columns: number) => readonly Line[];
  /** @returns the remaining lines, and resets the state for the next text */
  readonly end: (columns: number) => readonly Line[];
};

export function createMarkdownLines(): MarkdownLines {
  let cutter = createBlockCutter();
  let code = createHighlighter("");
  /** Whether the last line is blank: consecutive blank lines are collapsed, and there is none at the beginning. */
  let isBlank = true;

  function renderBlocks(blocks: readonly Block[], columns: number): readonly Line[] {
    const lines: Line[] = [];
    for (const block of blocks) {
      if (block.type === "blank" && isBlank) continue;
      if (block.type === "code-start") code = createHighlighter(block.language);
      for (const line of renderBlock(block, columns, code.next)) lines.push(line);
      isBlank = block.type === "blank";
    }
    return lines;
  }

  return {
    add: (text, columns) => renderBlocks(cutter.add(text), columns),
    open(columns) {
      const block = cutter.open();
      return block === null ? [] : renderBlock(block, columns, code.peek);
    },
    end(columns) {
      const lines = renderBlocks(cutter.end(), columns);
      cutter = createBlockCutter();
      isBlank = true;
      return lines;
    },
  };
}

function renderBlock(block: Block, columns: number, highlight: (line: string) => Line): readonly Line[] {
  switch (block.type) {
    case "blank":
      return [[]];
    case "code-start":
      return block.language === "" ? [] : [lineOf(`  ${block.language}`, "dim")];
    case "code":
      return [[spanOf("  "), ...highlight(block.line)]];
    case "code-end":
      return [];
    case "markdown":
      return indentLines(renderMarkdown(block.text, columns - block.indent), block.indent);
  }
}

function indentLines(lines: readonly Line[], by: number): readonly Line[] {
  return by === 0 ? lines : lines.map((line) => (line.length === 0 ? line : [spanOf(" ".repeat(by)), ...line]));
}

function renderCodeLine(line: string): Line {
  return [spanOf("  "), spanOf(line, "cyan")];
}

/** Renders a complete block of Markdown. */
function renderMarkdown(text: string, columns: number): readonly Line[] {
  const width = Math.max(8, Math.min(maxProseColumns, columns - 1));
  if (isDeeplyNested(text)) return linesOf(text);
  return lexer(text).flatMap((token) => renderToken(token, width, 0));
}

function renderToken(token: Token, width: number, depth: number): readonly Line[] {
  if (depth > maxDepth) return linesOf(token.raw);
  switch (token.type) {
    case "space":
      return [];
    case "heading":
      return wrapLine(toSpans(childTokens(token), "bold"), width);
    case "code":
      return (token as Tokens.Code).text.split("\n").map(renderCodeLine);
    case "hr":
      return [lineOf("───", "dim")];
    case "blockquote":
      return childTokens(token)
        .flatMap((part) => renderToken(part, width - 2, depth + 1))
        .map((line) => [spanOf("│ ", "dim"), ...line]);
    case "list":
      return renderListToken(token as Tokens.List, width, depth);
    case "table":
      return renderTable(token as Tokens.Table, width);
    case "paragraph":
    case "text":
      return renderProse(
        childTokens(token).length > 0 ? toSpans(childTokens(token)) : [spanOf(decodeEntities(tokenText(token)))],
        width,
      );
    default:
      return linesOf(token.raw.replace(/\n+$/, ""));
  }
}

/** Wraps a paragraph, and keeps its hard line breaks. */
function renderProse(spans: readonly Span[], width: number): readonly Line[] {
  if (!spans.some(({ text }) => text.includes("\n"))) return wrapLine(spans, width);
  const lines: Span[][] = [[]];
  for (const span of spans)
    for (const [at, text] of span.text.split("\n").entries()) {
      if (at > 0) lines.push([]);
      if (text !== "") lines.at(-1)?.push({ ...span, text });
    }
  return lines.flatMap((line) => wrapLine(line, width));
}

function renderListToken({ items, ordered, start }: Tokens.List, width: number, depth: number): readonly Line[] {
  return items.flatMap((item, at) => {
    const number = (typeof start === "number" ? start : 1) + at;
    const box = item.task ? (item.checked ? "[x] " : "[ ] ") : "";
    const mark = `${ordered ? `${number}. ` : "- "}${box}`;
    const lines = item.tokens
      .filter(({ type }) => type !== "checkbox")
      .flatMap((token) => renderToken(token, Math.max(8, width - mark.length), depth + 1));
    return (lines.length === 0 ? [[]] : lines).map((line, row) => [
      spanOf(row === 0 ? mark : " ".repeat(mark.length)),
      ...line,
    ]);
  });
}

type Cells = readonly (readonly Span[])[];

function renderTable({ header, rows, raw }: Tokens.Table, width: number): readonly Line[] {
  if (rows.length > maxTableRows) return linesOf(raw.replace(/\n+$/, ""));
  const head: Cells = header.map((cell) => toSpans(cell.tokens, "bold"));
  const body: readonly Cells[] = rows.map((row) => row.map((cell) => toSpans(cell.tokens)));
  const naturalWidths = head.map((cell, at) =>
    Math.max(1, ...[cell, ...body.map((row) => row[at] ?? [])].map(measureLine)),
  );
  const gaps = 2 * (head.length - 1);
  const widths = fitWidths(naturalWidths, width - gaps);
  if (widths === null) return body.flatMap((row) => renderRecord(head, row, width));
  const lines = (cells: Cells) => renderRow(cells, widths);
  const rule = lineOf(widths.map((columns) => "─".repeat(columns)).join("  "), "dim");
  return [...lines(head), rule, ...body.flatMap(lines)];
}

/** Column widths that fit into the total width; null if a column would be too narrow to read. */
function fitWidths(naturalWidths: readonly number[], width: number): readonly number[] | null {
  const total = naturalWidths.reduce((sum, natural) => sum + natural, 0);
  if (total <= width) return naturalWidths;
  // Columns that need less than an equal share keep what they need. The others share the rest.
  let open = naturalWidths.map((_, at) => at);
  let remainingWidth = width;
  for (;;) {
    const share = Math.floor(remainingWidth / Math.max(1, open.length));
    const small = open.filter((at) => (naturalWidths[at] ?? 0) <= share);
    if (small.length === 0) {
      if (share < minColumnWidth) return null;
      return naturalWidths.map((natural, at) => (open.includes(at) ? share : natural));
    }
    remainingWidth -= small.reduce((sum, at) => sum + (naturalWidths[at] ?? 0), 0);
    open = open.filter((at) => !small.includes(at));
  }
}

function renderRow(cells: Cells, widths: readonly number[]): readonly Line[] {
  const columns = widths.map((width, at) => wrapLine(cells[at] ?? [], width));
  const height = Math.max(...columns.map((lines) => lines.length));
  return Array.from({ length: height }, (_, row) =>
    columns.flatMap((lines, at) => {
      const line = lines[row] ?? [];
      const isLast = at === columns.length - 1;
      const padding = isLast ? 0 : (widths[at] ?? 0) - measureLine(line) + 2;
      return [...line, ...(padding > 0 ? [spanOf(" ".repeat(padding))] : [])];
    }),
  );
}

/** A row of a table, one line for each cell. */
function renderRecord(head: Cells, cells: Cells, width: number): readonly Line[] {
  const lines = head.flatMap((name, at) => wrapLine([...name, spanOf(": "), ...(cells[at] ?? [])], width));
  return [...lines, []];
}

function childTokens(token: Token): readonly Token[] {
  return "tokens" in token && token.tokens !== undefined ? token.tokens : [];
}

function tokenText(token: Token): string {
  return "text" in token && typeof token.text === "string" ? token.text : token.raw;
}

/** Converts inline Markdown to spans. The innermost style wins. */
function toSpans(tokens: readonly Token[], style?: TextStyle, depth = 0): readonly Span[] {
  if (depth > maxDepth) return tokens.map(({ raw }) => spanOf(raw, style));
  return tokens.flatMap((token): readonly Span[] => {
    switch (token.type) {
      case "strong":
        return toSpans(childTokens(token), "bold", depth + 1);
      case "em":
        return toSpans(childTokens(token), "italic", depth + 1);
      case "codespan":
        return [spanOf(decodeEntities(tokenText(token)), "cyan")];
      case "br":
        return [spanOf("\n", style)];
      case "del":
        return [spanOf("~~"), ...toSpans(childTokens(token), style, depth + 1), spanOf("~~")];
      case "link":
        return renderLink(token as Tokens.Link, style, depth);
      case "image":
        return [spanOf(`[image: ${tokenText(token)}] ${(token as Tokens.Image).href}`, style)];
      case "text":
        return childTokens(token).length > 0
          ? toSpans(childTokens(token), style, depth + 1)
          : [spanOf(joinSoftBreaks(decodeEntities(tokenText(token))), style)];
      case "escape":
        return [spanOf(decodeEntities(tokenText(token)), style)];
      default:
        return [spanOf(token.raw, style)];
    }
  });
}

/** Renders a link's text, then its address, so that the text cannot hide where it leads. */
function renderLink(token: Tokens.Link, style: TextStyle | undefined, depth: number): readonly Span[] {
  const isBare = token.text === token.href || token.href === `mailto:${token.text}`;
  const address = spanOf(token.href, "underline");
  return isBare ? [address] : [...toSpans(token.tokens, style, depth + 1), spanOf(" ("), address, spanOf(")")];
}

/** Replaces a soft line break with a space. A hard break is a separate token. */
function joinSoftBreaks(text: string): string {
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

/** Decodes HTML entities, which a terminal does not need. */
function decodeEntities(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#39|nbsp);/g, (entity) => entities[entity] ?? entity);
}
