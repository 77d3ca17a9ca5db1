/**
 * `/config`: the settings that apply in this conversation and where each comes from, as in `pawl config`.
 */
import { listConfiguredAgents } from "../../child-agents/resolve-agents.js";
import { formatConfiguration } from "../../configuration/format-configuration.js";
import { listHooks } from "../../hooks/resolve-hooks.js";
import { formatModel } from "../../render/format-model.js";
import { lineOf } from "../../screen/line.js";
import { toOneLine } from "../../terminal/text.js";
import type { CommandContext } from "./command-context.js";
import { loadSessionRules } from "./permissions.js";

export async function runConfigCommand(context: CommandContext): Promise<void> {
  const { configured, permissions, servers, custom, model, redaction, say } = context;
  const rules = permissions.rules(await loadSessionRules(context));
  const hooks = listHooks(configured.trust);
  say([
    ...formatConfiguration(configured, rules, servers.all, custom.all, listConfiguredAgents(configured), hooks).map(
      (line) => lineOf(redaction.text(line)),
    ),
    // An option, the session or /model may name a different model than the files.
    ...(configured.model === model ? [] : [lineOf(`The model of this session is ${formatModel(model)}.`, "dim")]),
    ...(configured.warning === null ? [] : [lineOf(toOneLine(redaction.text(configured.warning)), "yellow")]),
  ]);
}
