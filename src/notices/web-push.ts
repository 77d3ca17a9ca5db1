/**
 * Web Push: encrypts a message for a browser (RFC 8291, `aes128gcm`), and signs the request to its push service (RFC 8292, VAPID).
 */
import { createCipheriv, createECDH, createPrivateKey, hkdfSync, randomBytes, sign } from "node:crypto";
import { sha256 } from "../platform/hash.js";

/** A pair of keys on the curve P-256, in base64url: 32 bytes, and 65 bytes. */
export type VapidKeys = { readonly privateKey: string; readonly publicKey: string };

/** The keys of a browser's subscription, in base64url: 65 bytes, and 16 bytes. */
export type SubscriptionKeys = { readonly p256dh: string; readonly auth: string };

/** The random inputs of an encryption; tests pass fixed ones. */
type Ephemeral = { readonly salt: Uint8Array; readonly privateKey: Uint8Array };

/** One record holds the whole message: push services take 4,096 bytes. */
const recordBytes = 4_096;
const publicKeyBytes = 65;
/** A token may be valid for 24 hours at most. The clocks of push services may differ. */
const tokenMs = 12 * 3_600_000;

/** Derives a pair of keys: the same one from the same seed. */
export function deriveVapidKeys(seed: string): VapidKeys {
  const ecdh = createECDH("prime256v1");
  for (let attempt = seed; ; attempt = sha256(attempt)) {
    const privateKey = Buffer.from(sha256(attempt), "hex");
    try {
      ecdh.setPrivateKey(privateKey);
    } catch {
      // One number in four billion is not a key.
      continue;
    }
    return { privateKey: toBase64url(privateKey), publicKey: toBase64url(ecdh.getPublicKey()) };
  }
}

/** Whether these are keys that a message can be encrypted for. */
export function areSubscriptionKeys({ p256dh, auth }: SubscriptionKeys): boolean {
  const [publicKey, secret] = [fromBase64url(p256dh), fromBase64url(auth)];
  if (publicKey?.length !== publicKeyBytes || secret?.length !== 16) return false;
  try {
    const ecdh = createECDH("prime256v1");
    ecdh.generateKeys();
    ecdh.computeSecret(publicKey);
    return true;
  } catch {
    return false;
  }
}

/** Encrypts a message for a subscription. Only its browser can decrypt the message. */
export function encryptPush(
  message: string,
  { p256dh, auth }: SubscriptionKeys,
  { salt, privateKey }: Partial<Ephemeral> = {},
): Uint8Array {
  const receiver = Buffer.from(p256dh, "base64url");
  const ecdh = createECDH("prime256v1");
  if (privateKey === undefined) ecdh.generateKeys();
  else ecdh.setPrivateKey(privateKey);
  const sender = ecdh.getPublicKey();
  const context = Buffer.concat([Buffer.from("WebPush: info\0"), receiver, sender]);
  const secret = deriveBytes(ecdh.computeSecret(receiver), Buffer.from(auth, "base64url"), context, 32);
  const usedSalt = salt ?? randomBytes(16);
  const key = deriveBytes(secret, usedSalt, Buffer.from("Content-Encoding: aes128gcm\0"), 16);
  const nonce = deriveBytes(secret, usedSalt, Buffer.from("Content-Encoding: nonce\0"), 12);
  const cipher = createCipheriv("aes-128-gcm", key, nonce);
  // 2 ends the last record.
  const encrypted = [cipher.update(message, "utf8"), cipher.update(Buffer.of(2)), cipher.final(), cipher.getAuthTag()];
  const sizes = Buffer.alloc(5);
  sizes.writeUInt32BE(recordBytes);
  sizes.writeUInt8(sender.length, 4);
  return Buffer.concat([usedSalt, sizes, sender, ...encrypted]);
}

/** The header `authorization` of a request to a push service. @param contact a `mailto:` or https URL @param now in epoch milliseconds */
export function createVapidHeader(
  url: URL,
  { privateKey, publicKey }: VapidKeys,
  contact: string,
  now: number,
): string {
  const point = Buffer.from(publicKey, "base64url");
  const [x, y] = [toBase64url(point.subarray(1, 33)), toBase64url(point.subarray(33))];
  const key = createPrivateKey({ key: { kty: "EC", crv: "P-256", d: privateKey, x, y }, format: "jwk" });
  const claims = { aud: url.origin, exp: Math.floor((now + tokenMs) / 1_000), sub: contact };
  const signed = [{ typ: "JWT", alg: "ES256" }, claims]
    .map((part) => toBase64url(Buffer.from(JSON.stringify(part))))
    .join(".");
  const signature = sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
  return `vapid t=${signed}.${toBase64url(signature)}, k=${publicKey}`;
}

function deriveBytes(secret: Uint8Array, salt: Uint8Array, context: Uint8Array, length: number): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, salt, context, length));
}

function toBase64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}

function fromBase64url(text: string): Buffer | null {
  return /^[\w-]{1,200}$/.test(text) ? Buffer.from(text, "base64url") : null;
}
