/**
 * SHA-256 without Node. `crypto.subtle` is asynchronous, so a library computes the hash.
 */
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 as sha256Of } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";
import type * as node from "../hash.js";

const encoder = new TextEncoder();

export const sha256: typeof node.sha256 = (data) => bytesToHex(sha256Of(toBytes(data)));

export const hmacSha256: typeof node.hmacSha256 = (key, text) =>
  bytesToHex(hmac(sha256Of, encoder.encode(key), encoder.encode(text)));

/** The library accepts only plain byte arrays from its own realm. */
function toBytes(data: string | Uint8Array): Uint8Array {
  return typeof data === "string" ? encoder.encode(data) : data;
}
