/**
 * Narrows unknown values to objects.
 */
import type { Json } from "./message.js";

export type JsonObject = { readonly [name: string]: Json };

/** Whether a value is an object, excluding null and arrays. */
export function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The same for a JSON value. */
export function isJsonObject(value: Json | undefined): value is JsonObject {
  return isObject(value);
}
