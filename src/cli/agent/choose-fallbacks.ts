/**
 * The models of the setting `fallbacks`, which take over when a model has been given up.
 */
import type { Fallback, Model } from "../../index.js";
import { findSettingValue, type ResolvedConfiguration } from "../configuration/resolve-configuration.js";
import { toOneLine } from "../terminal/text.js";
import { chooseConfiguredModel, type ModelOptions } from "./choose-model.js";

export type ChosenFallbacks = {
  readonly fallbacks: readonly Fallback<Model>[];
  /** Why some are left out, in whole sentences, for the person. */
  readonly problems: readonly string[];
};

/** A model that cannot be used, for example because its key is missing, is left out and reported. */
export async function chooseFallbacks(
  configured: Pick<ResolvedConfiguration, "models" | "settings">,
  options: ModelOptions,
): Promise<ChosenFallbacks> {
  // The table of the settings has checked the value.
  const names = (findSettingValue(configured.settings, "fallbacks") ?? []) as readonly string[];
  const results = await Promise.allSettled(names.map((name) => chooseConfiguredModel(name, options, configured)));
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
  return toOneLine(`The fallback ${name} is left out: ${error instanceof Error ? error.message : String(error)}`);
}

/** The fallbacks of an agent with this model. A model is not its own fallback, and none is tried twice. */
export function fallbacksFor(model: Model, fallbacks: readonly Fallback<Model>[]): readonly Fallback<Model>[] {
  const ids = fallbacks.map((fallback) => fallback.model.id);
  return fallbacks.filter((fallback, at) => fallback.model.id !== model.id && ids.indexOf(fallback.model.id) === at);
}
