/**
 * The command `/copy` of a conversation.
 */
import { type Message, PawlError, textOf } from "../../../index.js";
import { lineOf } from "../../screen/line.js";
import { formatCount } from "../../terminal/text.js";
import { createBlockCutter } from "../lines/markdown-blocks.js";
import type { CommandContext } from "./command-context.js";
import { parseNumber } from "./parse-number.js";

/** Copies the Markdown source of the last answer, or one of its code blocks. */
export async function runCopyCommand(context: CommandContext, words: string): Promise<void> {
  const { agent, sessionId, store, redaction, say, copy } = context;
  const messages = (await store.describe(sessionId)) === null ? [] : await agent.session(sessionId).messages();
  const answer = redaction.text(textOf(messages.findLast(({ role }) => role === "assistant") ?? noAnswer));
  if (answer === "") throw new PawlError("bad_input", "There is no answer to copy yet.");
  const blocks = listCodeBlocks(answer);
  const block = words === "" ? undefined : blocks[parseNumber(words, "/copy") - 1];
  if (words !== "" && block === undefined)
    throw new PawlError("bad_input", `The last answer has ${formatCount(blocks.length, "code block")}.`);
  copy(block ?? answer);
  const what = block === undefined ? "The answer" : `Code block ${words}`;
  const more =
    block !== undefined || blocks.length === 0
      ? ""
      : ` /copy 1 copies its ${blocks.length === 1 ? "code block" : "first code block"}.`;
  say([lineOf(`${what} is copied, if your terminal allows it.${more}`, "dim")]);
}

const noAnswer: Message = { role: "assistant", parts: [] };

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
