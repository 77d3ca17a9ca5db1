/**
 * Detects whether a part of an answer is written from right to left, by its first letter outside of code. A browser does this
 * for a line of text, but not for a list or a quote whose lines have their own directions.
 */
import type { Block, Inline } from "./parse-markdown.js";

export type Direction = "ltr" | "rtl";

const letterPattern = /\p{L}/u;
const rightToLeftLetter =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}\p{Script=Mandaic}]/u;

/** The direction of the first block with a letter outside of code; `ltr` if there is none. */
export function detectDirection(blocks: readonly Block[]): Direction {
  return findBlocksDirection(blocks) ?? "ltr";
}

function findBlocksDirection(blocks: readonly Block[]): Direction | null {
  for (const block of blocks) {
    const direction = findBlockDirection(block);
    if (direction !== null) return direction;
  }
  return null;
}

function findBlockDirection(block: Block): Direction | null {
  switch (block.kind) {
    case "heading":
    case "paragraph":
      return findInlinesDirection(block.children);
    case "quote":
      return findBlocksDirection(block.blocks);
    case "list":
      return findBlocksDirection(block.items.flat());
    case "table":
      return findInlinesDirection([...block.head, ...block.rows.flat()].flat());
    case "code":
    case "rule":
      return null;
  }
}

function findInlinesDirection(inlines: readonly Inline[]): Direction | null {
  for (const inline of inlines) {
    const direction = findInlineDirection(inline);
    if (direction !== null) return direction;
  }
  return null;
}

function findInlineDirection(inline: Inline): Direction | null {
  if (inline.kind === "code") return null;
  if ("children" in inline) return findInlinesDirection(inline.children);
  const first = letterPattern.exec(inline.text)?.[0];
  if (first === undefined) return null;
  return rightToLeftLetter.test(first) ? "rtl" : "ltr";
}
