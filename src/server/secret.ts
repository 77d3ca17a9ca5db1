/**
 * The keys of a server, made from one secret: processes with the same secret know what the others have signed.
 */
import { randomText } from "./principal.js";

export type Keys = {
  /** 32 bytes for one purpose. */
  readonly keyFor: (purpose: string) => Promise<Uint8Array>;
  /** Signs a text for one purpose: base64url. */
  readonly sign: (purpose: string, text: string) => Promise<string>;
};

/** The fewest characters of a secret. */
const shortestSecret = 32;

export function isSecret(secret: unknown): secret is string {
  return typeof secret === "string" && secret.length >= shortestSecret;
}

/** @param secret undefined: a random one, which this process alone knows */
export function createKeys(secret: string | undefined): Keys {
  const encoder = new TextEncoder();
  const bytes = encoder.encode(secret ?? randomText(32));
  const key = crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  // A secret that cannot be used is told to whoever asks for a signature.
  key.catch(() => {});
  async function macOf(purpose: string, text: string): Promise<Uint8Array> {
    return new Uint8Array(await crypto.subtle.sign("HMAC", await key, encoder.encode(`${purpose}\0${text}`)));
  }
  return {
    keyFor: (purpose) => macOf(purpose, ""),
    sign: async (purpose, text) => base64url(await macOf(purpose, text)),
  };
}

export function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}
