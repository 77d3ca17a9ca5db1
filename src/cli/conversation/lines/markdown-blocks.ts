/**
 * Splits streamed Markdown into complete blocks, which no longer change, and the block that is still open.
 *
 * 1. Each piece of text is processed once. Only the open block is kept in memory.
 * 2. A block is bounded: code ends with each line, a list with each item, and a paragraph when it is long.
 */

export type Block =
  /** `indent`: the indentation of a block that belongs to an earlier list item. */
  | { readonly type: "markdown"; readonly text: string; readonly indent: number }
  /** The opening line of a code block; `language` may be empty. */
  | { readonly type: "code-start"; readonly language: string }
  | { readonly type: "code"; readonly line: string }
  | { readonly type: "code-end" }
  | { readonly type: "blank" };

/** The maximum number of marks before a line, such as those of a quote in a list. A block with more is shown as text. */
const maxMarks = 40;

/** Whether a line is nested so deeply that hostile text would take more time than plain text. */
export function isDeeplyNested(text: string): boolean {
  return text.split("\n").some((line) => (/^[\s>*+-]*/.exec(line)?.[0].length ?? 0) > maxMarks);
}

export type BlockCutter = {
  /** @returns the blocks that are complete now */
  readonly add: (text: string) => readonly Block[];
  /** The open block and the line that has not ended, as Markdown; or the line of the code block. */
  readonly open: () => Block | null;
  /** @returns the remaining blocks */
  readonly end: () => readonly Block[];
};

/** The maximum size of a block; characters. A longer one is emitted in parts. */
export const maxInBlock = 4_096;
/** The maximum size of a table; characters. A table is emitted when it is complete. A longer one is shown as text. */
export const maxInTable = 32_768;

type Fence = { readonly mark: string; readonly indent: number };

export function createBlockCutter(): BlockCutter {
  /** The complete lines of the open block. `rest` is the text after the last line break. */
  let lines: string[] = [];
  let size = 0;
  let rest = "";
  let fence: Fence | null = null;
  let isInList = false;
  let indent = 0;
  const completed: Block[] = [];

  function flush(): void {
    if (lines.length > 0) completed.push({ type: "markdown", text: lines.join("\n"), indent });
    [lines, size] = [[], 0];
  }

  /** A block that is indented below a list item belongs to the item. */
  function beginBlock(line: string): void {
    const lineIndent = countIndent(line);
    isInList = listItemPattern.test(line) || (isInList && lineIndent >= 2);
    indent = isInList ? Math.min(lineIndent, maxIndent) : 0;
  }

  function processLine(line: string): void {
    if (fence !== null) {
      if (closesFence(line, fence)) {
        fence = null;
        completed.push({ type: "code-end" });
      } else completed.push({ type: "code", line: removeIndent(line, fence.indent) });
      return;
    }
    const openingFence = parseOpeningFence(line);
    if (openingFence !== null) {
      flush();
      fence = openingFence.fence;
      completed.push({ type: "code-start", language: openingFence.language });
    } else if (line.trim() === "") {
      flush();
      completed.push({ type: "blank" });
    } else {
      if (startsListItem(removeIndent(line, indent), lines)) flush();
      if (lines.length === 0) beginBlock(line);
      lines.push(removeIndent(line, indent));
      size += line.length + 1;
      if (/^ {0,3}#{1,6}(?:\s|$)/.test(line) || size > (isTable(lines) ? maxInTable : maxInBlock)) flush();
    }
  }

  function add(text: string): readonly Block[] {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) processLine(part.replace(/\r$/, ""));
    // A very long line is emitted in parts.
    while (rest.length > maxInBlock) {
      const at = rest.lastIndexOf(" ", maxInBlock);
      const cut = at > 0 ? at : maxInBlock;
      processLine(rest.slice(0, cut));
      rest = rest.slice(at > 0 ? cut + 1 : cut);
    }
    return completed.splice(0);
  }

  return {
    add,
    open() {
      if (fence !== null) return rest === "" ? null : { type: "code", line: removeIndent(rest, fence.indent) };
      if (lines.length === 0 && rest !== "") beginBlock(rest);
      const text = [...lines, ...(rest === "" ? [] : [removeIndent(rest, indent)])].join("\n");
      return text === "" ? null : { type: "markdown", text, indent };
    },
    end() {
      if (rest !== "") processLine(rest);
      rest = "";
      if (fence !== null) completed.push({ type: "code-end" });
      fence = null;
      flush();
      return completed.splice(0);
    },
  };
}

function parseOpeningFence(line: string): { readonly fence: Fence; readonly language: string } | null {
  if (!/^ {0,12}[`~]/.test(line)) return null;
  const [, indent = "", mark = "", language = ""] = /^( {0,12})(`{3,}|~{3,})\s*([^`]*)$/.exec(line) ?? [];
  return mark === ""
    ? null
    : { fence: { mark, indent: indent.length }, language: language.trim().split(/\s/)[0] ?? "" };
}

function closesFence(line: string, { mark }: Fence): boolean {
  const found = /^ {0,12}(`{3,}|~{3,})\s*$/.exec(line)?.[1] ?? "";
  return found.startsWith(mark);
}

function countIndent(line: string): number {
  let at = 0;
  while (line[at] === " ") at += 1;
  return at;
}

function removeIndent(line: string, indent: number): string {
  return indent === 0 ? line : line.slice(Math.min(countIndent(line), indent));
}

/** The maximum indentation. Deeper blocks are shown with this one. */
const maxIndent = 12;

const listItemPattern = /^ {0,12}(?:[-*+]|\d{1,9}[.)])\s/;

/** Whether a line begins the next item of a list. An item that is indented further belongs to the previous one. */
function startsListItem(line: string, lines: readonly string[]): boolean {
  const [first = ""] = lines;
  const mark = /^(?:[-*+]|\d{1,9}[.)])\s+/.exec(first)?.[0].length ?? 0;
  return mark > 0 && listItemPattern.test(line) && countIndent(line) < mark;
}

function isTable(lines: readonly string[]): boolean {
  return (lines[0] ?? "").includes("|") && /^[\s|:-]*-[\s|:-]*$/.test(lines[1] ?? "");
}
