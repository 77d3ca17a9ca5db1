/**
 * The code blocks of Markdown text, as they were written.
 */
import { createBlockCutter } from "../lines/markdown-blocks.js";

export function listCodeBlocks(text: string): readonly string[] {
  const cutter = createBlockCutter();
  const blocks: string[] = [];
  let lines: string[] | null = null;
  for (const block of [...cutter.add(text), ...cutter.end()]) {
    if (block.type === "code-start") lines = [];
    else if (block.type === "code") lines?.push(block.line);
    else if (block.type === "code-end" && lines !== null) {
      blocks.push(lines.join("\n"));
      lines = null;
    }
  }
  return blocks;
}
