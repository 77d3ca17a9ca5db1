/**
 * Commands of a conversation that look at the session or take something out of it: outputs, answers, the plan, the trace.
 */
import { textOfOutput } from "../../core/index.js";
import { type Message, PawlError, type Store, type ToolOutput, textOf, traceSession } from "../../index.js";
import { type Line, lineOf, spanOf } from "../screen/line.js";
import { counted } from "../text.js";
import { plainText } from "../text-style.js";
import { waterfall } from "../waterfall.js";
import { codeBlocks } from "./code-blocks.js";
import type { CommandContext } from "./session-commands.js";
import { showWhole } from "./show-whole.js";

/** Shows the whole output of a call; 1 is the last one. */
export async function output(context: CommandContext, words: string): Promise<void> {
  const { agent, sessionId, store, say } = context;
  const number = numberOf(words, "/output");
  const results: { readonly name: string; readonly output: ToolOutput; readonly returned?: ToolOutput }[] = [];
  if ((await store.describe(sessionId)) !== null)
    for await (const event of agent.session(sessionId).events({ follow: false, live: false }))
      if (event.type === "tool_result") results.push(event);
  const found = results.at(-number);
  if (found === undefined) throw new PawlError("bad_input", `This session has ${counted(results.length, "output")}.`);
  const read = await wholeOutput(store, sessionId, found.output);
  const text =
    found.returned === undefined
      ? read
      : `${await wholeOutput(store, sessionId, found.returned)}\n\nThe model read:\n\n${read}`;
  const above = await showWhole(context, { title: found.name, text, mostLines });
  if (above > 0) say([lineOf(`${counted(above, "line")} above: set PAGER to see all.`, "dim")]);
}

const mostLines = 1_000;

async function wholeOutput(store: Store, sessionId: string, output: ToolOutput): Promise<string> {
  const full = "full" in output ? output.full : undefined;
  const bytes = full === undefined ? null : await store.getBlob(sessionId, full.blob);
  return bytes === null ? textOfOutput(output) : new TextDecoder().decode(bytes);
}

/** Copies the last answer as its source; or one of its code blocks. */
export async function copyAnswer(context: CommandContext, words: string): Promise<void> {
  const { agent, sessionId, store, redaction, say, copy } = context;
  const messages = (await store.describe(sessionId)) === null ? [] : await agent.session(sessionId).messages();
  const answer = redaction.text(textOf(messages.findLast(({ role }) => role === "assistant") ?? noAnswer));
  if (answer === "") throw new PawlError("bad_input", "There is no answer to copy yet.");
  const blocks = codeBlocks(answer);
  const block = words === "" ? undefined : blocks[numberOf(words, "/copy") - 1];
  if (words !== "" && block === undefined)
    throw new PawlError("bad_input", `The last answer has ${counted(blocks.length, "code block")}.`);
  copy(block ?? answer);
  const what = block === undefined ? "The answer" : `Code block ${words}`;
  const more =
    block !== undefined || blocks.length === 0
      ? ""
      : ` /copy 1 copies its ${blocks.length === 1 ? "code block" : "first code block"}.`;
  say([lineOf(`${what} is copied, if your terminal allows it.${more}`, "dim")]);
}

const noAnswer: Message = { role: "assistant", parts: [] };

function numberOf(words: string, command: string): number {
  if (words === "") return 1;
  const number = /^\d{1,6}$/.test(words) ? Number(words) : 0;
  if (number >= 1) return number;
  throw new PawlError("bad_input", `${command} takes a number from 1 on.`);
}

const marks: { readonly [status: string]: string | undefined } = { open: "[ ]", in_progress: "[>]", done: "[x]" };

/** The plan that the model keeps. */
export async function plan({ agent, sessionId, store, redaction, say }: CommandContext): Promise<void> {
  const { todo } = (await store.describe(sessionId)) === null ? {} : await agent.session(sessionId).data();
  const items = Array.isArray(todo) ? todo : [];
  const lines = items.flatMap((item): Line[] => {
    if (typeof item !== "object" || item === null || Array.isArray(item)) return [];
    const mark = marks[String(item.status)];
    return mark === undefined ? [] : [[spanOf(`${mark} `, "cyan"), spanOf(redaction.text(String(item.text)))]];
  });
  say(lines.length === 0 ? [lineOf("The model keeps no plan in this session.", "dim")] : lines);
}

/** Where the time of the last run went. */
export async function trace({ store, sessionId, redaction, columns, say }: CommandContext): Promise<void> {
  const records =
    (await store.describe(sessionId)) === null
      ? []
      : await traceSession(store, sessionId, { asOf: Date.now(), redact: redaction.text });
  const runId = records.at(-1)?.runId;
  if (runId === undefined) return say([lineOf("No run of this session has started.", "dim")]);
  const run = records.filter((record) => record.runId === runId);
  say(waterfall(run, Math.min(columns() - 1, 120), plainText).map((line) => lineOf(line)));
}
