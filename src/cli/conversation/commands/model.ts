/**
 * `/model`: changes the model from the next message on, by its name or from a list.
 */
import { usableModels } from "../../../models/index.js";
import { formatModel } from "../../render/format-model.js";
import { type Line, spanOf } from "../../screen/line.js";
import type { Choice } from "../../screen/picker.js";
import { toOneLine } from "../../terminal/text.js";
import { wrapNote } from "../lines/view-lines.js";
import type { CommandContext } from "./command-context.js";

export async function runModelCommand(context: CommandContext, name: string): Promise<void> {
  const { model: currentModel, sessionId, go, say, choose, columns } = context;
  const requestedModel = name === "" ? await choose("model", await listModelChoices(context)) : name;
  if (requestedModel !== null && (name !== "" || requestedModel !== currentModel))
    return go({ type: "session", sessionId, model: requestedModel });
  say([
    [spanOf("model ", "dim"), spanOf(formatModel(currentModel))],
    ...wrapNote("To change it: /model provider/name, for example /model anthropic/claude-sonnet-5-5", columns(), "dim"),
  ] satisfies readonly Line[]);
}

/** The current model, the models in the configuration, and the models with a key or a local server; the demo model is last. */
async function listModelChoices({
  model: currentModel,
  configured,
  redaction,
}: CommandContext): Promise<readonly Choice[]> {
  const usableNow = await usableModels();
  const reasons = new Map([[currentModel, "now"]]);
  const add = (name: string, reason: string) => {
    if (!reasons.has(name)) reasons.set(name, reason);
  };
  for (const [name, { use }] of Object.entries(configured.models)) add(name, use);
  if (configured.model !== undefined) add(configured.model, "from the configuration");
  for (const { name, because: reason } of usableNow) add(name, reason);
  add("demo", "needs no key; not an LLM");
  return [...reasons].map(([id, reason]) => ({ id, text: toOneLine(redaction.text(`${id} · ${reason}`)) }));
}
