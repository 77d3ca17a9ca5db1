/**
 * SHA-256, computed synchronously, because a commit must not wait for a promise.
 */
import { createHash, createHmac } from "node:crypto";

/** The SHA-256 of bytes, or of a string as UTF-8, in hexadecimal. */
export function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** The HMAC-SHA-256 of a string as UTF-8, in hexadecimal. */
export function hmacSha256(key: string, text: string): string {
  return createHmac("sha256", key).update(text).digest("hex");
}
