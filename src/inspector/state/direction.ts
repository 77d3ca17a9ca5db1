/**
 * Whether a part of an answer is written from right to left: its first letter says so. Code does not count. A browser finds this
 * out by itself for a line of text, but not for a list or a quote whose lines have directions of their own.
 */
import type { Block, Inline } from "./markdown.js";

export type Direction = "ltr" | "rtl";

const letter = /\p{L}/u;
const fromTheRight =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}\p{Script=Mandaic}]/u;

/** The direction of the first part that has a letter outside of code; `ltr` if none has. */
export function directionOf(blocks: readonly Block[]): Direction {
  return inBlocks(blocks) ?? "ltr";
}

function inBlocks(blocks: readonly Block[]): Direction | null {
  for (const block of blocks) {
    const found = inBlock(block);
    if (found !== null) return found;
  }
  return null;
}

function inBlock(block: Block): Direction | null {
  switch (block.kind) {
    case "heading":
    case "paragraph":
      return inInlines(block.children);
    case "quote":
      return inBlocks(block.blocks);
    case "list":
      return inBlocks(block.items.flat());
    case "table":
      return inInlines([...block.head, ...block.rows.flat()].flat());
    case "code":
    case "rule":
      return null;
  }
}

function inInlines(inlines: readonly Inline[]): Direction | null {
  for (const inline of inlines) {
    const found = inInline(inline);
    if (found !== null) return found;
  }
  return null;
}

function inInline(inline: Inline): Direction | null {
  if (inline.kind === "code") return null;
  if ("children" in inline) return inInlines(inline.children);
  const first = letter.exec(inline.text)?.[0];
  if (first === undefined) return null;
  return fromTheRight.test(first) ? "rtl" : "ltr";
}
