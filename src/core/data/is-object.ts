/**
 * Whether a value is an object, and not null or an array.
 */
import type { Json } from "./message.js";

export type JsonObject = { readonly [name: string]: Json };

export function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The same, for a value that is JSON. */
export function isJsonObject(value: Json | undefined): value is JsonObject {
  return isObject(value);
}
