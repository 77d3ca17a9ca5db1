/**
 * Commands of a conversation that show or copy a part of the session: outputs, answers, the plan, the trace.
 */
import { isObject } from "../../../core/data/is-object.js";
import { textOfOutput } from "../../../core/index.js";
import { type Message, PawlError, type Store, type ToolOutput, textOf } from "../../../index.js";
import { traceSession } from "../../../inspect.js";
import { renderWaterfall } from "../../render/waterfall.js";
import { type Line, lineOf, spanOf } from "../../screen/line.js";
import { formatCount } from "../../terminal/text.js";
import { plainText } from "../../terminal/text-style.js";
import { listCodeBlocks } from "./code-blocks.js";
import type { CommandContext } from "./sessions.js";
import { showFullText } from "./show-full-text.js";

/** Shows the whole output of a call; 1 is the last one. */
export async function output(context: CommandContext, words: string): Promise<void> {
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

/** Copies the Markdown source of the last answer, or one of its code blocks. */
export async function copyAnswer(context: CommandContext, words: string): Promise<void> {
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

function parseNumber(words: string, command: string): number {
  if (words === "") return 1;
  const number = /^\d{1,6}$/.test(words) ? Number(words) : 0;
  if (number >= 1) return number;
  throw new PawlError("bad_input", `${command} takes a number, counted from 1.`);
}

const statusMarks: { readonly [status: string]: string | undefined } = { open: "[ ]", in_progress: "[>]", done: "[x]" };

/** Shows the model's plan. */
export async function showPlan({ agent, sessionId, store, redaction, say }: CommandContext): Promise<void> {
  const { todo } = (await store.describe(sessionId)) === null ? {} : await agent.session(sessionId).data();
  const items = Array.isArray(todo) ? todo : [];
  const lines = items.flatMap((item): Line[] => {
    if (!isObject(item)) return [];
    const mark = statusMarks[String(item.status)];
    return mark === undefined ? [] : [[spanOf(`${mark} `, "cyan"), spanOf(redaction.text(String(item.text)))]];
  });
  say(lines.length === 0 ? [lineOf("The model has no plan in this session.", "dim")] : lines);
}

/** Shows where the time of the last run went. */
export async function showTrace({ store, sessionId, redaction, columns, say }: CommandContext): Promise<void> {
  const records =
    (await store.describe(sessionId)) === null
      ? []
      : await traceSession(store, sessionId, { asOf: Date.now(), redact: redaction.text });
  const runId = records.at(-1)?.runId;
  if (runId === undefined) return say([lineOf("No run of this session has started.", "dim")]);
  const run = records.filter((record) => record.runId === runId);
  say(renderWaterfall(run, Math.min(columns() - 1, 120), plainText).map((line) => lineOf(line)));
}
