/**
 * Cuts streamed Markdown into blocks: what cannot change any more, and the block that is still open.
 *
 * 1. Each piece of text is looked at once. Only the open block is kept.
 * 2. A block is bounded: code ends with each line, a list with each item, and a paragraph when it is long.
 */

export type Block =
  /** `indent`: how far a block is within a list whose item came before it. */
  | { readonly type: "markdown"; readonly text: string; readonly indent: number }
  /** The line with which a code block begins; `language` may be empty. */
  | { readonly type: "code-start"; readonly language: string }
  | { readonly type: "code"; readonly line: string }
  | { readonly type: "code-end" }
  | { readonly type: "blank" };

/** Marks in front of a line, such as those of a quote in a list. A block with more is shown as text. */
const mostMarks = 40;

/** Whether a line nests so deeply that a hostile text would take more time than a plain one. */
export function nestsDeeply(text: string): boolean {
  return text.split("\n").some((line) => (/^[\s>*+-]*/.exec(line)?.[0].length ?? 0) > mostMarks);
}

export type BlockCutter = {
  /** @returns the blocks that are complete now */
  readonly add: (text: string) => readonly Block[];
  /** The open block and the line that has not ended, as Markdown; or the line of the code block. */
  readonly open: () => Block | null;
  /** @returns all that is left */
  readonly end: () => readonly Block[];
};

/** Characters of a block. A longer one is given out in parts. */
export const mostInBlock = 4_096;
/** A table is shown when it is whole. One that is longer is shown as text. */
export const mostInTable = 32_768;

type Fence = { readonly mark: string; readonly indent: number };

export function createBlockCutter(): BlockCutter {
  /** The complete lines of the open block, and the text behind the last line break. */
  let lines: string[] = [];
  let size = 0;
  let rest = "";
  let fence: Fence | null = null;
  let isInList = false;
  let indent = 0;
  const done: Block[] = [];

  function flush(): void {
    if (lines.length > 0) done.push({ type: "markdown", text: lines.join("\n"), indent });
    [lines, size] = [[], 0];
  }

  /** A block that is indented behind an item of a list belongs to the item. */
  function begin(line: string): void {
    const own = indentOf(line);
    isInList = item.test(line) || (isInList && own >= 2);
    indent = isInList ? Math.min(own, mostIndent) : 0;
  }

  function takeLine(line: string): void {
    if (fence !== null) {
      if (closes(line, fence)) {
        fence = null;
        done.push({ type: "code-end" });
      } else done.push({ type: "code", line: withoutIndent(line, fence.indent) });
      return;
    }
    const opened = openedFence(line);
    if (opened !== null) {
      flush();
      fence = opened.fence;
      done.push({ type: "code-start", language: opened.language });
    } else if (line.trim() === "") {
      flush();
      done.push({ type: "blank" });
    } else {
      if (startsBlock(withoutIndent(line, indent), lines)) flush();
      if (lines.length === 0) begin(line);
      lines.push(withoutIndent(line, indent));
      size += line.length + 1;
      if (/^ {0,3}#{1,6}(?:\s|$)/.test(line) || size > (isTable(lines) ? mostInTable : mostInBlock)) flush();
    }
  }

  function add(text: string): readonly Block[] {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) takeLine(part.replace(/\r$/, ""));
    // A line that does not end is given out in parts.
    while (rest.length > mostInBlock) {
      const at = rest.lastIndexOf(" ", mostInBlock);
      const cut = at > 0 ? at : mostInBlock;
      takeLine(rest.slice(0, cut));
      rest = rest.slice(at > 0 ? cut + 1 : cut);
    }
    return done.splice(0);
  }

  return {
    add,
    open() {
      if (fence !== null) return rest === "" ? null : { type: "code", line: withoutIndent(rest, fence.indent) };
      if (lines.length === 0 && rest !== "") begin(rest);
      const text = [...lines, ...(rest === "" ? [] : [withoutIndent(rest, indent)])].join("\n");
      return text === "" ? null : { type: "markdown", text, indent };
    },
    end() {
      if (rest !== "") takeLine(rest);
      rest = "";
      if (fence !== null) done.push({ type: "code-end" });
      fence = null;
      flush();
      return done.splice(0);
    },
  };
}

function openedFence(line: string): { readonly fence: Fence; readonly language: string } | null {
  if (!/^ {0,12}[`~]/.test(line)) return null;
  const [, indent = "", mark = "", language = ""] = /^( {0,12})(`{3,}|~{3,})\s*([^`]*)$/.exec(line) ?? [];
  return mark === ""
    ? null
    : { fence: { mark, indent: indent.length }, language: language.trim().split(/\s/)[0] ?? "" };
}

function closes(line: string, { mark }: Fence): boolean {
  const found = /^ {0,12}(`{3,}|~{3,})\s*$/.exec(line)?.[1] ?? "";
  return found.startsWith(mark);
}

function indentOf(line: string): number {
  let at = 0;
  while (line[at] === " ") at += 1;
  return at;
}

function withoutIndent(line: string, indent: number): string {
  return indent === 0 ? line : line.slice(Math.min(indentOf(line), indent));
}

/** Blocks that are further in are shown as far as this. */
const mostIndent = 12;

const item = /^ {0,12}(?:[-*+]|\d{1,9}[.)])\s/;

/** Whether a line begins the next item of a list. An item that is further in belongs to the one before it. */
function startsBlock(line: string, lines: readonly string[]): boolean {
  const [first = ""] = lines;
  const mark = /^(?:[-*+]|\d{1,9}[.)])\s+/.exec(first)?.[0].length ?? 0;
  return mark > 0 && item.test(line) && indentOf(line) < mark;
}

function isTable(lines: readonly string[]): boolean {
  return (lines[0] ?? "").includes("|") && /^[\s|:-]*-[\s|:-]*$/.test(lines[1] ?? "");
}
