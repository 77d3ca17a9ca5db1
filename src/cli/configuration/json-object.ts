import type { Json } from "../../index.js";

/** Whether a value of a configuration file is an object. */
export function isJsonObject(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
