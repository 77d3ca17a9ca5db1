/**
 * `/budget` and `/effort`: what holds for the next runs of the session.
 */
import { PawlError } from "../../index.js";
import { dollars } from "../closing-line.js";
import { lineOf } from "../screen/line.js";
import { dollarsIn } from "../text.js";
import type { TextStyle } from "../text-style.js";
import { efforts } from "./run-choices.js";
import type { CommandContext } from "./session-commands.js";
import { wrappedNote } from "./view-lines.js";

/** The limit holds for the run under way, too: what it has used until now counts. */
export async function budget(
  { choices, configured, state, columns, say }: CommandContext,
  words: string,
): Promise<void> {
  const tell = (text: string, style?: TextStyle) => say(wrappedNote(text, columns(), style));
  if (words === "") {
    const limit = choices.present().budget ?? configured.limits.maxCostUsd;
    const now = limit === undefined ? "A run may cost any amount." : `A run ends when it has cost ${dollars(limit)}.`;
    return tell(`${now} To change it: /budget $2, or /budget off`, "dim");
  }
  if (words === "off") {
    await choices.change(({ budget: _, ...others }) => others);
    const { maxCostUsd } = configured.limits;
    return tell(
      maxCostUsd === undefined
        ? "A run may cost any amount from now on."
        : `The limit of the configuration holds from now on: ${dollars(maxCostUsd)}.`,
      "dim",
    );
  }
  const amount = dollarsIn(words.replace(/^\$\s*/, ""));
  if (amount === null)
    throw new PawlError("bad_input", "/budget takes an amount of US dollars, for example /budget $2");
  await choices.change((present) => ({ ...present, budget: amount }));
  const { runId, usage } = state();
  if (runId !== null) choices.watch(runId);
  const isUnknown = usage.costUsd === undefined && usage.inputTokens !== undefined;
  tell(`A run ends when it has cost ${dollars(amount)}: ${runId === null ? "" : "this one, and "}the next ones.`);
  if (isUnknown) tell("What this model costs is not known, so its calls count as nothing.", "yellow");
}

export async function effort({ choices, choose, columns, say }: CommandContext, words: string): Promise<void> {
  const { effort: present } = choices.present();
  const listed = [unsaid, ...efforts].map((id) => ({ id, text: id === (present ?? unsaid) ? `${id} (now)` : id }));
  const named = words === "" ? await choose("effort", listed) : words;
  if (named === null) return say([lineOf("Nothing was changed.", "dim")]);
  const chosen = efforts.find((one) => one === named);
  if (chosen === undefined && named !== unsaid)
    throw new PawlError("bad_input", `/effort takes ${efforts.join(", ")}, or ${unsaid}: then the provider decides.`);
  await choices.change(({ effort: _, ...others }) => (chosen === undefined ? others : { ...others, effort: chosen }));
  say(wrappedNote(`How much the model thinks, from the next message on: ${named}`, columns(), "dim"));
}

/** The provider decides. */
const unsaid = "default";
