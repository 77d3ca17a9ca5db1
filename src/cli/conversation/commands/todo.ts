/**
 * The command `/todo` of a conversation.
 */
import { isObject } from "../../../core/data/is-object.js";
import { type Line, lineOf, spanOf } from "../../screen/line.js";
import type { CommandContext } from "./command-context.js";

const statusMarks: { readonly [status: string]: string | undefined } = { open: "[ ]", in_progress: "[>]", done: "[x]" };

/** Shows the model's plan. */
export async function runTodoCommand({ agent, sessionId, store, redaction, say }: CommandContext): Promise<void> {
  const { todo } = (await store.describe(sessionId)) === null ? {} : await agent.session(sessionId).data();
  const items = Array.isArray(todo) ? todo : [];
  const lines = items.flatMap((item): Line[] => {
    if (!isObject(item)) return [];
    const mark = statusMarks[String(item.status)];
    return mark === undefined ? [] : [[spanOf(`${mark} `, "cyan"), spanOf(redaction.text(String(item.text)))]];
  });
  say(lines.length === 0 ? [lineOf("The model has no plan in this session.", "dim")] : lines);
}
