/**
 * Merges provider options from several sources: a setting, a model's defaults, and a run.
 */
import { isObject } from "../../core/data/is-object.js";
import type { ProviderMetadata } from "../../core/data/message.js";

/** Merges option by option within each provider. `overrides` (a run's options) take precedence over a model's defaults. */
export function mergeOptions(defaults: ProviderMetadata, overrides: ProviderMetadata | undefined): ProviderMetadata {
  if (overrides === undefined) return defaults;
  const merged: { [provider: string]: ProviderMetadata[string] } = { ...defaults };
  for (const [provider, options] of Object.entries(overrides)) merged[provider] = { ...merged[provider], ...options };
  return merged;
}

/**
 * Merges as `mergeOptions` does, and also completes nested objects: the caller's `{ includeThoughts: true }` gets the
 * setting's members if the two have no key in common.
 */
export function completeOptions(settings: ProviderMetadata, overrides: ProviderMetadata): ProviderMetadata {
  const merged = mergeOptions(settings, overrides);
  return Object.fromEntries(
    Object.entries(merged).map(([provider, options]) => {
      const completed = Object.entries(options).map(([name, value]) => {
        const setting = settings[provider]?.[name];
        const isDisjoint = isObject(setting) && isObject(value) && !Object.keys(setting).some((key) => key in value);
        return [name, isDisjoint ? { ...setting, ...value } : value] as const;
      });
      return [provider, Object.fromEntries(completed)];
    }),
  );
}
