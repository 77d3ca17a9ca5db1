/**
 * Hashes of texts, bytes and tool inputs.
 */
import { createHash } from "node:crypto";
import { canonicalJson } from "../../core/data/json.js";
import type { Json } from "../../core/data/message.js";

/** The SHA-256 of bytes, or of a text's UTF-8, in hexadecimal. */
export function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** The same hash for equal inputs, in whatever order their keys stand. */
export function hashInput(input: Json): string {
  return sha256(canonicalJson(input));
}
