/**
 * The models of the setting `fallbacks`, which take over when a model has been given up.
 */
import { getErrorMessage } from "../../core/data/error-message.js";
import { type Fallback, type Model, PawlError } from "../../index.js";
import type { ConfiguredLimits } from "../configuration/configuration.js";
import { findSettingValue, type ResolvedConfiguration } from "../configuration/resolve-configuration.js";
import { toOneLine } from "../terminal/text.js";
import { type ChosenModel, chooseConfiguredModel, hasPrice, type ModelOptions } from "./choose-model.js";

export type ChosenFallbacks = {
  readonly fallbacks: readonly Fallback<Model>[];
  /** Why some models are left out, in whole sentences, for the person. */
  readonly problems: readonly string[];
};

/** A model that cannot be used, for example because its key is missing, is left out and reported. */
export async function chooseFallbacks(
  configured: Pick<ResolvedConfiguration, "models" | "settings" | "limits">,
  options: ModelOptions,
): Promise<ChosenFallbacks> {
  // The settings table has validated the value.
  const names = (findSettingValue(configured.settings, "fallbacks") ?? []) as readonly string[];
  const choose = async (name: string): Promise<ChosenModel> => {
    const chosen = await chooseConfiguredModel(name, options, configured);
    if (!isAffordable(chosen.model, configured.limits))
      throw new PawlError(
        "bad_configuration",
        `There is a limit in dollars, and the model ${chosen.model.id} has no known price.`,
      );
    return chosen;
  };
  const results = await Promise.allSettled(names.map(choose));
  return {
    fallbacks: results.flatMap((result) =>
      result.status === "fulfilled" ? [{ model: result.value.model, timeouts: result.value.timeouts }] : [],
    ),
    problems: results.flatMap((result, at) =>
      result.status === "fulfilled" ? [] : [formatProblem(names[at] ?? "", result.reason)],
    ),
  };
}

function formatProblem(name: string, error: unknown): string {
  return toOneLine(`The fallback ${name} is left out. ${getErrorMessage(error)}`);
}

/**
 * The fallbacks of an agent with this model and these limits. A model is not its own fallback, and no model is listed twice. With
 * a limit in dollars, models without a price are left out.
 */
export function fallbacksFor(
  model: Model,
  fallbacks: readonly Fallback<Model>[],
  limits: ConfiguredLimits,
): readonly Fallback<Model>[] {
  const ids = fallbacks.map((fallback) => fallback.model.id);
  return fallbacks.filter(
    (fallback, at) =>
      fallback.model.id !== model.id && ids.indexOf(fallback.model.id) === at && isAffordable(fallback.model, limits),
  );
}

function isAffordable(model: Model, { maxCostUsd }: ConfiguredLimits): boolean {
  return maxCostUsd === undefined || hasPrice(model);
}
