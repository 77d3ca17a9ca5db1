/**
 * The command `/output` of a conversation.
 */
import { textOfOutput } from "../../../core/index.js";
import { PawlError, type Store, type ToolOutput } from "../../../index.js";
import { lineOf } from "../../screen/line.js";
import { formatCount } from "../../terminal/text.js";
import type { CommandContext } from "./command-context.js";
import { parseNumber } from "./parse-number.js";
import { showFullText } from "./show-full-text.js";

/** Shows the whole output of a call; 1 is the last one. */
export async function runOutputCommand(context: CommandContext, words: string): Promise<void> {
  const { agent, sessionId, store, say } = context;
  const number = parseNumber(words, "/output");
  const results: { readonly name: string; readonly output: ToolOutput; readonly returned?: ToolOutput }[] = [];
  if ((await store.describe(sessionId)) !== null)
    for await (const event of agent.session(sessionId).events({ follow: false, live: false }))
      if (event.type === "tool_result") results.push(event);
  const toolResult = results.at(-number);
  if (toolResult === undefined)
    throw new PawlError("bad_input", `This session has ${formatCount(results.length, "output")}.`);
  const read = await loadWholeOutput(store, sessionId, toolResult.output);
  const text =
    toolResult.returned === undefined
      ? read
      : `${await loadWholeOutput(store, sessionId, toolResult.returned)}\n\nThe model read:\n\n${read}`;
  const hiddenLines = await showFullText(context, { title: toolResult.name, text, maxLines });
  if (hiddenLines > 0) say([lineOf(`${formatCount(hiddenLines, "line")} above: set PAGER to see all.`, "dim")]);
}

const maxLines = 1_000;

async function loadWholeOutput(store: Store, sessionId: string, output: ToolOutput): Promise<string> {
  const full = "full" in output ? output.full : undefined;
  const bytes = full === undefined ? null : await store.getBlob(sessionId, full.blob);
  return bytes === null ? textOfOutput(output) : new TextDecoder().decode(bytes);
}
