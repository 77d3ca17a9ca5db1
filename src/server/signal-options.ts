/**
 * The server options for incoming signals.
 */
import type { Json } from "../index.js";
import type { VerifyWebhook } from "../webhooks/index.js";
import { checkOptionNames, createConfigurationError } from "./option-checks.js";
import type { Principal } from "./principal.js";

/** Decides whether a principal may send a signal. */
export type CanSignal = (signal: {
  readonly principal: Principal;
  /** The key that tools wait for. */
  readonly key: string;
  /** The value that the tools would get. */
  readonly value: Json;
}) => boolean | Promise<boolean>;

/** A webhook whose deliveries become signals. */
export type Webhook = {
  /** Verifies a request: `standard`, `github` or `stripe` of `pawl/webhooks`, or your own function. Throws if the request is forged. */
  readonly verify: VerifyWebhook;
  /** Converts the body of a verified delivery to a signal. Returns null to ignore the delivery. */
  readonly signal: (value: unknown) => WebhookSignal | null | Promise<WebhookSignal | null>;
};

/** The signal that a delivery becomes. */
export type WebhookSignal = {
  /** The key that tools wait for. */
  readonly key: string;
  /** The value that the tools get. Pass only what they need, because it is untrusted input. Default: null. */
  readonly value?: Json;
  /** Deduplicates signals: an id counts once for its key while the signal is kept. Default: the id of the delivery. */
  readonly id?: string;
  /** How long the signal is kept for tools that begin to wait later, in milliseconds. Default: 7 days. */
  readonly keepMs?: number;
};

/** @throws PawlError `bad_configuration` */
export function checkCanSignal(canSignal: CanSignal | undefined): CanSignal | null {
  if (canSignal === undefined) return null;
  if (typeof canSignal !== "function") throw createConfigurationError("canSignal must be a function.");
  return canSignal;
}

const webhookNames: ReadonlySet<string> = new Set(["verify", "signal"]);

/** @throws PawlError `bad_configuration` */
export function checkWebhooks(webhooks: { readonly [path: string]: Webhook } = {}): {
  readonly [path: string]: Webhook;
} {
  if (typeof webhooks !== "object" || webhooks === null)
    throw createConfigurationError(
      "webhooks must be an object that maps each path to the functions verify and signal.",
    );
  for (const [path, webhook] of Object.entries(webhooks)) {
    if (!/^(?:\/[\w.-]+)+$/.test(path) || /^\/(?:v1|health|ready|metrics|mcp|a2a)(?:\/|$)/.test(path))
      throw createConfigurationError(
        `Invalid path ${JSON.stringify(path.slice(0, 100))} in webhooks: use a path such as /hooks/stripe.`,
      );
    checkOptionNames(`webhooks[${JSON.stringify(path)}]`, webhook, webhookNames);
    if (typeof webhook.verify !== "function" || typeof webhook.signal !== "function")
      throw createConfigurationError(`webhooks[${JSON.stringify(path)}] needs the functions verify and signal.`);
  }
  return { ...webhooks };
}
