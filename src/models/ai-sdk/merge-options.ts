/**
 * Options for providers from several places: a setting, a model's defaults, and a run.
 */
import type { ProviderMetadata } from "../../core/data/message.js";
import { isObject } from "./part.js";

/** A run's own options take precedence over those that a model has for each request. */
export function mergeOptions(defaults: ProviderMetadata, own: ProviderMetadata | undefined): ProviderMetadata {
  if (own === undefined) return defaults;
  const merged: { [provider: string]: ProviderMetadata[string] } = { ...defaults };
  for (const [provider, options] of Object.entries(own)) merged[provider] = { ...merged[provider], ...options };
  return merged;
}

/** An object among a caller's options is completed, unless it says something about the same: `{ includeThoughts: true }`. */
export function withOwn(settings: ProviderMetadata, own: ProviderMetadata): ProviderMetadata {
  const merged = mergeOptions(settings, own);
  return Object.fromEntries(
    Object.entries(merged).map(([provider, options]) => {
      const completed = Object.entries(options).map(([name, value]) => {
        const setting = settings[provider]?.[name];
        const isApart = isObject(setting) && isObject(value) && !Object.keys(setting).some((key) => key in value);
        return [name, isApart ? { ...setting, ...value } : value] as const;
      });
      return [provider, Object.fromEntries(completed)];
    }),
  );
}
