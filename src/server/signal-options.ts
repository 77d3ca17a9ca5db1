/**
 * The options of a server for incoming signals.
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
  /** What the tools would get. */
  readonly value: Json;
}) => boolean | Promise<boolean>;

/** A web hook whose deliveries become signals. */
export type Webhook = {
  /** Verifies a request: `standard`, `github` or `stripe` of `pawl/webhooks`, or your own function. It throws if the request is not genuine. */
  readonly verify: VerifyWebhook;
  /** The signal for the body of a verified delivery; null if it is of no interest. */
  readonly signal: (value: unknown) => WebhookSignal | null | Promise<WebhookSignal | null>;
};

/** The signal that a delivery becomes. */
export type WebhookSignal = {
  /** The key that tools wait for. */
  readonly key: string;
  /** What the tools get. Take only what they need: it is text from outside. Default: null. */
  readonly value?: Json;
  /** Counts once for its key while the signal is kept. Default: the id of the delivery. */
  readonly id?: string;
  /** How long the signal is kept for tools that wait later, in milliseconds. Default: 7 days. */
  readonly keepMs?: number;
};

/** @throws PawlError `bad_configuration` */
export function checkCanSignal(canSignal: CanSignal | undefined): CanSignal | null {
  if (canSignal === undefined) return null;
  if (typeof canSignal !== "function") throw createConfigurationError("canSignal is a function.");
  return canSignal;
}

const webhookNames: ReadonlySet<string> = new Set(["verify", "signal"]);

/** @throws PawlError `bad_configuration` */
export function checkWebhooks(webhooks: { readonly [path: string]: Webhook } = {}): {
  readonly [path: string]: Webhook;
} {
  if (typeof webhooks !== "object" || webhooks === null)
    throw createConfigurationError(
      "webhooks is an object: the path of each web hook, and its functions verify and signal.",
    );
  for (const [path, webhook] of Object.entries(webhooks)) {
    if (!/^(?:\/[\w.-]+)+$/.test(path) || /^\/(?:v1|health|ready|metrics)(?:\/|$)/.test(path))
      throw createConfigurationError(
        `The path ${JSON.stringify(path.slice(0, 100))} of webhooks cannot be used. Use one such as /hooks/stripe.`,
      );
    checkOptionNames(`webhooks[${JSON.stringify(path)}]`, webhook, webhookNames);
    if (typeof webhook.verify !== "function" || typeof webhook.signal !== "function")
      throw createConfigurationError(`webhooks[${JSON.stringify(path)}] needs the functions verify and signal.`);
  }
  return { ...webhooks };
}
