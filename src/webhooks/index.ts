/**
 * `pawl/webhooks`: verifies webhooks, so that a server can turn them into signals.
 *
 * 1. Senders sign bytes, so the bytes are verified before anything parses them.
 * 2. A delivery that does not verify throws a `WebhookError`, whose message is for the receiver's log. The sender does not see the
 *    reason.
 * 3. If the signature covers a timestamp, it must be within five minutes of now, so that a recorded delivery cannot be replayed
 *    later. The delivery's id is always signed, so a delivery cannot be repeated under another id.
 */
import { aFunction, checkOptions, type OptionTable } from "../check-options.js";
import { parseJson } from "../core/data/json.js";
import type { Json } from "../core/data/message.js";
import { PawlError } from "../errors.js";

/** A verified delivery. */
export type WebhookDelivery = {
  /** The sender's id of the event: the same each time the event is delivered. */
  readonly id: string;
  /** The body, as JSON. */
  readonly value: Json;
};

/** Verifies a request. @throws WebhookError */
export type VerifyWebhook = (
  request: {
    readonly headers: {
      /** The value of a header; null if the request does not have it. */
      readonly get: (name: string) => string | null;
    };
  },
  body: Uint8Array<ArrayBuffer>,
) => Promise<WebhookDelivery>;

/** The options of `standard` and `stripe`. */
export type WebhookOptions = {
  /** For tests: the time in epoch milliseconds. Default: the system's clock. */
  readonly now?: () => number;
};

/** A delivery that did not verify. */
export class WebhookError extends Error {
  /** Distinguishes this error from others. */
  override readonly name = "WebhookError";
}

type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

const optionRules: OptionTable<WebhookOptions> = { now: aFunction };

const toleranceMs = 5 * 60_000;

/** The server reads at most 1 MiB. */
const jsonLimits = { maxBytes: 1024 * 1024, maxDepth: 100 };

/**
 * Verifies webhooks that follow the Standard Webhooks specification.
 * @param secrets `whsec_…`; give two while you rotate a secret
 * @throws PawlError `bad_configuration` if a secret is missing or is not valid base64
 *
 * @example
 * ```ts
 * const webhooks = {
 *   "/hooks/shop": {
 *     verify: standard(shopSecret),
 *     signal: (event: unknown) => ({ key: `order-${(event as { order: string }).order}-paid`, value: null }),
 *   },
 * };
 * ```
 */
export function standard(secrets: string | readonly string[], options: WebhookOptions = {}): VerifyWebhook {
  checkOptions("standard()", optionRules, options);
  const { now = Date.now } = options;
  const keys = importKeys(
    "standard()",
    secrets,
    (secret) => decodeBase64(secret.replace(/^whsec_/, "")),
    "in base64, usually after whsec_",
  );
  return async ({ headers }, body) => {
    const id = getHeader(headers, "webhook-id");
    const timestamp = getHeader(headers, "webhook-timestamp");
    checkTimestamp(timestamp, now());
    const signatures = getHeader(headers, "webhook-signature")
      .split(" ")
      .flatMap((one) => (one.startsWith("v1,") ? [decodeBase64(one.slice(3))] : []));
    await checkSignature(keys, signatures, join(`${id}.${timestamp}.`, body));
    return { id, value: parseBody(body) };
  };
}

/**
 * Verifies GitHub webhooks. Set the webhook's content type to `application/json`.
 *
 * GitHub signs only the body, not a time or the delivery's id. So an event's id is the SHA-256 of its body, and a delivery that is
 * replayed counts once, as long as its signal is kept.
 * @param secrets the secret that is set at GitHub; give two while you rotate it
 * @throws PawlError `bad_configuration`
 */
export function github(secrets: string | readonly string[]): VerifyWebhook {
  const keys = importKeys("github()", secrets, encode);
  return async ({ headers }, body) => {
    const signature = getHeader(headers, "x-hub-signature-256");
    if (!signature.startsWith("sha256=")) throw new WebhookError("x-hub-signature-256 is not a SHA-256 signature.");
    await checkSignature(keys, [decodeHex(signature.slice("sha256=".length))], body);
    if (headers.get("content-type")?.startsWith("application/x-www-form-urlencoded") === true)
      throw new WebhookError("The body is form-encoded. Set the webhook's content type to application/json at GitHub.");
    return { id: await hash(body), value: parseBody(body) };
  };
}

/**
 * Verifies Stripe webhooks.
 * @param secrets the endpoint's `whsec_…`; give two while you rotate a secret
 * @throws PawlError `bad_configuration`
 */
export function stripe(secrets: string | readonly string[], options: WebhookOptions = {}): VerifyWebhook {
  checkOptions("stripe()", optionRules, options);
  const { now = Date.now } = options;
  const keys = importKeys("stripe()", secrets, encode);
  return async ({ headers }, body) => {
    const fields = getHeader(headers, "stripe-signature")
      .split(",")
      .map((field) => field.trim().split("="));
    const timestamp = fields.find(([name]) => name === "t")?.[1] ?? "";
    checkTimestamp(timestamp, now());
    const signatures = fields.flatMap(([name, value = ""]) => (name === "v1" ? [decodeHex(value)] : []));
    await checkSignature(keys, signatures, join(`${timestamp}.`, body));
    const value = parseBody(body);
    const id = typeof value === "object" && value !== null && "id" in value ? value.id : undefined;
    if (typeof id !== "string") throw new WebhookError("The event has no id.");
    return { id, value };
  };
}

function getHeader(headers: { readonly get: (name: string) => string | null }, name: string): string {
  const value = headers.get(name);
  if (value === null || value === "" || value.length > maxHeaderCharacters)
    throw new WebhookError(`The header ${name} is missing or too long.`);
  return value;
}

const maxHeaderCharacters = 4_096;

/** @param timestamp seconds since 1970 */
function checkTimestamp(timestamp: string, now: number): void {
  const at = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) * 1_000 : Number.NaN;
  if (!(Math.abs(now - at) <= toleranceMs))
    throw new WebhookError("The timestamp is invalid, or more than five minutes from now.");
}

/** A sender signs with several secrets while it rotates them. Checking more signatures would only cost time. */
const maxSignatures = 8;

/** Compares in constant time. */
async function checkSignature(
  keys: readonly Promise<Key>[],
  signatures: readonly Uint8Array<ArrayBuffer>[],
  signed: Uint8Array<ArrayBuffer>,
): Promise<void> {
  for (const key of await Promise.all(keys))
    for (const signature of signatures.slice(0, maxSignatures))
      if (await crypto.subtle.verify("HMAC", key, signature, signed)) return;
  throw new WebhookError("The signature does not match.");
}

/** @throws PawlError `bad_configuration` */
function importKeys(
  what: string,
  secrets: string | readonly string[],
  decode: (secret: string) => Uint8Array<ArrayBuffer>,
  form = "a non-empty string",
): readonly Promise<Key>[] {
  const given: readonly unknown[] = [secrets].flat();
  const keys = given.map((secret) => (typeof secret === "string" ? decode(secret) : new Uint8Array(0)));
  if (keys.length === 0 || keys.some(({ length }) => length === 0))
    throw new PawlError(
      "bad_configuration",
      `${what} needs the webhook's secret, ${form}. Check that its environment variable is set.`,
    );
  return keys.map(importKey);
}

function importKey(secret: Uint8Array<ArrayBuffer>): Promise<Key> {
  const key = crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  key.catch(() => {});
  return key;
}

/** The SHA-256, in hexadecimal. */
async function hash(body: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function parseBody(body: Uint8Array<ArrayBuffer>): Json {
  const parsed = parseJson(new TextDecoder().decode(body), jsonLimits);
  if (!parsed.ok) throw new WebhookError(`The body is not JSON: ${parsed.error}`);
  return parsed.value;
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function join(head: string, body: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const start = encode(head);
  const joined = new Uint8Array(start.length + body.length);
  joined.set(start);
  joined.set(body, start.length);
  return joined;
}

/** Empty for invalid base64, which matches nothing. */
function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array(0);
  }
}

function decodeHex(text: string): Uint8Array<ArrayBuffer> {
  if (!/^(?:[0-9a-f]{2})*$/i.test(text)) return new Uint8Array(0);
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
