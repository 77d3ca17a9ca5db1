/**
 * `/config`: what is in force in this conversation, and where each part of it is from, as `pawl config` has it.
 */
import { linesInForce } from "../configuration/shown.js";
import { modelLabel } from "../model-label.js";
import { lineOf } from "../screen/line.js";
import { oneLine } from "../text.js";
import { sessionRules } from "./permission-commands.js";
import type { CommandContext } from "./session-commands.js";

export async function configuration(context: CommandContext): Promise<void> {
  const { configured, permissions, servers, custom, model, redaction, say } = context;
  const rules = permissions.rules(await sessionRules(context));
  say([
    ...linesInForce(configured, rules, servers.all, custom.all).map((line) => lineOf(redaction.text(line))),
    // An option, the session or /model may name another one than the files do.
    ...(configured.model === model ? [] : [lineOf(`The model of this session is ${modelLabel(model)}.`, "dim")]),
    ...(configured.notice === null ? [] : [lineOf(oneLine(redaction.text(configured.notice)), "yellow")]),
  ]);
}
