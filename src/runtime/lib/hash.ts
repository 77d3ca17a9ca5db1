/**
 * Hashes of strings, bytes and tool inputs.
 */
import { canonicalJson } from "../../core/data/json.js";
import type { Json } from "../../core/data/message.js";
import { sha256 } from "../../platform/hash.js";

export { sha256 };

/** The same hash for equal inputs, regardless of the order of keys. */
export function hashInput(input: Json): string {
  return sha256(canonicalJson(input));
}
