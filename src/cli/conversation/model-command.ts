/**
 * `/model`: another model from the next message on, by its name or from a list.
 */
import { usableModels } from "../../models/index.js";
import { modelLabel } from "../model-label.js";
import { type Line, spanOf } from "../screen/line.js";
import type { Choice } from "../screen/picker.js";
import { oneLine } from "../text.js";
import type { CommandContext } from "./session-commands.js";
import { wrappedNote } from "./view-lines.js";

export async function model(context: CommandContext, name: string): Promise<void> {
  const { model: present, sessionId, go, say, choose, columns } = context;
  const named = name === "" ? await choose("model", await modelChoices(context)) : name;
  if (named !== null && (name !== "" || named !== present)) return go({ type: "session", sessionId, model: named });
  say([
    [spanOf("model ", "dim"), spanOf(modelLabel(present))],
    ...wrappedNote(
      "Another one: /model provider/name, for example /model anthropic/claude-sonnet-5-5",
      columns(),
      "dim",
    ),
  ] satisfies readonly Line[]);
}

/** The present model, what the configuration names, and what has a key or a server here; the demo model is last. */
async function modelChoices({ model: present, configured, redaction }: CommandContext): Promise<readonly Choice[]> {
  const usable = await usableModels();
  const why = new Map([[present, "now"]]);
  const add = (name: string, because: string) => {
    if (!why.has(name)) why.set(name, because);
  };
  for (const [name, { use }] of Object.entries(configured.models)) add(name, use);
  if (configured.model !== undefined) add(configured.model, "the configuration names it");
  for (const { name, because } of usable) add(name, because);
  add("demo", "needs no key, and is no LLM");
  return [...why].map(([id, because]) => ({ id, text: oneLine(redaction.text(`${id} · ${because}`)) }));
}
