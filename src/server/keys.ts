/**
 * The keys of a server, made from one secret: processes with the same secret know what the others have signed.
 */
import { hmacSha256 } from "../platform/hash.js";
import { randomBase64url } from "./principal.js";

export type Keys = {
  /** 32 bytes for one purpose. */
  readonly deriveKey: (purpose: string) => Uint8Array;
  /** The signature of a text for one purpose: 64 hexadecimal digits. */
  readonly sign: (purpose: string, text: string) => string;
};

/** The key with which a server proves itself: anyone who knows the secret makes the same one, as `pawl ui` does. */
export const proofPurpose = "server proof";

/** The fewest characters of a secret. */
export const minSecretCharacters = 32;

export function isSecret(secret: unknown): secret is string {
  return typeof secret === "string" && secret.length >= minSecretCharacters;
}

/** @param secret undefined: a random one, which this process alone knows */
export function createKeys(secret: string = randomBase64url(32)): Keys {
  const sign = (purpose: string, text: string) => hmacSha256(secret, `${purpose}\0${text}`);
  return {
    sign,
    deriveKey: (purpose) => Uint8Array.from(sign(purpose, "").match(/../g) ?? [], (byte) => Number.parseInt(byte, 16)),
  };
}
