/**
 * Derives a server's keys from one secret, so that processes with the same secret can verify each other's signatures.
 */
import { hmacSha256 } from "../platform/hash.js";
import { randomBase64url } from "./principal.js";

export type Keys = {
  /** Derives 32 bytes for a purpose. */
  readonly deriveKey: (purpose: string) => Uint8Array;
  /** Signs a string for a purpose. Returns 64 hexadecimal digits. */
  readonly sign: (purpose: string, text: string) => string;
};

/** The purpose of the key that proves a server's identity. Any program with the secret can derive the key, as `pawl ui` does. */
export const proofPurpose = "server proof";

/** The minimum length of a secret, in characters. */
export const minSecretCharacters = 32;

export function isSecret(secret: unknown): secret is string {
  return typeof secret === "string" && secret.length >= minSecretCharacters;
}

/** @param secret default: a random secret, which only this process knows */
export function createKeys(secret: string = randomBase64url(32)): Keys {
  const sign = (purpose: string, text: string) => hmacSha256(secret, `${purpose}\0${text}`);
  return {
    sign,
    deriveKey: (purpose) => Uint8Array.from(sign(purpose, "").match(/../g) ?? [], (byte) => Number.parseInt(byte, 16)),
  };
}
