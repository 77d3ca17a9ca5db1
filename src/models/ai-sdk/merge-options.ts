/**
 * Options for providers from several places: a setting, a model's defaults, and a run.
 */
import type { ProviderMetadata } from "../../core/data/message.js";
import { isObject } from "./part.js";

/** A run's own options take precedence over those that a model has for each request. */
export function mergeOptions(defaults: ProviderMetadata, overrides: ProviderMetadata | undefined): ProviderMetadata {
  if (overrides === undefined) return defaults;
  const merged: { [provider: string]: ProviderMetadata[string] } = { ...defaults };
  for (const [provider, options] of Object.entries(overrides)) merged[provider] = { ...merged[provider], ...options };
  return merged;
}

/** An object among a caller's options is completed, unless it says something about the same: `{ includeThoughts: true }`. */
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
