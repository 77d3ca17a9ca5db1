/**
 * `/budget` and `/effort`: settings for the next runs of the session.
 */
import { PawlError } from "../../../index.js";
import { formatDollars } from "../../render/format-closing-line.js";
import { lineOf } from "../../screen/line.js";
import { parseDollars } from "../../terminal/text.js";
import type { TextStyle } from "../../terminal/text-style.js";
import { wrapNote } from "../lines/view-lines.js";
import { effortLevels } from "../run-settings.js";
import type { CommandContext } from "./command-context.js";

/** The limit also applies to the run in progress, including its cost so far. */
export async function runBudgetCommand(
  { choices, configured, state, columns, say }: CommandContext,
  words: string,
): Promise<void> {
  const printNote = (text: string, style?: TextStyle) => say(wrapNote(text, columns(), style));
  if (words === "") {
    const limit = choices.current().budget ?? configured.limits.maxCostUsd;
    const now =
      limit === undefined ? "A run may cost any amount." : `A run ends when it has cost ${formatDollars(limit)}.`;
    return printNote(`${now} To change it: /budget $2, or /budget off`, "dim");
  }
  if (words === "off") {
    await choices.change(({ budget: _, ...others }) => others);
    const { maxCostUsd } = configured.limits;
    return printNote(
      maxCostUsd === undefined
        ? "A run may cost any amount from now on."
        : `The configured limit applies from now on: ${formatDollars(maxCostUsd)}.`,
      "dim",
    );
  }
  const amount = parseDollars(words.replace(/^\$\s*/, ""));
  if (amount === null)
    throw new PawlError("bad_input", "/budget takes an amount of US dollars, for example /budget $2");
  await choices.change((present) => ({ ...present, budget: amount }));
  const { runId, usage } = state();
  if (runId !== null) choices.watch(runId);
  const isUnknown = usage.costUsd === undefined && usage.inputTokens !== undefined;
  printNote(
    `From ${runId === null ? "the next run" : "this run"} on, a run ends when it has cost ${formatDollars(amount)}.`,
  );
  const { unpriced } = choices;
  if (unpriced.length > 0)
    printNote(`Calls of ${unpriced.join(", ")} count as $0, because the price is unknown.`, "yellow");
  else if (isUnknown) printNote("The price of this model is unknown, so its calls count as $0.", "yellow");
}

export async function runEffortCommand(
  { choices, choose, columns, say }: CommandContext,
  words: string,
): Promise<void> {
  const { effort: currentEffort } = choices.current();
  const listed = [providerDefault, ...effortLevels].map((id) => ({
    id,
    text: id === (currentEffort ?? providerDefault) ? `${id} (now)` : id,
  }));
  const named = words === "" ? await choose("effort", listed) : words;
  if (named === null) return say([lineOf("Nothing was changed.", "dim")]);
  const chosen = effortLevels.find((level) => level === named);
  if (chosen === undefined && named !== providerDefault)
    throw new PawlError(
      "bad_input",
      `/effort takes ${effortLevels.join(", ")}, or ${providerDefault}, which leaves it to the provider.`,
    );
  await choices.change(({ effort: _, ...others }) => (chosen === undefined ? others : { ...others, effort: chosen }));
  say(wrapNote(`How much the model thinks, from the next message on: ${named}`, columns(), "dim"));
}

/** The provider decides. */
const providerDefault = "default";
